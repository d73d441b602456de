"""gunicorn's configuration, made from Docmill's own settings."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from gunicorn.arbiter import Arbiter

# Before anything can create a file: Docmill's files are for its own user alone.
os.umask(0o077)

from webapp.config import Settings, SettingsError, forget_owner
from webapp.serving.capacity import connections_max
from webapp.serving.inflow import ClientLimits
from webapp.serving.listening import port_trouble
from webapp.serving.memory import keep_what_is_loaded

forget_owner()
try:
    _settings = Settings.from_environment()
except SettingsError as error:
    sys.exit(str(error))

bind = f"{_settings.server.host}:{_settings.server.port}"
_taken = None if "GUNICORN_FD" in os.environ else port_trouble(_settings.server.host, _settings.server.port)
if _taken:
    sys.exit(_taken)
# Embedded there is one web process; beside worker processes there may be several.
workers = 1 if _settings.is_embedded else int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "webapp.serving.gunicorn_worker.GunicornWorker"
threads = _settings.server.web_threads
worker_connections = connections_max()
# A kept-alive connection costs no thread.
keepalive = 30
# For a sign of life from the process, not for a request.
timeout = 120
# A drain ends before gunicorn kills the process.
graceful_timeout = int(_settings.queue.drain_seconds) + 10

accesslog = None
loglevel = "warning"
# Behind a proxy it is PROXY_HOPS that says what to believe.
forwarded_allow_ips = ""
limit_request_line = 8190
limit_request_fields = 64
limit_request_field_size = 8190
# No control socket in the home folder.
control_socket_disable = True

_host: Any = None


def post_worker_init(worker: Any) -> None:
    """In a web process that is ready to serve: announce the address, and start the embedded host if there is one."""
    # Imported here, or `--reload` would go on with the code that gunicorn's first process has read.
    from webapp.logs import set_up_logging  # noqa: PLC0415
    from webapp.sandbox.state import log_locks, refusal  # noqa: PLC0415
    from webapp.web.account.welcome import announce  # noqa: PLC0415
    from webapp.web.exposure import warn  # noqa: PLC0415
    from webapp.web.long_polls import end_long_polls  # noqa: PLC0415
    from webapp.web.ops.warnings import log_workers_elsewhere  # noqa: PLC0415
    from webapp.worker.embedded import EmbeddedHost  # noqa: PLC0415

    global _host  # noqa: PLW0603 - gunicorn's hooks have nothing else in common
    set_up_logging()
    _set_limits(worker)
    if unlocked := refusal(required=_settings.parsers.requires_locks):
        _give_up(worker, unlocked)
    keep_what_is_loaded()
    # In a thread, since it has to start a child process.
    threading.Thread(target=log_locks, name="locks", daemon=True).start()
    has_tables = _has_tables(worker.wsgi)
    if has_tables:
        _look_at_role(worker)
    if _settings.is_embedded:
        with worker.wsgi.app_context():
            _host = EmbeddedHost(worker.wsgi.extensions["docmill"])
        _host.start()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, partial(_leave, worker, end_long_polls))
    if worker.age == 1:
        warn(worker.wsgi)
    if worker.age == 1 and has_tables:
        log_workers_elsewhere(worker.wsgi)
        announce(worker.wsgi)


def _look_at_role(worker: Any) -> None:
    """Whether the database keeps organisations apart; where it must and does not, gunicorn gives up at once."""
    from webapp.db import row_security  # noqa: PLC0415
    from webapp.db.errors import DATABASE_ERRORS  # noqa: PLC0415

    found = refusal = notice = None
    # The database was there a moment ago; if it is away now, pages say so.
    with worker.wsgi.app_context(), suppress(*DATABASE_ERRORS):
        found, refusal = row_security.fault(), row_security.refusal(_settings)
        notice = row_security.notice()
    if refusal:
        _give_up(worker, refusal)
    if found:
        logging.getLogger("webapp").warning(found)
    if notice and worker.age == 1:
        logging.getLogger("webapp").info(notice)


def _give_up(worker: Any, why: str) -> None:
    """End gunicorn. Only one process may tell it to; the others wait until it ends them."""
    if worker.age > 1:
        deadline = time.monotonic() + 10
        while worker.alive and time.monotonic() < deadline:
            time.sleep(0.1)
    else:
        sys.stderr.write(f"{why}\n")
    sys.exit(Arbiter.WORKER_BOOT_ERROR if worker.alive else 0)


def _set_limits(worker: Any) -> None:
    """How long clients may take, and how many connections one of them may have."""
    limits = _settings.access
    worker.client_limits = ClientLimits(idle_seconds=keepalive, bytes_per_second_min=limits.slowest_bytes_per_second)
    # Behind a proxy everybody comes from its address.
    worker.connections_per_address = 0 if _settings.server.proxy_hops else limits.connections_per_address


def _leave(worker: Any, end_long_polls: Callable[[], None], number: int, frame: FrameType | None) -> None:
    """On a signal: answer the requests that are under way, and drain the jobs meanwhile.

    gunicorn's own answer to SIGINT and SIGQUIT takes locks inside of a signal handler, and hangs
    where the main thread holds them.
    """
    end_long_polls()
    if _host is not None:
        _host.on_signal(number, frame)
    worker.handle_exit(number, frame)


def worker_exit(server: Any, worker: Any) -> None:
    """After the last answer: wait until the jobs are drained."""
    if _host is not None:
        _host.stop()
    if not worker.booted:
        # Keep its exit status, which tells gunicorn not to start another one.
        return
    logging.shutdown()
    # Models may be inside of native code, or just being loaded by it, and must not meet a half-gone interpreter.
    os._exit(0)


def _has_tables(app: Any) -> bool:
    """Whether the tables are up to date; if not, `GET /readyz` says what to do."""
    from webapp.db import schema_is_current  # noqa: PLC0415
    from webapp.db.errors import DATABASE_ERRORS  # noqa: PLC0415

    try:
        with app.app_context():
            return schema_is_current()
    except DATABASE_ERRORS:
        logging.getLogger("webapp").warning("the database does not answer; pages are served once it does")
        return False
