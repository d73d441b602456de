"""The hot statements on PostgreSQL, in its driver's own words: prepared once, one round trip each."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from psycopg import Cursor

from webapp.jobs.along import Along
from webapp.jobs.hot import Hot, Taken, Wanted, as_json, controls_of, rooms_under
from webapp.jobs.model import LEASED
from webapp.jobs.prepared import Prepared
from webapp.jobs.queue import Lease, NewJob
from webapp.jobs.taking import How, statement
from webapp.jobs.turns import NOBODY

_JOBS = "document_processing_jobs"
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

# Behind what a row says of the claim stands a job's place, then the columns of its lease, then what was found along.
_PLACE, _LEASE, _ALONG = 3, slice(4, 15), slice(15, None)

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
    how = How.FREELY if rooms is None else How.IN_ROOMS
    rows = _claim(how, wanted.along).fetch(here, claim_values(wanted, rooms))
    is_controlled, is_contended, _ = rows[0][:_PLACE]
    return Taken([], is_controlled, is_contended) if rows[0][_PLACE] is None else _taken(rows)


def claim_from_first_line(here: Hot, wanted: Wanted) -> Taken | None:
    """The same, where the first line has all that is wanted or all there is; None where that has to be found out."""
    rows = _claim(How.FROM_FIRST_LINE, wanted.along).fetch(here, claim_values(wanted, None))
    if not rows or rows[0][_PLACE] is not None:
        return _taken(rows)
    is_controlled, is_alone, is_open = rows[0][:_PLACE]
    return Taken([], is_controlled) if is_controlled or (is_alone and not is_open) else None


def _taken(rows: list[tuple[Any, ...]]) -> Taken:
    rows.sort(key=_place)
    return Taken([Lease(*row[_LEASE]) for row in rows], along=[row[_ALONG] for row in rows])


@cache
def _claim(how: How, along: Along[Any] | None) -> Prepared:
    return Prepared(statement(how, along))


def claim_values(wanted: Wanted, rooms: Mapping[str, int] | None) -> dict[str, str]:
    """The parameters of every claim."""
    return {
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


_place = itemgetter(_PLACE)
_job_id = attrgetter("job_id")
_id, _document_id, _run_id = (attrgetter(name) for name in _IDS)
_kind = [attrgetter(name) for name in _TRAITS]
