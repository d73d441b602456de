"""Prepares the engine of each database: how it connects, and how a transaction begins."""

import select
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import URL, Engine, event
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry

from webapp.db.role import RoleOfTransactions
from webapp.private_files import tighten_sqlite

# The server ends a session that is idle in its transaction for so long. A process that is frozen there has rows locked
# that others wait for; when it wakes, it can write nothing.
IDLE_IN_TRANSACTION_SECONDS = 10
# With more rows in one statement the client takes longer than the round trips that it saves: 5,000 passages took 1.4 s,
# by the thousand 1.6 s.
ROWS_PER_INSERT = 50


# What lets PostgreSQL use indexes alone (see `bounded.plan_by_indexes`).
INDEXES_ALONE = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
# By indexes in their own order, and planned once for any values: a claim is planned for longer than it runs.
_FIXED_PLANS = {
    **INDEXES_ALONE,
    "plan_cache_mode": "force_generic_plan",
    "enable_incremental_sort": "off",
}


@dataclass(frozen=True)
class TransactionScope:
    """Whose rows the open transaction is about, whether it may write, and how PostgreSQL plans its statements."""

    org_id: UUID | None
    everywhere: bool
    writes: bool
    fixed_plans: bool = False


def _sqlite_options(threads: int) -> dict[str, Any]:
    """The options of SQLAlchemy's engine: a bounded pool, and a limit for each wait."""
    connect = {"timeout": 15, "isolation_level": None}
    return {"pool_size": threads, "max_overflow": threads, "connect_args": connect, "hide_parameters": True}


def _postgresql_options(threads: int) -> dict[str, Any]:
    """The same for PostgreSQL."""
    return {
        "pool_size": min(threads, 10),
        "max_overflow": 10,
        "pool_timeout": 10,
        # Errors are logged and shown, and must not quote people's files.
        "hide_parameters": True,
        "connect_args": _postgresql_connect_args(),
    }


def own_session(url: URL) -> "psycopg.Connection[Any]":
    """A session of PostgreSQL that belongs to its caller alone, in no pool and in no transaction."""
    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    connection: psycopg.Connection[Any] = psycopg.connect(address, autocommit=True, **_postgresql_connect_args())
    return connection


def _postgresql_connect_args() -> dict[str, Any]:
    """The options of a connection to PostgreSQL: its name, and a limit for each wait.

    A transaction as a whole has none: publishing a document of 30,000 passages may take long.
    """
    timeouts = " ".join(f"-c {name}={value}" for name, value in _timeouts().items()) + f" {_SERVER_KEEPALIVES}"
    return {"connect_timeout": 10, "options": timeouts, "application_name": "docmill", **_CLIENT_KEEPALIVES}


def _timeouts() -> dict[str, str]:
    return {"idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_SECONDS}s", "lock_timeout": "30s"}


# A peer that vanishes (a cut network, a machine without power) is detected within half a minute; by default it would
# take a quarter of an hour, or two hours. libpq and the server ignore these settings for a Unix socket.
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
    """Make the file private, and configure each connection: foreign keys, WAL, synchronous FULL."""
    if engine.url.database:
        tighten_sqlite(Path(engine.url.database))

    @event.listens_for(engine, "connect")
    def _pragmas(connection: sqlite3.Connection, record: object) -> None:
        for pragma in ("foreign_keys=ON", "journal_mode=WAL", "synchronous=FULL", "busy_timeout=15000"):
            connection.execute(f"PRAGMA {pragma}")

    # The driver would begin with a read lock and upgrade it, which fails at once under contention; IMMEDIATE waits.
    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("docmill_writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def prepare_postgresql(engine: Engine) -> None:
    """Begin each transaction, with role and scope, in one round trip; give out no dead connection."""
    # Many rows are inserted by one statement, and other changes are sent one by one. With the driver's pipeline, a
    # client that froze in between would look busy to the server, and no timeout would end its session.
    engine.dialect.use_insertmanyvalues_wo_returning = True
    engine.dialect.insertmanyvalues_page_size = ROWS_PER_INSERT
    event.listen(engine, "do_executemany", _one_by_one)
    role = RoleOfTransactions()

    @event.listens_for(engine, "connect")
    def _configure(connection: "psycopg.Connection[Any]", record: ConnectionPoolEntry) -> None:
        # Else the driver would send a BEGIN of its own, at the cost of a round trip.
        connection.autocommit = True
        # A pooler may run the next transaction in another session, which lacks our prepared statements …
        if not is_direct(connection):
            connection.prepare_threshold = None
            # … and the options of this connection.
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
                # The connection died after the check: invalidate it, so that the pool drops it.
                if driver_connection.closed:
                    connection.invalidate(error)
                raise

    @event.listens_for(engine, "checkout")
    def _check(connection: "psycopg.Connection[Any]", record: object, proxy: object) -> None:
        if not is_quiet(connection):
            raise InvalidatePoolError("the server ended this connection while nobody used it")


# What each kind of database needs: the options of its engine, by the number of threads, and its preparation.
ENGINES: dict[str, tuple[Callable[[int], dict[str, Any]], Callable[[Engine], None]]] = {
    "sqlite": (_sqlite_options, prepare_sqlite),
    "postgresql": (_postgresql_options, prepare_postgresql),
}


def _one_by_one(cursor: Any, statement: str, rows: Sequence[Any], context: object) -> bool:
    for row in rows:
        cursor.execute(statement, row)
    return True


def is_direct(connection: "psycopg.Connection[Any]") -> bool:
    """Whether there is no pooler in between: a server announces the process id of the session itself."""
    row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return row is not None and bool(row[0] == connection.info.backend_pid)


def is_quiet(connection: "psycopg.Connection[Any]") -> bool:
    """Whether an idle connection seems alive: a server that goes away sends a message, which would be unread.

    This costs no round trip. A peer that vanished silently is detected by the keepalives above.
    """
    poll = select.poll()
    try:
        poll.register(connection.fileno(), select.POLLIN)
    except psycopg.Error:
        return False
    return not poll.poll(0)


@contextmanager
def translated(engine: Engine, what: str) -> Iterator[None]:
    """Turn the driver's errors into those that SQLAlchemy would raise, so that callers know one kind."""
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
    """For a reading transaction, one snapshot for all its statements; on SQLite that is always so."""
    return "" if scope is None or scope.writes else " ISOLATION LEVEL REPEATABLE READ READ ONLY"


def _settings(scope: TransactionScope | None, timeouts: Mapping[str, str], role: str | None) -> str:
    """Settings of this transaction alone: the third argument of set_config makes them end with it."""
    settings = dict(timeouts) if role is None else {**timeouts, "role": role}
    if scope is not None:
        settings |= {"app.org_id": str(scope.org_id or ""), "app.scope": "system" if scope.everywhere else ""}
        settings |= _FIXED_PLANS if scope.fixed_plans else {}
    calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    return f"; SELECT {calls}" if calls else ""
