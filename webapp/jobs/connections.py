"""Connections for the hot statements: the driver's own, without a session, a pool's events or a ping before use.

On PostgreSQL they keep what they need for the length of their life (the scope, the planner's settings, prepared
statements), which only a direct connection can: through a pooler they would leave it to strangers, so there the
statements run in an ordinary transaction.
"""

import select
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError

from webapp.db import db, in_transaction, transaction, write_turn
from webapp.jobs import postgresql, sqlite

# Each thread of a worker that talks to the queue has one at most; more are closed when they come back.
_KEPT = 4
_SETTINGS = {"app.scope": "system", "plan_cache_mode": "force_generic_plan", **postgresql.PLANNER}
_SETTLE = "SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items())


@dataclass(frozen=True)
class Hot:
    """A cursor, the statements that suit it, and whether their commit is ours."""

    cursor: Any
    statements: ModuleType
    is_own: bool

    @property
    def is_postgresql(self) -> bool:
        """Whether each statement commits by itself, and plans have to be led."""
        return self.statements is postgresql


class Connections:
    """The connections of one engine."""

    def __init__(self, engine: Engine) -> None:
        # Weakly, or an engine that is remembered by these would never be forgotten.
        self._engine = weakref.ref(engine)
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._lock = threading.Lock()
        self._idle: list[Any] = []
        self._disposals = 0
        self._is_direct: bool | None = None
        event.listen(engine, "engine_disposed", self._close)

    @property
    def is_direct(self) -> bool:
        """Whether what is set for a connection stays: no pooler stands in between."""
        if self._is_direct is None:
            self._give_back(self._take())
        return bool(self._is_direct)

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor on a connection of our own; on SQLite in a write transaction, elsewhere each statement is one."""
        with self._translated(), write_turn():
            disposals, connection = self._disposals, self._take()
            try:
                cursor = connection.cursor()
                if self._is_sqlite:
                    cursor.execute("BEGIN IMMEDIATE")
                yield cursor
                if self._is_sqlite:
                    cursor.execute("COMMIT")
            except BaseException:
                self._drop(connection)
                raise
            self._give_back(connection, disposals)

    def open(self) -> Any:
        """A new connection, for who keeps it; the caller closes it."""
        with self._translated():
            return self._open()

    def _take(self) -> Any:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._open()
            if self._is_sqlite or _is_quiet(connection):
                return connection
            connection.close()

    def _open(self) -> Any:
        raw = self._known_engine().raw_connection()
        connection: Any = raw.driver_connection
        raw.detach()
        try:
            self._is_direct = self._is_sqlite or self._settle(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _settle(self, connection: Any) -> bool:
        """Set what it keeps, where that stays: a pooler shows another process than the one that answers."""
        connection.autocommit = True
        (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone()
        if pid != connection.info.backend_pid:
            return False
        connection.prepare_threshold = 0
        connection.execute(_SETTLE)
        return True

    def _give_back(self, connection: Any, of: int | None = None) -> None:
        with self._lock:
            # One that was lent before the engine was disposed of has outlived its purpose.
            is_wanted = self._is_direct and of in {None, self._disposals}
            if len(self._idle) < _KEPT and is_wanted:
                self._idle.append(connection)
                return
        connection.close()

    def _drop(self, connection: Any) -> None:
        """After an error nothing is known about it; closing it also ends what was begun."""
        connection.close()

    def _close(self, engine: Engine) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            self._disposals += 1
        for connection in idle:
            connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Callers know one kind of errors: SQLAlchemy's."""
        with translated(self._known_engine()):
            yield

    def _known_engine(self) -> Engine:
        engine = self._engine()
        if engine is None:
            raise RuntimeError("the application that these connections belonged to is gone")
        return engine


@contextmanager
def translated(engine: Engine) -> Iterator[None]:
    """The driver's errors as SQLAlchemy would raise them."""
    driver = engine.dialect.loaded_dbapi
    try:
        yield
    except driver.Error as error:
        raise DBAPIError.instance(
            "a statement of the queue",
            None,
            error,
            driver.Error,
            hide_parameters=True,
            connection_invalidated=engine.dialect.is_disconnect(error, None, None),
            dialect=engine.dialect,
        ) from error


_by_engine: WeakKeyDictionary[Engine, Connections] = WeakKeyDictionary()
_making = threading.Lock()


def connections() -> Connections:
    """Those of the application at hand."""
    engine = db.engine
    found = _by_engine.get(engine)
    if found is None:
        with _making:
            found = _by_engine.get(engine) or Connections(engine)
            _by_engine[engine] = found
    return found


@contextmanager
def hot() -> Iterator[Hot]:
    """The caller's transaction where one is open, else a connection of our own."""
    own = connections()
    statements = _STATEMENTS[db.engine.dialect.name]
    if not in_transaction() and own.is_direct:
        with own.cursor() as cursor:
            yield Hot(cursor, statements, is_own=True)
        return
    with transaction(everywhere=True) as opened, translated(db.engine):
        driver_connection: Any = opened.connection().connection.driver_connection
        cursor = driver_connection.cursor()
        try:
            yield Hot(cursor, statements, is_own=False)
        finally:
            cursor.close()


def _is_quiet(connection: "psycopg.Connection[Any]") -> bool:
    """Whether an idle connection seems to live: a server that goes away says so, and nobody has read it yet."""
    poll = select.poll()
    try:
        poll.register(connection.fileno(), select.POLLIN)
    except psycopg.Error:
        return False
    return not poll.poll(0)


_STATEMENTS: dict[str, ModuleType] = {"postgresql": postgresql, "sqlite": sqlite}
