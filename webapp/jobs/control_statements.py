"""The SQL statements for stage controls; only a stage that was paused, limited or slowed has a row."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    Connection,
    Row,
    Table,
    Text,
    Uuid,
    bindparam,
    case,
    exists,
    func,
    literal,
    literal_column,
    select,
    text,
    true,
    type_coerce,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.expression import Select

from webapp.clock import after, now
from webapp.db import UtcDateTime
from webapp.db.bounded import COUNTED_MAX, distinct_values
from webapp.jobs import model
from webapp.jobs.controls import EVERY_STAGE, StageControl, StageCounts
from webapp.jobs.statements import counted_as, stages_of
from webapp.jobs.states import JobStatus

_controls = cast(Table, model.StageControlRow.__table__)
_jobs = cast(Table, model.Job.__table__)

_present = type_coerce(now(), UtcDateTime).label("present")
_ALL = select(_controls, _present).order_by(_controls.c.stage)
_due = distinct_values(_jobs.c.stage, text(model.DUE))
_DUE_STAGES = (
    select(_due.c.value.label("due"), _controls, _present)
    .join_from(_due, _controls, _controls.c.stage.in_([_due.c.value, EVERY_STAGE]), isouter=True)
    .where(_due.c.value.is_not(None))
)


def put(connection: Connection, stage: str, **values: Any) -> None:
    """Set these columns of a stage's control; the others stay as they were."""
    # The clause is the same in both databases, and each compiles it.
    row = postgresql.insert(_controls).values(stage=stage, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["stage"], set_={**values, "updated_at": now()}))


def pause(connection: Connection, stage: str, *, reason: str | None, by: str | None) -> None:
    """Pause a stage. One that is paused already changes only where a person (`by`) pauses it."""
    if by is not None:
        put(connection, stage, paused=True, reason=reason, changed_by=by)
        return
    values = {"paused": True, "reason": reason, "changed_by": None}
    row = postgresql.insert(_controls).values(stage=stage, **values)
    connection.execute(
        row.on_conflict_do_update(
            index_elements=["stage"], set_={**values, "updated_at": now()}, where=_controls.c.paused.is_(False)
        )
    )


def resume_after(connection: Connection, stage: str, reasons: Collection[str]) -> bool:
    """Resume a stage that was paused for one of these reasons, and whose pause nobody has changed since."""
    paused = _controls.c.paused.is_(True) & _controls.c.reason.in_(list(reasons))
    change = update(_controls).where(_controls.c.stage == stage, paused).values(paused=False, reason=None)
    return connection.execute(change.values(updated_at=now())).rowcount > 0


def slow(connection: Connection, stage: str, seconds: float) -> None:
    """Start nothing of a stage for so long; of several such requests the longest counts."""
    until = after(seconds)
    row = postgresql.insert(_controls).values(stage=stage, slowed_until=until)
    later = case((_controls.c.slowed_until > until, _controls.c.slowed_until), else_=until)
    connection.execute(
        row.on_conflict_do_update(index_elements=["stage"], set_={"slowed_until": later, "updated_at": now()})
    )


def read(connection: Connection) -> dict[str, StageControl]:
    """The controls of all stages that have a row."""
    return {row.stage: _control(row) for row in connection.execute(_ALL)}


def due_stages(connection: Connection) -> tuple[list[str], dict[str, StageControl]]:
    """The stages that have due jobs, and the controls that apply to them: one cheap statement."""
    rows = connection.execute(_DUE_STAGES).all()
    controls = {row.stage: _control(row) for row in rows if row.stage is not None}
    return list(dict.fromkeys(row.due for row in rows)), controls


def running(connection: Connection, stages: Collection[str] | None = None) -> dict[str, int]:
    """How many jobs of each stage (of these stages) are PROCESSING."""
    numbers = _RUNNING if stages is None else _RUNNING.where(_jobs.c.stage.in_(list(stages)))
    return {row.stage: row.number for row in connection.execute(numbers)}


def counts(connection: Connection) -> dict[str, StageCounts]:
    """The numbers of each stage's jobs, of all orgs; completed jobs are not looked at."""
    some = select(_jobs.c.stage, _jobs.c.status, _jobs.c.available_at, _jobs.c.wakes_at)
    at_rest = some.where(text(model.AT_REST), text(f"(status = 'PENDING' OR {model.OPEN_FAILURE})"))
    job = union_all(at_rest, some.where(text(model.LEASED))).subquery().c
    counted = select(
        job.stage,
        *_due_and_later(job, job.status == JobStatus.PENDING),
        _number(job.status == JobStatus.PROCESSING),
        _number(job.status == JobStatus.FAILED),
    )
    return {
        row[0]: StageCounts(*row[1:3], *row[5:7], _waited(row))
        for row in connection.execute(counted.group_by(job.stage))
    }


def counts_of_org(connection: Connection, org_id: UUID) -> dict[str, StageCounts]:
    """The numbers of each stage's jobs, of one org. Of a stage with many jobs only the oldest are counted."""
    found: dict[str, dict[str, Any]] = defaultdict(lambda: {"more": ()})
    waiting, failed = (_of_stages(connection, org_id, status) for status in (JobStatus.PENDING, JobStatus.FAILED))
    for row in waiting:
        # One more than are counted was looked at.
        more = ("due", "later") if row.due + row.later > COUNTED_MAX else ()
        found[row.stage] |= {"due": row.due, "later": row.later, "oldest_due_seconds": _waited(row), "more": more}
    for row in failed:
        found[row.stage]["failed"] = min(row.number, COUNTED_MAX)
        if row.number > COUNTED_MAX:
            found[row.stage]["more"] += ("failed",)
    for row in connection.execute(_RUNNING.where(_jobs.c.org_id == org_id)):
        found[row.stage]["processing"] = row.number
    return {stage: StageCounts(**numbers) for stage, numbers in found.items()}


def _of_stages(connection: Connection, org_id: UUID, status: JobStatus) -> Sequence[Row[Any]]:
    """Count an org's jobs in a state, stage by stage: each stage is one range of the index."""
    stages = connection.scalars(stages_of(*counted_as(status)), {"org": org_id}).all()
    if not stages:
        return []
    return connection.execute(union_all(*(_of_stage(status, stage) for stage in stages)), {"org": org_id}).all()


def _of_stage(status: JobStatus, stage: str) -> Select[Any]:
    job = _jobs.c
    of_stage = (job.org_id == bindparam("org", type_=Uuid()), *counted_as(status), job.stage == stage)
    # Failed jobs are counted in the index alone; for waiting ones the rows are read, to tell since when they wait.
    columns = (job.available_at, job.wakes_at) if status is JobStatus.PENDING else (job.id,)
    first = select(*columns).where(*of_stage).order_by(job.id).limit(literal_column(str(COUNTED_MAX + 1))).subquery().c
    figures = _due_and_later(first, true()) if status is JobStatus.PENDING else (func.count(first.id).label("number"),)
    return select(literal(stage, Text()).label("stage"), *figures)


def _due_and_later(job: Any, is_pending: ColumnElement[bool]) -> tuple[ColumnElement[Any], ...]:
    is_due = is_pending & job.wakes_at.is_(None)
    is_later = is_pending & job.wakes_at.is_not(None)
    return (
        _number(is_due).label("due"),
        _number(is_later).label("later"),
        type_coerce(func.min(case((is_due, job.available_at))), UtcDateTime).label("since"),
        type_coerce(now(), UtcDateTime).label("present"),
    )


def _number(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _waited(row: Any) -> float | None:
    return (row.present - row.since).total_seconds() if row.since else None


_RUNNING = select(_jobs.c.stage, func.count().label("number")).where(text(model.LEASED)).group_by(_jobs.c.stage)


def begun_runs(connection: Connection, stage: str | None) -> list[UUID]:
    """The runs with a waiting job that have been worked on before: by this job or an earlier one of the run."""
    one = _jobs.alias("one")
    was_at_work = exists().where(one.c.run_id == _jobs.c.run_id, one.c.started_at.is_not(None))
    begun = select(_jobs.c.run_id).where(_jobs.c.status == JobStatus.PENDING, was_at_work)
    if stage is not None:
        begun = begun.where(_jobs.c.stage == stage)
    return list(connection.execute(begun).scalars())


def _control(row: Any) -> StageControl:
    since = (row.present - row.slowed_until).total_seconds() if row.slowed_until else None
    return StageControl(
        stage=row.stage,
        is_paused=row.paused,
        reason=row.reason,
        changed_by=row.changed_by,
        limit=row.job_limit,
        slowed_until=row.slowed_until,
        updated_at=row.updated_at,
        seconds_since_slowed=since,
    )
