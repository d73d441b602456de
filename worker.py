"""A worker process: takes jobs until it is told to leave. Start as many as you like, anywhere."""

import logging
import os
import sys

# Before anything can create a file: Docmill's files are for its own user alone.
os.umask(0o077)

from webapp.app import create_app
from webapp.config import Settings, SettingsError, forget_owner
from webapp.logs import set_up_logging
from webapp.sandbox.state import log_locks, refusal
from webapp.serving.memory import keep_what_is_loaded
from webapp.worker.process import WorkerProcess
from webapp.worker.shutdown import Shutdown

_log = logging.getLogger("worker")


def main() -> int:
    """Run; the exit code is 0 after a signal, 1 after a failure, 2 where it should not have been started."""
    set_up_logging()
    forget_owner()
    try:
        settings = Settings.from_environment()
    except SettingsError as error:
        return _refuse(str(error))
    if settings.is_embedded:
        return _refuse("In the embedded mode the web process does the work; there is nothing to do for a worker.")
    if unlocked := refusal(required=settings.parsers.requires_locks):
        return _refuse(unlocked)
    shutdown = Shutdown()
    shutdown.listen()
    log_locks()
    app = create_app(settings)
    with app.app_context():
        try:
            process = WorkerProcess(app.extensions["docmill"], shutdown.on_broken)
        except SettingsError as error:
            return _refuse(str(error))
        if unusable := process.refusal_of_redis():
            return _refuse(unusable)
        return _work(process, shutdown, settings)


def _work(process: WorkerProcess, shutdown: Shutdown, settings: Settings) -> int:
    while not process.is_database_ready():
        if shutdown.wait(settings.queue.poll_seconds):
            return 0
    refusal = process.reason_to_refuse()
    if refusal:
        return _refuse(refusal)
    keep_what_is_loaded()
    process.start()
    shutdown.on_hurry = process.hurry
    while not shutdown.wait(process.check_seconds):
        process.check()
    _log.info("leaving: %s", shutdown.reason)
    process.drain()
    return 1 if shutdown.failure else 0


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 2


if __name__ == "__main__":
    status = main()
    logging.shutdown()
    # Threads that would not end are inside of native code, and must not meet a half-gone interpreter.
    os._exit(status)
