"""The life of runs together with their jobs: both change in the same transaction.

Locks are always taken in one order, job before document, because a worker's transaction begins with its job (the
fence). So a run that is ended from outside has its jobs ended first.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from webapp.db import session, transaction
from webapp.db.errors import Trouble
from webapp.documents import events
from webapp.documents.states import EventKind, FailureType, LiveRun, RunState, RunTrigger
from webapp.jobs import failures
from webapp.jobs.queue import JobError, JobQueue, JobSnapshot, Lease, NewJob, Reset
from webapp.jobs.scrub import scrubbed
from webapp.jobs.states import JobStatus, Priority
from webapp.provider_errors import BadInput, ProviderError, RateLimited
from webapp.runs import announcements, operations, transitions
from webapp.runs.abandoned_calls import abandon_calls
from webapp.runs.checkpoint import inherited
from webapp.runs.stages import first_stage
from webapp.runs.transitions import Ended
from webapp.statistics import incidents
from webapp.statistics.incidents import IncidentName


class EndCode(StrEnum):
    """Why a run failed, where it was no provider's error; pages have a sentence for each."""

    PROCESS_TERMINATED = "process_terminated"
    WORKER_SILENT = "worker_silent"
    WORKER_DIED = "worker_died"
    RUN_TIMED_OUT = "run_timed_out"
    UNEXPECTED = "unexpected"
    HTTP_WORKER_FAILED = "http_worker_failed"


class JobRefusal(StrEnum):
    """Why a job can't be retried or cancelled."""

    UNKNOWN = "unknown"
    NOT_FAILED = "not_failed"
    NOT_NEWEST = "not_newest"
    OPERATION_CHANGED = "operation_changed"
    ENDED = "ended"


class _Lost(Exception):
    """Somebody else ended the run first; raised to roll back."""


def queue_run(
    queue: JobQueue,
    org_id: UUID,
    document_id: UUID,
    trigger: RunTrigger,
    *,
    max_attempts: int,
    priority: int = Priority.PERSON,
    checkpoint: Mapping[str, Any] | None = None,
    stage: str | None = None,
) -> UUID:
    """Queue a new run and its first job, which waits while another run of the document is alive.

    Without `stage` it begins with the first stage for its kind of file.
    """
    with transaction(org_id):
        run = transitions.create(org_id, document_id, trigger)
        failures.supersede(document_id, run.id)
        job = NewJob(
            org_id=org_id,
            run=LiveRun(run.id, org_id, document_id),
            stage=stage or first_stage(transitions.content_type(org_id, document_id)),
            max_attempts=max_attempts,
            checkpoint=checkpoint or {},
            priority=priority,
            must_wait=run.must_wait,
        )
        queue.enqueue([job])
        return run.id


def queue_first_run(
    queue: JobQueue,
    org_id: UUID,
    document_id: UUID,
    content_type: str,
    *,
    max_attempts: int,
    priority: int,
    checkpoint: Mapping[str, Any] | None = None,
) -> UUID:
    """Queue an upload's run and its first job, in the transaction that inserts the document."""
    with transaction(org_id):
        run = transitions.create_first(org_id, document_id)
        job = NewJob(
            org_id=org_id,
            run=LiveRun(run.id, org_id, document_id),
            stage=first_stage(content_type),
            max_attempts=max_attempts,
            checkpoint=checkpoint or {},
            priority=priority,
        )
        queue.enqueue([job])
        return run.id


def succeed_run(queue: JobQueue, lease: Lease) -> None:
    """End a run as SUCCEEDED and its job as COMPLETED."""
    with transaction(lease.org_id):
        queue.complete(lease)
        if lease.run is not None:
            _let_next_in(queue, transitions.succeed(lease.run.id))


def hand_on(
    queue: JobQueue,
    lease: Lease,
    stage: str,
    *,
    max_attempts: int,
    checkpoint: Mapping[str, Any],
    delay_seconds: float = 0,
) -> None:
    """Complete this stage's job and enqueue the next stage's, in one transaction."""
    with transaction(lease.org_id):
        queue.complete(lease)
        job = NewJob(
            org_id=lease.org_id,
            run=lease.run,
            stage=stage,
            max_attempts=max_attempts,
            checkpoint=checkpoint,
            priority=lease.priority,
            delay_seconds=delay_seconds,
        )
        queue.enqueue([job])


def fail_run(queue: JobQueue, lease: Lease, failure_type: FailureType, error: JobError) -> None:
    """End a run and its job as FAILED."""
    with transaction(lease.org_id):
        queue.fail(lease, error, permanent=True)
        _fail(queue, lease, failure_type, error)


def retry_or_fail(
    queue: JobQueue, lease: Lease, error: JobError, *, retry_after_seconds: float | None = None
) -> JobStatus:
    """Count an attempt: the job is PENDING again, or FAILED and its run with it."""
    with transaction(lease.org_id):
        status = queue.fail(lease, error, retry_after_seconds=retry_after_seconds)
        if status is JobStatus.FAILED:
            # With a single attempt there is nothing to exhaust: the step has failed.
            only_one = lease.max_attempts == 1
            _fail(queue, lease, FailureType.STEP_FAILED if only_one else FailureType.ATTEMPTS_EXHAUSTED, error)
        else:
            details = {"code": error.code, "attempt": lease.attempts + 1, "attempts_max": lease.max_attempts}
            _record(lease, EventKind.JOB_RETRY_SCHEDULED, error.step, details)
        return status


def end_after(queue: JobQueue, lease: Lease, failure: ProviderError, step: str | None) -> JobStatus:
    """Fail, retry or slow down after a provider's error, which itself says which."""
    error = JobError(failure.code, failure.message, type(failure).__name__, step)
    if isinstance(failure, RateLimited):
        # First, and whether or not the lease still lasts: the provider's request concerns the whole stage.
        queue.slow(lease.stage, failure.retry_after_seconds)
    if not failure.permanent:
        return retry_or_fail(queue, lease, error, retry_after_seconds=failure.retry_after_seconds)
    kind = FailureType.BAD_INPUT if isinstance(failure, BadInput) else FailureType.STEP_FAILED
    fail_run(queue, lease, kind, error)
    return JobStatus.FAILED


def release_job(queue: JobQueue, lease: Lease) -> bool:
    """Hand a job back in a drain, no attempt counted; False if its lease had ended."""
    with transaction(lease.org_id):
        if not queue.release([lease]):
            return False
        _record(lease, EventKind.JOB_RELEASED, None, {})
        return True


def wait_for_database(queue: JobQueue, lease: Lease, trouble: Trouble, seconds: float) -> None:
    """Delay a job because the database is away or busy; no attempt is counted."""
    with transaction(lease.org_id):
        queue.snooze(lease, seconds)
        _record(lease, EventKind.JOB_WAITS, None, {"database": trouble})


def wait_for_space(queue: JobQueue, lease: Lease, seconds: float) -> None:
    """Delay a job because the disk for files is full; no attempt is counted, but the run's time goes on."""
    with transaction(lease.org_id):
        queue.snooze(lease, seconds)
        _record(lease, EventKind.JOB_WAITS, None, {"storage": Trouble.FULL})


def terminate_run(queue: JobQueue, run: LiveRun) -> bool:
    """End a run as FAILED whose process is gone, where no worker will go on with it."""
    error = JobError(EndCode.PROCESS_TERMINATED, "the process that worked on it ended before it was done")
    return end_from_outside(
        queue,
        run,
        lambda: queue.fail_run(run.id, error),
        lambda: transitions.fail(run.id, FailureType.PROCESS_TERMINATED, error.code, error.message),
    )


def cancel_run(queue: JobQueue, org_id: UUID, document_id: UUID, run_id: UUID, by: str | None = None) -> bool:
    """End a run as CANCELLED for a person; False if it had ended before, or is not this document's.

    Its worker, if there is one, can write nothing more. Where it has just reached its time limit and another run goes
    on, that one is meant.
    """
    with transaction(org_id):
        if not transitions.is_of(run_id, org_id, document_id):
            return False
        run_id = transitions.last_of_chain(run_id, document_id)
        run = LiveRun(run_id, org_id, document_id)
        return end_from_outside(queue, run, lambda: queue.cancel_run(run_id), lambda: transitions.cancel(run_id, by))


def cancel_job(queue: JobQueue, org_id: UUID, job_id: UUID, by: str | None = None) -> JobRefusal | None:
    """Cancel a job with its run, or stop its operation; where the run has succeeded already, the job alone."""
    with transaction(org_id):
        job = queue.get(job_id)
        if job is None or job.org_id != org_id:
            return JobRefusal.UNKNOWN
        if (run := job.run) is None:
            return None if operations.cancel(queue, job) else JobRefusal.ENDED
        is_cancelled = cancel_run(queue, org_id, run.document_id, run.id, by) or queue.cancel_run(run.id)
        return None if is_cancelled else JobRefusal.ENDED


def reset_silent(queue: JobQueue, silent_seconds: float) -> list[Reset]:
    """Take jobs back from workers without heartbeats; where it was the last attempt, the run fails."""
    error = JobError(EndCode.WORKER_SILENT, "the worker sent no heartbeat for too long")
    return _take_back(lambda: queue.reset_stale(silent_seconds, error), queue, error)


def reset_silent_http(queue: JobQueue, silent_seconds: float) -> list[Reset]:
    """Take jobs back from silent programs that work over HTTP; where it was the last attempt, the run fails."""
    error = JobError(EndCode.WORKER_SILENT, "the program that worked over HTTP sent no heartbeat for too long")
    return _take_back(lambda: queue.reset_stale_http(silent_seconds, error), queue, error)


def reset_worker(queue: JobQueue, worker: str) -> list[Reset]:
    """Take jobs back from a dead worker; where it was the last attempt, the run fails."""
    error = JobError(EndCode.WORKER_DIED, "the worker died")
    return _take_back(lambda: queue.reset_worker(worker, error), queue, error)


def _take_back(reset: Callable[[], list[Reset]], queue: JobQueue, error: JobError) -> list[Reset]:
    with transaction(everywhere=True):
        found = reset()
        if found:
            incidents.record(IncidentName.JOB_TAKEN_BACK, error.code, len(found))
        abandon_calls([one.job_id for one in found if one.status is JobStatus.FAILED])
        for one in found:
            if (run := one.run) is None:
                operations.follow(one.org_id, one.operation_id, one.status)
                continue
            details = {"attempt": one.attempts, "worker": one.locked_by, "code": error.code}
            events.record(run.org_id, run.document_id, run.id, EventKind.JOB_RESET, job_id=one.job_id, details=details)
            if one.status is JobStatus.FAILED:
                ended = transitions.fail(run.id, FailureType.ATTEMPTS_EXHAUSTED, error.code, error.message)
                _after_failure(queue, run, ended)
        return found


def retry_job(
    queue: JobQueue, org_id: UUID, job_id: UUID, max_attempts: int, *, by: str, priority: int | None = None
) -> UUID | JobRefusal:
    """Queue a run that goes on where a failed job stopped, or another job of an operation; ten clicks make one.

    Its priority is the failed job's, unless another one is given: many retries must not delay a person.
    The run's timeline says who asked for it (`by`).

    NOT_NEWEST where a newer run exists: what the failed job had saved may be older than the published result.
    """
    with transaction(org_id):
        job = queue.get(job_id)
        if job is None or job.org_id != org_id:
            return JobRefusal.UNKNOWN
        if job.status is not JobStatus.FAILED:
            return JobRefusal.NOT_FAILED
        if job.run is None:
            return operations.retry(queue, job, by) or JobRefusal.OPERATION_CHANGED
        document_id = job.run.document_id
        transitions.lock(document_id, org_id)
        if transitions.newest_of(document_id) != job.run.id:
            return JobRefusal.NOT_NEWEST
        if transitions.state_of(job.run.id) is RunState.SUCCEEDED:
            outcome = _repeat_follower(queue, job, job.run, max_attempts)
        else:
            outcome = _go_on(queue, job, job.run, max_attempts, job.priority if priority is None else priority)
        if not isinstance(outcome, JobRefusal):
            requested = EventKind.RETRY_REQUESTED
            events.record(org_id, document_id, outcome, requested, job_id=job.id, details={"by": by})
            failures.mark_retried(job.id, by)
        return outcome


def restore_jobs(queue: JobQueue, org_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
    """Open discarded failures again; those whose document was processed again meanwhile are superseded."""
    with transaction(org_id):
        opened = failures.reopen(org_id, ids)
        for document_id in {job.run.document_id for job in queue.of_ids(opened) if job.run}:
            newest = transitions.newest_of(document_id)
            if newest is not None:
                failures.supersede(document_id, newest)
        return opened


def _go_on(queue: JobQueue, job: JobSnapshot, run: LiveRun, max_attempts: int, priority: int) -> UUID:
    return queue_run(
        queue,
        job.org_id,
        run.document_id,
        transitions.trigger_after(run.id, RunTrigger.RETRY),
        max_attempts=max_attempts,
        priority=priority,
        checkpoint=inherited(job.checkpoint),
        stage=job.stage,
    )


def _repeat_follower(queue: JobQueue, job: JobSnapshot, run: LiveRun, max_attempts: int) -> UUID | JobRefusal:
    """Enqueue a job that follows a succeeded run again, in the same run: its result stays published."""
    of_stage = [each for each in queue.of_run(run.id) if each.stage == job.stage]
    if of_stage[-1].id != job.id:
        return JobRefusal.NOT_NEWEST
    again = NewJob(
        org_id=job.org_id,
        run=run,
        stage=job.stage,
        max_attempts=max_attempts,
        priority=job.priority,
    )
    queue.enqueue([again])
    return run.id


def end_from_outside(
    queue: JobQueue, run: LiveRun, end_jobs: Callable[[], int], end_run: Callable[[], Ended | None]
) -> bool:
    """End the jobs, then the run; neither if the run's own worker ended it first."""
    with transaction(run.org_id):
        try:
            with session().begin_nested():
                end_jobs()
                ended = end_run()
                if ended is None:
                    raise _Lost
        except _Lost:
            return False
        _after_failure(queue, run, ended)
        return True


def fail_follower(queue: JobQueue, lease: Lease, error: JobError) -> None:
    """End a job as FAILED that follows a run which has succeeded. LeaseLost."""
    queue.fail(lease, error, permanent=True)
    operations.follow(lease.org_id, lease.operation_id, JobStatus.FAILED)
    _after_failure(queue, lease.run, None)


def _fail(queue: JobQueue, lease: Lease, failure_type: FailureType, error: JobError) -> None:
    if lease.run is not None:
        ended = transitions.fail(lease.run.id, failure_type, error.code, scrubbed(error.message))
        _after_failure(queue, lease.run, ended)
    else:
        operations.follow(lease.org_id, lease.operation_id, JobStatus.FAILED)


def _after_failure(queue: JobQueue, run: LiveRun | None, ended: Ended | None) -> None:
    """Make the document's next run due; where there is a newer run already, the failure is not open."""
    if run is not None:
        newest = transitions.newest_of(run.document_id)
        if newest is not None and newest != run.id:
            failures.supersede(run.document_id, newest)
        if ended is not None:
            announcements.document_ended(queue, run)
    _let_next_in(queue, ended)


def _let_next_in(queue: JobQueue, ended: Ended | None) -> None:
    """Make the document's next run due, ordered by when it was queued."""
    if ended is not None and ended.next_run_id is not None:
        queue.let_in(ended.next_run_id, since=ended.next_created_at)


def _record(lease: Lease, kind: EventKind, step: str | None, details: Mapping[str, Any]) -> None:
    if lease.run is not None:
        ids = (lease.org_id, lease.run.document_id, lease.run.id)
        events.record(*ids, kind, job_id=lease.job_id, step=step, details=details)
