"""Pausing and resuming a stage, with its runs: a pause does not count against their time limit."""

from collections.abc import Callable, Sequence
from itertools import islice
from uuid import UUID

from webapp.db import transaction
from webapp.documents import events
from webapp.documents.states import EventKind
from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.interruptions import WaitReason
from webapp.jobs.queue import JobError, JobQueue, Lease, LeaseLost
from webapp.jobs.states import JobStatus
from webapp.provider_errors import FailureCode, ProviderError
from webapp.runs import transitions

# The account is refused, not the document: every job would fail the same way until a person repairs the account.
_ACCOUNT = {FailureCode.CREDENTIALS_REFUSED, FailureCode.QUOTA_EXHAUSTED}
_RUNS_AT_ONCE = 500
_NO_SPACE = (WaitReason.STORAGE_FULL, WaitReason.STORAGE_UNAVAILABLE, WaitReason.DATABASE_FULL)


def is_about_the_account(error: BaseException) -> bool:
    """Whether a provider refused the account, not the document: then the whole stage waits for ops."""
    return isinstance(error, ProviderError) and error.code in _ACCOUNT


def pause_after(queue: JobQueue, lease: Lease, error: JobError) -> None:
    """Pause the stage for this reason and hand the job back, no attempt counted. LeaseLost."""
    # First, and in its own transaction: it applies whether or not the lease still lasts.
    queue.pause(lease.stage, error.code)
    with transaction(lease.org_id):
        if not queue.release([lease]):
            raise LeaseLost(f"job {lease.job_id} was lost before its stage was paused")
        if lease.run is not None:
            ids = (lease.org_id, lease.run.document_id, lease.run.id)
            events.record(*ids, EventKind.STAGE_PAUSED, job_id=lease.job_id, details={"code": error.code})


def resume_with_space(queue: JobQueue, why_not: Callable[[], WaitReason | None]) -> list[str]:
    """Resume the stages that were paused because nothing could be stored, if something can be now."""
    waiting = [
        control.stage for control in queue.controls().values() if control.is_paused and control.reason in _NO_SPACE
    ]
    if not waiting or why_not() is not None:
        return []
    with transaction(everywhere=True):
        resumed = [stage for stage in waiting if queue.resume_after(stage, _NO_SPACE)]
        for stage in resumed:
            _restart_time(queue, stage)
    return resumed


def resume_stage(queue: JobQueue, stage: str, by: str | None = None) -> None:
    """Resume a stage. The time limit of runs that were begun before starts again."""
    with transaction(everywhere=True):
        queue.resume(stage, by)
        _restart_time(queue, None if stage == EVERY_STAGE else stage)


def _restart_time(queue: JobQueue, stage: str | None) -> None:
    waiting = iter(queue.begun_runs(stage))
    while part := list(islice(waiting, _RUNS_AT_ONCE)):
        transitions.restart_time(part)


def in_pause(queue: JobQueue, run_ids: Sequence[UUID]) -> set[UUID]:
    """Those of these runs whose job waits in a paused stage."""
    paused = {stage for stage, control in queue.controls().items() if control.is_paused}
    if not paused:
        return set()
    return {
        run_id
        for run_id, job in queue.live_of_runs(run_ids).items()
        if job.status is JobStatus.PENDING and paused & {job.stage, EVERY_STAGE}
    }
