"""The present time, and ids that sort by it.

Stored times come from the database's clock, never from a worker's: a worker whose clock is ten
minutes off must neither lose its leases nor keep them for ever. `now()` and `after()` are SQL
expressions that compile to both databases.
"""

import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import uuid_utils.compat
from sqlalchemy import DateTime

from webapp.sql_function import SqlFunction


def new_id() -> UUID:
    """A fresh UUIDv7: unique everywhere, and later ones sort after earlier ones."""
    return uuid_utils.compat.uuid7()


def first_id_at(moment: datetime) -> UUID:
    """What sorts before every id that was made at this moment, and after those from before it."""
    milliseconds = max(0, int(moment.timestamp() * 1000))
    return UUID(int=milliseconds << 80)


def utc_now() -> datetime:
    """This process's own idea of the time: for showing ages and signing, never for leases."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds that only ever grow: for deadlines and durations inside one process."""
    return time.monotonic()


# statement_timestamp(), not now(): a transaction that waited for a lock must not store the time
# before the wait; not clock_timestamp() either, which no index condition can use.
class now(SqlFunction[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The database's time at the start of this statement."""

    type = DateTime(timezone=True)
    postgresql = "statement_timestamp()"
    sqlite = "strftime('%Y-%m-%d %H:%M:%f', 'now')"


class after(SqlFunction[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The database's time, so many seconds from now (negative: ago)."""

    type = DateTime(timezone=True)
    postgresql = "(statement_timestamp() + make_interval(secs => CAST({0} AS double precision)))"
    sqlite = "strftime('%Y-%m-%d %H:%M:%f', 'now', ({0}) || ' seconds')"


class utc_day(SqlFunction[Any]):  # noqa: N801 - reads as the SQL function that it is
    """The day of a stored time, in UTC: a date on PostgreSQL, its text on SQLite."""

    postgresql = "date(timezone('UTC', {0}))"
    sqlite = "date({0})"
