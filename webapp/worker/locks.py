"""Locks that are released when their process ends, however it ends: a crash, a kill, a power cut.

PostgreSQL or, for the lock file beside SQLite's, the kernel releases them. `acquire` never waits.
"""

import fcntl
import os
import select
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, Connection, NullPool, create_engine, text

from webapp.db.engines import is_direct
from webapp.db.errors import DATABASE_ERRORS

_HOST_KEY = 0x646F636D_686F7374  # "docmhost": any number that nobody else uses as an advisory lock

# Client and server detect within about ten seconds that the other end has vanished.
_KEEPALIVES = {
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "options": "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=10000",
}
_CONNECT = {"connect_timeout": 5, "application_name": "docmill lock", **_KEEPALIVES}
# Set by a statement, since a pooler does not pass options on.
_ACQUIRE = text("SELECT pg_try_advisory_lock(:key), set_config('statement_timeout', '10s', false)")
_PID = text("SELECT pg_backend_pid()")
_PROBES = 8


class ProcessLock(Protocol):
    """A lock that its process has until it ends or releases it."""

    def acquire(self) -> bool:
        """Try to get the lock, without waiting."""

    def is_held(self) -> bool:
        """Whether this process still has the lock; a connection can be lost."""

    def release(self) -> None:
        """Release the lock."""


def host_lock(url: URL) -> ProcessLock:
    """The lock of the embedded host: one process for each database, by the address for sessions."""
    if url.get_backend_name() == "sqlite":
        return FileLock(Path(f"{url.database}.host"))
    return AdvisoryLock(url)


@contextmanager
def alone(url: URL, what: str) -> Iterator[bool]:
    """Whether no other process that uses this database does the same; until the end nobody else does."""
    if url.get_backend_name() == "sqlite":
        lock: FileLock | AdvisoryLock = FileLock(Path(f"{url.database}.{what}"))
        is_ours = lock.acquire()
    else:
        lock = AdvisoryLock(url)
        is_ours = lock.acquire(_HOST_KEY ^ zlib.crc32(what.encode()))
    try:
        yield is_ours
    finally:
        lock.release()


class FileLock:
    """An flock on a file beside the database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number: int | None = None

    def acquire(self) -> bool:
        number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(number)
            return False
        self._number = number
        return True

    def is_held(self) -> bool:
        return self._number is not None

    def release(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None


class AdvisoryLock:
    """An advisory lock of PostgreSQL, in a session of its own. For one thread."""

    def __init__(self, url: URL) -> None:
        # Not from a pool, whose connections are checked, reset and replaced.
        self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=_CONNECT)
        self._session: Connection | None = None

    def acquire(self, key: int = _HOST_KEY) -> bool:
        is_ours = False
        try:
            is_ours = bool(self._open().scalar(_ACQUIRE, {"key": key}))
        finally:
            if not is_ours:
                self.release()
        return is_ours

    def is_held(self) -> bool:
        try:
            return self._session is not None and self._session.scalar(_PID) is not None
        except DATABASE_ERRORS:
            return False

    def release(self) -> None:
        if self._session is not None:
            with suppress(*DATABASE_ERRORS):
                self._session.invalidate()
                self._session.close()
            self._session = None

    @property
    def session(self) -> Connection:
        """The session that has the lock; other locks can be looked at from it."""
        if self._session is None:
            raise LookupError("the lock has no session")
        return self._session

    def wait_for_end(self, seconds: float) -> bool:
        """Wait for so long, or until the server ends the session; returns whether it ended."""
        poll = select.poll()
        if self._session is not None:
            with suppress(*DATABASE_ERRORS):
                poll.register(_driver_connection(self._session).fileno(), select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def is_shared(self) -> bool:
        """Whether a pooler gives our session to other clients between statements: then the lock means nothing.

        A pooler announces another process id than the session's. Then a few probes tell whether it shares sessions.
        """
        return not is_direct(_driver_connection(self._open())) and any(self._is_mixed_up() for _ in range(_PROBES))

    def _is_mixed_up(self) -> bool:
        """Whether another client's open transaction got our session, or we got another session than before."""
        before = self.session.scalar(_PID)
        with self._engine.connect() as other:
            other.exec_driver_sql("BEGIN")
            theirs = other.scalar(_PID)
            after = self.session.scalar(_PID)
            other.exec_driver_sql("ROLLBACK")
        return bool(theirs == before or after != before)

    def _open(self) -> Connection:
        if self._session is None:
            self._session = self._engine.connect()
        return self._session


def _driver_connection(connection: Connection) -> Any:
    return connection.connection.driver_connection
