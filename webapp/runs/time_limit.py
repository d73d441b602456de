"""What becomes of a run that exceeds its time limit: it ends, and where it got on, a new run goes on in its place.

The new run has the trigger CONTINUED and takes over checkpoint, stage and priority. It is queued in the transaction
that ends the other one, so the document is never shown as timed out in between. No new run is queued where the old one
saved nothing, where another run of the document waits already, or after `continue_max` of them in a row.
"""

from webapp.db import session, transaction
from webapp.documents.states import QUIET_TRIGGERS, LiveRun, RunTrigger
from webapp.jobs.queue import JobError, JobQueue, JobSnapshot, Lease
from webapp.runs import lifecycle, transitions
from webapp.runs.checkpoint import inherited, pieces
from webapp.runs.lifecycle import EndCode


class _Ends(Exception):
    """Nothing goes on after this run; raised to roll back."""


def time_out_run(queue: JobQueue, run: LiveRun, continue_max: int) -> bool:
    """End a run that exceeded its time limit; False if it had ended before.

    Its worker, if there is one, can write nothing more.
    """
    error = JobError(EndCode.RUN_TIMED_OUT, "the run exceeded its time limit")
    with transaction(run.org_id):
        return _continue(queue, run, continue_max) or lifecycle.end_from_outside(
            queue, run, lambda: queue.fail_run(run.id, error), lambda: transitions.time_out(run.id)
        )


def time_out_own_run(queue: JobQueue, lease: Lease, continue_max: int) -> None:
    """End a run that exceeded its time limit, by its own worker; LeaseLost."""
    with transaction(lease.org_id):
        queue.fence(lease)
        if lease.run is None or not time_out_run(queue, lease.run, continue_max):
            # The run has succeeded already: only the job that follows it took too long.
            lifecycle.fail_follower(queue, lease, JobError(EndCode.RUN_TIMED_OUT, "the job exceeded its time limit"))


def _continue(queue: JobQueue, run: LiveRun, continue_max: int) -> bool:
    """End the run and queue one that goes on; False, and nothing has changed, where that is not right."""
    try:
        with session().begin_nested():
            queue.cancel_run(run.id)
            ended = transitions.time_out(run.id)
            job = queue.live_of_runs([run.id]).get(run.id)
            if ended is None or ended.next_run_id is not None or job is None or pieces(job.checkpoint) == 0:
                raise _Ends
            trigger = transitions.trigger_after(run.id, RunTrigger.CONTINUED)
            # Of those that go on with their own trigger the first one goes on after none.
            first = int(trigger in QUIET_TRIGGERS)
            if transitions.in_a_row(run.document_id, trigger) - first >= continue_max:
                raise _Ends
            _queue_next(queue, run, job, trigger)
    except _Ends:
        return False
    return True


def _queue_next(queue: JobQueue, run: LiveRun, job: JobSnapshot, trigger: RunTrigger) -> None:
    lifecycle.queue_run(
        queue,
        run.org_id,
        run.document_id,
        trigger,
        max_attempts=job.max_attempts,
        priority=job.priority,
        checkpoint=inherited(job.checkpoint),
        stage=job.stage,
    )
