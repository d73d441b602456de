"""Writes that a request does not wait for: made at once or, while SQLite is being written to, by a thread afterwards.

On SQLite only one writes at a time, and a large document takes seconds. A download or a search does not need what it
writes (a log or ledger line), so it does not wait.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from flask import Flask
from flask.globals import app_ctx

from webapp.clock import monotonic
from webapp.db import transaction
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of

_log = logging.getLogger(__name__)

TURN_SECONDS = 0.1
# Longer than any document's write, and shorter than the time in which a process must end.
_GIVE_UP_SECONDS = 20.0
_PAUSE_SECONDS = 0.5
_WAITING_MAX = 10_000


@dataclass(frozen=True)
class _Write:
    app: Flask
    org_id: UUID | None
    what: str
    write: Callable[[], object]

    def try_now(self, turn_seconds: float | None = None) -> bool:
        """Write now; False where the database is busy."""
        try:
            with transaction(self.org_id, everywhere=self.org_id is None, turn_seconds=turn_seconds):
                self.write()
        except DATABASE_ERRORS as error:
            if trouble_of(error) is not Trouble.BUSY:
                raise
            return False
        return True


@dataclass
class _Queue:
    """The waiting writes, and the thread that makes them. The process ends only after that."""

    waiting: deque[_Write] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)
    thread: threading.Thread | None = None

    def add(self, write: _Write) -> bool:
        with self.lock:
            if len(self.waiting) >= _WAITING_MAX:
                return False
            self.waiting.append(write)
            if self.thread is None:
                self.thread = threading.Thread(target=self._work_off, name="later")
                self.thread.start()
            return True

    def _work_off(self) -> None:
        while True:
            with self.lock:
                if not self.waiting:
                    self.thread = None
                    return
                write = self.waiting.popleft()
            try:
                _persist(write)
            except Exception:  # noqa: BLE001 - the other writes must still be made
                _log.exception("not written: %s", write.what)


_queue = _Queue()


def write_soon(org_id: UUID, what: str, write: Callable[[], object]) -> None:
    """Write this in its own transaction, now or soon. Errors other than Busy are raised now."""
    soon = _Write(app_ctx.app, org_id, what, write)
    if not soon.try_now(TURN_SECONDS) and not _queue.add(soon):
        _log.error("not written, since too much waits: %s", what)


def write_later(what: str, write: Callable[[], object]) -> None:
    """Write this by the thread, in a transaction about everybody's rows: this thread may be in the middle of one."""
    if not _queue.add(_Write(app_ctx.app, None, what, write)):
        _log.error("not written, since too much waits: %s", what)


def finish() -> None:
    """Wait until all deferred writes are made."""
    while (thread := _queue.thread) is not None:
        thread.join()


def _persist(write: _Write) -> None:
    until = monotonic() + _GIVE_UP_SECONDS
    with write.app.app_context():
        while monotonic() < until:
            try:
                if write.try_now():
                    return
            except DATABASE_ERRORS as error:
                if trouble_of(error) is None:
                    raise
                _log.warning("%s waits for the database: %s", write.what, type(error).__name__)
            threading.Event().wait(_PAUSE_SECONDS)
    _log.error("not written: %s", write.what)
