"""A worker process: takes jobs until it is told to leave. Start as many as you like, anywhere."""

import logging
import os
import sys

from webapp.app import create_app
from webapp.config import Settings, SettingsError
from webapp.serving.memory import keep_what_is_loaded
from webapp.worker.departure import Departure
from webapp.worker.workshop import Workshop

_log = logging.getLogger("worker")

# A look at clocks and flags: it costs nothing.
CHECK_SECONDS = 1.0


def main() -> int:
    """Run; the exit code is 0 after a signal, 1 after a failure, 2 where it should not have been started."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        settings = Settings.from_environment()
    except SettingsError as error:
        return _refuse(str(error))
    if settings.is_embedded:
        return _refuse("In the embedded mode the web process does the work; there is nothing to do for a worker.")
    departure = Departure()
    departure.listen()
    workshop = Workshop(create_app(settings), departure.on_broken)
    return _work(workshop, departure, settings)


def _work(workshop: Workshop, departure: Departure, settings: Settings) -> int:
    while not workshop.is_database_ready():
        if departure.wait(settings.poll_seconds):
            return 0
    keep_what_is_loaded()
    workshop.start()
    departure.on_hurry = workshop.hurry
    while not departure.wait(min(settings.heartbeat_seconds, CHECK_SECONDS)):
        workshop.check()
    _log.info("leaving: %s", departure.reason)
    workshop.drain()
    return 1 if departure.failure else 0


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 2


if __name__ == "__main__":
    status = main()
    logging.shutdown()
    # Threads that would not end are inside of native code, and must not meet a half-gone interpreter.
    os._exit(status)
