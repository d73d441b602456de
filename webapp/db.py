"""The database: one way to open a transaction, and the column types that both databases share.

A transaction always says whose rows it is about: one org's, or (for the queue, sign-in and
start-up alone) everybody's. On PostgreSQL that choice is handed to row-level security with
SET LOCAL semantics, so it ends with the transaction and never leaks through the pool.
"""

import select
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from pgvector.sqlalchemy import Vector
from sqlalchemy import JSON, DateTime, Dialect, Engine, LargeBinary, MetaData, Text, event
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as Busy
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.types import TypeDecorator, TypeEngine

from webapp.config import Settings

_MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """What every table derives from."""

    metadata = MetaData(naming_convention=_NAMES)


db = SQLAlchemy(metadata=Base.metadata, session_options={"expire_on_commit": False})

Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class UtcDateTime(TypeDecorator[datetime]):
    """timestamptz on PostgreSQL; sortable UTC text on SQLite. Naive times are refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """SQLite has no time type: text in the format of its own strftime sorts rightly."""
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """A time on its way into the database."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time needs its time zone")
        utc = value.astimezone(UTC)
        # Exactly what SQLite's clock writes, or "….120" and "….120000" would not be the same time.
        return utc.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """A time on its way out."""
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        return value.astimezone(UTC) if value is not None else None


class Embedding(TypeDecorator[list[float]]):
    """A vector of any length: pgvector's type, or the raw 32-bit floats on SQLite."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """No fixed length: rows of an old and of a new model live side by side."""
        return dialect.type_descriptor(Vector() if dialect.name == "postgresql" else LargeBinary())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Anything that numpy can read as floats."""
        if value is None:
            return None
        floats = np.asarray(value, dtype="<f4")
        return floats if dialect.name == "postgresql" else floats.tobytes()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """A numpy array of 32-bit floats."""
        if value is None:
            return None
        return np.frombuffer(value, dtype="<f4") if isinstance(value, bytes) else np.asarray(value, dtype="<f4")


@dataclass(frozen=True)
class Scope:
    """Whose rows the open transaction is about, and whether it may write."""

    org_id: UUID | None
    everywhere: bool
    writes: bool


class NoTransaction(RuntimeError):
    """Data was asked for outside of `transaction()` or `reading()`."""


def init_database(app: Flask, settings: Settings) -> None:
    """Connect the application to its database; the engine opens connections when first used."""
    app.config["SQLALCHEMY_DATABASE_URI"] = settings.database_url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(settings.database_url, settings.web_threads)
    app.config["DOCMILL_SETTINGS"] = settings
    db.init_app(app)
    Migrate(app, db, directory=str(_MIGRATIONS))
    with app.app_context():
        prepare = prepare_sqlite if db.engine.dialect.name == "sqlite" else prepare_postgresql
        prepare(db.engine)


def schema_is_current() -> bool:
    """Whether the newest migration has run: nothing works on older tables, and newer ones serve us, too."""
    script = ScriptDirectory(str(_MIGRATIONS))
    known = {revision.revision for revision in script.walk_revisions()}
    with db.engine.connect().execution_options(docmill_writes=False) as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    return current is not None and (current == script.get_current_head() or current not in known)


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
        "connect_args": postgresql_connect_args("docmill"),
    }


def postgresql_connect_args(name: str) -> dict[str, Any]:
    """How each connection to PostgreSQL is made: named, and never waiting without end."""
    timeouts = f"-c idle_in_transaction_session_timeout=60s -c lock_timeout=30s {_SERVER_MISSES_US}"
    return {"connect_timeout": 10, "options": timeouts, "application_name": name, **_WE_MISS_THE_SERVER}


# An end that vanishes without a word (a cut network, a machine without power) is missed by the other within half
# a minute; the system alone would wait for a quarter of an hour, or two hours. A socket in the file system has no
# such end: there both libpq and the server pass over these settings.
_WE_MISS_THE_SERVER = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_SERVER_MISSES_US = (
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
    """A transaction and its scope begin in one round trip, and a connection that died in the pool is never lent."""

    @event.listens_for(engine, "connect")
    def _settle(connection: "psycopg.Connection[Any]", record: object) -> None:
        # The driver would send a BEGIN of its own, and wait for its answer.
        connection.autocommit = True
        # A pooler may hand the next transaction to another session, which knows no statement that this one prepared.
        if not is_direct(connection):
            connection.prepare_threshold = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        scope = connection.get_execution_options().get("docmill_scope")
        driver_connection: Any = connection.connection.driver_connection
        with translated(engine, "the beginning of a transaction"):
            try:
                # Several statements at once cannot be prepared.
                driver_connection.execute(f"BEGIN{_set_scope(scope)}", prepare=False)
            except psycopg.Error as error:
                # Dead since it was checked: nobody has to put it in order again, or is lent it.
                if driver_connection.closed:
                    connection.invalidate(error)
                raise

    @event.listens_for(engine, "checkout")
    def _check(connection: "psycopg.Connection[Any]", record: object, proxy: object) -> None:
        if not is_quiet(connection):
            raise InvalidatePoolError("the server ended this connection while nobody used it")


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


def _set_scope(scope: "Scope | None") -> str:
    """The third argument makes both settings end with the transaction."""
    if scope is None:
        return ""
    org, system = scope.org_id or "", "system" if scope.everywhere else ""
    return f"; SELECT set_config('app.org_id', '{org}', true), set_config('app.scope', '{system}', true)"


@contextmanager
def transaction(org_id: UUID | None = None, *, everywhere: bool = False) -> Iterator[Session]:
    """A write transaction; inside another one of this thread it joins that one."""
    with _scoped(Scope(org_id, everywhere, writes=True)) as opened:
        yield opened


@contextmanager
def reading(org_id: UUID | None = None, *, everywhere: bool = False) -> Iterator[Session]:
    """A transaction that only reads: on SQLite it waits for no writer."""
    with _scoped(Scope(org_id, everywhere, writes=False)) as opened:
        yield opened


def session() -> Session:
    """The session of the transaction that is open in this thread."""
    current = db.session()
    if "scope" not in current.info:
        raise NoTransaction("open db.transaction(org_id) or db.reading(org_id) first")
    return current


def in_transaction() -> bool:
    """Whether this thread has a transaction open."""
    return db.session.registry.has() and "scope" in db.session().info


def after_commit(call: Callable[[], None]) -> None:
    """Do this once when the open transaction is committed, or now where none is open; not when it is rolled back."""
    if not in_transaction():
        call()
        return
    calls = db.session().info.setdefault("after_commit", [])
    if call not in calls:
        calls.append(call)


@contextmanager
def _scoped(scope: Scope) -> Iterator[Session]:
    current = db.session()
    outer: Scope | None = current.info.get("scope")
    if outer is not None:
        _check_join(outer, scope)
        yield current
        return
    try:
        with write_turn(wanted=scope.writes), current.begin():
            _enter(current, scope)
            current.info["scope"] = scope
            yield current
    except BaseException:
        current.info.pop("after_commit", None)
        raise
    finally:
        current.info.pop("scope", None)
        current.close()
    for call in current.info.pop("after_commit", ()):
        call()


@contextmanager
def write_turn(*, wanted: bool = True) -> Iterator[None]:
    """On SQLite, wait for the other threads of this process in order.

    SQLite itself lets a writer sleep and ask again, ever more seldom: under a steady stream of short
    transactions an unlucky one would wait for seconds.
    """
    if not wanted or db.engine.dialect.name != "sqlite":
        yield
        return
    if not _sqlite_writer.acquire(timeout=_TURN_SECONDS):
        # Whoever has the turn waits for another process, and so would each of us, one after the other.
        raise Busy("the database was being written to for too long")
    try:
        yield
    finally:
        _sqlite_writer.release()


_TURN_SECONDS = 10.0
_sqlite_writer = threading.Lock()


def _check_join(outer: Scope, inner: Scope) -> None:
    if inner.writes and not outer.writes:
        raise NoTransaction("a write cannot join a transaction that was opened for reading")
    if not outer.everywhere and inner.org_id not in {None, outer.org_id}:
        raise NoTransaction("a transaction of one org cannot be joined for another")


def _enter(current: Session, scope: Scope) -> None:
    if scope.org_id is None and not scope.everywhere:
        raise NoTransaction("say whose rows this is about: an org_id, or everywhere=True")
    current.connection(execution_options={"docmill_writes": scope.writes, "docmill_scope": scope})
