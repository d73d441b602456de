"""What an error of the database means, whichever driver or pool says it.

Only errors that pass by themselves have a name here; any other is a statement of ours that is
wrong. The decision follows from codes (SQLSTATE, SQLite's result codes), never from words.
"""

import sqlite3
from enum import StrEnum

import psycopg
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

# A connection that is made outside of a statement raises its driver's own error, which nobody wraps.
DATABASE_ERRORS = (SQLAlchemyError, sqlite3.Error, psycopg.Error)


class Trouble(StrEnum):
    """What passes by itself; whoever waits and repeats may succeed."""

    AWAY = "away"
    """No answer: the connection is lost, the server starts, stops or hands over."""
    BUSY = "busy"
    """Others were first: a deadlock, a lock or a connection that could not be had in time."""
    FULL = "full"
    """No room to write until somebody makes some."""


def trouble_of(error: BaseException) -> Trouble | None:
    """What passes by itself about this error; None where repeating cannot help."""
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


# A lock waited for in vain, a victim of a deadlock or of serialization, no slot or memory left for one more.
_BUSY_STATES = {"40001", "40P01", "55P03", "57014", "53000", "53200", "53300", "53400"}
_FULL_STATES = {"53100"}
# Connections; ended by an administrator, a restart or a time limit; a server that only reads; a broken disk.
_AWAY_CLASSES = ("08", "57P", "58")
_AWAY_STATES = {"25P03", "25P04", "25006"}


def _of_postgresql(error: psycopg.Error) -> Trouble | None:
    state = error.sqlstate
    if state is None:
        # It never came to the server, or nothing came back.
        return Trouble.AWAY if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) else None
    if state in _BUSY_STATES:
        return Trouble.BUSY
    if state in _FULL_STATES:
        return Trouble.FULL
    return Trouble.AWAY if state in _AWAY_STATES or state.startswith(_AWAY_CLASSES) else None


_SQLITE = {
    sqlite3.SQLITE_BUSY: Trouble.BUSY,
    sqlite3.SQLITE_LOCKED: Trouble.BUSY,
    sqlite3.SQLITE_PROTOCOL: Trouble.BUSY,
    sqlite3.SQLITE_NOMEM: Trouble.BUSY,
    sqlite3.SQLITE_INTERRUPT: Trouble.BUSY,
    sqlite3.SQLITE_FULL: Trouble.FULL,
    # What a full or vanished disk says where the log or its index cannot grow.
    sqlite3.SQLITE_IOERR: Trouble.FULL,
    sqlite3.SQLITE_CANTOPEN: Trouble.AWAY,
    sqlite3.SQLITE_READONLY: Trouble.AWAY,
}
_PRIMARY = 0xFF


def _of_sqlite(error: sqlite3.Error) -> Trouble | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else _SQLITE.get(code & _PRIMARY)
