"""The statements that take jobs on PostgreSQL. All are given the same; each brings jobs, and says why not.

A line is what stands in the index of due jobs under one stage, priority and org. A claim jumps from line to line (a
stage that may not be worked on costs one jump, however long its lines are), lets the lines that were served least go
first, and locks the jobs it takes from their beginnings.

To set all of that up takes longer than to take ten jobs. Where all due jobs are of one stage, and the most urgent of
them all are one org's, there is nothing to weigh: the ends of the index tell. FROM_FIRST_LINE takes what it can then,
and says so where it can't.
"""

from enum import Enum, auto
from typing import Any

from webapp.jobs.along import Along
from webapp.jobs.due import HEAD, lines
from webapp.jobs.model import DUE

_JOBS = "document_processing_jobs"
# A claim this small may lock so many from each line as it wants in all; a larger one shares them out.
_SMALL = 16

# Controls are looked at inside the statement: a worker that knows of none must not miss the first.
_ARE_CONTROLLED = """
EXISTS (SELECT FROM stage_controls
        WHERE paused OR job_limit IS NOT NULL OR slowed_until > statement_timestamp() - interval '2 minutes')
"""
_IS_OUTSIDE = "(line.stage = ANY(%(lane)s::text[])) <> %(is_inside)s"
_IS_CLOSED = f"room.number <= 0 OR {_IS_OUTSIDE}"
_JOBS_OF_LINE = f"""
SELECT job.id, job.available_at FROM {_JOBS} job
WHERE {DUE} AND job.stage = {{line}}.stage AND job.priority = {{line}}.priority AND job.org_id = {{line}}.org_id
    AND job.available_at <= statement_timestamp() AND (job.available_at, job.id) >= ({{line}}.available_at, {{line}}.id)
ORDER BY {HEAD} LIMIT {{most}} FOR UPDATE SKIP LOCKED
"""
# Those that were `chosen`, each with its place.
_TAKEN = f"""
taken AS (
    UPDATE {_JOBS} job SET status = 'PROCESSING', locked_by = %(worker)s, lease_id = %(lease)s,
        started_at = statement_timestamp(), heartbeat_at = statement_timestamp(), updated_at = statement_timestamp()
    FROM chosen WHERE job.id = chosen.id
    RETURNING chosen.place, job.id, job.lease_id, job.org_id, job.document_id, job.run_id, job.stage,
        job.payload, job.checkpoint, job.attempts, job.max_attempts, job.priority
)
"""
# The head of each line, as far as it may be taken from, in the order in which they are served.
_HEADS = f"""
head AS MATERIALIZED (
    SELECT line.*, coalesce(turn.busy, 0) AS busy, coalesce(turn.served, 0) AS served, {{room}} AS room,
        CASE WHEN %(rotates)s THEN line.place ELSE 0 END AS in_ring
    FROM line {{joined}}
    LEFT JOIN unnest(%(orgs)s::uuid[], %(busy)s::int[], %(served)s::int[]) AS turn (org_id, busy, served)
        ON turn.org_id = line.org_id
    WHERE line.place > 0 AND line.available_at <= statement_timestamp() AND ({{is_closed}}) IS NOT TRUE
    ORDER BY line.priority, busy, served, in_ring, line.available_at, line.id
    LIMIT %(limit)s::bigint + %(more_lines)s::bigint
),
candidate AS MATERIALIZED (
    SELECT job.id, job.available_at, head.stage, head.priority, head.org_id, head.busy, head.served, head.room,
        head.in_ring
    FROM head CROSS JOIN LATERAL ({
    _JOBS_OF_LINE.format(line="head", most=f"(SELECT least(%(limit)s, {_SMALL} + %(limit)s / count(*)) FROM head)")
}) job
),
ranked AS (
    SELECT *, busy + row_number() OVER (PARTITION BY org_id ORDER BY priority, available_at, id) AS turn
    FROM candidate
)
"""
_ORDER = "priority, turn, served, in_ring, available_at, id"
_TAKE_FREELY = f"""
WITH RECURSIVE
control AS MATERIALIZED (SELECT {_ARE_CONTROLLED} AS is_unknown),
{
    lines(
        begins_if="NOT (SELECT is_unknown FROM control)",
        is_closed=_IS_OUTSIDE,
        behind="%(behind)s::uuid",
        most="%(lines)s::int",
    )
},
{_HEADS.format(room="NULL", joined="", is_closed=_IS_OUTSIDE)},
chosen AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY {_ORDER}) AS place FROM ranked ORDER BY place LIMIT %(limit)s
),
{_TAKEN}
"""
_FOUND_FREELY = "SELECT is_unknown, EXISTS (SELECT FROM head), NULL, {taken}.* FROM control LEFT JOIN {taken} ON true"

_AND_ROOM = "LEFT JOIN room ON room.stage = line.stage"
_TAKE_IN_ROOMS = f"""
WITH RECURSIVE
room AS MATERIALIZED (SELECT * FROM unnest(%(stages)s::text[], %(rooms)s::int[]) AS room (stage, number)),
{
    lines(
        begins_if="true",
        is_closed=_IS_CLOSED,
        behind="%(behind)s::uuid",
        most="%(lines)s::int",
        joined=_AND_ROOM,
    )
},
{_HEADS.format(room="room.number", joined=_AND_ROOM, is_closed=_IS_CLOSED)},
placed AS (SELECT *, row_number() OVER (PARTITION BY stage ORDER BY {_ORDER}) AS in_stage FROM ranked),
chosen AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY {_ORDER}) AS place FROM placed WHERE in_stage <= room OR room IS NULL
    ORDER BY place LIMIT %(limit)s
),
{_TAKEN}
"""
_FOUND_IN_ROOMS = """
SELECT false, EXISTS (SELECT FROM head), NULL, {taken}.* FROM (VALUES (1)) AS one LEFT JOIN {taken} ON true
"""

_TAIL = f"{HEAD.replace(',', ' DESC,')} DESC"
# A line that is not alone must have as many as are wanted, or the rest is another's.
_TAKE_FROM_FIRST_LINE = f"""
WITH
first AS MATERIALIZED (SELECT {HEAD} FROM {_JOBS} job WHERE {DUE} ORDER BY {HEAD} LIMIT 1),
line AS MATERIALIZED (
    SELECT first.*,
        (first.stage, first.priority, first.org_id) = (last.stage, last.priority, last.org_id) AS is_alone,
        (first.stage, first.priority, first.org_id) = (last.stage, last.priority, last.org_id)
            OR first.stage = last.stage AND NOT EXISTS (
                SELECT FROM {_JOBS} job
                WHERE {DUE} AND job.stage = first.stage AND job.priority = first.priority AND job.org_id > first.org_id
            ) AS is_foremost,
        {_ARE_CONTROLLED} AS is_controlled,
        first.available_at <= statement_timestamp() AND NOT ({_IS_OUTSIDE.replace("line.", "first.")}) AS is_open
    FROM first CROSS JOIN (SELECT {HEAD} FROM {_JOBS} job WHERE {DUE} ORDER BY {_TAIL} LIMIT 1) last
),
candidate AS MATERIALIZED (
    SELECT job.id, row_number() OVER () AS place
    FROM line CROSS JOIN LATERAL ({_JOBS_OF_LINE.format(line="line", most="%(limit)s::bigint")}) job
    WHERE line.is_foremost AND line.is_open AND NOT line.is_controlled
),
chosen AS (
    SELECT candidate.* FROM candidate
    WHERE (SELECT is_alone FROM line) OR (SELECT count(*) FROM candidate) = %(limit)s::bigint
),
{_TAKEN}
"""
_FOUND_IN_FIRST_LINE = """
SELECT line.is_controlled, line.is_alone, line.is_open, {taken}.* FROM line LEFT JOIN {taken} ON true
"""


class How(Enum):
    """Which of them."""

    FREELY = auto()
    """Unless somebody controls a stage: then it takes nothing."""
    IN_ROOMS = auto()
    """No more of each stage than it is told."""
    FROM_FIRST_LINE = auto()
    """Unless somebody controls a stage, or it takes more than one line."""


_PARTS = {
    How.FREELY: (_TAKE_FREELY, _FOUND_FREELY),
    How.IN_ROOMS: (_TAKE_IN_ROOMS, _FOUND_IN_ROOMS),
    How.FROM_FIRST_LINE: (_TAKE_FROM_FIRST_LINE, _FOUND_IN_FIRST_LINE),
}


def statement(how: How, along: Along[Any] | None = None) -> str:
    """A claim, and what else it does."""
    take, found = _PARTS[how]
    if along is None:
        return f"{take} {found.format(taken='taken')}"
    return f"{take}, {along.postgresql} {found.format(taken='along')}"
