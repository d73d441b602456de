"""The queue's SQL statements, except for the claim: written once for both databases.

A statement that locks several rows does so in a CTE, in a fixed order or with SKIP LOCKED, so that two of them never
deadlock. On SQLite the locking clauses vanish: there, only one write transaction runs at a time.

The CTEs are MATERIALIZED because a planner may otherwise run the inner query again for each outer row, and then a
LIMIT of 1 takes many.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    Boolean,
    Float,
    Integer,
    LargeBinary,
    Table,
    Text,
    TextClause,
    Uuid,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    literal,
    literal_column,
    null,
    or_,
    select,
    text,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate
from sqlalchemy.sql.elements import BindParameter, ColumnElement
from sqlalchemy.sql.expression import CTE, Select

from webapp.accounts.model import Org
from webapp.clock import after, now
from webapp.db import Json, UtcDateTime
from webapp.db.bounded import distinct_values, up_to_most
from webapp.documents.model import ProcessingRun
from webapp.jobs import model
from webapp.jobs.error_log import appended
from webapp.jobs.queue import HTTP_WORKERS, WAITS_FOR
from webapp.jobs.states import JobStatus

jobs = cast(Table, model.Job.__table__)
_orgs = cast(Table, Org.__table__)
_LEASED, _LIVE, _AT_REST = text(model.LEASED), text(model.LIVE), text(model.AT_REST)
_DELAYED = text(model.DELAYED)
_WAITS_FOR_RUN = text("status = 'PENDING' AND available_at IS NULL")

# Parameters. Those that are new values of a column are called `to_…`, as a column's own name is taken.
_job: BindParameter[UUID] = bindparam("job", type_=Uuid())
_run: BindParameter[UUID] = bindparam("run", type_=Uuid())
_org: BindParameter[UUID | None] = bindparam("org", type_=Uuid())
_before: BindParameter[UUID] = bindparam("before", type_=Uuid())
_delay: BindParameter[float] = bindparam("delay", type_=Float())
_silent: BindParameter[float] = bindparam("silent", type_=Float())
_worker: BindParameter[str] = bindparam("worker", type_=Text())
_permanent: BindParameter[bool] = bindparam("permanent", type_=Boolean())
_error: BindParameter[Any] = bindparam("error", type_=Json)
_error_code: BindParameter[str] = bindparam("to_error_code", type_=Text())
_to_checkpoint: BindParameter[Any] = bindparam("to_checkpoint", type_=Json)
_must_wait: BindParameter[bool] = bindparam("must_wait", type_=Boolean())
_since: BindParameter[datetime | None] = bindparam("since", type_=UtcDateTime())
# Part of the text rather than a parameter: a plan made for "some limit" expects a tenth of the table.
_limit: BindParameter[int] = bindparam("limit", type_=Integer(), literal_execute=True)
_job_ids: BindParameter[Any] = bindparam("job_ids", expanding=True)
_pairs: BindParameter[Any] = bindparam("pairs", expanding=True)

# Only a PROCESSING job has a lease (a CHECK), so the state is not named. With it, PostgreSQL might look the job up
# among all leased ones, dead rows included, instead of by its id.
_mine = and_(jobs.c.id == _job, jobs.c.lease_id == bindparam("lease", type_=Uuid()))
# The pairs decide; the ids alone are there so that the rows are found by their index.
_mine_of_many = and_(jobs.c.id.in_(_job_ids), tuple_(jobs.c.id, jobs.c.lease_id).in_(_pairs))
# SQLite has no row-level security: an org's transaction must not see another org's jobs there, either.
_in_scope = or_(_org.is_(None), jobs.c.org_id == _org)

# What a row must not keep when it leaves PROCESSING: a CHECK refuses half a lease.
_UNLOCKED = {"lease_id": None, "locked_by": None}
_ENDED = {**_UNLOCKED, "wakes_at": None, "completed_at": now(), "sealed_password": None}
_WAITING = {**_UNLOCKED, "status": JobStatus.PENDING, "heartbeat_at": None}


def _first(candidates: Select[tuple[UUID]], *, skip_locked: bool = False) -> Select[Any]:
    """The ids of these rows, locked; rows that others have locked are waited for, or skipped."""
    locked: CTE = candidates.with_for_update(skip_locked=skip_locked).cte("chosen").prefix_with("MATERIALIZED")
    return select(locked.c.id)


def _all(*conditions: ColumnElement[bool] | TextClause) -> Select[Any]:
    return _first(select(jobs.c.id).where(*conditions).order_by(jobs.c.id))


# NULL for a job that is due at once; a delayed one gets a time, at which `wake_delayed` sets it to NULL.
_wakes_after_delay = case((_delay > 0, after(_delay)), else_=null())
_next_attempt = jobs.c.attempts + 1
_is_last = _next_attempt >= jobs.c.max_attempts


def _attempt_failed(
    ends: ColumnElement[bool], due_at: ColumnElement[Any], wakes_at: ColumnElement[Any] | None
) -> dict[str, Any]:
    """The changes of a failed attempt: one attempt more, then PENDING until `due_at`, or FAILED."""
    return {
        **_WAITING,
        "status": case((ends, JobStatus.FAILED), else_=JobStatus.PENDING),
        "completed_at": case((ends, now()), else_=null()),
        "available_at": case((ends, jobs.c.available_at), else_=due_at),
        "wakes_at": None if wakes_at is None else case((ends, null()), else_=wakes_at),
        "attempts": _next_attempt,
        # Neither does the next attempt get it, nor does it stay in a row that waits.
        "sealed_password": None,
        "error_log": appended(jobs.c.error_log, _error, _next_attempt, jobs.c.locked_by),
        "error_code": case((ends, _error_code), else_=null()),
    }


LEASE_COLUMNS = (
    jobs.c.id,
    jobs.c.lease_id,
    jobs.c.org_id,
    jobs.c.document_id,
    jobs.c.run_id,
    jobs.c.operation_id,
    jobs.c.stage,
    jobs.c.payload,
    jobs.c.checkpoint,
    jobs.c.attempts,
    jobs.c.max_attempts,
    jobs.c.priority,
)

HELD = select(*LEASE_COLUMNS).where(_mine, jobs.c.locked_by.startswith(_worker))
HELD_BY = select(*LEASE_COLUMNS).where(_LEASED, jobs.c.locked_by == _worker)

# Locked rows are skipped: waiting for one would delay the heartbeat of all the others.
BEAT = (
    update(jobs)
    .where(jobs.c.id.in_(_first(select(jobs.c.id).where(_mine_of_many), skip_locked=True)))
    .values(heartbeat_at=now())
    .returning(jobs.c.id)
)
STILL_MINE = select(jobs.c.id).where(_mine_of_many)

# A job that must wait for another run of its document has no time at which it becomes due.
ENQUEUE = insert(jobs).values(
    id=_job,
    org_id=_org,
    document_id=bindparam("document", type_=Uuid()),
    run_id=_run,
    operation_id=bindparam("operation", type_=Uuid()),
    stage=bindparam("stage", type_=Text()),
    status=JobStatus.PENDING,
    priority=bindparam("priority", type_=Integer()),
    payload=bindparam("payload", type_=Json),
    checkpoint=_to_checkpoint,
    attempts=0,
    max_attempts=bindparam("attempts_max", type_=Integer()),
    sealed_password=bindparam("sealed", type_=LargeBinary()),
    available_at=case((_must_wait, null()), else_=after(_delay)),
    wakes_at=case((_must_wait, literal(model.NEVER, UtcDateTime)), else_=_wakes_after_delay),
    created_at=now(),
    error_log=[],
    updated_at=now(),
)

# What a worker does with a job that it has a lease for.

FENCE = select(jobs.c.id).where(_mine).with_for_update()
CHECKPOINT = update(jobs).where(_mine).values(checkpoint=_to_checkpoint)
SEALED_PASSWORD = select(jobs.c.sealed_password).where(_mine)
FORGET_PASSWORD = update(jobs).where(_mine).values(sealed_password=None)
COMPLETE = update(jobs).where(_mine).values(status=JobStatus.COMPLETED, **_ENDED)
FAIL = update(jobs).where(_mine).values(_attempt_failed(or_(_permanent, _is_last), after(_delay), _wakes_after_delay))
FAIL = FAIL.returning(jobs.c.status)
SNOOZE = (
    update(jobs)
    .where(_mine)
    .values(
        available_at=after(_delay),
        wakes_at=_wakes_after_delay,
        checkpoint=func.coalesce(_to_checkpoint, jobs.c.checkpoint),
        **_WAITING,
    )
)
RELEASE = update(jobs).where(jobs.c.id.in_(_all(_mine_of_many))).values(_WAITING).returning(jobs.c.id)

# What is done to jobs from outside.


def _taken_back(*conditions: ColumnElement[bool]) -> ReturningUpdate[Any]:
    """Take leased jobs back from their workers; each counts an attempt."""
    chosen = select(jobs.c.id).where(_LEASED, *conditions).order_by(jobs.c.heartbeat_at, jobs.c.id).limit(_limit)
    change = update(jobs).where(jobs.c.id.in_(_first(chosen, skip_locked=True)))
    return change.values(_attempt_failed(_is_last, now(), None)).returning(
        jobs.c.id,
        jobs.c.org_id,
        jobs.c.document_id,
        jobs.c.run_id,
        jobs.c.operation_id,
        jobs.c.status,
        jobs.c.attempts,
        # The row no longer names its worker, but its newest error does.
        jobs.c.error_log,
    )


_is_silent = func.coalesce(jobs.c.heartbeat_at, jobs.c.started_at) < after(-_silent)
RESET_STALE = _taken_back(_is_silent)
RESET_STALE_HTTP = _taken_back(_is_silent, jobs.c.locked_by.startswith(HTTP_WORKERS))
RESET_WORKER = _taken_back(jobs.c.locked_by == _worker)


def _of_run(state: TextClause, is_run: ColumnElement[bool] | None = None) -> ReturningUpdate[UUID]:
    """Change the jobs of a run; returns rows, since SQLite's driver does not count those of an UPDATE with a CTE."""
    chosen = _all(jobs.c.run_id == _run if is_run is None else is_run, _in_scope, state)
    return update(jobs).where(jobs.c.id.in_(chosen)).returning(jobs.c.id)


_was_tried = jobs.c.attempts + case((_LEASED, 1), else_=0)
LET_IN = _of_run(_WAITS_FOR_RUN).values(available_at=func.coalesce(_since, now()), wakes_at=None)
# Rows that another process is waking at this moment are skipped.
WAKE_DELAYED = (
    update(jobs)
    .where(
        jobs.c.id.in_(
            _first(
                select(jobs.c.id).where(_DELAYED, jobs.c.wakes_at <= now()).order_by(jobs.c.wakes_at).limit(_limit),
                skip_locked=True,
            )
        )
    )
    .values(wakes_at=None)
    .returning(jobs.c.id)
)
_waits_longer = and_(
    _DELAYED,
    jobs.c.checkpoint[WAITS_FOR].as_string() == bindparam("reason", type_=Text()),
)
WAITING_ORGS = select(jobs.c.org_id).where(_waits_longer).distinct()
WAKE = update(jobs).where(jobs.c.id.in_(_all(jobs.c.org_id == _org, _waits_longer)))
WAKE = WAKE.values(available_at=now(), wakes_at=None).returning(jobs.c.id)
CANCEL_RUN = _of_run(_LIVE).values(status=JobStatus.CANCELLED, **_ENDED)
CANCEL_RUNS = _of_run(_LIVE, jobs.c.run_id.in_(bindparam("runs", expanding=True)))
CANCEL_JOB = update(jobs).where(jobs.c.id == _job, _in_scope, _LIVE).returning(jobs.c.id)
CANCEL_JOB = CANCEL_JOB.values(status=JobStatus.CANCELLED, **_ENDED)
CANCEL_RUNS = CANCEL_RUNS.values(status=JobStatus.CANCELLED, **_ENDED)
FAIL_RUN = _of_run(_LIVE).values(
    status=JobStatus.FAILED,
    attempts=_was_tried,
    error_log=appended(jobs.c.error_log, _error, _was_tried, jobs.c.locked_by),
    error_code=_error_code,
    **_ENDED,
)

# Failed jobs are kept for as long as they can be retried: until a newer run of their document was begun.
_later = cast(Table, ProcessingRun.__table__).alias("later")
_has_later_run = exists().where(
    _later.c.document_id == jobs.c.document_id, _later.c.id != jobs.c.run_id, _later.c.created_at > jobs.c.created_at
)
FORGETTABLE = or_(
    jobs.c.status.in_([JobStatus.COMPLETED, JobStatus.CANCELLED]),
    and_(jobs.c.status == JobStatus.FAILED, _has_later_run),
)

# Reads.

# Each of so many stages is queried by itself; the product has seven.
STAGES_MAX = 100

_job_columns = (
    jobs.c.id,
    jobs.c.org_id,
    jobs.c.document_id,
    jobs.c.run_id,
    jobs.c.operation_id,
    jobs.c.stage,
    jobs.c.status,
    jobs.c.priority,
    jobs.c.payload,
    jobs.c.checkpoint,
    jobs.c.attempts,
    jobs.c.max_attempts,
    jobs.c.available_at,
    jobs.c.created_at,
    jobs.c.started_at,
    jobs.c.heartbeat_at,
    jobs.c.completed_at,
    jobs.c.locked_by,
    jobs.c.error_log,
    jobs.c.error_code,
    jobs.c.resolution,
    jobs.c.resolved_at,
    jobs.c.resolved_by,
)
GET = select(*_job_columns).where(jobs.c.id == _job, _in_scope)
OF_RUNS = (
    select(*_job_columns)
    .where(jobs.c.run_id.in_(bindparam("runs", expanding=True)), _in_scope)
    # Not by id: ids are made by processes whose clocks may differ.
    .order_by(jobs.c.created_at, jobs.c.id)
)


_of_org = jobs.c.org_id == _org


def in_state(status: JobStatus) -> tuple[ColumnElement[bool] | TextClause, ...]:
    """The conditions for a state, as text without parameters, so that a planner can choose the partial index."""
    if status is JobStatus.PROCESSING:
        return (_LEASED,)
    return (_AT_REST, text(f"status = '{status.value}'"))


def counted_as(status: JobStatus) -> tuple[ColumnElement[bool] | TextClause, ...]:
    """The conditions for the jobs that pages count in a state: of the failed ones those that are open."""
    return (text(model.OPEN_FAILURE),) if status is JobStatus.FAILED else in_state(status)


def stages_of(*conditions: ColumnElement[bool] | TextClause) -> Select[Any]:
    """The stages of an org's jobs that meet these conditions, and one more than STAGES_MAX at most."""
    stage = distinct_values(jobs.c.stage, jobs.c.org_id == _org, *conditions).c.value
    return select(stage).where(stage.is_not(None)).limit(literal_column(str(STAGES_MAX + 1)))


def page(pieces: Sequence[tuple[JobStatus, str | None]]) -> Select[Any]:
    """The ids of a page of an org's jobs in these states and stages, newest first.

    Of each range of the index as many as a page has, so that only these have to be sorted.
    """
    newest = (_newest(status, stage).subquery() for status, stage in pieces)
    ids = union_all(*(select(part.c.id) for part in newest)).subquery()
    return select(ids.c.id).order_by(ids.c.id.desc()).limit(_limit)


def _newest(status: JobStatus, stage: str | None) -> Select[Any]:
    wanted = (_of_org, *in_state(status), jobs.c.id < _before, *([jobs.c.stage == stage] if stage is not None else []))
    ids = select(jobs.c.id).where(*wanted)
    if status is JobStatus.PROCESSING:
        # Running jobs are few, and have an index of their own. The OFFSET keeps the planner from using the order of
        # the outer query in here, for which it would read all jobs by their ids.
        return ids.offset(literal_column("0"))
    return ids.order_by(jobs.c.id.desc()).limit(_limit)


# The rows are looked up by id in a second query: with a join, a planner may read all jobs for a page.
OF_IDS = (
    select(*_job_columns).where(jobs.c.id.in_(bindparam("ids", expanding=True)), _in_scope).order_by(jobs.c.id.desc())
)

COUNTS = select(jobs.c.status, func.count().label("number")).group_by(jobs.c.status)
_counts_of_org = COUNTS.where(_of_org)
COUNTS_OF_ORG = union_all(_counts_of_org.where(_AT_REST), _counts_of_org.where(_LEASED))
# For pages, one number for each state, in their order.
COUNTS_UP_TO_MOST = select(*(up_to_most(select(jobs.c.id).where(_of_org, *counted_as(one))) for one in JobStatus))
# No index has all jobs of a state, but each org's are one range of an index.
_of_orgs = select(jobs.c.id).join_from(_orgs, jobs, jobs.c.org_id == _orgs.c.id)
COUNTS_OF_ALL_UP_TO_MOST = select(*(up_to_most(_of_orgs.where(*counted_as(one))) for one in JobStatus))
