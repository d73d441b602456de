"""Wakes idle workers when jobs have become due, so that they need not ask all the time.

A worker registers as a sleeper, looks for jobs once more, and then sleeps. After a commit that made jobs due, sleepers
are woken if there are any: on PostgreSQL, commits that notify wait for each other.

Between processes this is LISTEN and NOTIFY. Sleepers share an advisory lock; who can't get it exclusively knows that
somebody sleeps. Within one process it is a pipe. A lost wake-up costs no more than a poll interval.
"""

import logging
import os
import select
import threading
from contextlib import closing, suppress
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg.errors import LockNotAvailable

from webapp.db import after_commit, db, is_postgresql, session_url
from webapp.db.engines import is_direct, own_session, translated
from webapp.db.errors import DATABASE_ERRORS

_log = logging.getLogger(__name__)

CHANNEL = "docmill_jobs"
_SLEEPERS = "hashtext('docmill sleepers')"
_NOTIFY_SLEEPERS = f"SELECT pg_notify('{CHANNEL}', '') WHERE NOT pg_try_advisory_xact_lock({_SLEEPERS})"
_FALL_ASLEEP = f"SELECT pg_advisory_lock_shared({_SLEEPERS})"
_GET_UP = "SELECT pg_advisory_unlock_all()"
# A process that wakes others has the lock for a moment; a worker that can't get it in time polls instead.
_LISTEN = f"LISTEN {CHANNEL}; SET lock_timeout = '100ms'"
_READ_BYTES = 4096

# The sleepers of this process.
_sleepers: "WeakSet[Sleeper]" = WeakSet()
_sleepers_lock = threading.Lock()


def wake_workers() -> None:
    """Wake idle workers once the open transaction is committed; call it when jobs became due."""
    after_commit(_wake_workers)


def _wake_workers() -> None:
    if not is_postgresql():
        with _sleepers_lock:
            sleepers = list(_sleepers)
        for sleeper in sleepers:
            sleeper.wake()
        return
    # The jobs are committed; workers that are not woken find them at their next poll.
    with (
        suppress(*DATABASE_ERRORS),
        translated(db.engine, "waking workers"),
        closing(db.engine.raw_connection()) as own,
    ):
        # One round trip: the driver begins no transaction of its own.
        driver_connection: Any = own.driver_connection
        driver_connection.execute(_NOTIFY_SLEEPERS, prepare=False)


class Sleeper:
    """Lets one worker sleep until it is woken. All but `wake` is for one thread, inside an application context."""

    def __init__(self) -> None:
        self._woken, self._waker = os.pipe()
        for end in (self._woken, self._waker):
            os.set_blocking(end, False)
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._is_asleep = False
        self._only_polls = False
        with _sleepers_lock:
            _sleepers.add(self)

    def is_asleep(self) -> bool:
        """Whether this worker is registered as a sleeper, or polls because it can't be woken."""
        return self._is_asleep or self._only_polls

    def wake(self) -> None:
        """End the present sleep, or the next one at its beginning. Safe to call from any thread."""
        with self._lock:
            if self._woken >= 0:
                # A full pipe wakes it just as well.
                with suppress(BlockingIOError):
                    os.write(self._waker, b"!")

    def fall_asleep(self) -> None:
        """Register as a sleeper. Look for jobs once more afterwards, and only then `wait`."""
        if self.is_asleep():
            return
        if not is_postgresql():
            self._is_asleep = True
            return
        try:
            with translated(db.engine, "listening for new jobs"):
                self._listen()
        except DATABASE_ERRORS as error:
            _log.warning("cannot listen for new jobs: %s", type(error).__name__)
            self._disconnect()

    def get_up(self) -> None:
        """Register as busy: no wake-up is needed."""
        if self._connection is not None and self._is_asleep:
            try:
                self._connection.execute(_GET_UP)
            except psycopg.Error:
                self._disconnect()
        self._is_asleep = False

    def wait(self, seconds: float) -> bool:
        """Sleep until woken, at most so long; returns whether it was woken."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if self._connection is not None:
            poll.register(self._connection.fileno(), select.POLLIN)
        ready = {number for number, _ in poll.poll(max(0.0, seconds) * 1000)}
        if self._woken in ready:
            with suppress(BlockingIOError):
                os.read(self._woken, _READ_BYTES)
        if ready - {self._woken}:
            self._read_notifications()
        return bool(ready)

    def stop_listening(self) -> None:
        """Close the connection: no wake-up by the database is needed for now. `wake` goes on working."""
        self._disconnect()

    def close(self) -> None:
        """Close the connection and the pipe."""
        with _sleepers_lock:
            _sleepers.discard(self)
        self._disconnect()
        with self._lock:
            if self._woken >= 0:
                os.close(self._woken)
                os.close(self._waker)
            self._woken = -1

    def _listen(self) -> None:
        if self._connection is None:
            # Its locks last as long as the session.
            connection = own_session(session_url())
            if not is_direct(connection):
                connection.close()
                self._only_polls = True
                _log.warning("a pooler in front of the database cannot pass on wake-ups: workers poll for new jobs")
                return
            connection.execute(_LISTEN, prepare=False)
            self._connection = connection
        try:
            self._connection.execute(_FALL_ASLEEP)
        except LockNotAvailable:
            self._connection.execute(_GET_UP)
        else:
            self._is_asleep = True

    def _read_notifications(self) -> None:
        try:
            if self._connection is not None:
                list(self._connection.notifies(timeout=0))
        except psycopg.Error:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._is_asleep = None, False
