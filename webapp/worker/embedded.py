"""The embedded host: of all web processes on a database, the one that also runs the jobs.

The others serve pages, and wait to become the host when it ends.
"""

import logging
import os
import signal
import threading
from collections.abc import Mapping
from types import FrameType

from webapp.db import session_url
from webapp.db.errors import DATABASE_ERRORS
from webapp.pipeline.handlers import HANDLERS, Handler
from webapp.services import Services
from webapp.worker.locks import ProcessLock, host_lock
from webapp.worker.process import WorkerProcess
from webapp.worker.shutdown import Shutdown
from webapp.worker.threads import Guarded

_log = logging.getLogger(__name__)


class EmbeddedHost:
    """A thread that becomes the host, checks the worker threads, and drains them at the end.

    Pages are served meanwhile.
    """

    def __init__(self, services: Services, handlers: Mapping[str, Handler] = HANDLERS) -> None:
        self._poll_seconds = services.settings.queue.poll_seconds
        self._shutdown = Shutdown()
        self._is_working = threading.Event()
        self._has_ended = True
        self._process = WorkerProcess(services, self._shutdown.on_broken, handlers)
        self._shutdown.on_hurry = self._process.hurry
        self._thread = Guarded("host", self._host, self._end_process)

    def start(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def wait_until_working(self, seconds: float) -> bool:
        """Wait until this process is the host; False if it is not within so many seconds."""
        return self._is_working.wait(seconds)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Start draining; a second signal cuts that short."""
        self._shutdown.on_signal(number, frame)

    def stop(self) -> bool:
        """Drain and wait for the end; returns whether all threads have ended."""
        self._shutdown.request("the server ends")
        self._thread.join()
        return self._has_ended

    def _host(self) -> None:
        lock = host_lock(session_url())
        if not self._become_host(lock):
            return
        self._process.start()
        self._is_working.set()
        while not self._shutdown.wait(self._process.check_seconds):
            self._process.check()
            if not lock.is_held():
                self._shutdown.on_broken("the host's lock was lost")
        self._has_ended = self._process.drain()
        lock.release()
        if self._shutdown.failure:
            self._end_process(self._shutdown.failure)

    def _become_host(self, lock: ProcessLock) -> bool:
        """Wait for the tables, then for the host lock; False if the process ends first."""
        while not self._process.is_database_ready():
            if self._shutdown.wait(self._poll_seconds):
                return False
        is_logged = False
        while not _try(lock):
            if not is_logged:
                _log.warning("another process is the embedded host of this database; this one serves pages only")
                is_logged = True
            if self._shutdown.wait(self._poll_seconds):
                return False
        return True

    def _end_process(self, why: str) -> None:
        """End this process: gunicorn starts another one, which ends the orphaned runs first."""
        _log.error("the embedded host ends its process: %s", why)
        os.kill(os.getpid(), signal.SIGTERM)


def _try(lock: ProcessLock) -> bool:
    try:
        return lock.acquire()
    except (*DATABASE_ERRORS, OSError) as error:
        _log.warning("cannot ask for the embedded host's lock: %s", type(error).__name__)
        return False
