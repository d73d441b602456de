"""Runs and jobs together: what happens to a run happens to its jobs in the same transaction.

Locks are always taken in one order, job before document, because a worker's transaction begins
with its job (the fence). Whoever ends a run from outside therefore ends its jobs first.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any
from uuid import UUID

from webapp.db import session, transaction
from webapp.db.errors import Trouble
from webapp.documents import events
from webapp.documents.states import EventKind, FailureType, LiveRun, RunState, RunTrigger
from webapp.jobs.queue import JobError, JobQueue, JobSnapshot, Lease, NewJob, Reset
from webapp.jobs.scrub import scrubbed
from webapp.jobs.states import JobStatus, Priority
from webapp.provider_errors import BadInput, ProviderError, RateLimited
from webapp.runs import transitions
from webapp.runs.abandoned_calls import abandon_calls
from webapp.runs.stages import first_stage
from webapp.runs.transitions import Ended


class EndCode(StrEnum):
    """Why a run ended, where no provider's failure code says it; one sentence for people belongs to each."""

    PROCESS_TERMINATED = "process_terminated"
    WORKER_SILENT = "worker_silent"
    WORKER_DIED = "worker_died"
    RUN_TIMED_OUT = "run_timed_out"
    UNEXPECTED = "unexpected"


class JobRefusal(StrEnum):
    """Why a job is not tried again, or not cancelled."""

    UNKNOWN = "unknown"
    NOT_FAILED = "not_failed"
    NOT_NEWEST = "not_newest"
    ENDED = "ended"


class _Lost(Exception):
    """Somebody else ended the run first: what was done on its behalf is undone."""


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
    """A new run and its first job, which is held back while another run of the document is alive.

    Without a stage it begins at the beginning, which depends on the kind of file.
    """
    with transaction(org_id):
        run = transitions.create(org_id, document_id, trigger)
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
    queue: JobQueue, org_id: UUID, document_id: UUID, content_type: str, *, max_attempts: int, priority: int
) -> UUID:
    """The run of an upload and its first job, in the transaction that inserts the document."""
    with transaction(org_id):
        run = transitions.create_first(org_id, document_id)
        job = NewJob(
            org_id=org_id,
            run=LiveRun(run.id, org_id, document_id),
            stage=first_stage(content_type),
            max_attempts=max_attempts,
            priority=priority,
        )
        queue.enqueue([job])
        return run.id


def succeed_run(queue: JobQueue, lease: Lease) -> None:
    """The run and its job are done."""
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
    """This stage is done, and the run's next one waits for a worker: both or neither."""
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
    """The run and its job have failed for good."""
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
            # Where there was never more than one attempt, it is the step that has failed.
            only_one = lease.max_attempts == 1
            _fail(queue, lease, FailureType.STEP_FAILED if only_one else FailureType.ATTEMPTS_EXHAUSTED, error)
        else:
            details = {"code": error.code, "attempt": lease.attempts + 1, "attempts_max": lease.max_attempts}
            _record(lease, EventKind.JOB_RETRY_SCHEDULED, error.step, details)
        return status


def end_after(queue: JobQueue, lease: Lease, failure: ProviderError, step: str | None) -> JobStatus:
    """What a provider's failure means for the job and its run: the failure itself says it."""
    error = JobError(failure.code, failure.message, type(failure).__name__, step)
    if isinstance(failure, RateLimited):
        # Before the job is back in line, and whether or not it is still ours: the answer was meant for all.
        queue.slow(lease.stage, failure.retry_after_seconds)
    if not failure.permanent:
        return retry_or_fail(queue, lease, error, retry_after_seconds=failure.retry_after_seconds)
    kind = FailureType.BAD_INPUT if isinstance(failure, BadInput) else FailureType.STEP_FAILED
    fail_run(queue, lease, kind, error)
    return JobStatus.FAILED


def release_job(queue: JobQueue, lease: Lease) -> bool:
    """Hand a job back in a drain, no attempt counted; False when it was not held any more."""
    with transaction(lease.org_id):
        if not queue.release([lease]):
            return False
        _record(lease, EventKind.JOB_RELEASED, None, {})
        return True


def wait_for_database(queue: JobQueue, lease: Lease, trouble: Trouble, seconds: float) -> None:
    """The database failed the job, which is not to blame: in line again after a while, no attempt counted."""
    with transaction(lease.org_id):
        queue.snooze(lease, seconds)
        _record(lease, EventKind.JOB_WAITS, None, {"database": trouble})


def wait_for_space(queue: JobQueue, lease: Lease, seconds: float) -> None:
    """The same where files find no room: somebody has to make some, and the document's time goes on meanwhile."""
    with transaction(lease.org_id):
        queue.snooze(lease, seconds)
        _record(lease, EventKind.JOB_WAITS, None, {"storage": Trouble.FULL})


def time_out_run(queue: JobQueue, run: LiveRun) -> bool:
    """End a run whose time is over; its worker, if one still lives, can write nothing more."""
    error = JobError(EndCode.RUN_TIMED_OUT, "the run exceeded its time limit")
    return _end_from_outside(queue, run, lambda: queue.fail_run(run.id, error), lambda: transitions.time_out(run.id))


def time_out_own_run(queue: JobQueue, lease: Lease) -> None:
    """The same by the run's own worker, as long as the job is its own."""
    with transaction(lease.org_id):
        queue.fence(lease)
        if lease.run is None or not time_out_run(queue, lease.run):
            # The run has ended: only what follows it has taken too long.
            queue.fail(lease, JobError(EndCode.RUN_TIMED_OUT, "the job exceeded its time limit"), permanent=True)


def terminate_run(queue: JobQueue, run: LiveRun) -> bool:
    """End a run whose process is gone and that nobody will go on with."""
    error = JobError(EndCode.PROCESS_TERMINATED, "the process that worked on it ended before it was done")
    return _end_from_outside(
        queue,
        run,
        lambda: queue.fail_run(run.id, error),
        lambda: transitions.fail(run.id, FailureType.PROCESS_TERMINATED, error.code, error.message),
    )


def cancel_run(queue: JobQueue, org_id: UUID, document_id: UUID, run_id: UUID, by: str | None = None) -> bool:
    """End a run because a person said so; False when it had ended before, or is not this document's.

    Its worker, if one is at it, can write nothing more.
    """
    run = LiveRun(run_id, org_id, document_id)
    with transaction(org_id):
        if not transitions.is_of(run_id, org_id, document_id):
            return False
        return _end_from_outside(queue, run, lambda: queue.cancel_run(run_id), lambda: transitions.cancel(run_id, by))


def cancel_job(queue: JobQueue, org_id: UUID, job_id: UUID, by: str | None = None) -> JobRefusal | None:
    """End the run that a job belongs to; where that has succeeded already, the work that follows it."""
    with transaction(org_id):
        job = queue.get(job_id)
        if job is None or job.org_id != org_id:
            return JobRefusal.UNKNOWN
        run = job.run
        if run and (cancel_run(queue, org_id, run.document_id, run.id, by) or queue.cancel_run(run.id)):
            return None
        return JobRefusal.ENDED


def reset_silent(queue: JobQueue, silent_seconds: float) -> list[Reset]:
    """Take jobs back from workers that fell silent; a run whose last attempt that was has failed."""
    error = JobError(EndCode.WORKER_SILENT, "the worker that held the job fell silent")
    return _take_back(lambda: queue.reset_stale(silent_seconds, error), queue, error)


def reset_worker(queue: JobQueue, worker: str) -> list[Reset]:
    """Take jobs back from a worker that is known to be dead; a run whose last attempt that was has failed."""
    error = JobError(EndCode.WORKER_DIED, "the worker that held the job died")
    return _take_back(lambda: queue.reset_worker(worker, error), queue, error)


def _take_back(reset: Callable[[], list[Reset]], queue: JobQueue, error: JobError) -> list[Reset]:
    with transaction(everywhere=True):
        found = reset()
        abandon_calls([one.job_id for one in found if one.status is JobStatus.FAILED])
        for one in found:
            if one.run is None:
                continue
            details = {"attempt": one.attempts, "worker": one.locked_by, "code": error.code}
            ids = (one.org_id, one.run.document_id, one.run.id)
            events.record(*ids, EventKind.JOB_RESET, job_id=one.job_id, details=details)
            if one.status is JobStatus.FAILED:
                ended = transitions.fail(one.run.id, FailureType.ATTEMPTS_EXHAUSTED, error.code, error.message)
                _let_next_in(queue, ended)
        return found


def retry_job(
    queue: JobQueue, org_id: UUID, job_id: UUID, max_attempts: int, *, by: str, priority: int | None = None
) -> UUID | JobRefusal:
    """A new run that goes on where a failed job stopped; ten clicks make one run.

    It is as urgent as the failed one was, or as is said: many at once must not stand before a person.
    The run's timeline says who asked for it (`by`).

    Refused where a newer run exists: what the failed job had saved may be older than what stands.
    """
    with transaction(org_id):
        job = queue.get(job_id)
        if job is None or job.org_id != org_id or job.run is None:
            return JobRefusal.UNKNOWN
        if job.status is not JobStatus.FAILED:
            return JobRefusal.NOT_FAILED
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
        return outcome


def _go_on(queue: JobQueue, job: JobSnapshot, run: LiveRun, max_attempts: int, priority: int) -> UUID:
    return queue_run(
        queue,
        job.org_id,
        run.document_id,
        RunTrigger.RETRY,
        max_attempts=max_attempts,
        priority=priority,
        checkpoint=job.checkpoint,
        stage=job.stage,
    )


def _repeat_follower(queue: JobQueue, job: JobSnapshot, run: LiveRun, max_attempts: int) -> UUID | JobRefusal:
    """What follows a run is done again in the same run: its result stands, and needs no other."""
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


def _end_from_outside(
    queue: JobQueue, run: LiveRun, end_jobs: Callable[[], int], end_run: Callable[[], Ended | None]
) -> bool:
    """Jobs, then the run; neither, where the run's own worker was quicker."""
    with transaction(run.org_id):
        try:
            with session().begin_nested():
                end_jobs()
                ended = end_run()
                if ended is None:
                    raise _Lost
        except _Lost:
            return False
        _let_next_in(queue, ended)
        return True


def _fail(queue: JobQueue, lease: Lease, failure_type: FailureType, error: JobError) -> None:
    if lease.run is not None:
        _let_next_in(queue, transitions.fail(lease.run.id, failure_type, error.code, scrubbed(error.message)))


def _let_next_in(queue: JobQueue, ended: Ended | None) -> None:
    """The next run of the document takes the place in line that its age gives it."""
    if ended is not None and ended.next_run_id is not None:
        queue.let_in(ended.next_run_id, since=ended.next_created_at)


def _record(lease: Lease, kind: EventKind, step: str | None, details: Mapping[str, Any]) -> None:
    if lease.run is not None:
        ids = (lease.org_id, lease.run.document_id, lease.run.id)
        events.record(*ids, kind, job_id=lease.job_id, step=step, details=details)
