"""Delays jobs that wait for others' answers, for space or for money; their run's time limit is extended by it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import select, type_coerce

from webapp.clock import now
from webapp.db import UtcDateTime, session, transaction
from webapp.documents import events
from webapp.documents.states import EventKind
from webapp.jobs.interruptions import Waits, WaitsForOthers
from webapp.jobs.queue import WAITS_FOR, JobQueue, Lease
from webapp.pipeline.steps import StageContext
from webapp.runs import transitions
from webapp.runs.checkpoint import WAITS_SINCE


def wait(context: StageContext, waits: WaitsForOthers | Waits) -> None:
    """Delay a job until what it waits for may be there; no attempt is counted. LeaseLost."""
    if isinstance(waits, WaitsForOthers):
        wait_for_others(context, waits.seconds)
    else:
        wait_for(context, waits)


def wait_for_others(context: StageContext, seconds: float) -> None:
    """Delay a job for so long; no attempt is counted. LeaseLost."""
    with transaction(context.org_id):
        context.queue.fence(context.lease)
        context.checkpoint[WAITS_SINCE] = _present().isoformat()
        context.queue.snooze(context.lease, seconds, context.checkpoint)


def wait_for(context: StageContext, waits: Waits) -> None:
    """Delay a job that may not make a paid call now; no attempt is counted. LeaseLost.

    Where nothing can be stored the whole stage is paused (until `stage_pause.resume_with_space`). For money only this
    job waits.
    """
    queue, lease = context.queue, context.lease
    marked = {**context.checkpoint, WAITS_FOR: waits.reason}
    if waits.seconds is None:
        queue.pause(lease.stage, waits.reason)
    with transaction(context.org_id):
        if waits.seconds is None:
            queue.checkpoint(lease, marked)
            queue.release([lease])
        else:
            queue.snooze(lease, waits.seconds, {**marked, WAITS_SINCE: _present().isoformat()})
        # One event, however often the job is tried meanwhile.
        if lease.checkpoint.get(WAITS_FOR) != waits.reason:
            ids = (lease.org_id, context.document_id, context.run_id)
            events.record(*ids, EventKind.JOB_WAITS, job_id=lease.job_id, details={"reason": waits.reason})


def end_waiting(queue: JobQueue, lease: Lease) -> tuple[Lease, float]:
    """Remove the mark from a claimed job and extend its run's time; returns lease and waited seconds. LeaseLost."""
    since = lease.checkpoint.get(WAITS_SINCE)
    if since is None:
        return lease, 0.0
    checkpoint = {name: value for name, value in lease.checkpoint.items() if name not in {WAITS_SINCE, WAITS_FOR}}
    with transaction(lease.org_id):
        queue.fence(lease)
        queue.checkpoint(lease, checkpoint)
        waited = max(0.0, (_present() - datetime.fromisoformat(since)).total_seconds())
        if lease.run is not None:
            transitions.extend_time(lease.run.id, waited)
    return replace(lease, checkpoint=checkpoint), waited


def that_wait(queue: JobQueue, run_ids: Sequence[UUID]) -> set[UUID]:
    """Those of these runs whose job waits for others or for money, or was just claimed after that.

    The mark is removed after the claim, in the transaction that gives the run more time.
    """
    return {run_id for run_id, job in queue.live_of_runs(run_ids).items() if WAITS_SINCE in job.checkpoint}


def _present() -> datetime:
    return session().execute(select(type_coerce(now(), UtcDateTime))).scalar_one()
