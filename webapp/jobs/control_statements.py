"""The statements behind the controls of stages: one row for each stage that somebody said something about."""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import Connection, Table, case, exists, func, select, text, type_coerce, union_all
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.expression import Subquery

from webapp.clock import after, now
from webapp.db import UtcDateTime
from webapp.jobs import model
from webapp.jobs.controls import StageControl, StageCounts
from webapp.jobs.states import JobStatus

_controls = cast(Table, model.StageControl.__table__)
_jobs = cast(Table, model.Job.__table__)

_ALL = select(_controls, type_coerce(now(), UtcDateTime).label("present")).order_by(_controls.c.stage)


def put(connection: Connection, stage: str, **values: Any) -> None:
    """Say something about a stage; what is not mentioned stays as it was."""
    # The clause is the same in both databases, and each compiles it.
    row = postgresql.insert(_controls).values(stage=stage, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["stage"], set_={**values, "updated_at": now()}))


def slow(connection: Connection, stage: str, seconds: float) -> None:
    """Let a stage rest; of several answers the most patient one counts."""
    until = after(seconds)
    row = postgresql.insert(_controls).values(stage=stage, slowed_until=until)
    later = case((_controls.c.slowed_until > until, _controls.c.slowed_until), else_=until)
    connection.execute(
        row.on_conflict_do_update(index_elements=["stage"], set_={"slowed_until": later, "updated_at": now()})
    )


def read(connection: Connection) -> dict[str, StageControl]:
    """Every stage that somebody said something about."""
    return {row.stage: _control(row) for row in connection.execute(_ALL)}


def counts(connection: Connection, org_id: UUID | None) -> dict[str, StageCounts]:
    """How the stages stand, of one org or of all; jobs that are done are not looked at."""
    job = _waiting_failed_or_at_work(org_id).c
    is_due = (job.status == JobStatus.PENDING) & (job.available_at <= now())
    is_later = (job.status == JobStatus.PENDING) & (job.available_at.is_(None) | (job.available_at > now()))
    counted = select(
        job.stage,
        _number(is_due),
        _number(is_later),
        _number(job.status == JobStatus.PROCESSING),
        _number(job.status == JobStatus.FAILED),
        type_coerce(func.min(case((is_due, job.available_at))), UtcDateTime).label("since"),
        type_coerce(now(), UtcDateTime).label("present"),
    )
    return {row[0]: _counts(row) for row in connection.execute(counted.group_by(job.stage))}


def _waiting_failed_or_at_work(org_id: UUID | None) -> Subquery:
    """Those at rest and those at work stand in indexes of their own."""
    some = select(_jobs.c.stage, _jobs.c.status, _jobs.c.available_at)
    if org_id is not None:
        some = some.where(_jobs.c.org_id == org_id)
    at_rest = some.where(text(model.AT_REST), text("status IN ('PENDING', 'FAILED')"))
    return union_all(at_rest, some.where(text(model.LEASED))).subquery()


def begun_runs(connection: Connection, stage: str | None) -> list[UUID]:
    """The runs whose job waits after it, or one before it, was at work."""
    one = _jobs.alias("one")
    was_at_work = exists().where(one.c.run_id == _jobs.c.run_id, one.c.started_at.is_not(None))
    begun = select(_jobs.c.run_id).where(_jobs.c.status == JobStatus.PENDING, was_at_work)
    if stage is not None:
        begun = begun.where(_jobs.c.stage == stage)
    return list(connection.execute(begun).scalars())


def _number(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


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


def _counts(row: Any) -> StageCounts:
    waited = (row.present - row.since).total_seconds() if row.since else None
    due, later, processing, failed = (int(number) for number in row[1:5])
    return StageCounts(due, later, processing, failed, waited)
