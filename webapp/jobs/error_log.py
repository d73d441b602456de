"""A job's error log: one JSON array in its row, appended to by the statement that ends the attempt.

The database adds what only it knows: its own time, the number of the attempt, and the worker.
"""

from typing import Any

from webapp.db import Json
from webapp.jobs.queue import JobError
from webapp.jobs.scrub import scrubbed
from webapp.sql_function import SqlFunction

ENTRIES_MAX = 20
MESSAGE_CHARACTERS_MAX = 2_000
_NAME_CHARACTERS_MAX = 200


def entry(error: JobError) -> dict[str, str | None]:
    """An error as an entry of the log: scrubbed and cut."""
    return {
        "code": scrubbed(error.code, _NAME_CHARACTERS_MAX),
        "step": _name(error.step),
        "exception": _name(error.exception),
        "message": scrubbed(error.message, MESSAGE_CHARACTERS_MAX),
    }


def _name(name: str | None) -> str | None:
    return None if name is None else scrubbed(name, _NAME_CHARACTERS_MAX)


class appended(SqlFunction[Any]):  # noqa: N801 - reads as the SQL function that it is
    """`appended(log, entry, attempt, worker)`: the log with one more entry; a full log loses its oldest."""

    type = Json
    postgresql = f"""
        (CASE WHEN jsonb_array_length({{0}}) < {ENTRIES_MAX} THEN {{0}} ELSE {{0}} - 0 END) || jsonb_build_array({{1}}
        || jsonb_build_object('attempt', {{2}}, 'worker', {{3}},
            'at', to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
    """
    sqlite = f"""
        json_insert(
            CASE WHEN json_array_length({{0}}) < {ENTRIES_MAX} THEN {{0}} ELSE json_remove({{0}}, '$[0]') END, '$[#]',
            json_set({{1}}, '$.at', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), '$.attempt', {{2}}, '$.worker', {{3}}))
    """
