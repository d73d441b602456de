"""Transactions, and the column types that both databases share.

A transaction always says whose rows it is about: one org's, or (for the queue, sign-in and
start-up alone) everybody's. On PostgreSQL that choice is handed to row-level security with
SET LOCAL semantics, so it ends with the transaction and never leaks through the pool.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import numpy as np
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask, current_app
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session as RoutedSession
from pgvector.sqlalchemy import Vector
from sqlalchemy import (
    JSON,
    URL,
    CheckConstraint,
    DateTime,
    Dialect,
    Engine,
    Executable,
    LargeBinary,
    MetaData,
    Row,
    Text,
    make_url,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import TimeoutError as Busy
from sqlalchemy.orm import DeclarativeBase, Session
from sqlalchemy.types import TypeDecorator

from webapp.config import Settings
from webapp.db.engines import ENGINES, TransactionScope
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of
from webapp.db.replica import Replica
from webapp.private_files import tighten_folder

Result = TypeVar("Result")

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


def row_rules(function: str, rules: Mapping[str, str]) -> tuple[CheckConstraint, ...]:
    """The rules of a table's rows: CHECKs on SQLite, and on PostgreSQL one function, which a migration makes.

    PostgreSQL parses CHECKs again for each statement, which takes longer than ending a job; a function it caches.
    """
    checks = (CheckConstraint(rule, name=name).ddl_if(dialect="sqlite") for name, rule in rules.items())
    return (*checks, CheckConstraint(function, name="possible").ddl_if(dialect="postgresql"))


class _Session(RoutedSession):
    """The session of a thread: of the primary, unless its transaction was opened on the replica."""

    def get_bind(self, *args: Any, **more: Any) -> Any:
        """The engine that this transaction was opened on."""
        return self.info.get("engine") or super().get_bind(*args, **more)


db = SQLAlchemy(metadata=Base.metadata, session_options={"expire_on_commit": False, "class_": _Session})

Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class _TimeAsText(TypeDecorator[datetime]):
    """A time in UTC, as SQLite's own clock writes it: text that sorts by time."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        """Write it, to the millisecond; with other digits than the clock's, equal times would differ."""
        return None if value is None else value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        """Read it."""
        return None if value is None else datetime.fromisoformat(value).replace(tzinfo=UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """timestamptz on PostgreSQL; sortable UTC text on SQLite. Naive times are refused."""

    impl = DateTime(timezone=True).with_variant(_TimeAsText(), "sqlite")
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a time for the database."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time needs its time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a time from the database."""
        return None if value is None else value.astimezone(UTC)


class _VectorAsBytes(TypeDecorator[Any]):
    """A vector as its raw 32-bit floats."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        """Write an array of 32-bit floats."""
        return None if value is None else bytes(value.tobytes())

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        """Read it."""
        return None if value is None else np.frombuffer(value, dtype="<f4")


class Embedding(TypeDecorator[list[float]]):
    """A vector of any length, since rows of an old and of a new model are stored side by side.

    pgvector's type on PostgreSQL, the raw 32-bit floats on SQLite.
    """

    impl = Vector().with_variant(_VectorAsBytes(), "sqlite")
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Convert anything that numpy can read as floats."""
        return None if value is None else np.asarray(value, dtype="<f4")

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Convert to a numpy array of 32-bit floats."""
        return None if value is None else np.asarray(value, dtype="<f4")


class NoTransaction(RuntimeError):
    """Data was asked for outside of `transaction()` or `reading()`."""


def init_database(app: Flask, settings: Settings) -> None:
    """Connect the application to its database; the engine opens connections when first used."""
    app.config["SQLALCHEMY_DATABASE_URI"] = settings.database_url
    options, prepare = ENGINES[make_url(settings.database_url).get_backend_name()]
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = options(settings.server.web_threads)
    app.config["DOCMILL_SETTINGS"] = settings
    db.init_app(app)
    tighten_folder(settings.data_dir)
    Migrate(app, db, directory=str(_MIGRATIONS))
    with app.app_context():
        prepare(db.engine)
        if settings.database_read_url:
            threads, lag_seconds = settings.server.web_threads, settings.read_lag_seconds
            replica = Replica(settings.database_read_url, db.engine, threads=threads, lag_seconds=lag_seconds)
            app.extensions["docmill_replica"] = replica


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
    org_id: UUID | None = None,
    *,
    everywhere: bool = False,
    turn_seconds: float | None = None,
    fixed_plans: bool = False,
) -> Iterator[Session]:
    """A write transaction; inside another one of this thread it joins that one.

    On SQLite it waits until it may write, for `turn_seconds` at most; then it raises Busy. With `fixed_plans`,
    PostgreSQL plans its statements once, for any values, and by indexes alone.
    """
    with _scoped(TransactionScope(org_id, everywhere, writes=True, fixed_plans=fixed_plans), turn_seconds) as opened:
        yield opened


@contextmanager
def reading(org_id: UUID | None = None, *, everywhere: bool = False, fixed_plans: bool = False) -> Iterator[Session]:
    """A transaction that only reads, all of it from one snapshot; on SQLite it waits for no writer.

    With `fixed_plans`, PostgreSQL plans as in such a `transaction`.
    """
    with _scoped(TransactionScope(org_id, everywhere, writes=False, fixed_plans=fixed_plans)) as opened:
        yield opened


def reading_late(org_id: UUID, read: Callable[[], Result], *, may_be_late: bool = True) -> Result:
    """What `read` finds, in one snapshot: of the replica where there is one that may be read, else of the primary.

    A replica is some seconds behind, so this is for what need not be current. Where the replica fails in between,
    `read` is called again on the primary.
    """
    replica: Replica | None = current_app.extensions.get("docmill_replica")
    if may_be_late and replica is not None and not in_transaction() and replica.is_fresh():
        try:
            with _scoped(TransactionScope(org_id, everywhere=False, writes=False), engine=replica.engine):
                return read()
        except DATABASE_ERRORS as error:
            # Whatever it is, the primary tells whether it is a fault of ours.
            if trouble_of(error) is Trouble.AWAY:
                replica.distrust()
    with reading(org_id):
        return read()


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


def ask_postgresql(statement: Executable, values: Mapping[str, Any] | None = None) -> Row[*tuple[Any, ...]] | None:
    """The first row of a statement that is for PostgreSQL alone, in the open transaction; None on SQLite."""
    return session().execute(statement, values).first() if is_postgresql() else None


def session_url() -> URL:
    """The address for a session of one's own, for locks and LISTEN: past a pooler, where the settings name a way."""
    settings: Settings = current_app.config["DOCMILL_SETTINGS"]
    return make_url(settings.database_session_url)


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
def _scoped(
    scope: TransactionScope, turn_seconds: float | None = None, engine: Engine | None = None
) -> Iterator[Session]:
    current = db.session()
    outer: TransactionScope | None = current.info.get("scope")
    if outer is not None:
        _check_join(outer, scope)
        yield current
        return
    current.info["engine"] = engine
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
        current.info.pop("engine", None)
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
