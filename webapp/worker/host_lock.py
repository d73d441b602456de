"""Who is the embedded host: exactly one process at a time on each database.

The kernel (SQLite) or the server (PostgreSQL) lets go of the lock when its holder ends, however it ends.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, Engine, NullPool, create_engine, text

from webapp.database_errors import DATABASE_ERRORS
from webapp.db import postgresql_connect_args

_KEY = 0x646F636D_686F7374  # "docmhost": any number that nobody else uses as an advisory lock


class HostLock(Protocol):
    """A lock that lasts as long as its process."""

    def acquire(self) -> bool:
        """Try to become the host, without waiting."""

    def is_held(self) -> bool:
        """Whether we still are; a connection can be lost."""

    def release(self) -> None:
        """Let another process be it."""


def host_lock(engine: Engine) -> HostLock:
    """The lock that belongs to this database."""
    if engine.dialect.name == "sqlite":
        return FileLock(Path(f"{engine.url.database}.host"))
    return AdvisoryLock(engine)


class FileLock:
    """flock on a file beside the database."""

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
    """A session's lock on a connection that is used for nothing else."""

    def __init__(self, engine: Engine) -> None:
        # Not from the pool, whose connections are checked, reset and replaced.
        self._engine = create_engine(
            engine.url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args=postgresql_connect_args("docmill host"),
        )
        self._connection: Connection | None = None

    def acquire(self) -> bool:
        connection = self._engine.connect()
        if not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _KEY}):
            connection.close()
            return False
        self._connection = connection
        return True

    def is_held(self) -> bool:
        try:
            return self._connection is not None and self._connection.scalar(text("SELECT 1")) == 1
        except DATABASE_ERRORS:
            return False

    def release(self) -> None:
        if self._connection is not None:
            with suppress(*DATABASE_ERRORS):
                self._connection.close()
            self._connection = None
