"""The embedded host: the workshop inside the web process, in one such process only.

Any other process on the same database serves pages and waits: a host that is restarted or
replaced leaves nobody without one.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from types import FrameType

from webapp.database_errors import DATABASE_ERRORS
from webapp.db import db
from webapp.worker.attempt import Handler
from webapp.worker.departure import Departure
from webapp.worker.handlers import HANDLERS
from webapp.worker.host_lock import HostLock, host_lock
from webapp.worker.threads import Guarded
from webapp.worker.workshop import Application, Workshop

_log = logging.getLogger(__name__)

# A look at clocks, flags and the host's lock.
CHECK_SECONDS = 1.0


def _leave_to_gunicorn() -> None:
    """Gunicorn replaces this process; the new one begins with the recovery."""
    os.kill(os.getpid(), signal.SIGTERM)


class EmbeddedHost:
    """One thread that becomes the host, looks after the work and drains it in the end.

    Pages are served from the first moment to the last: neither waits for the other.
    """

    def __init__(
        self,
        app: Application,
        handlers: Mapping[str, Handler] = HANDLERS,
        end_process: Callable[[], None] = _leave_to_gunicorn,
    ) -> None:
        settings = app.extensions["docmill"].settings
        self._app = app
        self._leave = end_process
        self._poll_seconds: float = settings.poll_seconds
        self._check_seconds: float = min(settings.heartbeat_seconds, CHECK_SECONDS)
        self._departure = Departure()
        self._is_at_work = threading.Event()
        self._has_ended = True
        self._workshop = Workshop(app, self._departure.on_broken, handlers)
        self._departure.on_hurry = self._workshop.hurry
        self._thread = Guarded("host", self._host, self._end_process)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def wait_until_at_work(self, seconds: float) -> bool:
        """Whether this process has become the host within so long."""
        return self._is_at_work.wait(seconds)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Begin to drain; a second signal cuts that short."""
        self._departure.on_signal(number, frame)

    def stop(self) -> bool:
        """Drain and wait for it; says whether all threads have ended."""
        self._departure.ask("the server ends")
        self._thread.join()
        return self._has_ended

    def _host(self) -> None:
        with self._app.app_context():
            lock = host_lock(db.engine)
        if not self._become_host(lock):
            return
        self._workshop.start()
        self._is_at_work.set()
        while not self._departure.wait(self._check_seconds):
            self._workshop.check()
            if not lock.is_held():
                self._departure.on_broken("the host's lock was lost")
        self._has_ended = self._workshop.drain()
        lock.release()
        if self._departure.failure:
            self._end_process(self._departure.failure)

    def _become_host(self, lock: HostLock) -> bool:
        """Wait for tables, then for the lock; False when it is time to leave."""
        while not self._workshop.is_database_ready():
            if self._departure.wait(self._poll_seconds):
                return False
        has_told = False
        while not _try(lock):
            if not has_told:
                _log.warning("another process is the embedded host of this database; this one serves pages only")
                has_told = True
            if self._departure.wait(self._poll_seconds):
                return False
        return True

    def _end_process(self, why: str) -> None:
        _log.error("the embedded host ends its process: %s", why)
        self._leave()


def _try(lock: HostLock) -> bool:
    try:
        return lock.acquire()
    except (*DATABASE_ERRORS, OSError) as error:
        _log.warning("cannot ask who is the embedded host: %s", type(error).__name__)
        return False
