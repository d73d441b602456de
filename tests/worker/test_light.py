"""The lane of light jobs: many at a time, and each as safe as if it were alone."""

import threading
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from sqlalchemy.exc import OperationalError

from tests.documents.rows import new_document
from tests.worker.bench import PATIENCE_SECONDS, Bench, finish, wait_for
from webapp.clock import new_id
from webapp.db import transaction
from webapp.documents.model import ProcessingRun
from webapp.jobs.queue import JobError, Lease, NewJob
from webapp.jobs.states import JobStatus
from webapp.pipeline.stages import PROCESS_DOCUMENT
from webapp.worker import light as light_module
from webapp.worker.attempt import Attempts, LightHandler
from webapp.worker.pool import Pool, PoolSize

STAGE = "light"
SILENT = JobError("worker_silent", "its worker fell silent")
Start = Callable[..., Pool]


@pytest.fixture
def start(bench: Bench) -> Iterator[Start]:
    pools: list[Pool] = []

    def start(handler: LightHandler, threads: int = 2) -> Pool:
        attempts = Attempts(bench.services, bench.policy, {PROCESS_DOCUMENT: finish}, {STAGE: handler})
        size = PoolSize(threads, bench.services.settings.poll_seconds)
        pools.append(Pool(f"worker-{len(pools)}", attempts, bench.app.app_context, size, bench.broken.append))
        pools[-1].start()
        return pools[-1]

    yield start
    for pool in pools:
        if not pool._draining.is_set():
            pool.drain(PATIENCE_SECONDS)
    assert bench.broken == []


class Work:
    """A handler that notes what it was given, and can be kept from going on."""

    def __init__(self) -> None:
        self.done: list[UUID] = []
        self.threads: set[int] = set()
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()

    def __call__(self, lease: Lease) -> None:
        self.threads.add(threading.get_ident())
        self.entered.release()
        assert self.opened.wait(PATIENCE_SECONDS)
        self.done.append(lease.job_id)


def open_work() -> Work:
    work = Work()
    work.opened.set()
    return work


def enqueue(bench: Bench, number: int, **more: object) -> list[NewJob]:
    """Light jobs of one document, each with a run of its own."""
    document_id = new_document(bench.org_id)
    with transaction(bench.org_id) as session:
        runs = [
            ProcessingRun(id=new_id(), org_id=bench.org_id, document_id=document_id, trigger="UPLOAD")
            for _ in range(number)
        ]
        session.add_all(runs)
    given = {"max_attempts": 3, **more}
    jobs = [NewJob(bench.org_id, document_id, run.id, STAGE, **given) for run in runs]  # type: ignore[arg-type] # by name
    bench.queue.enqueue(jobs)
    return jobs


def count(bench: Bench, status: JobStatus) -> int:
    return bench.queue.counts()[status]


@pytest.mark.slow
def test_many_jobs_are_done_once_each(bench: Bench, start: Start) -> None:
    work = open_work()
    start(work)
    jobs = enqueue(bench, 700)
    wait_for(lambda: count(bench, JobStatus.COMPLETED) == 700)
    assert sorted(work.done) == sorted(job.id for job in jobs)


def test_other_jobs_are_done_beside_them(bench: Bench, start: Start) -> None:
    run_id = bench.new_run()
    enqueue(bench, 200)
    start(open_work(), threads=1)
    later = bench.new_run()
    wait_for(lambda: count(bench, JobStatus.COMPLETED) == 202)
    assert bench.states(run_id) == bench.states(later) == ("SUCCEEDED", "COMPLETED")


def test_jobs_that_take_long_are_done_side_by_side(bench: Bench, start: Start) -> None:
    work = Work()
    start(work, threads=3)
    enqueue(bench, 6)
    for _ in range(3):
        assert work.entered.acquire(timeout=PATIENCE_SECONDS)
    work.opened.set()
    wait_for(lambda: count(bench, JobStatus.COMPLETED) == 6)
    assert len(work.threads) == 3


def test_a_job_that_fails_counts_an_attempt_and_the_others_are_done(bench: Bench, start: Start) -> None:
    jobs = enqueue(bench, 20)

    def handler(lease: Lease) -> None:
        if lease.job_id == jobs[7].id:
            raise ValueError("not this one")

    start(handler)
    wait_for(lambda: count(bench, JobStatus.COMPLETED) == 19)
    wait_for(lambda: count(bench, JobStatus.PENDING) == 1)
    failed = bench.queue.get(jobs[7].id)
    assert failed is not None
    assert (failed.attempts, [error["exception"] for error in failed.error_log]) == (1, ["ValueError"])


def test_a_panic_ends_no_thread(bench: Bench, start: Start) -> None:
    (job,) = enqueue(bench, 1, max_attempts=1)

    def panic(lease: Lease) -> None:
        raise BaseException("a panic")  # noqa: TRY002 - no Exception, as out of an extension module

    start(panic)
    wait_for(lambda: count(bench, JobStatus.FAILED) == 1)
    assert bench.queue.get(job.id) is not None


def test_what_was_taken_away_is_not_completed(bench: Bench, start: Start) -> None:
    """A job that was given to somebody else while ours were being done: late words about it change nothing."""
    work = Work()
    jobs = enqueue(bench, 1)
    start(work, threads=1)
    assert work.entered.acquire(timeout=PATIENCE_SECONDS)
    bench.grow_silent(jobs[0].run_id, 7300)
    assert [reset.job_id for reset in bench.queue.reset_stale(7200, SILENT)] == [jobs[0].id]
    (theirs,) = bench.queue.claim("another worker")
    enqueue(bench, 1)
    work.opened.set()
    wait_for(lambda: count(bench, JobStatus.COMPLETED) == 1)
    found = bench.queue.get(jobs[0].id)
    assert found is not None
    assert (found.status, found.locked_by, found.attempts) == (JobStatus.PROCESSING, "another worker", 1)
    bench.queue.complete(theirs)


@pytest.mark.slow
def test_completions_wait_for_a_database_that_is_away(bench: Bench, start: Start) -> None:
    failures = iter([True] * 2)
    queue_of_services = bench.services.queue
    complete_many = queue_of_services.complete_many

    def away(leases: list[Lease]) -> set[UUID]:
        if next(failures, False):
            raise OperationalError("COMMIT", {}, Exception("the database is away"))
        return complete_many(leases)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue_of_services, "complete_many", away)
        enqueue(bench, 30)
        start(open_work())
        wait_for(lambda: count(bench, JobStatus.COMPLETED) == 30)
    assert next(failures, None) is None


class TestDrain:
    def test_what_was_not_begun_goes_back_and_what_was_done_is_stored(self, bench: Bench, start: Start) -> None:
        work = Work()
        enqueue(bench, 10)
        pool = start(work, threads=2)
        for _ in range(2):
            assert work.entered.acquire(timeout=PATIENCE_SECONDS)
        opener = threading.Timer(0.2, work.opened.set)
        opener.start()
        assert pool.drain(PATIENCE_SECONDS)
        done = count(bench, JobStatus.COMPLETED)
        assert done == len(work.done) >= 2
        assert count(bench, JobStatus.PENDING) == 10 - done
        assert count(bench, JobStatus.PROCESSING) == 0
        assert sum(job.attempts for job in bench.queue.find(bench.org_id)) == 0

    def test_an_idle_lane_is_gone_at_once(self, bench: Bench, start: Start) -> None:
        pool = start(open_work())
        assert pool.drain(PATIENCE_SECONDS)


def test_what_was_fetched_and_waits_for_long_goes_to_others(
    bench: Bench, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(light_module, "LATE_SECONDS", 0.2)
    monkeypatch.setattr(light_module, "_QUICK_SECONDS", 0.01)
    work, quick = Work(), open_work()
    enqueue(bench, 40)
    pool = start(work, threads=2)
    assert work.entered.acquire(timeout=PATIENCE_SECONDS)
    start(quick)

    def is_handed_on() -> bool:
        pool.check()
        return len(quick.done) >= 38

    wait_for(is_handed_on)
    work.opened.set()
    wait_for(lambda: count(bench, JobStatus.COMPLETED) == 40)
    assert set(work.done).isdisjoint(quick.done)


def test_beats_keep_what_is_fetched_and_not_begun(bench: Bench, start: Start) -> None:
    work = Work()
    enqueue(bench, 3)
    pool = start(work, threads=1)
    assert work.entered.acquire(timeout=PATIENCE_SECONDS)
    held = {seat.lease.job_id for seat in pool._heartbeat.seats()}
    assert len(held) == count(bench, JobStatus.PROCESSING) >= 1
    work.opened.set()
    wait_for(lambda: count(bench, JobStatus.COMPLETED) == 3)
    wait_for(lambda: pool._heartbeat.seats() == [])


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_grouped_completions_cost_one_statement(bench: Bench, start: Start) -> None:
    """However many there are: the commit is what costs."""
    seen: list[int] = []
    complete_many = bench.services.queue.complete_many

    def noted(leases: list[Lease]) -> set[UUID]:
        seen.append(len(leases))
        return complete_many(leases)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.services.queue, "complete_many", noted)
        enqueue(bench, 500)
        start(open_work())
        wait_for(lambda: count(bench, JobStatus.COMPLETED) == 500)
    assert sum(seen) == 500
    assert len(seen) < 250
