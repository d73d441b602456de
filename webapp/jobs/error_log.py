"""A job's error log: one JSON array in its row, appended to by the statement that ends the attempt.

The database adds what only it knows: its own time, the number of the attempt, and the worker.
"""

from typing import Any

from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from webapp.db import Json
from webapp.jobs.queue import JobError
from webapp.jobs.scrub import scrubbed

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


class appended(FunctionElement[Any]):  # noqa: N801 - reads as the SQL function that it is
    """`appended(log, entry, attempt, worker)`: the log with one more entry; a full log loses its oldest."""

    type = Json
    inherit_cache = True


@compiles(appended, "postgresql")
def _appended_postgresql(element: appended, compiler: SQLCompiler, **kw: Any) -> str:
    log, new, attempt, worker = (compiler.process(part, **kw) for part in element.clauses)
    at = """to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
    known = f"jsonb_build_object('at', {at}, 'attempt', {attempt}, 'worker', {worker})"
    kept = f"CASE WHEN jsonb_array_length({log}) < {ENTRIES_MAX} THEN {log} ELSE {log} - 0 END"
    return f"({kept}) || jsonb_build_array({new} || {known})"


@compiles(appended, "sqlite")
def _appended_sqlite(element: appended, compiler: SQLCompiler, **kw: Any) -> str:
    log, new, attempt, worker = (compiler.process(part, **kw) for part in element.clauses)
    at = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    known = f"json_set({new}, '$.at', {at}, '$.attempt', {attempt}, '$.worker', {worker})"
    kept = f"CASE WHEN json_array_length({log}) < {ENTRIES_MAX} THEN {log} ELSE json_remove({log}, '$[0]') END"
    return f"json_insert({kept}, '$[#]', {known})"
