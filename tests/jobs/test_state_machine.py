"""Any order of calls, by workers that live, are late or are dead: the queue and a simple model never disagree."""

import os
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test
from sqlalchemy import delete

from tests.jobs.rig import SqlQueueRig
from webapp.accounts.model import Org
from webapp.db import transaction
from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.model import StageControlRow
from webapp.jobs.queue import AlreadyQueued, JobError, Lease, LeaseLost, NewJob
from webapp.jobs.states import JobStatus

PENDING, PROCESSING, COMPLETED, FAILED, CANCELLED = JobStatus
WORKERS = ("one", "two", "three")
STAGES = ("read", "write")
# Waits are far longer than a test takes and far shorter than what passes at once, so nothing is a close call.
LONG_SECONDS, PASSES_SECONDS, SILENT_SECONDS = 1_000.0, 3_000.0, 2_000.0
WRONG = JobError("unavailable", "it broke")


@dataclass
class Known:
    """A job as the model has it. `due_at` None: held."""

    run_id: UUID
    stage: str
    priority: int
    max_attempts: int
    due_at: float | None
    status: JobStatus = PENDING
    attempts: int = 0
    worker: str | None = None
    lease_id: UUID | None = None
    beat_at: float = 0.0

    def end(self, status: JobStatus) -> None:
        self.status, self.worker, self.lease_id = status, None, None

    def count_attempt(self, due_at: float, *, permanent: bool = False) -> None:
        self.attempts += 1
        is_over = permanent or self.attempts >= self.max_attempts
        self.due_at = self.due_at if is_over else due_at
        self.end(FAILED if is_over else PENDING)


class QueueMachine(RuleBasedStateMachine):
    """Each rule does the same to both. Leases stay in their bundle when they are over: those are the zombies."""

    leases: Bundle[Lease | None] = Bundle("leases")
    jobs: Bundle[UUID] = Bundle("jobs")

    rig: ClassVar[SqlQueueRig]

    def __init__(self) -> None:
        super().__init__()
        self.queue = self.rig.queue
        self.known: dict[UUID, Known] = {}
        self.now = 0.0
        self.paused: set[str] = set()
        self.limits: dict[str, int] = {}

    def teardown(self) -> None:
        with transaction(everywhere=True) as session:
            session.execute(delete(Org))
            session.execute(delete(StageControlRow))
        self.rig._org_id = None

    @rule(
        target=jobs,
        stage=st.sampled_from(STAGES),
        priority=st.sampled_from([0, 10, 20]),
        max_attempts=st.integers(1, 3),
        must_wait=st.booleans(),
        delay=st.sampled_from([0.0, LONG_SECONDS]),
    )
    def enqueue(self, stage: str, priority: int, max_attempts: int, must_wait: bool, delay: float) -> UUID:
        (run,) = self.rig.new_runs(1)
        more = {"max_attempts": max_attempts, "must_wait": must_wait, "delay_seconds": delay}
        job = run.job(stage=stage, priority=priority, **more)
        self.queue.enqueue([job])
        self.known[job.id] = Known(run.id, stage, priority, max_attempts, None if must_wait else self.now + delay)
        return job.id

    @rule(job_id=jobs)
    def enqueue_twice(self, job_id: UUID) -> None:
        """Not even the id of a job that has ended can be used again."""
        job = self.queue.get(job_id)
        assert job is not None
        again = NewJob(job.org_id, job.run, job.stage, max_attempts=1, id=job_id)
        with pytest.raises(AlreadyQueued):
            self.queue.enqueue([again])

    @rule(target=leases, worker=st.sampled_from(WORKERS))
    def claim(self, worker: str) -> Lease | None:
        found = self.queue.claim(worker, 1)
        due = [job for job in self.known.values() if job.status is PENDING and self._is_due(job)]
        assert len(found) == min(1, len(due))
        if not found:
            return None
        (lease,) = found
        job = self.known[lease.job_id]
        assert job in due
        assert job.priority == min(one.priority for one in due), "the most urgent goes first"
        assert (lease.attempts, lease.max_attempts) == (job.attempts, job.max_attempts)
        job.status, job.worker, job.lease_id, job.beat_at = PROCESSING, worker, lease.lease_id, self.now
        return lease

    def _is_due(self, job: Known) -> bool:
        return job.due_at is not None and job.due_at <= self.now and self._has_free_slot(job.stage)

    def _has_free_slot(self, stage: str) -> bool:
        at_work = sum(job.stage == stage and job.status is PROCESSING for job in self.known.values())
        return not self.paused & {stage, EVERY_STAGE} and at_work < self.limits.get(stage, at_work + 1)

    @rule(stage=st.sampled_from([*STAGES, EVERY_STAGE]), is_on=st.booleans())
    def pause(self, stage: str, is_on: bool) -> None:
        """What is at work goes on all the same."""
        if is_on:
            self.queue.pause(stage)
            self.paused.add(stage)
        else:
            self.queue.resume(stage)
            self.paused.discard(stage)

    @rule(stage=st.sampled_from(STAGES), number=st.sampled_from([None, 1, 2]))
    def limit(self, stage: str, number: int | None) -> None:
        self.queue.limit(stage, number)
        self.limits.pop(stage, None)
        if number is not None:
            self.limits[stage] = number

    def _job_of(self, lease: Lease | None) -> Known | None:
        """The job that this lease still holds in the model."""
        if lease is None or lease.job_id not in self.known:
            return None
        job = self.known[lease.job_id]
        return job if job.lease_id == lease.lease_id and job.status is PROCESSING else None

    @rule(lease=leases)
    def complete(self, lease: Lease | None) -> None:
        if lease is None:
            return
        job = self._job_of(lease)
        if job is None:
            with pytest.raises(LeaseLost):
                self.queue.complete(lease)
        else:
            self.queue.complete(lease)
            job.end(COMPLETED)

    @rule(lease=leases, permanent=st.booleans())
    def fail(self, lease: Lease | None, permanent: bool) -> None:
        if lease is None:
            return
        job = self._job_of(lease)
        if job is None:
            with pytest.raises(LeaseLost):
                self.queue.fail(lease, WRONG, permanent=permanent)
        else:
            status = self.queue.fail(lease, WRONG, permanent=permanent)
            job.count_attempt(self.now + LONG_SECONDS, permanent=permanent)
            assert status is job.status

    @rule(lease=leases, delay=st.sampled_from([0.0, LONG_SECONDS]))
    def snooze(self, lease: Lease | None, delay: float) -> None:
        if lease is None:
            return
        job = self._job_of(lease)
        if job is None:
            with pytest.raises(LeaseLost):
                self.queue.snooze(lease, delay)
        else:
            self.queue.snooze(lease, delay)
            job.end(PENDING)
            job.due_at = self.now + delay

    @rule(lease=leases)
    def write(self, lease: Lease | None) -> None:
        """What every store begins with, and what it saves."""
        if lease is None:
            return
        if self._job_of(lease) is None:
            with pytest.raises(LeaseLost):
                self.queue.fence(lease)
            with pytest.raises(LeaseLost):
                self.queue.checkpoint(lease, {"by": "a zombie"})
        else:
            self.queue.fence(lease)
            self.queue.checkpoint(lease, {"by": str(lease.lease_id)})

    @rule(given=st.lists(leases, max_size=4))
    def release(self, given: list[Lease | None]) -> None:
        some = list({lease.lease_id: lease for lease in given if lease is not None}.values())
        mine = {lease.job_id: job for lease in some if (job := self._job_of(lease))}
        assert self.queue.release(some) == set(mine)
        for job in mine.values():
            job.end(PENDING)

    @rule(given=st.lists(leases, max_size=4))
    def beat(self, given: list[Lease | None]) -> None:
        some = list({lease.lease_id: lease for lease in given if lease is not None}.values())
        mine = {lease.job_id: job for lease in some if (job := self._job_of(lease))}
        assert self.queue.heartbeat(some) == set(mine)
        for job in mine.values():
            job.beat_at = self.now

    @rule(job_id=jobs)
    def let_in(self, job_id: UUID) -> None:
        job = self.known[job_id]
        waits = job.status is PENDING and job.due_at is None
        assert self.queue.let_in(job.run_id) == int(waits)
        if waits:
            job.due_at = self.now

    @rule(worker=st.sampled_from(WORKERS))
    def end_worker(self, worker: str) -> None:
        """This worker is known to be dead. Its leases stay with the zombie that it may be."""
        held = {job_id: job for job_id, job in self.known.items() if job.worker == worker}
        assert {lease.job_id for lease in self.queue.held_by(worker)} == set(held)
        self._are_reset({reset.job_id: reset.status for reset in self.queue.reset_worker(worker, WRONG)}, held)

    @rule()
    def reset_silent(self) -> None:
        held = {
            job_id: job
            for job_id, job in self.known.items()
            if job.status is PROCESSING and self.now - job.beat_at > SILENT_SECONDS
        }
        found = {reset.job_id: reset.status for reset in self.queue.reset_stale(SILENT_SECONDS, WRONG)}
        self._are_reset(found, held)

    def _are_reset(self, found: dict[UUID, JobStatus], expected: dict[UUID, Known]) -> None:
        for job in expected.values():
            job.count_attempt(self.now)
        assert found == {job_id: job.status for job_id, job in expected.items()}

    @rule(job_id=consumes(jobs), fails=st.booleans())
    def end_run(self, job_id: UUID, fails: bool) -> None:
        job = self.known[job_id]
        is_live = job.status in {PENDING, PROCESSING}
        ended = self.queue.fail_run(job.run_id, WRONG) if fails else self.queue.cancel_run(job.run_id)
        assert ended == int(is_live)
        if is_live:
            job.attempts += int(fails and job.status is PROCESSING)
            job.end(FAILED if fails else CANCELLED)

    @rule()
    def time_passes(self) -> None:
        self.rig.pass_time(PASSES_SECONDS)
        self.now += PASSES_SECONDS

    @invariant()
    def they_agree(self) -> None:
        for job_id, known in self.known.items():
            job = self.queue.get(job_id)
            assert job is not None
            assert (job.status, job.attempts, job.locked_by) == (known.status, known.attempts, known.worker)
            assert (job.available_at is None) == (known.due_at is None)
            assert job.stage == known.stage
            assert job.status.is_ended == (job.completed_at is not None)
            assert job.checkpoint.get("by") != "a zombie"


def _check(rig: SqlQueueRig, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        type("QueueMachineHere", (QueueMachine,), {"rig": rig}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_queue_does_what_the_model_does(rig: SqlQueueRig) -> None:
    _check(rig, examples=8, steps=25)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_queue_does_what_the_model_does_for_long(rig: SqlQueueRig) -> None:
    _check(rig, examples=int(os.environ.get("EXAMPLES", "60")), steps=50)
