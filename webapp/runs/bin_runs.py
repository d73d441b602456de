"""The runs of documents that are deleted and restored: cancelled together, and queued again where they had got to.

Many documents at once, such as the parts of an archive: a few statements for hundreds of them. The caller has locked
their rows, so nobody else queues or ends their runs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, func, insert, select, update

from webapp.batches import batches
from webapp.clock import new_id, now
from webapp.db import session
from webapp.documents import events
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import (
    QUIET_TRIGGERS,
    DocumentStatus,
    EventKind,
    FailureType,
    LiveRun,
    RunState,
    RunTrigger,
)
from webapp.jobs.queue import JobQueue, JobSnapshot, NewJob
from webapp.jobs.states import Priority
from webapp.runs import of_documents, transitions
from webapp.runs.checkpoint import inherited
from webapp.runs.stages import first_stage

_documents, _runs = cast(Table, Document.__table__), cast(Table, ProcessingRun.__table__)
_LIVE = (RunState.QUEUED, RunState.RUNNING)
_IDS_PER_STATEMENT = 500
# Tells these runs from those that a person cancelled.
DELETED = "deleted"


@dataclass(frozen=True)
class CancelledRun:
    """A run that was cancelled because its document was deleted."""

    run: LiveRun
    trigger: RunTrigger
    content_type: str


def cancel(queue: JobQueue, document_ids: Collection[UUID], by: str) -> None:
    """End the live runs of documents that are deleted."""
    for part in batches(sorted(document_ids), _IDS_PER_STATEMENT):
        live = of_documents.live_among(part)
        if live:
            queue.cancel_runs([run.id for run in live])
            _end(live, by)


def _end(live: Sequence[LiveRun], by: str) -> None:
    of_them = _runs.c.id.in_([run.id for run in live]), _runs.c.state.in_(_LIVE)
    values = {"state": RunState.CANCELLED, "failure_type": FailureType.CANCELLED, "failure_code": DELETED}
    session().execute(update(_runs).where(*of_them).values(finished_at=now(), **values))
    lines = [
        events.line(run.org_id, run.document_id, run.id, EventKind.RUN_CANCELLED, details={"by": by}) for run in live
    ]
    events.record_lines(lines)
    _derive_statuses({run.document_id for run in live})


def _derive_statuses(document_ids: Collection[UUID]) -> None:
    """Set the statuses by the newest runs, as a transition of one run does."""
    r = _runs.c
    place = func.row_number().over(partition_by=r.document_id, order_by=(r.created_at.desc(), r.id.desc()))
    counted = select(r.document_id, r.state, place.label("place"))
    counted = counted.where(r.document_id.in_(document_ids), r.trigger.not_in(QUIET_TRIGGERS))
    newest = counted.subquery()
    found = select(newest.c.document_id, newest.c.state, _documents.c.published_run_id)
    found = found.join(_documents, _documents.c.id == newest.c.document_id).where(newest.c.place == 1)
    ids: dict[DocumentStatus, list[UUID]] = {}
    for document_id, state, published in session().execute(found):
        status = transitions.status_for(RunState(state), has_result=published is not None)
        ids.setdefault(status, []).append(document_id)
    for status, some in ids.items():
        session().execute(update(_documents).where(_documents.c.id.in_(some)).values(status=status))


def cancelled_with(document_ids: Collection[UUID]) -> list[CancelledRun]:
    """The runs that were cancelled when these documents, which lie in the bin, went there; the oldest first."""
    d, r = _documents.c, _runs.c
    deleted = r.state == RunState.CANCELLED, r.failure_code == DELETED, r.finished_at >= d.deleted_at
    rows = select(r.id, r.org_id, r.document_id, r.trigger, d.content_type).join(_documents, d.id == r.document_id)
    rows = rows.where(*deleted).order_by(r.document_id, r.created_at, r.id)
    return [
        CancelledRun(LiveRun(*row[:3]), RunTrigger(row.trigger), row.content_type)
        for part in batches(sorted(document_ids), _IDS_PER_STATEMENT)
        for row in session().execute(rows.where(d.id.in_(part)))
    ]


def go_on(queue: JobQueue, cancelled: Sequence[CancelledRun], max_attempts: int) -> None:
    """Queue a run in place of each of these, with the stage and the checkpoint of its last job.

    Where that job is deleted already (JOB_RETENTION_DAYS), it begins anew, and finds kept answers again.
    """
    is_one = len({each.run.document_id for each in cancelled}) == 1
    priority: int = Priority.PERSON if is_one else Priority.BULK
    waiting: set[UUID] = set()
    for part in batches(cancelled, _IDS_PER_STATEMENT):
        last = queue.live_of_runs([each.run.id for each in part])
        jobs = [_job(each, last.get(each.run.id), max_attempts, priority, waiting) for each in part]
        _add_runs([job.run for job in jobs if job.run], [_trigger(each, last) for each in part])
        queue.enqueue(jobs)


def _trigger(cancelled: CancelledRun, last: Mapping[UUID, JobSnapshot]) -> RunTrigger:
    if cancelled.trigger in QUIET_TRIGGERS:
        return cancelled.trigger
    return RunTrigger.RETRY if cancelled.run.id in last else RunTrigger.REPROCESS


def _job(
    cancelled: CancelledRun, last: JobSnapshot | None, max_attempts: int, priority: int, waiting: set[UUID]
) -> NewJob:
    document_id = cancelled.run.document_id
    # The runs of one document follow each other.
    must_wait = document_id in waiting
    waiting.add(document_id)
    return NewJob(
        org_id=cancelled.run.org_id,
        run=LiveRun(new_id(), cancelled.run.org_id, document_id),
        stage=last.stage if last else first_stage(cancelled.content_type),
        max_attempts=max_attempts,
        # That there was a password is kept, not the password: its absence is said.
        payload=last.payload if last else {},
        checkpoint=inherited(last.checkpoint) if last else {},
        priority=last.priority if last else priority,
        must_wait=must_wait,
    )


def _add_runs(runs: Sequence[LiveRun], triggers: Sequence[RunTrigger]) -> None:
    rows: list[dict[str, Any]] = []
    lines = []
    for run, trigger in zip(runs, triggers, strict=True):
        ids = {"id": run.id, "org_id": run.org_id, "document_id": run.document_id}
        rows.append({**ids, "trigger": trigger, "state": RunState.QUEUED})
        lines.append(
            events.line(run.org_id, run.document_id, run.id, EventKind.RUN_QUEUED, details={"trigger": trigger})
        )
    session().execute(insert(_runs), rows)
    events.record_lines(lines)
    shown = {run.document_id for run, trigger in zip(runs, triggers, strict=True) if trigger not in QUIET_TRIGGERS}
    is_one: ColumnElement[bool] = _documents.c.id.in_(shown)
    session().execute(update(_documents).where(is_one).values(status=DocumentStatus.PROCESSING))
