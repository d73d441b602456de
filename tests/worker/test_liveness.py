"""Death is noticed by the end of a session: who takes whose jobs back, when, and who does not."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from flask import Flask
from sqlalchemy import delete, select, update

from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.emulators.pooler import Pooler, pooler
from tests.worker.bench import PATIENCE_SECONDS, Bench, Gate, finish, wait_for
from webapp.app import create_app
from webapp.config import Settings
from webapp.db import db, reading, transaction
from webapp.jobs.model import Worker
from webapp.jobs.queue import Job
from webapp.jobs.states import JobStatus
from webapp.pipeline.stages import PROCESS_DOCUMENT
from webapp.pipeline.steps import Snoozed, StageContext
from webapp.wiring import wire
from webapp.worker import liveness as liveness_module
from webapp.worker import session_lock
from webapp.worker.liveness import Liveness
from webapp.worker.register import Registration
from webapp.worker.session_lock import SessionLock
from webapp.worker.workshop import Workshop

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
KEY = 4711


class Watcher:
    """A worker's liveness, with what it was told."""

    def __init__(self, bench: Bench, app: Flask | None = None) -> None:
        self.bench = bench
        self.registration = Registration(threads=1)
        self.freed, self.lost = threading.Semaphore(0), threading.Semaphore(0)
        self.liveness = Liveness(
            self.registration,
            bench.queue,
            (app or bench.app).app_context,
            on_freed=self.freed.release,
            on_lost=self.lost.release,
            on_broken=bench.broken.append,
        )

    @property
    def name(self) -> str:
        return self.registration.name

    def row(self) -> Worker | None:
        with reading(everywhere=True) as session:
            return session.scalar(select(Worker).where(Worker.id == self.registration.id))

    @property
    def is_looking(self) -> bool:
        return self.liveness._thread.is_alive() and not self.liveness._is_pooled

    def has_looked(self) -> bool:
        return self.liveness._strangers is not None

    def die(self) -> None:
        """Its session ends as by kill -9, and nobody signs off."""
        self.liveness.stop()


Start = Callable[..., Watcher]


@pytest.fixture
def start(bench: Bench) -> Iterator[Start]:
    started: list[Watcher] = []

    def start(app: Flask | None = None) -> Watcher:
        watcher = Watcher(bench, app)
        started.append(watcher)
        watcher.liveness.start()
        assert watcher.liveness.wait_until_sure(PATIENCE_SECONDS)
        if watcher.is_looking:
            wait_for(watcher.has_looked)
        return watcher

    yield start
    for watcher in started:
        watcher.liveness.stop()
    assert bench.broken == []


def _holds(bench: Bench, watcher: Watcher, number: int = 1) -> list[str]:
    """Jobs in the hands of this worker."""
    for _ in range(number):
        bench.new_run()
    return [str(claimed.lease.run_id) for claimed in bench.attempts(finish).claim(watcher.name, number)]


def _cut_sessions(bench: Bench, database: DatabaseUnderTest) -> None:
    """As an administrator would: the sessions that hold locks end, their processes live."""
    with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'docmill liveness'"
        )


@pytest.mark.slow
def test_a_dead_workers_jobs_are_back_and_count_an_attempt(bench: Bench, start: Start) -> None:
    """How soon, real processes show: tests/chaos/test_faults.py."""
    alive, dying = start(), start()
    first, second = bench.new_run(max_attempts=3), bench.new_run(max_attempts=1)
    assert len(bench.attempts(finish).claim(dying.name, 2)) == 2
    dying.die()
    assert alive.freed.acquire(timeout=PATIENCE_SECONDS)
    assert bench.states(first) == ("RUNNING", "PENDING")
    assert bench.states(second) == ("FAILED", "FAILED")
    assert bench.run(second).failure_code == "worker_died"
    assert [bench.job(run).attempts for run in (first, second)] == [1, 1]
    assert bench.events(first)[-1] == "JOB_RESET"
    _wait_closed(dying)


def _wait_closed(watcher: Watcher) -> None:
    wait_for(lambda: (row := watcher.row()) is not None and row.ended_at is not None)


@pytest.mark.slow
def test_who_dies_before_anybody_looked_again_is_missed_as_soon(
    bench: Bench, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness_module, "STRANGER_SECONDS", 1000.0)
    alive = start()
    lock, dying = SessionLock(db.engine), Watcher(bench)
    dying.registration.vouch(lock.acquire())
    _holds(bench, dying)
    lock.let_go()
    assert alive.freed.acquire(timeout=PATIENCE_SECONDS)


@pytest.mark.slow
def test_who_was_dead_at_the_first_look_gets_more_time(
    bench: Bench, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be about to come back, as all do after a restart of the server."""
    monkeypatch.setattr(liveness_module, "STRANGER_SECONDS", 1000.0)
    lock, away = SessionLock(db.engine), Watcher(bench)
    away.registration.vouch(lock.acquire())
    _holds(bench, away)
    lock.let_go()
    start()
    _let_them_look(bench, start)
    assert bench.queue.counts()[JobStatus.PROCESSING] == 1


@pytest.mark.slow
def test_many_watchers_count_once(bench: Bench, start: Start) -> None:
    watchers, dying = [start() for _ in range(4)], start()
    runs = [bench.new_run(max_attempts=5) for _ in range(10)]
    bench.attempts(finish).claim(dying.name, 10)
    dying.die()
    _wait_closed(dying)
    assert sum(watcher.freed.acquire(blocking=False) for watcher in watchers) == 1
    assert [bench.job(run).attempts for run in runs] == [1] * 10
    assert [bench.events(run).count("JOB_RESET") for run in runs] == [1] * 10


@pytest.mark.slow
def test_who_lives_keeps_its_jobs(bench: Bench, start: Start) -> None:
    start()
    holder = start()
    _holds(bench, holder, 3)
    _let_them_look(bench, start)
    assert bench.queue.counts()[JobStatus.PROCESSING] == 3


def _let_them_look(bench: Bench, start: Start) -> None:
    """Until a death that came later than everything before was noticed."""
    dying = start()
    bench.new_run(max_attempts=1)
    held = bench.attempts(finish).claim(dying.name)
    dying.die()
    _wait_closed(dying)
    assert bench.states(held[0].lease.run_id) == ("FAILED", "FAILED")


@pytest.mark.slow
def test_workers_without_a_lock_are_left_to_the_rule_of_heartbeats(bench: Bench, start: Start) -> None:
    start()
    silent = Watcher(bench)
    silent.registration.vouch(None)
    _holds(bench, silent)
    _let_them_look(bench, start)
    assert bench.queue.counts()[JobStatus.PROCESSING] == 1


@pytest.mark.slow
def test_lost_sessions_are_replaced_and_cost_no_jobs(bench: Bench, start: Start, database: DatabaseUnderTest) -> None:
    """All at once, as by a restart of the server: nobody is taken for dead who comes back."""
    watchers = [start() for _ in range(3)]
    for watcher in watchers:
        _holds(bench, watcher)
    keys = [row.lock_key for watcher in watchers if (row := watcher.row())]
    _cut_sessions(bench, database)
    for watcher in watchers:
        assert watcher.lost.acquire(timeout=PATIENCE_SECONDS)
    again = [row.lock_key for watcher in watchers if (row := watcher.row())]
    assert len({*keys, *again}) == 6
    assert all(watcher.liveness.is_sure for watcher in watchers)
    assert bench.queue.counts()[JobStatus.PROCESSING] == 3


@pytest.mark.slow
def test_a_worker_that_was_struck_off_comes_back_without_its_jobs(
    bench: Bench, start: Start, database: DatabaseUnderTest
) -> None:
    watcher = start()
    with transaction(everywhere=True) as session:
        session.execute(update(Worker).values(ended_at=Worker.started_at))
    wait_for(lambda: (row := watcher.row()) is not None and row.ended_at is None)
    with transaction(everywhere=True) as session:
        session.execute(delete(Worker))
    wait_for(lambda: watcher.row() is not None)
    assert watcher.liveness.is_sure


@pytest.mark.slow
def test_a_claim_that_was_committed_after_its_worker_was_buried_is_found(
    bench: Bench, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness_module, "LEFTOVERS_SECONDS", 0.1)
    start()
    dying = start()
    dying.die()
    _wait_closed(dying)
    run_id = bench.new_run(max_attempts=3)
    bench.attempts(finish).claim(dying.name)
    wait_for(lambda: bench.states(run_id) == ("RUNNING", "PENDING"))


def test_a_signed_off_worker_is_gone_from_the_list(bench: Bench, start: Start) -> None:
    watcher = start()
    watcher.registration.sign_off()
    watcher.liveness.stop()
    assert watcher.row() is None or not watcher.liveness.is_sure


def test_while_the_database_is_away_nothing_is_sure_and_then_it_is_again(
    bench: Bench, start: Start, database: DatabaseUnderTest
) -> None:
    watcher = start()
    with psycopg.connect(str(database.superuser_url), dbname="postgres", autocommit=True) as connection:
        name = database.url.rsplit("/", 1)[1]
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        try:
            _cut_from(connection, name)
            wait_for(lambda: not watcher.liveness.is_sure)
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    assert watcher.liveness.wait_until_sure(PATIENCE_SECONDS)


def _cut_from(connection: "psycopg.Connection[tuple[object, ...]]", name: str) -> None:
    connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


def test_a_look_needs_no_options_of_its_connection(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler passes none on; who sees no org's jobs would take the silence for an empty line, and sleep for ever."""
    bare = {name: value for name, value in session_lock._CONNECT.items() if name != "options"}
    monkeypatch.setattr(session_lock, "_CONNECT", bare)
    lock, registration = SessionLock(db.engine), Registration(threads=1)
    registration.vouch(lock.acquire())
    assert not lock.look(registration.id).is_due
    bench.new_run()
    assert lock.look(registration.id).is_due
    lock.let_go()


class TestPooler:
    @pytest.fixture(params=["transaction", "session"])
    def pooled(self, request: pytest.FixtureRequest, database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Pooler]:
        if shutil.which("pgbouncer") is None:
            if os.environ.get("REQUIRE_PGBOUNCER") == "1":
                pytest.fail("REQUIRE_PGBOUNCER=1, but there is no pgbouncer: apt-get install pgbouncer")
            pytest.skip("no pgbouncer: apt-get install pgbouncer")
        with pooler(database.url, request.param, tmp_path) as running:
            yield running

    @pytest.fixture
    def pooled_app(self, pooled: Pooler, settings: Settings, tmp_path: Path) -> Iterator[Flask]:
        quick = {"POLL_SECONDS": "0.05", "HEARTBEAT_SECONDS": "0.2"}
        app = make_bare_app(settings_for(tmp_path / "data", DATABASE_URL=pooled.url, **quick))
        yield app
        dispose(app)

    def test_a_lock_is_relied_on_only_where_its_session_is_ours(self, pooled: Pooler, pooled_app: Flask) -> None:
        with pooled_app.app_context():
            lock = SessionLock(db.engine)
            key = lock.acquire()
        lock.let_go()
        assert (key is None) == (pooled.mode == "transaction")

    def test_heartbeats_take_over_and_it_is_said_so(
        self, pooled: Pooler, pooled_app: Flask, start: Start, caplog: pytest.LogCaptureFixture
    ) -> None:
        watcher = start(pooled_app)
        row = watcher.row()
        assert row is not None
        is_shared = pooled.mode == "transaction"
        assert (row.lock_key is None) == is_shared
        assert ("a pooler shares out the database's sessions" in caplog.text) == is_shared

    @pytest.fixture
    def pooled_bench(self, pooled_app: Flask) -> Iterator[Bench]:
        with pooled_app.app_context():
            bench = Bench(pooled_app, wire(pooled_app.config["DOCMILL_SETTINGS"]))
            yield bench
            bench.close()

    @pytest.mark.slow
    def test_a_whole_worker_finds_through_it_what_nobody_rings_for(self, pooled: Pooler, tmp_path: Path) -> None:
        variables = {"DATABASE_URL": pooled.url, "POLL_SECONDS": "0.2", "EXECUTION": "workers"}
        app = create_app(settings_for(tmp_path / "data", **variables))
        has_waited: set[UUID] = set()

        def handler(context: StageContext) -> None:
            if context.run_id not in has_waited:
                has_waited.add(context.run_id)
                raise Snoozed(0.5)
            finish(context)

        def is_done(number: int) -> bool:
            return bench.queue.counts()[JobStatus.COMPLETED] == number

        with app.app_context():
            bench = Bench(app, app.extensions["docmill"])
            workshop = Workshop(app, bench.broken.append, handlers={PROCESS_DOCUMENT: handler})
            workshop.start()
            try:
                for number in (1, 2):
                    bench.new_run()
                    wait_for(partial(is_done, number))
            finally:
                workshop.drain()
        dispose(app)

    @pytest.mark.slow
    def test_jobs_are_done_through_it(self, pooled_bench: Bench) -> None:
        """By ordinary transactions and the poll; beats keep what is held."""
        bench, gate = pooled_bench, Gate()
        held = bench.new_run()
        bench.pool(lambda context: gate(context) if context.run_id == held else finish(context))
        gate.wait_for_entry()
        runs = [bench.new_run() for _ in range(20)]
        wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == len(runs))
        bench.grow_silent(held, 1000)
        wait_for(lambda: _is_fresh(bench.job(held)), "for a beat")
        gate.opened.set()
        wait_for(lambda: bench.states(held) == ("SUCCEEDED", "COMPLETED"))
        assert {bench.job(run).attempts for run in [held, *runs]} == {0}
        assert bench.broken == []


def _is_fresh(job: Job) -> bool:
    return job.heartbeat_at is not None and job.heartbeat_at > job.created_at


def test_a_lock_of_our_own_is_seen_and_ends_with_the_session(bench: Bench) -> None:
    lock, registration = SessionLock(db.engine), Registration(threads=1)
    key = lock.acquire()
    registration.vouch(key)
    assert lock.look(registration.id).is_known
    other = SessionLock(db.engine)
    other.acquire()
    assert other.look(registration.id).free == frozenset()
    lock.let_go()
    wait_for(lambda: other.look(registration.id).free == frozenset() and not other.look(registration.id).is_known)
    other.let_go()
