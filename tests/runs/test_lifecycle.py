"""Runs and their jobs change together, or not at all."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import select, update

from tests.documents.rows import document, events_of, new_document, new_org, run
from webapp.clock import after, new_id
from webapp.db import reading, transaction
from webapp.documents.model import ProcessingRun
from webapp.documents.states import DocumentStatus, FailureType, LiveRun, RunState, RunTrigger
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import JobError, JobQueue, JobSnapshot, Lease, LeaseLost
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue
from webapp.jobs.states import JobStatus
from webapp.library import deletion
from webapp.provider_errors import BadInput, FailureCode, ProviderUnavailable, RateLimited
from webapp.runs import lifecycle, time_limit, transitions
from webapp.runs.lifecycle import JobRefusal

WRONG = JobError("unavailable", "no answer with password=hunter2")


class Office:
    """A queue, and what became of its jobs and runs."""

    def __init__(self) -> None:
        self.queue: JobQueue = SqlJobQueue(RetryPolicy(base_seconds=30, max_seconds=600))
        self.org_id = new_org()

    def new_run(self, document_id: UUID | None = None, *, max_attempts: int = 2, **more: Any) -> UUID:
        document_id = document_id or new_document(self.org_id)
        return lifecycle.queue_run(
            self.queue, self.org_id, document_id, RunTrigger.REPROCESS, max_attempts=max_attempts, **more
        )

    def claims(self, limit: int = 10) -> list[Lease]:
        return self.queue.claim("worker", limit)

    def start(self) -> Lease:
        (lease,) = self.claims(1)
        return lease

    def job(self, run_id: UUID) -> JobSnapshot:
        (job,) = self.queue.of_run(run_id)
        return job

    def run(self, run_id: UUID) -> ProcessingRun:
        return run(self.org_id, run_id)

    def states(self, run_id: UUID) -> tuple[str, str]:
        return self.run(run_id).state, self.job(run_id).status

    def grow_old(self, run_id: UUID, seconds: float) -> None:
        """As if its worker had been silent, and its run at work, for so long."""
        then = after(-seconds)
        with transaction(self.org_id) as session:
            session.execute(update(JobRow).where(JobRow.run_id == run_id).values(heartbeat_at=then))
            session.execute(update(ProcessingRun).where(ProcessingRun.id == run_id).values(started_at=then))

    def live_run(self, run_id: UUID) -> LiveRun:
        found = self.run(run_id)
        return LiveRun(found.id, found.org_id, found.document_id)

    def pass_backoff(self) -> None:
        with transaction(self.org_id) as session:
            due = update(JobRow).where(JobRow.status == "PENDING", JobRow.available_at.is_not(None))
            session.execute(due.values(available_at=after(0), wakes_at=None))


@pytest.fixture
def office(bare_app: Flask) -> Office:
    return Office()


def test_a_run_comes_with_a_job_that_may_be_claimed(office: Office) -> None:
    run_id = office.new_run(checkpoint={"progress": 0.5})
    (lease,) = office.claims()
    assert (lease.run_id, lease.stage, lease.checkpoint) == (run_id, "process_document", {"progress": 0.5})


def test_only_the_first_of_many_runs_can_be_claimed(office: Office) -> None:
    document_id = new_document(office.org_id)
    waiting = [office.new_run(document_id) for _ in range(10)]
    other = office.new_run()
    assert [lease.run_id for lease in office.claims(20)] == [waiting[0], other]


def test_without_its_document_nothing_is_queued(office: Office) -> None:
    with pytest.raises(transitions.DocumentMissing):
        office.new_run(new_id())
    assert office.claims() == []


def test_each_end_lets_the_next_run_go(office: Office) -> None:
    document_id = new_document(office.org_id)
    line = [office.new_run(document_id, max_attempts=1) for _ in range(5)]
    ends: list[Callable[[Lease], object]] = [
        lambda lease: lifecycle.succeed_run(office.queue, lease),
        lambda lease: lifecycle.fail_run(office.queue, lease, FailureType.STEP_FAILED, WRONG),
        lambda lease: time_limit.time_out_own_run(office.queue, lease, 100),
        lambda lease: lifecycle.cancel_run(office.queue, office.org_id, document_id, lease.run_id),
        lambda lease: lifecycle.retry_or_fail(office.queue, lease, WRONG),
    ]
    for run_id, end in zip(line, ends, strict=True):
        lease = office.start()
        assert lease.run_id == run_id
        assert office.claims() == []
        end(lease)
    assert [office.run(run_id).state for run_id in line] == ["SUCCEEDED", "FAILED", "TIMED_OUT", "CANCELLED", "FAILED"]


def test_a_released_run_is_ordered_by_its_age(office: Office) -> None:
    document_id = new_document(office.org_id)
    office.new_run(document_id)
    second = office.new_run(document_id)
    lease = office.start()
    younger = office.new_run()
    lifecycle.succeed_run(office.queue, lease)
    assert [claimed.run_id for claimed in office.claims()] == [second, younger]


def test_success_ends_job_run_and_document(office: Office) -> None:
    run_id = office.new_run()
    lifecycle.succeed_run(office.queue, office.start())
    assert office.states(run_id) == ("SUCCEEDED", "COMPLETED")
    assert document(office.org_id, office.run(run_id).document_id).status == DocumentStatus.READY


def test_a_failure_with_attempts_left_is_told_and_tried_again(office: Office) -> None:
    run_id = office.new_run()
    assert lifecycle.end_after(office.queue, office.start(), ProviderUnavailable("away"), "embedding") == "PENDING"
    assert office.states(run_id) == ("RUNNING", "PENDING")
    assert office.claims() == []
    office.pass_backoff()
    again = office.start()
    assert again.attempts == 1
    assert lifecycle.end_after(office.queue, again, ProviderUnavailable("away"), "embedding") == "FAILED"
    failed = office.run(run_id)
    assert (failed.state, failed.failure_type, failed.failure_code) == ("FAILED", "ATTEMPTS_EXHAUSTED", "unavailable")
    assert events_of(office.org_id, run_id) == ["RUN_QUEUED", "RUN_STARTED", "JOB_RETRY_SCHEDULED", "RUN_FAILED"]


def test_where_there_is_one_attempt_the_step_has_failed(office: Office) -> None:
    run_id = office.new_run(max_attempts=1)
    lifecycle.end_after(office.queue, office.start(), ProviderUnavailable("away"), "embedding")
    assert office.run(run_id).failure_type == FailureType.STEP_FAILED


def test_bad_input_fails_at_once(office: Office) -> None:
    run_id = office.new_run(max_attempts=5)
    lifecycle.end_after(office.queue, office.start(), BadInput("locked", code=FailureCode.ENCRYPTED), "extracting")
    failed = office.run(run_id)
    assert (failed.failure_type, failed.failure_code) == ("BAD_INPUT", "encrypted")
    assert office.job(run_id).status == JobStatus.FAILED


def test_other_permanent_failures_are_the_steps(office: Office) -> None:
    run_id = office.new_run(max_attempts=5)
    lifecycle.end_after(office.queue, office.start(), ProviderUnavailable("bad key", permanent=True), None)
    assert office.run(run_id).failure_type == FailureType.STEP_FAILED


def test_a_provider_that_asks_for_patience_gets_it(office: Office) -> None:
    run_id = office.new_run()
    lifecycle.end_after(office.queue, office.start(), RateLimited("slowly", retry_after_seconds=5000), None)
    job = office.job(run_id)
    assert job.available_at is not None
    assert (job.available_at - job.created_at).total_seconds() >= 5000


def test_secrets_are_kept_out_of_what_a_run_says(office: Office) -> None:
    run_id = office.new_run(max_attempts=1)
    lifecycle.retry_or_fail(office.queue, office.start(), WRONG)
    assert "hunter2" not in (office.run(run_id).error or "")
    assert "hunter2" not in str(office.job(run_id).error_log)


def test_a_run_that_may_not_start_yet_counts_no_attempt(office: Office) -> None:
    document_id = new_document(office.org_id)
    first, second = office.new_run(document_id), office.new_run(document_id)
    office.start()
    office.queue.let_in(second)
    assert office.claims() == []
    assert office.job(second).attempts == 0
    assert office.claims() == []
    lifecycle.cancel_run(office.queue, office.org_id, document_id, first)
    office.pass_backoff()
    assert [claimed.run_id for claimed in office.claims()] == [second]


def test_a_job_of_an_ended_run_ends(office: Office) -> None:
    run_id = office.new_run()
    with transaction(office.org_id):
        transitions.cancel(run_id)
    assert office.claims() == []
    assert office.job(run_id).status == JobStatus.CANCELLED


def test_a_job_may_follow_the_success_of_its_run(office: Office) -> None:
    run_id = office.new_run()
    lifecycle.succeed_run(office.queue, office.start())
    with transaction(office.org_id) as session:
        again = update(JobRow).where(JobRow.run_id == run_id)
        session.execute(again.values(status="PENDING", completed_at=None, available_at=after(0), wakes_at=None))
    assert office.start().run_id == run_id


def test_a_zombie_ends_nothing(office: Office) -> None:
    run_id = office.new_run(max_attempts=5)
    zombie = office.start()
    office.grow_old(run_id, 7300)
    (reset,) = lifecycle.reset_silent(office.queue, 7200)
    assert (reset.run_id, reset.status, reset.attempts) == (run_id, "PENDING", 1)
    heir = office.start()
    ends: list[Callable[[], object]] = [
        lambda: lifecycle.succeed_run(office.queue, zombie),
        lambda: lifecycle.fail_run(office.queue, zombie, FailureType.STEP_FAILED, WRONG),
        lambda: lifecycle.retry_or_fail(office.queue, zombie, WRONG),
        lambda: time_limit.time_out_own_run(office.queue, zombie, 100),
    ]
    for end in ends:
        with pytest.raises(LeaseLost):
            end()
    assert not lifecycle.release_job(office.queue, zombie)
    assert office.states(run_id) == ("RUNNING", "PROCESSING")
    lifecycle.succeed_run(office.queue, heir)


def test_a_silent_workers_last_attempt_fails_the_run(office: Office) -> None:
    document_id = new_document(office.org_id)
    run_id, following = office.new_run(document_id, max_attempts=1), office.new_run(document_id)
    office.start()
    office.grow_old(run_id, 7300)
    lifecycle.reset_silent(office.queue, 7200)
    assert office.states(run_id) == ("FAILED", "FAILED")
    assert office.run(run_id).failure_type == FailureType.ATTEMPTS_EXHAUSTED
    assert events_of(office.org_id, run_id)[-2:] == ["JOB_RESET", "RUN_FAILED"]
    assert office.start().run_id == following


def test_a_run_past_its_window_takes_its_job_with_it(office: Office) -> None:
    run_id = office.new_run()
    late = office.start()
    assert time_limit.time_out_run(office.queue, office.live_run(run_id), 100)
    assert office.states(run_id) == ("TIMED_OUT", "FAILED")
    assert office.job(run_id).error_log[-1]["code"] == "run_timed_out"
    with pytest.raises(LeaseLost):
        lifecycle.succeed_run(office.queue, late)


def test_the_second_to_end_a_run_changes_nothing(office: Office) -> None:
    run_id = office.new_run()
    seen_alive = office.live_run(run_id)
    lifecycle.succeed_run(office.queue, office.start())
    with transaction(office.org_id) as session:
        follows = update(JobRow).where(JobRow.run_id == run_id)
        session.execute(follows.values(status="PENDING", completed_at=None, available_at=after(0), wakes_at=None))
    assert not time_limit.time_out_run(office.queue, seen_alive, 100)
    assert not lifecycle.terminate_run(office.queue, seen_alive)
    assert not lifecycle.cancel_run(office.queue, office.org_id, seen_alive.document_id, run_id)
    assert office.states(run_id) == ("SUCCEEDED", "PENDING")


def test_a_run_without_its_process_says_so(office: Office) -> None:
    run_id = office.new_run()
    office.start()
    assert lifecycle.terminate_run(office.queue, office.live_run(run_id))
    assert office.states(run_id) == ("FAILED", "FAILED")
    assert office.run(run_id).failure_type == FailureType.PROCESS_TERMINATED


def test_a_release_is_told_and_not_counted(office: Office) -> None:
    run_id = office.new_run()
    assert lifecycle.release_job(office.queue, office.start())
    assert events_of(office.org_id, run_id)[-1] == "JOB_RELEASED"
    assert office.start().attempts == 0


def test_a_retried_job_goes_on_in_a_new_run(office: Office) -> None:
    failed = office.new_run(max_attempts=1, checkpoint={"completed_stages": ["extracted"]})
    lifecycle.retry_or_fail(office.queue, office.start(), WRONG)
    new = lifecycle.retry_job(office.queue, office.org_id, office.job(failed).id, max_attempts=3, by="tests")
    assert isinstance(new, UUID)
    lease = office.start()
    assert (lease.run_id, lease.max_attempts) == (new, 3)
    assert lease.checkpoint == {"completed_stages": ["extracted"]}
    assert office.run(new).trigger == RunTrigger.RETRY
    assert office.states(failed) == ("FAILED", "FAILED")


def test_ten_clicks_on_retry_make_one_run(bare_app: Flask, office: Office) -> None:
    failed = office.new_run(max_attempts=1)
    lifecycle.retry_or_fail(office.queue, office.start(), WRONG)
    job_id, gate = office.job(failed).id, threading.Barrier(10)

    def click() -> UUID | JobRefusal:
        with bare_app.app_context():
            gate.wait()
            return lifecycle.retry_job(office.queue, office.org_id, job_id, max_attempts=3, by="tests")

    with ThreadPoolExecutor(10) as threads:
        answers = [future.result() for future in [threads.submit(click) for _ in range(10)]]
    assert [answer for answer in answers if isinstance(answer, JobRefusal)] == [JobRefusal.NOT_NEWEST] * 9


def test_what_cannot_be_retried_is_refused(office: Office) -> None:
    document_id = new_document(office.org_id)
    failed = office.new_run(document_id, max_attempts=1)
    job_id = office.job(failed).id

    def retry(org_id: UUID = office.org_id, job: UUID = job_id) -> UUID | JobRefusal:
        return lifecycle.retry_job(office.queue, org_id, job, max_attempts=3, by="tests")

    assert retry() == JobRefusal.NOT_FAILED
    lifecycle.retry_or_fail(office.queue, office.start(), WRONG)
    assert retry(org_id=new_org()) == JobRefusal.UNKNOWN
    assert retry(job=new_id()) == JobRefusal.UNKNOWN
    office.new_run(document_id)
    assert retry() == JobRefusal.NOT_NEWEST


def test_a_document_can_be_deleted_in_the_middle_of_its_work(office: Office) -> None:
    document_id = new_document(office.org_id)
    office.new_run(document_id)
    office.new_run(document_id)
    worker = office.start()
    folders = deletion.delete_document(office.queue, office.org_id, document_id)
    assert folders is not None
    assert f"{office.org_id}/documents/{document_id}/" in folders
    with pytest.raises(LeaseLost):
        lifecycle.succeed_run(office.queue, worker)
    assert deletion.delete_document(office.queue, office.org_id, document_id) is None
    with reading(office.org_id) as session:
        assert session.scalars(select(JobRow)).all() == []


@pytest.mark.slow
@pytest.mark.parametrize("others_end", ["time out", "terminate", "cancel"])
def test_of_two_ends_at_one_moment_one_counts(bare_app: Flask, office: Office, others_end: str) -> None:
    """The worker publishes while somebody else ends the run: exactly one of them wins, and all rows agree."""
    for _ in range(10):
        run_id = office.new_run()
        lease, live = office.start(), office.live_run(run_id)
        ends = {
            "time out": partial(time_limit.time_out_run, office.queue, live, 100),
            "terminate": partial(lifecycle.terminate_run, office.queue, live),
            "cancel": partial(lifecycle.cancel_run, office.queue, office.org_id, live.document_id, run_id),
        }
        won = _race(bare_app, partial(_succeed, office, lease), ends[others_end])
        assert sorted(won) == [False, True]
        assert office.states(run_id) in {
            ("SUCCEEDED", "COMPLETED"),
            ("TIMED_OUT", "FAILED"),
            ("FAILED", "FAILED"),
            ("CANCELLED", "CANCELLED"),
        }
        assert (office.run(run_id).state == RunState.SUCCEEDED) == won[0]


def _succeed(office: Office, lease: Lease) -> bool:
    try:
        lifecycle.succeed_run(office.queue, lease)
    except LeaseLost:
        return False
    return True


def _race(app: Flask, *tasks: Callable[[], bool]) -> list[bool]:
    gate = threading.Barrier(len(tasks))

    def one(task: Callable[[], bool]) -> bool:
        with app.app_context():
            gate.wait()
            return task()

    with ThreadPoolExecutor(len(tasks)) as threads:
        return [future.result() for future in [threads.submit(one, task) for task in tasks]]
