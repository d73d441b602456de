"""The hot statements on SQLite, in its driver's own words. A claim is the same as on PostgreSQL, and a walk.

The database is in this process: a probe costs some microseconds, and a write transaction is alone, so what is one
statement there is a loop here.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice, repeat
from sqlite3 import Cursor
from typing import Any, NamedTuple
from uuid import UUID

from webapp.jobs.hot import Hot, Taken, Wanted, as_json, controls_of, rooms_under
from webapp.jobs.model import DUE, LEASED
from webapp.jobs.queue import Lease, NewJob
from webapp.jobs.turns import NOBODY

_JOBS = "document_processing_jobs"
_NOW = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
_LATER = "strftime('%Y-%m-%d %H:%M:%f', 'now', :delay || ' seconds')"
_SMALL = 16
_PRIORITY_MAX, _ORG_MAX = 2**31 - 1, "g"
_NOWHERE = ("", -1, "")

NEXT_LINE = f"""
SELECT stage, priority, org_id, available_at, id, available_at <= {_NOW} FROM {_JOBS}
WHERE {DUE} AND (stage, priority, org_id) > (?, ?, ?) ORDER BY stage, priority, org_id, available_at, id LIMIT 1
"""
OF_LINE = f"""
SELECT id, available_at FROM {_JOBS}
WHERE {DUE} AND stage = ? AND priority = ? AND org_id = ? AND available_at <= {_NOW} ORDER BY available_at, id LIMIT ?
"""
TAKE = f"""
UPDATE {_JOBS} SET status = 'PROCESSING', locked_by = ?, lease_id = ?, started_at = {_NOW}, heartbeat_at = {_NOW},
    updated_at = {_NOW}
WHERE id IN (SELECT value FROM json_each(?))
RETURNING id, org_id, document_id, run_id, stage, payload, checkpoint, attempts, max_attempts, priority
"""
_CONTROLS = """
SELECT stage, paused, job_limit, (julianday('now') - julianday(slowed_until)) * 86400.0 FROM stage_controls
"""
_ARE_CONTROLLED = """
SELECT EXISTS (SELECT 1 FROM stage_controls
    WHERE paused OR job_limit IS NOT NULL OR slowed_until > strftime('%Y-%m-%d %H:%M:%f', 'now', '-120 seconds'))
"""
_AT_WORK = f"""
SELECT stage, count(*) FROM {_JOBS} WHERE {LEASED} AND stage IN (SELECT value FROM json_each(?)) GROUP BY stage
"""
COMPLETE = f"""
UPDATE {_JOBS} SET status = 'COMPLETED', lease_id = NULL, locked_by = NULL, completed_at = {_NOW}, updated_at = {_NOW}
WHERE id = ? AND lease_id = ?
"""
ENQUEUE = f"""
INSERT INTO {_JOBS} (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint, attempts,
    max_attempts, available_at, created_at, error_log, updated_at)
VALUES (:id, :org_id, :document_id, :run_id, :stage, 'PENDING', :priority, :payload, :checkpoint, 0, :max_attempts,
    CASE WHEN NOT :held THEN {_LATER} END, {_NOW}, '[]', {_NOW})
"""


class _Line(NamedTuple):
    stage: str
    priority: int
    org_id: str
    available_at: str
    head: str
    is_due: int
    in_ring: int = 0


class _Place(NamedTuple):
    """Sorts as the jobs stand."""

    priority: int
    turn: int
    served: int
    in_ring: int
    available_at: str
    job_id: str
    stage: str


def claim(here: Hot, wanted: Wanted, rooms: Mapping[str, int] | None) -> Taken:
    """Take due jobs; without `rooms` (how many of a stage may be taken) only where no stage is controlled."""
    cursor = here.cursor
    if rooms is None and cursor.execute(_ARE_CONTROLLED).fetchone()[0]:
        return Taken([], is_controlled=True)
    rooms = rooms or {}

    def is_open(stage: str) -> bool:
        return wanted.lane.has(stage) and rooms.get(stage, 1) > 0

    standing = {org.hex: place for org, *place in zip(*_lists(wanted), strict=True)}
    lines = sorted(
        _lines(cursor, is_open, wanted),
        key=lambda line: (line.priority, *standing.get(line.org_id, (0, 0)), line.in_ring, line[3:5]),
    )
    places = sorted(_places(cursor, lines[: wanted.limit], wanted.limit, standing))
    chosen = _within(places, rooms)[: wanted.limit]
    if not chosen:
        return Taken([])
    lease = wanted.lease_id
    rows = cursor.execute(TAKE, (wanted.worker, lease.hex, json.dumps([place.job_id for place in chosen]))).fetchall()
    leases = {row[0]: _lease(lease, row) for row in rows}
    taken = [leases[place.job_id] for place in chosen]
    along = wanted.along.sqlite(cursor, [lease.run_id for lease in taken]) if wanted.along else ()
    return Taken(taken, along=along)


def rooms(cursor: Cursor, limits: Mapping[str, int]) -> dict[str, int] | None:
    """How many more jobs of each controlled stage may be taken; None where nothing may be taken at all."""
    controls = controls_of(cursor.execute(_CONTROLS).fetchall())
    return rooms_under(controls, limits, lambda stages: _at_work(cursor, stages)) if controls or limits else {}


def complete(here: Hot, lease: Lease) -> bool:
    """End a job that is still held: done."""
    return _complete(here.cursor, lease)


def _complete(cursor: Cursor, lease: Lease) -> bool:
    return cursor.execute(COMPLETE, (lease.job_id.hex, lease.lease_id.hex)).rowcount == 1


def complete_many(cursor: Cursor, leases: Sequence[Lease]) -> set[UUID]:
    """End those that are still held; which those were."""
    return {lease.job_id for lease in leases if _complete(cursor, lease)}


def enqueue(here: Hot, jobs: Sequence[NewJob], *, rings: bool) -> bool:
    """Add jobs, however many. Nobody can be woken by a statement here."""
    here.cursor.executemany(ENQUEUE, [_row(job) for job in jobs])
    return False


def _lists(wanted: Wanted) -> tuple[list[UUID], list[int], list[int]]:
    return wanted.turns.orgs, wanted.turns.busy, wanted.turns.served


def _lines(cursor: Cursor, is_open: Callable[[str], bool], wanted: Wanted) -> Iterator[_Line]:
    """The lines of open stages whose heads are due; of a stage and a priority so many at most."""
    after = _NOWHERE
    while (first := _next_line(cursor, after)) is not None:
        if is_open(first.stage):
            # Those whose time has not come are passed by, however many: they would hide what is due behind them.
            due = (line for line in _ring(cursor, first, wanted.turns.behind) if line.is_due)
            yield from islice(due, wanted.lines)
        after = (first.stage, first.priority if is_open(first.stage) else _PRIORITY_MAX, _ORG_MAX)


def _ring(cursor: Cursor, first: _Line, behind: UUID) -> Iterator[_Line]:
    """The lines of one stage and priority, from behind one org and round."""
    place, middle = (repeat(0), "") if behind == NOBODY else (count(1), behind.hex)
    for begin, end in ((middle, _ORG_MAX), ("", middle)):
        line: _Line | None = first
        if first.org_id <= begin:
            line = _next_line(cursor, (first.stage, first.priority, begin))
        while line is not None and line[:2] == first[:2] and line.org_id <= end:
            yield line._replace(in_ring=next(place))
            line = _next_line(cursor, line[:3])


def _next_line(cursor: Cursor, after: tuple[str, int, str]) -> _Line | None:
    row = cursor.execute(NEXT_LINE, after).fetchone()
    return None if row is None else _Line(*row)


def _places(
    cursor: Cursor, lines: Sequence[_Line], limit: int, standing: Mapping[str, Sequence[int]]
) -> Iterator[_Place]:
    """The beginnings of these lines, each job with the turn that it would be for its org."""
    turns = {line.org_id: standing.get(line.org_id, (0, 0))[0] for line in lines}
    most = min(limit, _SMALL + limit // len(lines)) if lines else 0
    for line in lines:
        served = standing.get(line.org_id, (0, 0))[1]
        for job_id, available_at in cursor.execute(OF_LINE, (*line[:3], most)).fetchall():
            turns[line.org_id] += 1
            yield _Place(line.priority, turns[line.org_id], served, line.in_ring, available_at, job_id, line.stage)


def _within(places: Sequence[_Place], rooms: Mapping[str, int]) -> list[_Place]:
    left = dict(rooms)
    chosen = []
    for place in places:
        if place.stage in left:
            left[place.stage] -= 1
        if left.get(place.stage, 0) >= 0:
            chosen.append(place)
    return chosen


def _at_work(cursor: Cursor, stages: list[str]) -> dict[str, int]:
    return dict(cursor.execute(_AT_WORK, (json.dumps(stages),)).fetchall())


def _lease(lease_id: UUID, row: tuple[Any, ...]) -> Lease:
    job_id, org_id, document_id, run_id, stage, payload, checkpoint, *rest = row
    ids = (UUID(job_id), lease_id, UUID(org_id), UUID(document_id), UUID(run_id))
    return Lease(*ids, stage, json.loads(payload), json.loads(checkpoint), *rest)


def _row(job: NewJob) -> dict[str, Any]:
    return {
        "id": job.id.hex,
        "org_id": job.org_id.hex,
        "document_id": job.document_id.hex,
        "run_id": job.run_id.hex,
        "stage": job.stage,
        "priority": job.priority,
        "payload": as_json(job.payload),
        "checkpoint": as_json(job.checkpoint),
        "max_attempts": job.max_attempts,
        "held": job.held,
        "delay": float(job.delay_seconds),
    }
