"""What a queue in the application's own database promises beyond the interface."""

import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import IntegrityError, OperationalError

from tests.jobs.rig import SqlQueueRig, claim_one, enqueue, ids, new_run
from webapp.clock import monotonic, now
from webapp.db import NoTransaction, db, reading, transaction
from webapp.documents.states import LiveRun
from webapp.jobs import claim
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import JobError, LeaseLost, NewJob
from webapp.jobs.states import JobStatus

SILENT = JobError("worker_silent", "its worker fell silent")


class Wanted(Exception):
    """Ends a transaction on purpose."""


# It joins.


def enqueue_and_fail(rig: SqlQueueRig, job: NewJob) -> None:
    with transaction(job.org_id):
        rig.queue.enqueue([job])
        raise Wanted


def test_a_job_is_enqueued_with_the_rows_around_it_or_not_at_all(rig: SqlQueueRig) -> None:
    job = new_run(rig).job()
    with pytest.raises(Wanted):
        enqueue_and_fail(rig, job)
    assert rig.queue.get(job.id) is None
    with transaction(job.org_id):
        rig.queue.enqueue([job])
    assert rig.queue.get(job.id) is not None


def test_a_lost_lease_takes_the_whole_transaction_with_it(rig: SqlQueueRig) -> None:
    enqueue(rig)
    lease = claim_one(rig)
    rig.queue.cancel_run(lease.run_id)
    other = new_run(rig).job()

    def store_late() -> None:
        with transaction(lease.org_id):
            rig.queue.enqueue([other])
            rig.queue.fence(lease)

    with pytest.raises(LeaseLost):
        store_late()
    assert rig.queue.get(other.id) is None


def test_a_reading_changes_nothing(rig: SqlQueueRig) -> None:
    enqueue(rig)
    with reading(everywhere=True), pytest.raises(NoTransaction):
        rig.queue.claim("a")


def test_an_org_sees_and_changes_only_its_own(rig: SqlQueueRig) -> None:
    ours, theirs = rig.new_org(), rig.new_org()
    job = rig.new_runs(1, theirs)[0].job(must_wait=True)
    rig.queue.enqueue([job])
    with transaction(ours):
        queue = rig.queue
        assert queue.get(job.id) is None
        assert queue.of_run(job.run_id) == []
        assert queue.live_of_runs([job.run_id]) == {}
        assert sum(queue.counts().values()) == 0
        assert queue.let_in(job.run_id) == queue.cancel_run(job.run_id) == queue.fail_run(job.run_id, SILENT) == 0
    with reading(theirs):
        assert rig.queue.get(job.id) is not None
        assert rig.queue.counts()[JobStatus.PENDING] == 1


# Locks.


only_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@only_postgresql
def test_nobody_takes_a_job_whose_worker_is_storing(rig: SqlQueueRig) -> None:
    """A watchdog passes by: an attempt that has passed the fence may finish."""
    job = enqueue(rig)
    lease = claim_one(rig)
    rig.pass_time(7201)
    with transaction(lease.org_id):
        rig.queue.fence(lease)
        assert rig.together(lambda: rig.queue.reset_stale(7200, SILENT)) == [[]]
        rig.queue.checkpoint(lease, {"stored": True})
    found = rig.queue.get(job.id)
    assert found is not None
    assert (found.status, found.checkpoint) == (JobStatus.PROCESSING, {"stored": True})


@only_postgresql
def test_a_heartbeat_waits_for_no_lock(rig: SqlQueueRig) -> None:
    """One job is in the middle of a long store; the beat of the others must not wait for it."""
    enqueue(rig)
    others = [enqueue(rig) for _ in range(2)]
    stored, *waiting = rig.queue.claim("a", 3)
    rig.pass_time(7201)
    with transaction(stored.org_id):
        rig.queue.fence(stored)
        (held,) = rig.together(lambda: rig.queue.heartbeat([stored, *waiting]))
    assert held == {stored.job_id, *ids(others)}
    assert [found.job_id for found in rig.queue.reset_stale(7200, SILENT)] == [stored.job_id]


@only_postgresql
def test_a_claim_passes_by_what_another_is_claiming(rig: SqlQueueRig) -> None:
    jobs = [enqueue(rig) for _ in range(3)]
    with transaction(everywhere=True):
        assert ids(rig.queue.claim("a", 2)) == ids(jobs[:2])
        (others,) = rig.together(lambda: rig.queue.claim("b", 2))
    assert ids(others) == ids(jobs[2:])


@pytest.mark.slow
def test_opposite_orders_end_in_no_deadlock(rig: SqlQueueRig) -> None:
    run = new_run(rig)
    stages = [f"stage {number}" for number in range(8)]
    stop = threading.Event()

    def work(*, backwards: bool) -> int:
        rounds = 0
        while not stop.is_set():
            leases = rig.queue.claim("a", 8)
            ordered = leases[::-1] if backwards else leases
            rig.queue.heartbeat(ordered)
            rig.queue.release(ordered)
            rounds += 1
        return rounds

    def watch() -> int:
        for _ in range(40):
            rig.queue.reset_stale(-1, SILENT, limit=3)
            rig.queue.cancel_run(run.id)
            rig.queue.enqueue([run.job(stage, max_attempts=1_000_000, must_wait=True) for stage in stages])
            rig.queue.let_in(run.id)
        stop.set()
        return 40

    rounds = rig.together(lambda: work(backwards=False), lambda: work(backwards=True), watch)
    assert all(rounds)


@only_postgresql
@pytest.mark.parametrize("limit", [1, 4])
def test_jobs_in_the_hands_of_a_frozen_claim_keep_nobody_from_the_others(rig: SqlQueueRig, limit: int) -> None:
    """It has locked the heads of as many lines as there are jobs wanted, and does not commit."""
    jobs = [run.job() for _ in range(2 * limit) for run in rig.new_runs(1, rig.new_org())]
    rig.queue.enqueue(jobs)
    first = [job.id for job in jobs[:limit]]
    with db.engine.connect() as frozen:
        frozen.execute(text("SELECT set_config('app.scope', 'system', true)"))
        frozen.execute(select(JobRow.id).where(JobRow.id.in_(first)).with_for_update())
        assert set(ids(rig.queue.claim("other", limit))) == {job.id for job in jobs[limit:]}
        frozen.rollback()


@only_postgresql
@pytest.mark.slow
def test_a_claim_that_froze_while_it_counted_keeps_the_others_for_seconds(rig: SqlQueueRig) -> None:
    job = enqueue(rig)
    rig.queue.limit(job.stage, 1)
    with db.engine.connect() as frozen:
        frozen.begin()
        frozen.execute(claim._LOCK_LIMITS)
        began_at = monotonic()
        assert ids(rig.queue.claim("other")) == [job.id]
        assert monotonic() - began_at < 9
        frozen.invalidate()


# Impossible rows.

IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "unknown status": {"status": "SLEEPING"},
    "at work without a lease": {"status": "PROCESSING", "locked_by": "a", "started_at": now(), "heartbeat_at": now()},
    "at work for nobody": {"status": "PROCESSING", "lease_id": uuid4(), "started_at": now(), "heartbeat_at": now()},
    "at work without a beat": {"status": "PROCESSING", "lease_id": uuid4(), "locked_by": "a", "started_at": now()},
    "at work since never": {"status": "PROCESSING", "lease_id": uuid4(), "locked_by": "a", "heartbeat_at": now()},
    "waiting under a lease": {"lease_id": uuid4()},
    "waiting for its holder": {"locked_by": "a"},
    "waiting and ended": {"completed_at": now()},
    "done at no time": {"status": "COMPLETED"},
    "failed at no time": {"status": "FAILED"},
    "cancelled and still held": {"status": "CANCELLED", "completed_at": now(), "lease_id": uuid4(), "locked_by": "a"},
    "more attempts than allowed": {"attempts": 4},
    "fewer attempts than none": {"attempts": -1},
    "no attempt allowed": {"max_attempts": 0},
    "a run of another org": {"run_id": uuid4()},
    "a document of another org": {"document_id": uuid4()},
}


@pytest.mark.parametrize("values", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_the_database_refuses_an_impossible_job(rig: SqlQueueRig, values: dict[str, Any]) -> None:
    job = enqueue(rig, max_attempts=3)
    with pytest.raises(IntegrityError), transaction(everywhere=True) as opened:
        opened.execute(update(JobRow).where(JobRow.id == job.id).values(**values))


def test_the_database_refuses_a_second_live_job(rig: SqlQueueRig) -> None:
    job = enqueue(rig)
    again = {"org_id": job.org_id, "document_id": job.document_id, "run_id": job.run_id, "stage": job.stage}
    with pytest.raises(IntegrityError), transaction(everywhere=True) as opened:
        opened.execute(insert(JobRow).values(**again, max_attempts=1))


def test_a_job_of_no_document_is_refused(rig: SqlQueueRig) -> None:
    org = rig.new_org()
    unknown = NewJob(org, LiveRun(uuid4(), org, uuid4()), "extract", max_attempts=1)
    with pytest.raises(IntegrityError):
        rig.queue.enqueue([unknown])


@only_postgresql
def test_a_failed_transaction_is_not_mistaken_for_a_lost_lease(rig: SqlQueueRig) -> None:
    """An error of the database is neither an answer nor a reason to drop the job."""
    enqueue(rig)
    lease = claim_one(rig)

    def run_out_of_time() -> None:
        with transaction(lease.org_id) as opened:
            opened.connection().exec_driver_sql("SET LOCAL lock_timeout = '50ms'")
            rig.queue.complete(lease)

    with transaction(everywhere=True):
        rig.queue.fence(lease)
        (error,) = rig.together(lambda: _caught(run_out_of_time))
    assert isinstance(error, OperationalError)
    rig.queue.complete(lease)


def _caught(act: Callable[[], Any]) -> Exception | None:
    try:
        act()
    except (OperationalError, LeaseLost) as error:
        return error
    return None
