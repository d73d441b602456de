"""A job that waits for answers that others are paying for: no attempt, no seat, and no time of its run's window."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from tests.worker.bench import Bench, raising
from webapp.clock import after, monotonic
from webapp.db import reading, transaction
from webapp.documents.model import ProcessingRun
from webapp.jobs.interruptions import WaitsForOthers
from webapp.jobs.model import Job as JobRow
from webapp.jobs.states import JobStatus
from webapp.runs import transitions
from webapp.runs.checkpoint import WAITS_SINCE
from webapp.worker import chores
from webapp.worker.attempt import Outcome

HOUR = 3600.0
WINDOW = 120.0


def pass_time(bench: Bench, seconds: float) -> None:
    """As if the job had gone to wait so long ago, and its run had begun ten seconds earlier."""
    with transaction(bench.org_id) as session:
        session.execute(update(ProcessingRun).values(started_at=after(-seconds - 10)))
        ((job_id, checkpoint),) = session.execute(select(JobRow.id, JobRow.checkpoint)).all()
        since = session.scalar(select(ProcessingRun.started_at))
        assert since is not None
        waits = {**checkpoint, WAITS_SINCE: (since + timedelta(seconds=10)).isoformat()}
        session.execute(
            update(JobRow).where(JobRow.id == job_id).values(available_at=after(0), wakes_at=None, checkpoint=waits)
        )


def test_it_is_queued_again_without_an_attempt(bench: Bench) -> None:
    run_id = bench.new_run()
    assert bench.attempt(raising(WaitsForOthers())) is Outcome.SNOOZED
    job = bench.job(run_id)
    assert (job.status, job.attempts, job.locked_by) == (JobStatus.PENDING, 0, None)
    assert WAITS_SINCE in job.checkpoint


def test_its_run_is_not_ended_meanwhile(bench: Bench) -> None:
    run_id = bench.new_run()
    bench.attempt(raising(WaitsForOthers()))
    pass_time(bench, HOUR)
    assert chores.end_overdue(bench.services, WINDOW) == 0
    with reading(bench.org_id):
        assert transitions.state_of(run_id) == "RUNNING"


def test_its_run_is_not_ended_between_its_claim_and_the_end_of_its_waiting(bench: Bench) -> None:
    run_id = bench.new_run()
    bench.attempt(raising(WaitsForOthers()))
    pass_time(bench, HOUR)
    with transaction(everywhere=True):
        [_lease] = bench.queue.claim("worker")
    assert chores.end_overdue(bench.services, WINDOW) == 0
    assert bench.job(run_id).status == JobStatus.PROCESSING


def test_the_window_goes_on_where_it_stood(bench: Bench) -> None:
    run_id = bench.new_run()
    bench.attempt(raising(WaitsForOthers()))
    pass_time(bench, HOUR)
    claimed = bench.claim()
    assert claimed.deadline - monotonic() == pytest.approx(bench.policy.run_timeout_seconds - 10, abs=5)
    assert WAITS_SINCE not in claimed.lease.checkpoint
    assert WAITS_SINCE not in bench.job(run_id).checkpoint
    # What is used after that counts again.
    bench.grow_old(run_id, WINDOW + 1)
    assert chores.end_overdue(bench.services, WINDOW) == 1
