"""The hot statements on PostgreSQL, in its driver's own words: prepared once, one round trip each.

A line is what stands in the index of due jobs under one stage, priority and org. A claim jumps from
line to line (a stage that may not be worked on costs one jump, however long its lines are), lets the
lines that were served least go first, and locks the jobs it takes from their beginnings.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from psycopg import Cursor

from webapp.jobs.along import Along
from webapp.jobs.due import lines
from webapp.jobs.hot import Hot, Taken, Wanted, as_json, controls_of, rooms_under
from webapp.jobs.model import DUE, LEASED
from webapp.jobs.prepared import Prepared
from webapp.jobs.queue import Lease, NewJob
from webapp.jobs.turns import NOBODY

_JOBS = "document_processing_jobs"
# A claim this small may lock so many from each line as it wants in all; a larger one shares them out.
_SMALL = 16

# Statistics are from before the import that brought 100,000 jobs, and row-level security counts as one more
# condition that hardly any row meets: left alone, a planner would fetch and sort them all, for each claim.
PLANNER = {
    "enable_sort": "off",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    # And to make such a plan anew takes longer than a claim.
    "plan_cache_mode": "force_generic_plan",
}
PLAN_FOR_THIS_TRANSACTION = "SELECT " + ", ".join(
    f"set_config('{name}', '{value}', true)" for name, value in PLANNER.items()
)

# Controls are looked at inside the statement: a worker that knows of none must not miss the first.
_ARE_CONTROLLED = """
EXISTS (SELECT FROM stage_controls
        WHERE paused OR job_limit IS NOT NULL OR slowed_until > statement_timestamp() - interval '2 minutes')
"""
_IS_CLOSED = "room.number <= 0 OR (line.stage = ANY(%(lane)s::text[])) <> %(is_inside)s"
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
    FROM head CROSS JOIN LATERAL (
        SELECT job.id, job.available_at FROM {_JOBS} job
        WHERE {DUE} AND job.stage = head.stage AND job.priority = head.priority AND job.org_id = head.org_id
            AND job.available_at <= statement_timestamp() AND (job.available_at, job.id) >= (head.available_at, head.id)
        ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id
        LIMIT (SELECT least(%(limit)s, {_SMALL} + %(limit)s / count(*)) FROM head)
        FOR UPDATE SKIP LOCKED
    ) job
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
taken AS (
    UPDATE {_JOBS} job SET status = 'PROCESSING', locked_by = %(worker)s, lease_id = %(lease)s,
        started_at = statement_timestamp(), heartbeat_at = statement_timestamp(), updated_at = statement_timestamp()
    FROM chosen WHERE job.id = chosen.id
    RETURNING chosen.place, job.id, job.lease_id, job.org_id, job.document_id, job.run_id, job.stage,
        job.payload, job.checkpoint, job.attempts, job.max_attempts, job.priority
)
"""
_TAKEN = "SELECT is_unknown, (SELECT count(*) FROM head), {0}.* FROM control LEFT JOIN {0} ON true"
CLAIM = f"{_TAKE} {_TAKEN.format('taken')}"
# Behind what a row says of the claim stand the columns of a lease, and behind those what was found along with it.
_LEASE, _ALONG = slice(3, 14), slice(14, None)

_CONTROLS = """
SELECT stage, paused, job_limit, extract(epoch FROM statement_timestamp() - slowed_until)::float8 FROM stage_controls
"""
_AT_WORK = f"SELECT stage, count(*) FROM {_JOBS} WHERE {LEASED} AND stage = ANY(%s) GROUP BY stage"
# Whoever counts the jobs of a limited stage must be alone until its own claim is committed; one that is frozen in
# the middle of it keeps the others for seconds, not for as long as a transaction may idle elsewhere.
_COUNT_ALONE = """
SELECT set_config('idle_in_transaction_session_timeout', '5s', true), set_config('lock_timeout', '10s', true),
    pg_advisory_xact_lock(hashtext('docmill stage limits'))
"""

# A worker that sleeps holds all of these locks together with others; whoever brings work wants one of them alone,
# until it is committed. It gets none where somebody sleeps, and nobody falls asleep without seeing that work.
CHANNEL = "docmill_jobs"
_SLEEPERS, _DOORS = "hashtext('docmill sleepers')", 16
FALL_ASLEEP = f"SELECT pg_advisory_lock_shared({_SLEEPERS}, door) FROM generate_series(0, {_DOORS - 1}) AS door"
RING = f"""
SELECT pg_notify('{CHANNEL}', '') WHERE NOT pg_try_advisory_xact_lock({_SLEEPERS}, mod(pg_backend_pid(), {_DOORS}))
"""

_ENDED = """status = 'COMPLETED', lease_id = NULL, locked_by = NULL,
    completed_at = statement_timestamp(), updated_at = statement_timestamp()"""
COMPLETE = f"UPDATE {_JOBS} SET {_ENDED} WHERE id = %s AND lease_id = %s"
_COMPLETE = Prepared(COMPLETE)
# A nested loop meets the rows in the order of the arrays, so that two that complete never wait in a circle.
COMPLETE_MANY = f"""
UPDATE {_JOBS} job SET {_ENDED} FROM unnest(%s::uuid[], %s::uuid[]) AS mine (id, lease_id)
WHERE job.id = mine.id AND job.lease_id = mine.lease_id RETURNING job.id
"""
_IDS = {"id": "uuid", "document_id": "uuid", "run_id": "uuid"}
_TRAITS = {
    "org_id": "uuid",
    "stage": "text",
    "payload": "jsonb",
    "checkpoint": "jsonb",
    "priority": "int",
    "max_attempts": "int",
    "held": "bool",
    "delay_seconds": "float8",
}


def _arrays(kinds: Mapping[str, str]) -> str:
    return f"unnest({', '.join(f'%s::{kind}[]' for kind in kinds.values())})"


# One job, or jobs that differ in nothing but their ids; and jobs of many kinds.
_ALIKE = f"""
{_arrays(_IDS)} AS each ({", ".join(_IDS)})
CROSS JOIN (VALUES ({", ".join(f"%s::{kind}" for kind in _TRAITS.values())})) AS kind ({", ".join(_TRAITS)})
"""
_MIXED = f"{_arrays(_IDS | _TRAITS)} AS each ({', '.join(_IDS | _TRAITS)})"
_ENQUEUE = f"""
INSERT INTO {_JOBS} (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint, attempts,
    max_attempts, available_at, created_at, error_log, updated_at)
SELECT id, org_id, document_id, run_id, stage, 'PENDING', priority, payload, checkpoint, 0, max_attempts,
    CASE WHEN NOT held THEN statement_timestamp() + delay_seconds * interval '1 second' END,
    statement_timestamp(), '[]', statement_timestamp()
FROM {{rows}}
"""
_AND_RING = f"WITH ring AS MATERIALIZED ({RING}) {_ENQUEUE} WHERE (SELECT count(*) FROM ring) >= 0"
# Whether they are alike, and whether it also rings.
_ENQUEUES = {
    (are_alike, rings): Prepared((_AND_RING if rings else _ENQUEUE).format(rows=_ALIKE if are_alike else _MIXED))
    for are_alike in (True, False)
    for rings in (True, False)
}


def claim(here: Hot, wanted: Wanted, rooms: Mapping[str, int] | None) -> Taken:
    """Take due jobs; without `rooms` (how many of a stage may be taken) only where no stage is controlled."""
    rows = _claim(wanted.along).fetch(here, claim_values(wanted, rooms))
    is_controlled, heads = rows[0][:2]
    if rows[0][3] is None:
        return Taken([], is_controlled=is_controlled, is_contended=heads > 0)
    rows.sort(key=_place)
    leases, found = [Lease(*row[_LEASE]) for row in rows], [row[_ALONG] for row in rows]
    return Taken(leases, is_controlled=False, is_contended=False, along=found)


def claim_along(along: Along[Any]) -> str:
    """CLAIM, and what else it does."""
    return f"{_TAKE}, {along.postgresql} {_TAKEN.format('along')}"


@cache
def _claim(along: Along[Any] | None) -> Prepared:
    return Prepared(claim_along(along) if along else CLAIM)


def claim_values(wanted: Wanted, rooms: Mapping[str, int] | None) -> dict[str, str]:
    """The parameters of CLAIM."""
    return {
        "guarded": str(rooms is not None),
        "stages": _array(_quoted(list(rooms or ()))),
        "rooms": _array(map(str, (rooms or {}).values())),
        "orgs": _array([org.hex for org in wanted.turns.orgs]),
        "busy": _array(map(str, wanted.turns.busy)),
        "served": _array(map(str, wanted.turns.served)),
        "lane": _array(_quoted(wanted.lane.stages)),
        "is_inside": str(wanted.lane.is_inside),
        "limit": str(wanted.limit),
        "more_lines": str(wanted.more_lines),
        "lines": str(wanted.lines),
        "behind": wanted.turns.behind.hex,
        "rotates": str(wanted.turns.behind != NOBODY),
        "worker": wanted.worker,
        "lease": wanted.lease_id.hex,
        **(wanted.along.values(wanted.limit) if wanted.along else {}),
    }


def rooms(cursor: Cursor[Any], limits: Mapping[str, int]) -> dict[str, int] | None:
    """How many more jobs of each controlled stage may be taken; None where nothing may be taken at all."""
    cursor.execute(_COUNT_ALONE)
    cursor.execute(_CONTROLS)
    return rooms_under(controls_of(cursor.fetchall()), limits, lambda stages: _at_work(cursor, stages))


def complete(here: Hot, lease: Lease) -> bool:
    """End a job that is still held: done."""
    return _COMPLETE.rows(here, (lease.job_id.hex, lease.lease_id.hex)) == 1


def complete_many(cursor: Cursor[Any], leases: Sequence[Lease]) -> set[UUID]:
    """End those that are still held; which those were."""
    ordered = sorted(leases, key=_job_id)
    pairs = (_array([lease.job_id.hex for lease in ordered]), _array([lease.lease_id.hex for lease in ordered]))
    cursor.execute(COMPLETE_MANY, pairs)
    # Reading the ids back costs more than the rest together, and as a rule says nothing new.
    if cursor.rowcount == len(ordered):
        return {lease.job_id for lease in ordered}
    return {row[0] for row in cursor.fetchall()}


def enqueue(here: Hot, jobs: Sequence[NewJob], *, rings: bool) -> bool:
    """Add jobs, however many, in one statement; it may wake sleepers, too. Whether it has seen to that."""
    ids = (_id, _document_id, _run_id)
    values = [_array([trait(job).hex for job in jobs]) for trait in ids]
    are_alike = all(_is_constant([trait(job) for job in jobs]) for trait in _kind)
    if are_alike:
        values += _as_texts(jobs[0])
    else:
        values += [_array(_quoted(column)) for column in zip(*map(_as_texts, jobs), strict=True)]
    _ENQUEUES[are_alike, rings].rows(here, values)
    return rings


def _is_constant(values: list[Any]) -> bool:
    return values.count(values[0]) == len(values)


def _as_texts(job: NewJob) -> list[str]:
    return [
        job.org_id.hex,
        job.stage,
        as_json(job.payload),
        as_json(job.checkpoint),
        str(int(job.priority)),
        str(job.max_attempts),
        str(job.held),
        str(float(job.delay_seconds)),
    ]


def _array(values: Iterable[str]) -> str:
    """As the database reads one. The driver's own way takes longer than the statement."""
    return "{" + ",".join(values) + "}"


def _quoted(values: Sequence[str]) -> Iterable[str]:
    """Most are the same."""
    known = {value: '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in set(values)}
    return map(known.__getitem__, values)


def _at_work(cursor: Cursor[Any], stages: list[str]) -> dict[str, int]:
    return dict(cursor.execute(_AT_WORK, (stages,)).fetchall())


_place = itemgetter(2)
_job_id = attrgetter("job_id")
_id, _document_id, _run_id = (attrgetter(name) for name in _IDS)
_kind = [attrgetter(name) for name in _TRAITS]
