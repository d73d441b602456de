"""How the engine of each database is prepared: its connections, and how a transaction begins on them."""

import select
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry

from webapp.db.role import RoleOfTransactions

# What a session may do nothing for inside of a transaction. A process that is frozen there holds rows that others wait
# for; its session ends then, and when it wakes it can write nothing.
IDLE_IN_TRANSACTION_SECONDS = 10
# To write more into one statement takes the client longer than it saves round trips: 5,000 passages 1.4 s, by the
# thousand 1.6 s.
ROWS_PER_INSERT = 50


@dataclass(frozen=True)
class TransactionScope:
    """Whose rows the open transaction is about, and whether it may write."""

    org_id: UUID | None
    everywhere: bool
    writes: bool


def engine_options(database_url: str, threads: int) -> dict[str, Any]:
    """How connections are made: bounded, checked before use, never waited for without end."""
    if database_url.startswith("sqlite"):
        connect = {"timeout": 15, "isolation_level": None}
        return {"pool_size": threads, "max_overflow": threads, "connect_args": connect, "hide_parameters": True}
    return {
        "pool_size": min(threads, 10),
        "max_overflow": 10,
        "pool_timeout": 10,
        # An error's message ends in logs and on pages; what people's files say does not belong there.
        "hide_parameters": True,
        "connect_args": _postgresql_connect_args(),
    }


def _postgresql_connect_args() -> dict[str, Any]:
    """How each connection of the pool to PostgreSQL is made: named, and never waiting without end.

    Nothing bounds a transaction as a whole: to publish a document of 30,000 passages takes its time.
    """
    timeouts = " ".join(f"-c {name}={value}" for name, value in _timeouts().items()) + f" {_SERVER_KEEPALIVES}"
    return {"connect_timeout": 10, "options": timeouts, "application_name": "docmill", **_CLIENT_KEEPALIVES}


def _timeouts() -> dict[str, str]:
    return {"idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_SECONDS}s", "lock_timeout": "30s"}


# An end that vanishes without a word (a cut network, a machine without power) is missed by the other within half
# a minute; the system alone would wait for a quarter of an hour, or two hours. A socket in the file system has no
# such end: there both libpq and the server pass over these settings.
_CLIENT_KEEPALIVES = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_SERVER_KEEPALIVES = (
    "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=25s"
)


def prepare_sqlite(engine: Engine) -> None:
    """Make each SQLite connection safe: foreign keys, a log that readers pass, real durability."""

    @event.listens_for(engine, "connect")
    def _pragmas(connection: sqlite3.Connection, record: object) -> None:
        for pragma in ("foreign_keys=ON", "journal_mode=WAL", "synchronous=FULL", "busy_timeout=15000"):
            connection.execute(f"PRAGMA {pragma}")

    # The driver would begin lazily and upgrade a read lock to a write lock, which fails at once
    # under contention; beginning as IMMEDIATE waits its turn instead.
    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("docmill_writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def prepare_postgresql(engine: Engine) -> None:
    """A transaction, its role and its scope begin in one round trip; no connection that died in the pool is lent."""
    # Rows are inserted many in one statement, and otherwise changed one by one. The driver would send many
    # statements without asking for an answer in between, and all that while the server takes a frozen client for one
    # that is at work: no timeout ends that.
    engine.dialect.use_insertmanyvalues_wo_returning = True
    engine.dialect.insertmanyvalues_page_size = ROWS_PER_INSERT
    event.listen(engine, "do_executemany", _one_by_one)
    role = RoleOfTransactions()

    @event.listens_for(engine, "connect")
    def _configure(connection: "psycopg.Connection[Any]", record: ConnectionPoolEntry) -> None:
        # The driver would send a BEGIN of its own, and wait for its answer.
        connection.autocommit = True
        # A pooler may hand the next transaction to another session, which knows no statement that this one prepared.
        if not is_direct(connection):
            connection.prepare_threshold = None
            # Nor does it hand on what was asked for when the connection was made.
            record.info["timeouts"] = _timeouts()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        scope = connection.get_execution_options().get("docmill_scope")
        driver_connection: Any = connection.connection.driver_connection
        with translated(engine, "the beginning of a transaction"):
            try:
                settings = _settings(scope, connection.info.get("timeouts", {}), role.of(driver_connection))
                # Several statements at once cannot be prepared.
                driver_connection.execute(f"BEGIN{_snapshot(scope)}{settings}", prepare=False)
            except psycopg.Error as error:
                # Dead since it was checked: nobody has to put it in order again, or is lent it.
                if driver_connection.closed:
                    connection.invalidate(error)
                raise

    @event.listens_for(engine, "checkout")
    def _check(connection: "psycopg.Connection[Any]", record: object, proxy: object) -> None:
        if not is_quiet(connection):
            raise InvalidatePoolError("the server ended this connection while nobody used it")


def _one_by_one(cursor: Any, statement: str, rows: Sequence[Any], context: object) -> bool:
    for row in rows:
        cursor.execute(statement, row)
    return True


def is_direct(connection: "psycopg.Connection[Any]") -> bool:
    """Whether no pooler stands in between: a server greets with the number of the process that answers."""
    row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row is not None and bool(row[0] == connection.info.backend_pid)


def is_quiet(connection: "psycopg.Connection[Any]") -> bool:
    """Whether an idle connection seems to live: a server that goes away says so, and nobody has read it yet.

    That costs no round trip. An end that vanished without a word is missed by the system: see the settings above.
    """
    poll = select.poll()
    try:
        poll.register(connection.fileno(), select.POLLIN)
    except psycopg.Error:
        return False
    return not poll.poll(0)


@contextmanager
def translated(engine: Engine, what: str) -> Iterator[None]:
    """Callers know one kind of errors: the driver's become those that SQLAlchemy would raise."""
    dialect = engine.dialect
    try:
        yield
    except dialect.loaded_dbapi.Error as error:
        is_lost = dialect.is_disconnect(error, None, None)
        raise DBAPIError.instance(
            what,
            None,
            error,
            dialect.loaded_dbapi.Error,
            hide_parameters=True,
            connection_invalidated=is_lost,
            dialect=dialect,
        ) from error


def _snapshot(scope: TransactionScope | None) -> str:
    """Whoever only reads sees one moment, however many statements it takes. On SQLite a transaction always does."""
    return "" if scope is None or scope.writes else " ISOLATION LEVEL REPEATABLE READ READ ONLY"


def _settings(scope: TransactionScope | None, timeouts: Mapping[str, str], role: str | None) -> str:
    """What holds for this transaction alone: the third argument makes it end with the transaction."""
    settings = dict(timeouts) if role is None else {**timeouts, "role": role}
    if scope is not None:
        settings |= {"app.org_id": str(scope.org_id or ""), "app.scope": "system" if scope.everywhere else ""}
    calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    return f"; SELECT {calls}" if calls else ""
