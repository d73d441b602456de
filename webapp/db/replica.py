"""A read replica of the primary: whether it may be read, which a thread finds out all the time.

How far a replica is behind can't be read off its clock: where nothing is written, what it replayed last is old. So
positions of the primary's log are noted with the time when they were asked for; once the replica has replayed one of
them, it has everything that was committed before that time.
"""

import logging
import os
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text

from webapp.clock import monotonic
from webapp.db.engines import ENGINES
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of

_log = logging.getLogger(__name__)

_CONNECT_SECONDS = 2
_LOOKS_PER_LAG = 5
_LOOK_SECONDS_MAX = 1.0
_POSITIONS_KEPT = 100
# With synchronous_commit=off, what others see already is written to the log within this time.
_WRITTEN_WITHIN_SECONDS = 1.0
_PRIMARY = text("""
    SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS position, system_identifier, current_database() AS name
    FROM pg_control_system()
""")
_REPLICA = text("""
    SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') AS position, system_identifier, current_database() AS name,
        pg_is_in_recovery() AS is_replica
    FROM pg_control_system()
""")


class _Unusable(Exception):
    """What is found at the address is no replica of this database."""


class Replica:
    """The replica of one process. `is_fresh` never waits; a thread looks at primary and replica."""

    def __init__(self, url: str, primary: Engine, *, threads: int, lag_seconds: float) -> None:
        self.engine = _engine(url, threads)
        self._primary = primary
        self._lag_seconds = lag_seconds
        self._look_seconds = min(_LOOK_SECONDS_MAX, lag_seconds / _LOOKS_PER_LAG)
        self._connections: WeakSet[Any] = WeakSet()
        # Before what else is done with a new connection: that asks the server something.
        event.listen(self.engine, "connect", lambda new, record: self._connections.add(new), insert=True)
        self._positions: deque[tuple[float, int]] = deque(maxlen=_POSITIONS_KEPT)
        self._has_all_before = float("-inf")
        self._looked_at_since = monotonic()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._state = ""

    def is_fresh(self) -> bool:
        """Whether it has everything that was committed more than `lag_seconds` ago."""
        self._start()
        return monotonic() - self._has_all_before <= self._lag_seconds

    def distrust(self) -> None:
        """It failed a reader: nobody else uses it until it has been looked at again."""
        self._has_all_before = float("-inf")
        self._looked_at_since = monotonic()

    def stop(self) -> None:
        """End the thread and close all connections."""
        self._ending.set()
        self._cut()
        if self._thread is not None:
            self._thread.join()
        self.engine.dispose()

    def _start(self) -> None:
        """Start the thread with the first reader; a process that was forked from this one has its own."""
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="replica", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._look()
            except _Unusable as error:
                self.distrust()
                self._say(f"is not used: {error}")
            except DATABASE_ERRORS as error:
                self.distrust()
                self._say(f"does not answer ({type(error).__name__})")
                if trouble_of(error) is Trouble.AWAY:
                    # Others may be waiting for an answer that will not come.
                    self._cut()
            self._ending.wait(self._look_seconds)

    def _look(self) -> None:
        asked_at = monotonic()
        try:
            primary = _ask(self._primary, _PRIMARY)
        except DATABASE_ERRORS:
            # Pages say so. The replica is not read either, once nobody knows how far it is behind.
            return
        self._add(asked_at - _WRITTEN_WITHIN_SECONDS, int(primary.position))
        with self._alarm():
            found = _ask(self.engine, _REPLICA)
        if not found.is_replica:
            raise _Unusable("DATABASE_READ_URL names a server that is no replica")
        if (found.system_identifier, found.name) != (primary.system_identifier, primary.name):
            raise _Unusable("DATABASE_READ_URL names a replica of another database")
        self._note(int(found.position or 0))

    def _add(self, before: float, position: int) -> None:
        # A primary that was restored from a backup begins at an earlier position.
        while self._positions and self._positions[-1][1] > position:
            self._positions.pop()
        self._positions.append((before, position))

    def _note(self, replayed: int) -> None:
        while self._positions and self._positions[0][1] <= replayed:
            self._has_all_before = self._positions.popleft()[0]
        behind = monotonic() - max(self._has_all_before, self._looked_at_since)
        self._say(f"is more than {self._lag_seconds:g} s behind" if behind > self._lag_seconds else "")

    def _say(self, state: str) -> None:
        """Log it once, when it changes; "" is a replica that serves."""
        if state and state != self._state:
            _log.warning("the read replica %s; the primary serves", state)
        elif state != self._state:
            _log.info("the read replica serves again")
        self._state = state

    @contextmanager
    def _alarm(self) -> Iterator[None]:
        """A replica that is frozen answers nobody: cut its connections, so that its readers go to the primary."""
        alarm = threading.Timer(self._lag_seconds, self._cut)
        alarm.daemon = True
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()

    def _cut(self) -> None:
        """End all its connections from this side, also where a request waits for an answer."""
        for connection in list(self._connections):
            _shut(connection)


def _engine(url: str, threads: int) -> Engine:
    options_for, prepare = ENGINES["postgresql"]
    options = options_for(threads)
    options["connect_args"] = {**options["connect_args"], "connect_timeout": _CONNECT_SECONDS}
    engine = create_engine(url, **options)
    prepare(engine)
    return engine


def _ask(engine: Engine, question: Any) -> Any:
    connection: Connection
    with engine.connect() as connection:
        return connection.execute(question).one()


def _shut(connection: "psycopg.Connection[Any]") -> None:
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)
    except (OSError, psycopg.Error):
        # It is closed already.
        return
