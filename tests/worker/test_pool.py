"""The pool: who takes which job when, and how it comes to its end."""

import os
import sys
import threading
from dataclasses import replace

import pytest
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests.documents.rows import new_document
from tests.worker.bench import PATIENCE_SECONDS, Bench, Gate, finish, raising, wait_for
from webapp.clock import monotonic
from webapp.db import db
from webapp.jobs.states import JobStatus
from webapp.pipeline.steps import StageContext


def _all_done(bench: Bench, number: int) -> bool:
    return bench.queue.counts()[JobStatus.COMPLETED] == number


def test_a_pool_works_off_what_there_is(bench: Bench) -> None:
    for _ in range(12):
        bench.new_run()
    bench.pool(finish, threads=3)
    wait_for(lambda: _all_done(bench, 12))


def test_the_runs_of_a_document_follow_one_another(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    for _ in range(6):
        bench.new_run(document_id)
    alone = threading.Lock()

    def handler(context: StageContext) -> None:
        assert alone.acquire(blocking=False), "two runs of one document at work"
        finish(context)
        alone.release()

    bench.pool(handler, threads=4)
    wait_for(lambda: _all_done(bench, 6))


def test_a_long_job_does_not_hold_up_the_others(bench: Bench) -> None:
    gate, first = Gate(), bench.new_run()
    bench.pool(lambda context: gate(context) if context.run_id == first else finish(context), threads=2)
    gate.wait_for_entry()
    for _ in range(5):
        bench.new_run()
    wait_for(lambda: _all_done(bench, 5))
    gate.opened.set()
    wait_for(lambda: _all_done(bench, 6))


def test_a_bell_is_heard_long_before_the_next_poll(bench: Bench) -> None:
    pool = bench.with_settings(poll_seconds=600).pool(finish)
    bench.new_run()
    pool.wake()
    wait_for(lambda: _all_done(bench, 1))


def test_an_idle_pool_asks_once_a_poll_however_many_threads_it_has(bench: Bench) -> None:
    asked: list[float] = []

    def note(*arguments: object) -> None:
        asked.append(monotonic())

    bench.with_settings(poll_seconds=0.2, heartbeat_seconds=600)
    bench.listen(db.engine, "begin", note)
    bench.pool(finish, threads=6)
    wait_for(lambda: len(asked) >= 6)
    # Twice when it falls asleep; and the one that looks is followed by none of the other five.
    assert asked[5] - asked[1] >= 0.2 * 4 - 0.05


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives threads a priority of their own")
def test_threads_let_pages_answer_first(bench: Bench) -> None:
    found: list[int] = []

    def handler(context: StageContext) -> None:
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        finish(context)

    own = os.getpriority(os.PRIO_PROCESS, 0)
    bench.new_run()
    bench.pool(handler)
    wait_for(lambda: _all_done(bench, 1))
    assert found == [min(19, own + 10)] or found == [10]
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


def test_errors_of_the_database_end_no_thread(bench: Bench) -> None:
    failures = iter([True] * 3)

    def lose_connection(*arguments: object) -> None:
        if threading.current_thread().name == "claimer-0" and next(failures, False):
            raise OperationalError("BEGIN", {}, Exception("the database is away"))

    bench.new_run()
    bench.listen(Engine, "begin", lose_connection)
    bench.pool(finish, threads=1)
    wait_for(lambda: _all_done(bench, 1))
    assert bench.broken == []


def test_a_failing_handler_ends_no_thread(bench: Bench) -> None:
    for _ in range(3):
        bench.new_run(max_attempts=1)
    bench.pool(raising(BaseException("a panic")), threads=1)
    wait_for(lambda: bench.queue.counts()[JobStatus.FAILED] == 3)
    assert bench.broken == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_all_the_same_is_noticed_and_its_job_handed_back(bench: Bench) -> None:
    run_id = bench.new_run()

    is_on = threading.Event()

    def refuse(session: Session) -> None:
        if is_on.is_set() and threading.current_thread().name == "claimer-0":
            raise SystemError("nobody expects this one")

    def handler(context: StageContext) -> None:
        is_on.set()
        raise ValueError("an attempt whose end cannot be stored")

    bench.listen(Session, "before_commit", refuse)
    pool = bench.pool(handler, threads=1)
    wait_for(lambda: bench.broken == ["thread claimer-0 died"])
    assert pool.drain(PATIENCE_SECONDS)
    assert bench.states(run_id) == ("RUNNING", "PENDING")
    assert bench.job(run_id).attempts == 0


class TestDrain:
    def test_steps_end_and_jobs_go_back(self, bench: Bench) -> None:
        bench.policy = replace(bench.policy, drains_whole_jobs=False)
        gate, run_id = Gate(), bench.new_run()
        waiting = bench.new_run()
        pool = bench.pool(gate, threads=1)
        gate.wait_for_entry()
        opener = threading.Timer(0.2, gate.opened.set)
        opener.start()
        assert pool.drain(PATIENCE_SECONDS)
        assert bench.states(run_id) == ("RUNNING", "PENDING")
        assert bench.job(run_id).attempts == 0
        assert bench.events(run_id)[-1] == "JOB_RELEASED"
        assert bench.states(waiting) == ("QUEUED", "PENDING")

    def test_whole_jobs_end_where_the_next_start_would_not_go_on_with_them(self, bench: Bench) -> None:
        bench.policy = replace(bench.policy, drains_whole_jobs=True)
        gate, run_id = Gate(), bench.new_run()
        pool = bench.pool(gate, threads=1)
        gate.wait_for_entry()
        opener = threading.Timer(0.2, gate.opened.set)
        opener.start()
        assert pool.drain(PATIENCE_SECONDS)
        assert bench.states(run_id) == ("SUCCEEDED", "COMPLETED")

    def test_who_does_not_end_in_time_is_left_behind_without_its_lease(self, bench: Bench) -> None:
        gate, run_id = Gate(), bench.new_run()
        pool = bench.pool(gate, threads=1)
        gate.wait_for_entry()
        assert not pool.drain(0.1)
        assert bench.states(run_id) == ("RUNNING", "PENDING")
        before = bench.events(run_id)
        gate.opened.set()
        wait_for(lambda: not [thread for thread in threading.enumerate() if thread.name == "claimer-0"])
        assert bench.states(run_id) == ("RUNNING", "PENDING")
        assert bench.events(run_id) == before

    def test_a_second_signal_cuts_it_short(self, bench: Bench) -> None:
        gate, run_id = Gate(), bench.new_run()
        pool = bench.pool(gate, threads=1)
        gate.wait_for_entry()
        impatience = threading.Timer(0.1, pool.hurry)
        impatience.start()
        began_at = monotonic()
        assert not pool.drain(600)
        assert monotonic() - began_at < PATIENCE_SECONDS
        assert bench.states(run_id) == ("RUNNING", "PENDING")
        gate.opened.set()

    def test_an_idle_pool_is_gone_at_once(self, bench: Bench) -> None:
        pool = bench.with_settings(poll_seconds=600, heartbeat_seconds=600).pool(finish, threads=8)
        assert pool.drain(PATIENCE_SECONDS)
