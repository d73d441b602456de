"""Connections for the hot statements: the driver's own, without a session, a pool's events or a ping before use.

On PostgreSQL they keep what they need for the length of their life (the scope, the planner's settings, prepared
statements), which only a direct connection can: through a pooler they would leave it to strangers, so there the
statements run in an ordinary transaction.
"""

import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.types.json import set_json_loads
from sqlalchemy import Engine, event

from webapp.clock import monotonic
from webapp.db import db, in_transaction, is_quiet, transaction, translated, write_turn
from webapp.jobs import postgresql, sqlite
from webapp.jobs.hot import Hot, from_json

# Each thread of a worker that talks to the queue has one at most; more are closed when they come back.
_KEPT = 4
# One that was used so shortly ago is as good as one in use.
_FRESH_SECONDS = 0.002
_WHAT = "a statement of the queue"
_SETTINGS = {"app.scope": "system", **postgresql.PLANNER}
_SETTLE = "SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items())


class Connections:
    """The connections of one engine."""

    def __init__(self, engine: Engine) -> None:
        # Weakly, or an engine that is remembered by these would never be forgotten.
        self._engine = weakref.ref(engine)
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._statements = _STATEMENTS[engine.dialect.name]
        self._lock = threading.Lock()
        self._idle: list[tuple[Any, float]] = []
        self._disposals = 0
        self._is_direct: bool | None = None
        event.listen(engine, "engine_disposed", self._close)

    @property
    def is_direct(self) -> bool:
        """Whether what is set for a connection stays: no pooler stands in between."""
        if self._is_direct is None:
            self._give_back(self._take())
        return bool(self._is_direct)

    def lend(self) -> AbstractContextManager[Hot]:
        """A connection of our own; on SQLite in a write transaction, elsewhere each statement is one."""
        return self._lend_in_turn() if self._is_sqlite else self._lend()

    @contextmanager
    def _lend(self) -> Iterator[Hot]:
        """For each job of some workers: one generator, where others are made of several."""
        disposals = self._disposals
        try:
            cursor = self._take()
            try:
                yield Hot(cursor, self._statements, is_own=True)
            except BaseException:
                # Nothing is known about its connection any more.
                cursor.connection.close()
                raise
        except psycopg.Error:
            with self._translated():
                raise
        self._give_back(cursor, disposals)

    @contextmanager
    def _lend_in_turn(self) -> Iterator[Hot]:
        with self._translated(), write_turn():
            disposals, cursor = self._disposals, self._take()
            try:
                cursor.execute("BEGIN IMMEDIATE")
                yield Hot(cursor, self._statements, is_own=True)
                cursor.execute("COMMIT")
            except BaseException:
                cursor.connection.close()
                raise
            self._give_back(cursor, disposals)

    def open(self) -> Any:
        """A new connection, for who keeps it; the caller closes it."""
        with self._translated():
            return self._open()

    def _take(self) -> Any:
        """A cursor; it is kept with its connection, since to make one takes as long as to end a job."""
        while True:
            try:
                cursor, since = self._idle.pop()
            except IndexError:
                return self._open().cursor()
            if self._is_sqlite or monotonic() - since < _FRESH_SECONDS or is_quiet(cursor.connection):
                return cursor
            cursor.connection.close()

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
        set_json_loads(from_json, connection)
        connection.execute(_SETTLE)
        return True

    def _give_back(self, cursor: Any, of: int | None = None) -> None:
        with self._lock:
            # One that was lent before the engine was disposed of has outlived its purpose.
            is_wanted = self._is_direct and of in {None, self._disposals}
            if len(self._idle) < _KEPT and is_wanted:
                self._idle.append((cursor, monotonic()))
                return
        cursor.connection.close()

    def _close(self, engine: Engine) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            self._disposals += 1
        for cursor, _ in idle:
            cursor.connection.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Callers know one kind of errors: SQLAlchemy's."""
        with translated(self._known_engine(), _WHAT):
            yield

    def _known_engine(self) -> Engine:
        engine = self._engine()
        if engine is None:
            raise RuntimeError("the application that these connections belonged to is gone")
        return engine


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


def hot() -> AbstractContextManager[Hot]:
    """The caller's transaction where one is open, else a connection of our own."""
    own = connections()
    return own.lend() if own.is_direct and not in_transaction() else _joined()


@contextmanager
def _joined() -> Iterator[Hot]:
    with transaction(everywhere=True) as opened, translated(db.engine, _WHAT):
        driver_connection: Any = opened.connection().connection.driver_connection
        cursor = driver_connection.cursor()
        try:
            yield Hot(cursor, _STATEMENTS[db.engine.dialect.name], is_own=False)
        finally:
            cursor.close()


_STATEMENTS: dict[str, ModuleType] = {"postgresql": postgresql, "sqlite": sqlite}
