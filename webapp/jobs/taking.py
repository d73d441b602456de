"""The statements that take jobs on PostgreSQL: one that weighs all lines, and one for when there is but one line.

A line is what stands in the index of due jobs under one stage, priority and org. CLAIM jumps from line to line (a
stage that may not be worked on costs one jump, however long its lines are), lets the lines that were served least go
first, and locks the jobs it takes from their beginnings.

Where all due jobs stand in one line there is nothing to weigh, and to set all of that up takes longer than to take
ten jobs. The first and the last of the index tell. CLAIM_FROM_ONE_LINE takes what it can then, and says so where it
can't; both read the same parameters and put the same columns of a job behind three of their own.
"""

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
_IS_CLOSED = "room.number <= 0 OR (line.stage = ANY(%(lane)s::text[])) <> %(is_inside)s"
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
_TAKE = f"""
WITH RECURSIVE
control AS MATERIALIZED (SELECT NOT %(guarded)s AND {_ARE_CONTROLLED} AS is_unknown),
room AS MATERIALIZED (SELECT * FROM unnest(%(stages)s::text[], %(rooms)s::int[]) AS room (stage, number)),
{
    lines(
        begins_if="NOT (SELECT is_unknown FROM control)",
        is_closed=_IS_CLOSED,
        behind="%(behind)s::uuid",
        most="%(lines)s::int",
        joined="LEFT JOIN room ON room.stage = line.stage",
    )
},
head AS MATERIALIZED (
    SELECT line.*, coalesce(turn.busy, 0) AS busy, coalesce(turn.served, 0) AS served, room.number AS room,
        CASE WHEN %(rotates)s THEN line.place ELSE 0 END AS in_ring
    FROM line
    LEFT JOIN room ON room.stage = line.stage
    LEFT JOIN unnest(%(orgs)s::uuid[], %(busy)s::int[], %(served)s::int[]) AS turn (org_id, busy, served)
        ON turn.org_id = line.org_id
    WHERE line.place > 0 AND line.available_at <= statement_timestamp() AND ({_IS_CLOSED}) IS NOT TRUE
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
),
placed AS (
    SELECT *,
        row_number() OVER (PARTITION BY stage ORDER BY priority, turn, served, in_ring, available_at, id) AS in_stage
    FROM ranked
),
chosen AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY priority, turn, served, in_ring, available_at, id) AS place
    FROM placed WHERE in_stage <= room OR room IS NULL
    ORDER BY place LIMIT %(limit)s
),
{_TAKEN}
"""
# Of a closed stage one line is looked at, however many there are.
_FOUND = f"""
SELECT is_unknown, EXISTS (SELECT FROM head),
    (SELECT count(*) <= 1 AND count(*) FILTER (WHERE {_IS_CLOSED}) = 0 FROM line LEFT JOIN room USING (stage)),
    {{taken}}.*
FROM control LEFT JOIN {{taken}} ON true
"""
CLAIM = f"{_TAKE} {_FOUND.format(taken='taken')}"

_TAIL = f"{HEAD.replace(',', ' DESC,')} DESC"
_TAKE_FROM_ONE_LINE = f"""
WITH
first AS MATERIALIZED (SELECT {HEAD} FROM {_JOBS} job WHERE {DUE} ORDER BY {HEAD} LIMIT 1),
line AS MATERIALIZED (
    SELECT first.*,
        (first.stage, first.priority, first.org_id) = (last.stage, last.priority, last.org_id) AS is_alone,
        {_ARE_CONTROLLED} AS is_controlled,
        first.available_at <= statement_timestamp() AND (first.stage = ANY(%(lane)s::text[])) = %(is_inside)s AS is_open
    FROM first CROSS JOIN (SELECT {HEAD} FROM {_JOBS} job WHERE {DUE} ORDER BY {_TAIL} LIMIT 1) last
),
chosen AS MATERIALIZED (
    SELECT job.id, row_number() OVER () AS place
    FROM line CROSS JOIN LATERAL ({_JOBS_OF_LINE.format(line="line", most="%(limit)s::bigint")}) job
    WHERE line.is_alone AND line.is_open AND NOT line.is_controlled
),
{_TAKEN}
"""
_FOUND_IN_ONE_LINE = """
SELECT line.is_alone, line.is_controlled, line.is_open, {taken}.* FROM line LEFT JOIN {taken} ON true
"""
CLAIM_FROM_ONE_LINE = f"{_TAKE_FROM_ONE_LINE} {_FOUND_IN_ONE_LINE.format(taken='taken')}"


def claim_along(along: Along[Any]) -> str:
    """CLAIM, and what else it does."""
    return f"{_TAKE}, {along.postgresql} {_FOUND.format(taken='along')}"


def claim_from_one_line_along(along: Along[Any]) -> str:
    """CLAIM_FROM_ONE_LINE, and what else it does."""
    return f"{_TAKE_FROM_ONE_LINE}, {along.postgresql} {_FOUND_IN_ONE_LINE.format(taken='along')}"
