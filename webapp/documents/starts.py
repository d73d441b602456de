"""The start of many runs in the very stroke that claims their jobs, in the words of the databases' drivers.

The rule is that of `runs.start`, whose condition it shares; what differs is what keeps others out. `runs.start` locks
the document first and looks then. On PostgreSQL one statement can't: all of it sees the rows as they were when it
began. It needs no such lock, because it holds the rows of the jobs:

- A run that is QUEUED and has a job in line is the first of its document: the others' jobs are held back, and whoever
  ends the run before lets the next one go in the same transaction. What the statement sees can only be too old in
  one way, that a run before this one has ended since; but then this one's job was not in line when it began.
- Whoever ends a run from outside (a person, the watchdog, the removal of its document) takes its jobs first: a claim
  passes by jobs that are locked, and what comes later waits for this one's commit.
- Should two runs of a document start at the same moment all the same, a unique index refuses the second.

Wherever a run may not start, the statement fails: nothing is claimed, and the caller looks with care, run by run.
"""

from collections.abc import Mapping, Sequence
from sqlite3 import Cursor
from typing import Any, NamedTuple
from uuid import UUID

from webapp.clock import new_id
from webapp.documents.kinds import is_recording
from webapp.documents.runs import AHEAD


class MayNotStart(Exception):
    """A job may not be worked on, since its run may not start or has ended. PostgreSQL says it by a DataError."""


class AtWork(NamedTuple):
    """What is to be known of a run whose job is worked on."""

    seconds_running: float
    """How much of its window it has used; 0 where it has succeeded, and this job only follows it."""
    is_recording: bool


# A run that may not be worked on has a text for its seconds, which is no number and fails. And "still in the state that
# was seen" says no more than its name would, but that would tempt a planner to begin with all runs that are QUEUED.
ON_POSTGRESQL = f"""
run AS MATERIALIZED (
    SELECT taken.*, documents.content_type, processing_runs.state, processing_runs.started_at AS run_started_at,
        processing_runs.state = 'QUEUED' AND NOT {AHEAD} AS may_start
    FROM taken
    JOIN processing_runs ON processing_runs.id = taken.run_id
    JOIN documents ON documents.id = taken.document_id
),
begun AS (
    UPDATE processing_runs SET state = 'RUNNING', started_at = statement_timestamp()
    FROM run WHERE run.may_start AND processing_runs.id = run.run_id AND processing_runs.state = run.state
    RETURNING run.place, run.org_id, run.document_id, run.run_id
),
told AS (
    INSERT INTO run_events (id, org_id, document_id, run_id, kind, created_at)
    SELECT (%(event_ids)s::uuid[])[place], org_id, document_id, run_id, 'RUN_STARTED', statement_timestamp() FROM begun
),
along AS (
    SELECT run.*,
        CASE WHEN begun.place IS NOT NULL OR state = 'SUCCEEDED' THEN 0
            WHEN state = 'RUNNING' THEN extract(epoch FROM statement_timestamp() - run_started_at)::float8
            ELSE (state || ' may not be worked on')::float8 END AS seconds_running
    FROM run LEFT JOIN begun ON begun.place = run.place
)
"""
_NOW = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
BEGIN_ON_SQLITE = f"""
UPDATE processing_runs SET state = 'RUNNING', started_at = {_NOW}
WHERE id = ? AND state = 'QUEUED' AND NOT {AHEAD} RETURNING org_id, document_id
"""
_TELL_ON_SQLITE = f"""
INSERT INTO run_events (id, org_id, document_id, run_id, kind, created_at) VALUES (?, ?, ?, ?, 'RUN_STARTED', {_NOW})
"""
_LOOK_ON_SQLITE = """
SELECT document.content_type, iif(run.state = 'RUNNING', (julianday('now') - julianday(run.started_at)) * 86400.0, 0.0)
FROM processing_runs run JOIN documents document ON document.id = run.document_id
WHERE run.id = ? AND run.state IN ('RUNNING', 'SUCCEEDED')
"""


def values(number: int) -> Mapping[str, str]:
    """The parameters of ON_POSTGRESQL, for so many runs at most."""
    return {"event_ids": "{" + ",".join(new_id().hex for _ in range(number)) + "}"}


def on_sqlite(cursor: Cursor, run_ids: Sequence[UUID]) -> list[tuple[Any, ...]]:
    """The same, inside of a write transaction, which is alone."""
    return [_start(cursor, run_id.hex) for run_id in run_ids]


def read(row: tuple[Any, ...]) -> AtWork:
    """What both databases answer with for each run."""
    content_type, *_, seconds_running = row
    return AtWork(seconds_running, is_recording(content_type))


def _start(cursor: Cursor, run_id: str) -> tuple[Any, ...]:
    begun = cursor.execute(BEGIN_ON_SQLITE, (run_id,)).fetchone()
    if begun is not None:
        cursor.execute(_TELL_ON_SQLITE, (new_id().hex, *begun, run_id))
    row: tuple[Any, ...] | None = cursor.execute(_LOOK_ON_SQLITE, (run_id,)).fetchone()
    if row is None:
        raise MayNotStart(run_id)
    return row
