"""Native code that never returns: its run ends, another thread gets its seat, and it writes nothing."""

import ctypes
import os
import threading
from collections.abc import Iterator

import pytest

from tests.worker.bench import PATIENCE_SECONDS, Bench, finish, wait_for
from webapp.jobs.states import JobStatus
from webapp.pipeline.steps import StageContext
from webapp.runs import lifecycle
from webapp.worker import chores
from webapp.worker.attempt import Claimed
from webapp.worker.pool import LOST_MAX, Pool

# Nothing takes so long here, however busy the machine is: runs are made old instead.
WINDOW_SECONDS = 600.0


class Stuck:
    """A handler that waits in the C library for a byte that does not come; no Python can reach it there."""

    def __init__(self) -> None:
        self._reads, self._writes = os.pipe()
        self._libc = ctypes.CDLL(None)
        self.entered, self.left = threading.Semaphore(0), threading.Semaphore(0)

    def __call__(self, context: StageContext) -> None:
        self.entered.release()
        self._libc.read(self._reads, ctypes.create_string_buffer(1), 1)
        self.left.release()
        finish(context)

    def let_go(self, number: int) -> None:
        os.write(self._writes, b"x" * number)

    def close(self) -> None:
        os.close(self._reads)
        os.close(self._writes)


@pytest.fixture
def stuck(bench: Bench) -> Iterator[Stuck]:
    bench.with_queue(run_timeout_seconds=WINDOW_SECONDS)
    stuck = Stuck()
    yield stuck
    stuck.close()


def _claimers() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("claimer-")}


def _held_runs(bench: Bench, number: int) -> list[Claimed]:
    """Runs that were begun, in the hands of somebody else."""
    for _ in range(number):
        bench.new_run(max_attempts=5)
    return bench.attempts(finish).claim("another", number)


def _hand_over_late(bench: Bench, held: Claimed) -> None:
    """Who takes it next begins when its window is over."""
    bench.grow_old(held.lease.run_id, 2 * WINDOW_SECONDS)
    assert lifecycle.release_job(bench.queue, held.lease)


def _watch(bench: Bench, pool: Pool) -> None:
    """What timers and main threads do."""
    chores.end_overdue(bench.services, WINDOW_SECONDS)
    pool.check()


@pytest.mark.slow
def test_another_thread_gets_its_seat_and_the_rest_goes_on(bench: Bench, stuck: Stuck) -> None:
    before, held = _claimers(), _held_runs(bench, 2)
    hung = [one.lease.run_id for one in held]
    pool = bench.pool(lambda context: stuck(context) if context.run_id in hung else finish(context), threads=2)
    for one in held:
        _hand_over_late(bench, one)
    for _ in hung:
        assert stuck.entered.acquire(timeout=PATIENCE_SECONDS)
    good = [bench.new_run() for _ in range(6)]

    def are_done() -> bool:
        _watch(bench, pool)
        return bench.queue.counts()[JobStatus.COMPLETED] == len(good)

    wait_for(are_done)
    assert [bench.states(run) for run in hung] == [("TIMED_OUT", "FAILED")] * 2
    assert len(_claimers() - before) == 4
    events = [bench.events(run) for run in hung]
    stuck.let_go(len(hung))
    for _ in hung:
        assert stuck.left.acquire(timeout=PATIENCE_SECONDS)
    wait_for(lambda: len(_claimers() - before) == 2)
    assert [bench.events(run) for run in hung] == events, "who wakes up late writes nothing"
    assert pool.drain(PATIENCE_SECONDS), "the pool knows its own threads"
    assert bench.broken == []


@pytest.mark.slow
def test_a_process_full_of_lost_threads_ends(bench: Bench, stuck: Stuck) -> None:
    """Each of them keeps its memory: better to begin anew."""
    before, held = _claimers(), _held_runs(bench, LOST_MAX + 1)
    pool = bench.pool(stuck, threads=1)
    for one in held:
        assert bench.broken == []
        _hand_over_late(bench, one)
        assert stuck.entered.acquire(timeout=PATIENCE_SECONDS)
        _watch(bench, pool)
    assert "never came back" in bench.broken[0]
    stuck.let_go(len(held))
    for _ in held:
        assert stuck.left.acquire(timeout=PATIENCE_SECONDS)
    pool.drain(PATIENCE_SECONDS)
    wait_for(lambda: not _claimers() - before)
