"""The lock that lives exactly as long as this process's connection to PostgreSQL.

The server lets go of it the moment the session ends: by a crash, a kill, a power cut, and after some
seconds by a cut network too. Others look whether it is held; nobody ever waits for it.

A pooler in transaction mode hands a server's session to somebody else after each statement, so such a
lock would say nothing there. That is found out before it is relied on.
"""

import secrets
import select
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import finalize

from sqlalchemy import Connection, Engine, NullPool, create_engine, text

from webapp.database_errors import DATABASE_ERRORS
from webapp.jobs import due
from webapp.jobs.postgresql import PLANNER

# A connection that was cut without a word is given up by both sides after about ten seconds.
_TIMEOUTS = "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 -c tcp_user_timeout=10000"
_CONNECT = {
    "connect_timeout": 5,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "docmill liveness",
    "options": _TIMEOUTS,
}
# A pooler passes no options on, and would let us look for ever at an empty table. Whether anything is due is read from
# the index of due jobs, whatever the statistics say of them.
_SETTINGS = {"app.scope": "system", "statement_timeout": "10s", **PLANNER}
_SETTLE = text("SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items()))
_PROBES = 8


@dataclass(frozen=True)
class Look:
    """What was seen of the registered workers at one moment."""

    is_known: bool
    """Whether our own row is there and the lock it names is ours."""
    free: frozenset[tuple[UUID, int]]
    """The other workers whose lock nobody holds, and which lock that is."""
    is_due: bool
    """Whether there is a job to claim."""


class SessionLock:
    """One connection that is used for nothing else. For one thread, but for `nudge`."""

    def __init__(self, engine: Engine, stage_limits: Mapping[str, int] | None = None) -> None:
        # Not from the pool, whose connections are checked, reset and replaced.
        self._engine = create_engine(
            engine.url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=_CONNECT
        )
        self._connection: Connection | None = None
        self._values = due.values(stage_limits or {})
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)
        finalize(self, _close, self._ear, self._mouth)

    def acquire(self) -> int | None:
        """A new session and its lock's key; None where something in between gives sessions to others."""
        self.let_go()
        connection = self._engine.connect()
        try:
            if not self._is_own(connection):
                connection.close()
                return None
            connection.execute(_SETTLE)
            # A new key each time: an earlier session of ours may still be about to be missed.
            key = secrets.randbits(63)
            connection.scalar(text("SELECT pg_advisory_lock(:key)"), {"key": key})
        except DATABASE_ERRORS:
            connection.invalidate()
            raise
        self._connection = connection
        return key

    def look(self, own: UUID) -> Look:
        """Who of the registered workers holds its lock; an error where our own session is gone."""
        if self._connection is None:
            raise LookupError("there is no session to look with")
        rows = self._connection.execute(_LOOK, self._values).all()
        return Look(
            is_known=any(row.holder == row.me for row in rows if row.id == own),
            free=frozenset((row.id, row.lock_key) for row in rows if row.id != own and row.holder is None),
            is_due=any(row.is_due for row in rows),
        )

    def wait(self, seconds: float) -> None:
        """For so long; less when the session ends or somebody nudges."""
        ears: list[Any] = [self._ear]
        if self._connection is not None:
            with suppress(*DATABASE_ERRORS):
                ears.append(self._connection.connection.driver_connection.fileno())  # type: ignore[union-attr] # psycopg's
        heard, _, _ = select.select(ears, [], [], seconds)
        if self._ear in heard:
            self._ear.recv(64)

    def nudge(self) -> None:
        """End a wait; from any thread."""
        with suppress(BlockingIOError, OSError):
            self._mouth.send(b"!")

    def let_go(self) -> None:
        """End the session, and the lock with it."""
        if self._connection is not None:
            with suppress(*DATABASE_ERRORS):
                self._connection.invalidate()
                self._connection.close()
            self._connection = None

    def _is_own(self, connection: Connection) -> bool:
        """Whether this session is ours alone.

        A server greets with the number of its process; a pooler greets with a number of its own. Behind
        one of those it is watched whether statements and sessions get mixed up.
        """
        greeted: int = connection.connection.driver_connection.info.backend_pid  # type: ignore[union-attr] # psycopg's
        is_greeter = bool(connection.scalar(_WHO) == greeted)
        return is_greeter or not any(self._is_shared(connection) for _ in range(_PROBES))

    def _is_shared(self, first: Connection) -> bool:
        """Pin a server's session with a transaction: another client must get, and ours must keep, another one."""
        before = first.scalar(_WHO)
        with self._engine.connect() as second:
            second.exec_driver_sql("BEGIN")
            theirs = second.scalar(_WHO)
            after = first.scalar(_WHO)
            second.exec_driver_sql("ROLLBACK")
        return bool(theirs == before or after != before)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        end.close()


_WHO = text("SELECT pg_backend_pid()")
# pg_locks keeps a key of 64 bits in two halves.
_LOOK = text(f"""
    WITH line AS MATERIALIZED (SELECT ({due.IS_DUE}) AS is_due)
    SELECT w.id, w.lock_key, l.pid AS holder, pg_backend_pid() AS me,
        (SELECT line.is_due FROM line)
    FROM workers w
    LEFT JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.classid = (w.lock_key >> 32)::oid AND l.objid = (w.lock_key & 4294967295)::oid
    WHERE w.lock_key IS NOT NULL AND w.ended_at IS NULL
""")  # noqa: S608 - of our own constants
