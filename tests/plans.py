"""Judges how statements find their rows: each is explained where it is executed, beside many rows.

The library is that of `make bench BENCH=pages`, smaller: one big org, and many small ones.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from psycopg import sql
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine

from bench import _crowd
from tests.conftest import DatabaseUnderTest
from webapp.db.bounded import COUNTED_MAX

DOCUMENTS = 24_000
# A status of which there are more than are counted, and the others.
ROWS_READ_MAX = COUNTED_MAX + 6_000
GROWING = (
    "documents|document_pages|document_words|processing_runs|run_events|document_processing_jobs|provider_calls|chunks|"
    "stats_minute|stats_hour|stats_day|document_fields|corrections"
)


def fill(database: DatabaseUnderTest, *, analyze: bool = True) -> None:
    """Many rows, and (unless told otherwise) statistics that know of them."""
    if database.superuser_url:
        _crowd.on_postgresql(database.superuser_url, DOCUMENTS, analyze=analyze)
    else:
        _crowd.on_sqlite(database.url.removeprefix("sqlite:///"), DOCUMENTS, analyze=analyze)


@contextmanager
def judged(engine: Engine, rows_most: int = ROWS_READ_MAX, *, has_tags: bool = False) -> Iterator[list[str]]:
    """What is wrong with the statements that are executed in here: each is explained where it is executed.

    A table without rows is read whole, so tags count only where there are some.
    """
    faults: list[str] = []
    growing = f"{GROWING}|document_tags" if has_tags else GROWING
    on_postgresql = engine.dialect.name == "postgresql"

    def look(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", statement):
            return
        values = parameters[0] if isinstance(parameters, list) else parameters
        other = cursor.connection.cursor()
        plans = partial(_explained, growing, rows_most) if on_postgresql else partial(_explained_by_sqlite, growing)
        found = [fault for fault in plans(other, statement, values) if fault]
        faults.extend(f"{fault}: {' '.join(statement.split())[:600]}" for fault in found)
        other.close()

    event.listen(engine, "before_cursor_execute", look)
    try:
        yield faults
    finally:
        event.remove(engine, "before_cursor_execute", look)


def _explained(growing: str, rows_most: int, cursor: Any, statement: str, parameters: Any) -> Iterator[str | None]:
    """What is wrong with the plan for these values; and with the one for any, to which PostgreSQL comes in the end."""
    if _WRITES.search(statement):
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", parameters)
        yield _scan_in(growing, cursor.fetchone()[0][0]["Plan"])
        return
    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
    yield _fault_of(growing, cursor.fetchone()[0][0]["Plan"], rows_most)
    names = list(dict.fromkeys(_NAMED_VALUE.findall(statement)))
    if not names:
        return
    numbered = _NAMED_VALUE.sub(lambda found: f"${names.index(found[1]) + 1}", statement).replace("%%", "%")
    types = ", ".join(_TYPES.get(type(parameters[name]), "unknown") for name in names)
    values = sql.SQL(", ").join(sql.Literal(parameters[name]) for name in names)
    cursor.execute("SELECT set_config('plan_cache_mode', 'force_generic_plan', true)")
    cursor.execute(f"PREPARE explained ({types}) AS {numbered}".encode(), prepare=False)
    cursor.execute(sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE explained ({})").format(values), prepare=False)
    fault = _fault_of(growing, cursor.fetchone()[0][0]["Plan"], rows_most)
    cursor.execute("DEALLOCATE explained; SELECT set_config('plan_cache_mode', 'auto', true)", prepare=False)
    yield f"for any values, {fault}" if fault else None


# Executed to be explained, these would write.
_WRITES = re.compile(r"\b(INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b")
_NAMED_VALUE = re.compile(r"%\((\w+)\)s")
_TYPES = {float: "double precision", int: "bigint", bool: "boolean", UUID: "uuid", datetime: "timestamptz"}


def _explained_by_sqlite(growing: str, cursor: Any, statement: str, parameters: Any) -> Iterator[str | None]:
    cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
    yield _scan_of(growing, "\n".join(row[3] for row in cursor.fetchall()))


def _fault_of(growing: str, plan: dict[str, Any], rows_most: int) -> str | None:
    rows = _rows_read(plan)
    return _scan_in(growing, plan) or (f"reads {rows:,.0f} rows" if rows > rows_most else None)


def _scan_in(growing: str, plan: dict[str, Any]) -> str | None:
    scan = re.search(rf'"Seq Scan"[^{{}}]*"Relation Name": "({growing})"', json.dumps(plan))
    return f"reads all of {scan[1]}" if scan else None


def _rows_read(node: dict[str, Any]) -> float:
    read = 0.0
    if "Relation Name" in node:
        removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        read = (node["Actual Rows"] + removed) * node["Actual Loops"]
    return read + sum(_rows_read(child) for child in node.get("Plans", ()))


def _scan_of(growing: str, plan: str) -> str | None:
    # The index of the jobs at work holds those alone, which are few.
    scan = re.search(rf"SCAN ({growing})(_\d+)?\b(?! USING (COVERING )?INDEX ix_jobs_held).*", plan)
    return scan[0] if scan else None
