"""The embedded host: the workshop inside the web process, in one such process only.

Any other process on the same database serves pages and waits: a host that is restarted or
replaced leaves nobody without one.
"""

import logging
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from sqlalchemy.exc import SQLAlchemyError

from webapp.clock import monotonic
from webapp.db import db
from webapp.worker.attempt import Handler
from webapp.worker.backoff import Backoff
from webapp.worker.departure import ONE_WISH_SECONDS
from webapp.worker.handlers import HANDLERS
from webapp.worker.host_lock import HostLock, host_lock
from webapp.worker.threads import Guarded
from webapp.worker.workshop import Application, Workshop

_log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


class EmbeddedHost:
    """Becomes the host in the background, so that pages are served from the first moment."""

    def __init__(self, app: Application, handlers: Mapping[str, Handler] = HANDLERS) -> None:
        settings = app.extensions["docmill"].settings
        self._app = app
        self._poll_seconds: float = settings.poll_seconds
        self._check_seconds: float = settings.heartbeat_seconds
        self._leaving = threading.Event()
        self._is_at_work = threading.Event()
        self._workshop = Workshop(app, self._on_broken, handlers)
        self._thread = Guarded("host", self._host, self._on_broken)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def wait_until_at_work(self, seconds: float) -> bool:
        """Whether this process has become the host within so long."""
        return self._is_at_work.wait(seconds)

    def stop(self) -> bool:
        """Drain, if this process is the host; says whether all threads have ended. For the main thread only."""
        self._leaving.set()
        with self._hurried_by_signals():
            self._thread.join()
            return self._workshop.drain() if self._is_at_work.is_set() else True

    @contextmanager
    def _hurried_by_signals(self) -> Iterator[None]:
        began_at = monotonic()

        def on_signal(number: int, frame: FrameType | None) -> None:
            if monotonic() - began_at >= ONE_WISH_SECONDS:
                self._workshop.hurry()

        before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _host(self) -> None:
        with self._app.app_context():
            lock = host_lock(db.engine)
        if not self._become_host(lock):
            return
        self._workshop.start()
        self._is_at_work.set()
        while not self._leaving.wait(self._check_seconds):
            self._workshop.check()
            if not lock.is_held():
                self._on_broken("the host's lock was lost")
                return
        # The lock itself goes with the process: it must outlive the drain.

    def _become_host(self, lock: HostLock) -> bool:
        """Wait for tables, then for the lock; False when it is time to leave."""
        backoff = Backoff()
        while not self._leaving.is_set() and not self._workshop.is_database_ready():
            backoff.pause(self._leaving)
        has_told = False
        while not self._leaving.is_set():
            if _try(lock):
                return True
            if not has_told:
                _log.warning("another process is the embedded host of this database; this one serves pages only")
                has_told = True
            self._leaving.wait(self._poll_seconds)
        return False

    def _on_broken(self, why: str) -> None:
        """Gunicorn replaces this process; the new one begins with the recovery."""
        _log.error("the embedded host ends its process: %s", why)
        os.kill(os.getpid(), signal.SIGTERM)


def _try(lock: HostLock) -> bool:
    try:
        return lock.acquire()
    except (SQLAlchemyError, OSError) as error:
        _log.warning("cannot ask who is the embedded host: %s", type(error).__name__)
        return False
