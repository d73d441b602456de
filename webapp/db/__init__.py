"""Transactions, and the column types that both databases share.

A transaction always says whose rows it is about: one org's, or (for the queue, sign-in and
start-up alone) everybody's. On PostgreSQL that choice is handed to row-level security with
SET LOCAL semantics, so it ends with the transaction and never leaks through the pool.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask, current_app
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from pgvector.sqlalchemy import Vector
from sqlalchemy import JSON, DateTime, Dialect, LargeBinary, MetaData, Text, make_url
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import TimeoutError as Busy
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.types import TypeDecorator, TypeEngine

from webapp.config import Settings
from webapp.db.engines import TransactionScope, engine_options, prepare_postgresql, prepare_sqlite
from webapp.private_files import tighten_folder, tighten_sqlite

_MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """The base class of all tables."""

    metadata = MetaData(naming_convention=_NAMES)


db = SQLAlchemy(metadata=Base.metadata, session_options={"expire_on_commit": False})

Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class UtcDateTime(TypeDecorator[datetime]):
    """timestamptz on PostgreSQL; sortable UTC text on SQLite. Naive times are refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """On SQLite, text in the format of its own strftime, which sorts by time."""
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Convert a time for the database."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time needs its time zone")
        utc = value.astimezone(UTC)
        # Exactly as SQLite's clock writes it; else "….120" and "….120000" would differ.
        return utc.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Convert a time from the database."""
        if isinstance(value, str):
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        return value.astimezone(UTC) if value is not None else None


class Embedding(TypeDecorator[list[float]]):
    """A vector of any length: pgvector's type, or the raw 32-bit floats on SQLite."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """A type without a fixed length: rows of an old and of a new model are stored side by side."""
        return dialect.type_descriptor(Vector() if dialect.name == "postgresql" else LargeBinary())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Convert anything that numpy can read as floats."""
        if value is None:
            return None
        floats = np.asarray(value, dtype="<f4")
        return floats if dialect.name == "postgresql" else floats.tobytes()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Convert to a numpy array of 32-bit floats."""
        if value is None:
            return None
        return np.frombuffer(value, dtype="<f4") if isinstance(value, bytes) else np.asarray(value, dtype="<f4")


class NoTransaction(RuntimeError):
    """Data was asked for outside of `transaction()` or `reading()`."""


def init_database(app: Flask, settings: Settings) -> None:
    """Connect the application to its database; the engine opens connections when first used."""
    app.config["SQLALCHEMY_DATABASE_URI"] = settings.database_url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(settings.database_url, settings.server.web_threads)
    app.config["DOCMILL_SETTINGS"] = settings
    db.init_app(app)
    _tighten_files(settings)
    Migrate(app, db, directory=str(_MIGRATIONS))
    with app.app_context():
        prepare = prepare_postgresql if is_postgresql() else prepare_sqlite
        prepare(db.engine)


def _tighten_files(settings: Settings) -> None:
    tighten_folder(settings.data_dir)
    url = make_url(settings.database_url)
    if url.drivername == "sqlite" and url.database:
        tighten_sqlite(Path(url.database))


def schema_is_current() -> bool:
    """Whether the newest migration has run. Tables of a newer version are fine as well."""
    head, known = _revisions()
    with db.engine.connect().execution_options(docmill_writes=False) as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    return current is not None and (current == head or current not in known)


@cache
def _revisions() -> tuple[str | None, frozenset[str]]:
    """The newest migration and all of them: read once, since they don't change while a process lives."""
    script = ScriptDirectory.from_config(Config(_MIGRATIONS / "alembic.ini"))
    return script.get_current_head(), frozenset(revision.revision for revision in script.walk_revisions())


@contextmanager
def transaction(
    org_id: UUID | None = None, *, everywhere: bool = False, turn_seconds: float | None = None
) -> Iterator[Session]:
    """A write transaction; inside another one of this thread it joins that one.

    On SQLite it waits until it may write, for `turn_seconds` at most; then it raises Busy.
    """
    with _scoped(TransactionScope(org_id, everywhere, writes=True), turn_seconds) as opened:
        yield opened


@contextmanager
def reading(org_id: UUID | None = None, *, everywhere: bool = False) -> Iterator[Session]:
    """A transaction that only reads, all of it from one snapshot; on SQLite it waits for no writer."""
    with _scoped(TransactionScope(org_id, everywhere, writes=False)) as opened:
        yield opened


def opener() -> Callable[[], AbstractContextManager[object]]:
    """A function that opens this thread's database in another thread."""
    # A bound method of the application, not of Flask's proxy.
    return current_app.app_context


def session() -> Session:
    """The session of the transaction that is open in this thread."""
    current = db.session()
    if "scope" not in current.info:
        raise NoTransaction("open db.transaction(org_id) or db.reading(org_id) first")
    return current


def is_postgresql() -> bool:
    """Whether the database is PostgreSQL; it is SQLite otherwise."""
    return db.engine.dialect.name == "postgresql"


def in_transaction() -> bool:
    """Whether this thread has a transaction open."""
    return db.session.registry.has() and "scope" in db.session().info


def after_commit(call: Callable[[], None]) -> None:
    """Call this once after the open transaction's commit, or now where none is open; not after a rollback."""
    if not in_transaction():
        call()
        return
    calls = db.session().info.setdefault("after_commit", [])
    if call not in calls:
        calls.append(call)


@contextmanager
def _scoped(scope: TransactionScope, turn_seconds: float | None = None) -> Iterator[Session]:
    current = db.session()
    outer: TransactionScope | None = current.info.get("scope")
    if outer is not None:
        _check_join(outer, scope)
        yield current
        return
    try:
        with write_turn(turn_seconds, wanted=scope.writes), current.begin():
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
def write_turn(seconds: float | None = None, *, wanted: bool = True) -> Iterator[None]:
    """On SQLite, let one thread of this process write at a time, in order.

    SQLite itself lets a waiting writer sleep and retry at growing intervals: under a steady stream of short
    transactions one of them may wait for seconds.
    """
    if not wanted or is_postgresql():
        yield
        return
    if not _sqlite_writer.acquire(timeout=_TURN_SECONDS if seconds is None else seconds):
        # The thread that may write is itself waiting for another process, and so would we.
        raise Busy("the database was being written to for too long")
    try:
        yield
    finally:
        _sqlite_writer.release()


_TURN_SECONDS = 10.0
_sqlite_writer = threading.Lock()


def _check_join(outer: TransactionScope, inner: TransactionScope) -> None:
    if inner.writes and not outer.writes:
        raise NoTransaction("a write cannot join a transaction that was opened for reading")
    if not outer.everywhere and inner.org_id not in {None, outer.org_id}:
        raise NoTransaction("a transaction of one org cannot be joined for another")


def _enter(current: Session, scope: TransactionScope) -> None:
    if scope.org_id is None and not scope.everywhere:
        raise NoTransaction("say whose rows this is about: an org_id, or everywhere=True")
    current.connection(execution_options={"docmill_writes": scope.writes, "docmill_scope": scope})
