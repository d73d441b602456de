"""Expressions of time that compile to both databases: spans in seconds, and the beginning of a minute, hour or day."""

from datetime import datetime

from sqlalchemy import Float

from webapp.db import UtcDateTime
from webapp.sql_function import SqlFunction


class seconds_between(SqlFunction[float]):  # noqa: N801 - reads as the SQL function that it is
    """`seconds_between(earlier, later)`."""

    type = Float()
    postgresql = "CAST(extract(epoch FROM {1} - {0}) AS double precision)"
    sqlite = "((julianday({1}) - julianday({0})) * 86400.0)"


class beginning_of_minute(SqlFunction[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The beginning of a time's minute."""

    type = UtcDateTime()
    postgresql = "date_trunc('minute', {0}, 'UTC')"
    sqlite = "strftime('%Y-%m-%d %H:%M:00.000', {0})"


class beginning_of_hour(SqlFunction[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The beginning of a time's hour."""

    type = UtcDateTime()
    postgresql = "date_trunc('hour', {0}, 'UTC')"
    sqlite = "strftime('%Y-%m-%d %H:00:00.000', {0})"


class beginning_of_day(SqlFunction[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The beginning of a time's day, in UTC."""

    type = UtcDateTime()
    postgresql = "date_trunc('day', {0}, 'UTC')"
    sqlite = "strftime('%Y-%m-%d 00:00:00.000', {0})"
