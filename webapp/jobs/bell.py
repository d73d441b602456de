"""Wakes workers that sleep: there may be something to do.

A worker that is about to sleep says so, looks once more, and then sleeps. Whoever commits a job asks whether
anybody sleeps, and only then rings: so no ring is missed, and none is sent to people at work. (On PostgreSQL
commits that notify queue up behind one lock, which many of them would feel.)

Between processes the bell is LISTEN and NOTIFY, and "I sleep" are locks that sleepers share and of which whoever
brings work cannot have one. Within one process it is a pipe. A ring that gets lost all the same costs a poll.
"""

import logging
import os
import select
import threading
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from psycopg.errors import LockNotAvailable

from webapp.database_errors import DATABASE_ERRORS
from webapp.db import after_commit, db
from webapp.jobs.connections import connections
from webapp.jobs.postgresql import CHANNEL, FALL_ASLEEP, RING

_log = logging.getLogger(__name__)

_GET_UP = "SELECT pg_advisory_unlock_all()"
# Work that takes longer to be committed is not waited for: until then this one polls.
_LISTEN = f"LISTEN {CHANNEL}; SET lock_timeout = '100ms'"

_READ_BYTES = 4096

# Those who sleep in this process.
_bells: "WeakSet[Bell]" = WeakSet()
_bells_lock = threading.Lock()


def ring() -> None:
    """There is something to do, once the open transaction is committed."""
    after_commit(_ring)


def _ring() -> None:
    if db.engine.dialect.name == "sqlite":
        with _bells_lock:
            bells = list(_bells)
        for bell in bells:
            bell.ring()
        return
    # What was to be told is committed; sleepers who are not told find it at their next poll.
    with suppress(*DATABASE_ERRORS), connections().lend() as here:
        here.cursor.execute(RING)


class Bell:
    """One sleeper's. All but `ring` is for one thread at a time, inside an application context."""

    def __init__(self) -> None:
        self._woken, self._waker = os.pipe()
        for end in (self._woken, self._waker):
            os.set_blocking(end, False)
        self._lock = threading.Lock()
        self._line: Any = None
        self._is_asleep = False
        self._is_deaf = False
        with _bells_lock:
            _bells.add(self)

    def is_asleep(self) -> bool:
        """Whether everybody knows that this one has to be woken."""
        return self._is_asleep or self._is_deaf

    def ring(self) -> None:
        """Wake this sleeper, now or when it next falls asleep. From any thread."""
        with self._lock:
            # Where it is full it is loud enough.
            if self._woken >= 0:
                with suppress(BlockingIOError):
                    os.write(self._waker, b"!")

    def fall_asleep(self) -> None:
        """Say that somebody sleeps; look once more after it, and only then `wait`."""
        if self.is_asleep():
            return
        if db.engine.dialect.name == "sqlite":
            self._is_asleep = True
            return
        try:
            self._listen()
        except DATABASE_ERRORS as error:
            _log.warning("cannot listen for new work: %s", type(error).__name__)
            self._hang_up()

    def get_up(self) -> None:
        """Say that this one is at work and looks by itself."""
        if self._line is not None and self._is_asleep:
            try:
                self._line.execute(_GET_UP)
            except DATABASE_ERRORS:
                self._hang_up()
        self._is_asleep = False

    def wait(self, seconds: float) -> bool:
        """Sleep until somebody rings, at most so long; whether somebody did."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if self._line is not None:
            poll.register(self._line.fileno(), select.POLLIN)
        heard = {number for number, _ in poll.poll(max(0.0, seconds) * 1000)}
        if self._woken in heard:
            with suppress(BlockingIOError):
                os.read(self._woken, _READ_BYTES)
        if heard - {self._woken}:
            self._pick_up()
        return bool(heard)

    def close(self) -> None:
        """No more."""
        with _bells_lock:
            _bells.discard(self)
        self._hang_up()
        with self._lock:
            if self._woken >= 0:
                os.close(self._woken)
                os.close(self._waker)
            self._woken = -1

    def _listen(self) -> None:
        if self._line is None:
            if not connections().is_direct:
                _log.warning("a pooler stands before the database, which cannot wake anybody: new work is polled for")
                self._is_deaf = True
                return
            self._line = connections().open()
            self._line.execute(_LISTEN, prepare=False)
        try:
            self._line.execute(FALL_ASLEEP)
        except LockNotAvailable:
            self._line.execute(_GET_UP)
        else:
            self._is_asleep = True

    def _pick_up(self) -> None:
        """Take what has arrived off the line, or find that it is dead."""
        try:
            list(self._line.notifies(timeout=0))
        except DATABASE_ERRORS:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line, self._is_asleep = None, False
