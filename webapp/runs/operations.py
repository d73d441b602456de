"""The states of operations, which follow from their jobs: each ends with its job, and can be resumed behind it.

A delivery of a webhook has a job like an operation's, and ends with it in the same way.

Locks are taken in the order of a worker: the job, then the operation.
"""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, select, update

from webapp.clock import now
from webapp.db import session, transaction
from webapp.documents.operation_model import BulkOperation
from webapp.documents.states import OperationState
from webapp.jobs import failures
from webapp.jobs.queue import JobQueue, JobSnapshot, NewJob
from webapp.jobs.states import JobStatus
from webapp.runs import outbox
from webapp.runs.checkpoint import inherited
from webapp.runs.stages import DELIVER

_operations = cast(Table, BulkOperation.__table__)
_EXPORT = "export"
_RESUMABLE = (OperationState.STOPPED, OperationState.FAILED)


def row_of(org_id: UUID, operation_id: UUID, *, is_locked: bool = False) -> Any:
    """An operation's row; None where there is none."""
    o = _operations.c
    found = select(_operations).where(o.org_id == org_id, o.id == operation_id)
    return session().execute(found.with_for_update() if is_locked else found).one_or_none()


def end(org_id: UUID, operation_id: UUID | None, state: OperationState) -> bool:
    """End an operation in this state; False where it had ended."""
    o = _operations.c
    change = update(_operations).where(o.org_id == org_id, o.id == operation_id, o.finished_at.is_(None))
    return session().execute(change.values(state=state, finished_at=now()).returning(o.id)).first() is not None


def follow(org_id: UUID, operation_id: UUID | None, status: JobStatus) -> None:
    """Let an operation fail whose job has failed, or a delivery."""
    if operation_id is None or status is not JobStatus.FAILED:
        return
    if not end(org_id, operation_id, OperationState.FAILED):
        outbox.give_up(org_id, operation_id, "not_sent")


def cancel(queue: JobQueue, job: JobSnapshot) -> bool:
    """Cancel the job of an operation, which is stopped with it; False where the job had ended."""
    if not queue.cancel_job(job.id):
        return False
    if job.stage == DELIVER and job.operation_id is not None:
        outbox.give_up(job.org_id, job.operation_id, "cancelled")
    else:
        end(job.org_id, job.operation_id, OperationState.STOPPED)
    return True


def may_resume(queue: JobQueue, org_id: UUID, row: Any) -> bool:
    """Whether an operation was stopped or has failed, is not undone, and its last job is there with its place."""
    if row.state not in _RESUMABLE or queue.get(row.job_id) is None:
        return False
    if row.action == _EXPORT and (row.state == OperationState.STOPPED or (row.done and row.result is None)):
        # What was written of its file is removed.
        return False
    o = _operations.c
    undone = select(o.id).where(o.org_id == org_id, o.undo_of == row.id)
    # Who has undone the same operation anew wants this to go on no longer.
    anew = select(o.id).where(o.org_id == org_id, o.undo_of == row.undo_of, o.id > row.id)
    return session().scalar(undone) is None and (row.undo_of is None or session().scalar(anew) is None)


def retry(queue: JobQueue, job: JobSnapshot, by: str) -> UUID | None:
    """Resume the operation of a failed job; None where it was resumed or undone since."""
    with transaction(job.org_id):
        if job.stage == DELIVER and job.operation_id is not None:
            return _send_again(queue, job, job.operation_id, by)
        row = row_of(job.org_id, job.operation_id, is_locked=True) if job.operation_id else None
        return resume(queue, job.org_id, row.id, by) if row is not None and row.job_id == job.id else None


def _send_again(queue: JobQueue, job: JobSnapshot, delivery_id: UUID, by: str) -> UUID | None:
    """Queue a delivery anew whose job has failed; None where that was done already, or it is gone."""
    if not outbox.send_again(queue, job.org_id, [delivery_id]):
        return None
    failures.mark_retried(job.id, by)
    return delivery_id


def resume(queue: JobQueue, org_id: UUID, operation_id: UUID, by: str) -> UUID | None:
    """Go on behind the last batch that was done; the id of its job, None where it can't be resumed."""
    with transaction(org_id):
        row = row_of(org_id, operation_id, is_locked=True)
        if row is None or not may_resume(queue, org_id, row):
            return None
        job = queue.get(row.job_id)
        # A worker may not have seen yet that the operation was stopped: then its job goes on.
        job_id = _queue_again(queue, job, by) if job is not None and job.completed_at is not None else row.job_id
        values = {"state": OperationState.RUNNING if row.done else OperationState.QUEUED, "job_id": job_id}
        change = update(_operations).where(_operations.c.id == operation_id)
        session().execute(change.values(finished_at=None, **values))
        return UUID(str(job_id))


def _queue_again(queue: JobQueue, job: JobSnapshot, by: str) -> UUID:
    again = NewJob(
        org_id=job.org_id,
        run=None,
        stage=job.stage,
        max_attempts=job.max_attempts,
        checkpoint=inherited(job.checkpoint),
        priority=job.priority,
        operation_id=job.operation_id,
    )
    queue.enqueue([again])
    if job.status is JobStatus.FAILED:
        failures.mark_retried(job.id, by)
    return again.id
