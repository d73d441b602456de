"""Which database errors are temporary, whichever driver or pool raised them.

Any other error is a bug in a statement of ours. Codes decide (SQLSTATE, SQLite's result codes), never texts.
"""

import sqlite3
from enum import StrEnum

import psycopg
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

# The drivers' own as well: SQLAlchemy does not wrap errors that occur outside of statements.
DATABASE_ERRORS = (SQLAlchemyError, sqlite3.Error, psycopg.Error)


class Trouble(StrEnum):
    """A temporary error of the database: repeating it later may succeed."""

    AWAY = "away"
    """No answer: the connection is lost, or the server starts, stops or fails over."""
    BUSY = "busy"
    """A deadlock, or no lock or connection in time."""
    FULL = "full"
    """There is no disk space for writing."""


def trouble_of(error: BaseException) -> Trouble | None:
    """The kind of temporary error; None where repeating cannot help."""
    if isinstance(error, PoolTimeout):
        return Trouble.BUSY
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, psycopg.Error):
        found = _of_postgresql(cause)
    elif isinstance(cause, sqlite3.Error):
        found = _of_sqlite(cause)
    else:
        found = Trouble.AWAY if isinstance(error, OperationalError | InterfaceError) else None
    if found is None and isinstance(error, DBAPIError) and error.connection_invalidated:
        return Trouble.AWAY
    return found


# Lock timeouts, deadlocks, serialization failures, no connection slot or memory left.
_BUSY_STATES = {"40001", "40P01", "55P03", "57014", "53000", "53200", "53300", "53400"}
_FULL_STATES = {"53100"}
# A deadlock, or two transactions that can't be put one after the other.
_DEADLOCK_STATES = {"40P01", "40001"}
# Connections; ended by an administrator, a restart or a time limit; a server that only reads; a broken disk.
_AWAY_CLASSES = ("08", "57P", "58")
_AWAY_STATES = {"25P03", "25P04", "25006"}


def _of_postgresql(error: psycopg.Error) -> Trouble | None:
    state = error.sqlstate
    if state is None:
        # Nothing was sent, or no answer came.
        return Trouble.AWAY if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) else None
    if state in _BUSY_STATES:
        return Trouble.BUSY
    if state in _FULL_STATES:
        return Trouble.FULL
    return Trouble.AWAY if state in _AWAY_STATES or state.startswith(_AWAY_CLASSES) else None


def is_deadlock(error: DBAPIError) -> bool:
    """Whether two transactions waited for each other, and this one was ended: it can be repeated at once."""
    return isinstance(error.orig, psycopg.Error) and error.orig.sqlstate in _DEADLOCK_STATES


_SQLITE = {
    sqlite3.SQLITE_BUSY: Trouble.BUSY,
    sqlite3.SQLITE_LOCKED: Trouble.BUSY,
    sqlite3.SQLITE_PROTOCOL: Trouble.BUSY,
    sqlite3.SQLITE_NOMEM: Trouble.BUSY,
    sqlite3.SQLITE_INTERRUPT: Trouble.BUSY,
    sqlite3.SQLITE_FULL: Trouble.FULL,
    # A full or vanished disk, where the WAL or its index cannot grow.
    sqlite3.SQLITE_IOERR: Trouble.FULL,
    sqlite3.SQLITE_CANTOPEN: Trouble.AWAY,
    sqlite3.SQLITE_READONLY: Trouble.AWAY,
}
_PRIMARY = 0xFF


def _of_sqlite(error: sqlite3.Error) -> Trouble | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else _SQLITE.get(code & _PRIMARY)
