"""The pool: who takes which job when, and how it comes to its end."""

import os
import sys
import threading
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import update
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests.conftest import DatabaseUnderTest
from tests.documents.rows import new_document
from tests.worker.bench import PATIENCE_SECONDS, Bench, Gate, finish, raising, wait_for
from webapp.clock import monotonic, now
from webapp.db import db, transaction
from webapp.jobs.dispatch.database import DatabaseDispatch
from webapp.jobs.model import NEVER
from webapp.jobs.model import Job as JobRow
from webapp.jobs.states import JobStatus
from webapp.jobs.wakeup import Sleeper
from webapp.pipeline.steps import StageContext
from webapp.worker.pool import Pool


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


def test_a_sleeper_is_heard_long_before_the_next_poll(bench: Bench) -> None:
    pool = bench.with_queue(poll_seconds=600).pool(finish)
    bench.new_run()
    pool.wake()
    wait_for(lambda: _all_done(bench, 1))


def _due_unheard(run_id: UUID) -> None:
    """Its job is due from now on, and nobody rings."""
    with transaction(everywhere=True) as session:
        session.execute(update(JobRow).where(JobRow.run_id == run_id).values(available_at=now(), wakes_at=None))


def _held_back(bench: Bench) -> UUID:
    run_id = bench.new_run()
    with transaction(everywhere=True) as session:
        session.execute(update(JobRow).where(JobRow.run_id == run_id).values(available_at=None, wakes_at=NEVER))
    return run_id


def _sleeper_of(pool: Pool) -> Sleeper:
    assert isinstance(pool._dispatch, DatabaseDispatch)
    return pool._dispatch._sleeper


def _session_of(pool: Pool) -> int | None:
    connection = _sleeper_of(pool)._connection
    return None if connection is None else connection.info.backend_pid


def _asleep(pool: Pool) -> None:
    wait_for(_sleeper_of(pool).is_asleep, "for the pool to sleep")


@pytest.mark.slow
def test_a_lost_wake_up_costs_a_poll(bench: Bench) -> None:
    run_id, poll_seconds = _held_back(bench), 1.0
    pool = bench.with_queue(poll_seconds=poll_seconds).pool(finish)
    _asleep(pool)
    began_at = monotonic()
    _due_unheard(run_id)
    wait_for(lambda: _all_done(bench, 1))
    # The rest is for machines that do other things as well.
    assert monotonic() - began_at < poll_seconds * 3


# Within one process no connection is needed.
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_sleeper_that_lost_its_connection_polls_and_listens_again(bench: Bench, database: DatabaseUnderTest) -> None:
    pool = bench.with_queue(poll_seconds=0.5).pool(finish)
    _asleep(pool)
    with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
        pid = _session_of(pool)
        connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    bench.new_run()
    wait_for(lambda: _all_done(bench, 1))
    wait_for(lambda: _sleeper_of(pool).is_asleep() and _session_of(pool) != pid, "for a new connection")
    assert bench.broken == []


@pytest.mark.slow
def test_an_idle_pool_asks_once_a_poll_however_many_threads_it_has(bench: Bench) -> None:
    begun: list[float] = []
    poll_seconds = 0.2

    def note(connection: object, cursor: object, statement: str, *more: object) -> None:
        if "stage_controls" in statement:
            begun.append(monotonic())

    bench.with_queue(poll_seconds=poll_seconds, heartbeat_seconds=600)
    pool = bench.pool(finish, threads=6)
    _asleep(pool)
    bench.listen(db.engine, "before_cursor_execute", note)
    wait_for(lambda: len(begun) >= 6)
    # The thread that looks is followed by none of the other five; on a busy machine it comes later, never sooner.
    assert begun[5] - begun[0] >= poll_seconds * 5 * 0.9
    assert len(begun) <= (monotonic() - begun[0]) / (poll_seconds * 0.9) + 1


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


@pytest.mark.slow
def test_errors_of_the_database_end_no_thread(bench: Bench) -> None:
    failures = iter([True] * 3)

    def lose_connection(*arguments: object) -> None:
        if threading.current_thread().name == "claimer-0" and next(failures, False):
            raise OperationalError("BEGIN", {}, Exception("the database is away"))

    bench.new_run()
    bench.listen(Engine, "begin", lose_connection)
    bench.pool(finish, threads=1)
    wait_for(lambda: _all_done(bench, 1))
    assert not next(failures, False)
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
        pool = bench.with_queue(poll_seconds=600, heartbeat_seconds=600).pool(finish, threads=8)
        assert pool.drain(PATIENCE_SECONDS)
