"""Workers behind PgBouncer, which shares the sessions of PostgreSQL or gives each client a whole one."""

import os
import shutil
import signal
import sys
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from flask import Flask
from sqlalchemy import select

from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.emulators.pooler import Pooler, pooler
from tests.journeys.site import Installation
from tests.worker.bench import Bench, Gate, finish, wait_for
from webapp.app import create_app
from webapp.clock import monotonic
from webapp.db import reading
from webapp.jobs import wakeup
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.model import Worker
from webapp.jobs.states import JobStatus
from webapp.pipeline.steps import StageContext
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.wiring import wire
from webapp.worker.process import WorkerProcess

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("database", ["postgresql"], indirect=True)]


@pytest.fixture(params=["transaction", "session"])
def pooled(request: pytest.FixtureRequest, database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Pooler]:
    if shutil.which("pgbouncer") is None:
        if os.environ.get("REQUIRE_PGBOUNCER") == "1":
            pytest.fail("REQUIRE_PGBOUNCER=1, but there is no pgbouncer: apt-get install pgbouncer")
        pytest.skip("no pgbouncer: apt-get install pgbouncer")
    with pooler(database.url, request.param, tmp_path) as running:
        yield running


def test_a_whole_worker(pooled: Pooler, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It finds work by the poll, and relies on its lock only where the session is its own."""
    variables = {"DATABASE_URL": pooled.url, "POLL_SECONDS": "0.2", "EXECUTION": "workers"}
    app = create_app(settings_for(tmp_path / "data", **variables))
    has_waited: set[UUID] = set()

    def handler(context: StageContext) -> None:
        if context.run_id not in has_waited:
            has_waited.add(context.run_id)
            raise Snoozed(0.5)
        finish(context)

    def is_done(number: int) -> bool:
        return bench_behind_it.queue.counts()[JobStatus.COMPLETED] == number

    with app.app_context():
        bench_behind_it = Bench(app, app.extensions["docmill"])
        process = WorkerProcess(
            bench_behind_it.services, bench_behind_it.broken.append, handlers={PROCESS_DOCUMENT: handler}
        )
        process.start()
        try:
            for number in (1, 2):
                bench_behind_it.new_run()
                wait_for(partial(is_done, number))
            with reading(everywhere=True) as session:
                (lock_key,) = session.scalars(select(Worker.lock_key))
        finally:
            process.drain()
    dispose(app)
    is_shared = pooled.mode == "transaction"
    assert (lock_key is None) == is_shared
    assert ("a pooler shares the database's sessions" in caplog.text) == is_shared


@pytest.mark.parametrize("pooled", ["transaction"], indirect=True)
class TestWithAWayPastIt:
    """Locks and LISTEN go past the pooler, by DATABASE_SESSION_URL; all else goes through it."""

    # Nobody finds work by the poll.
    NO_POLL = "60"

    def test_an_idle_worker_is_woken(
        self, pooled: Pooler, database: DatabaseUnderTest, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        # Of earlier tests, until the collector comes.
        earlier = _sleepers()
        variables = {"DATABASE_URL": pooled.url, "DATABASE_SESSION_URL": database.url, "POLL_SECONDS": self.NO_POLL}
        app = create_app(settings_for(tmp_path / "data", **variables))
        with app.app_context():
            bench = Bench(app, app.extensions["docmill"])
            process = WorkerProcess(bench.services, bench.broken.append, handlers={PROCESS_DOCUMENT: finish})
            process.start()
            try:
                for number in (1, 2):
                    wait_for(partial(_all_sleep, earlier), "for the threads to sleep")
                    began_at = monotonic()
                    bench.new_run()
                    wait_for(partial(_has_completed, bench, number))
                    assert monotonic() - began_at < 10
                with reading(everywhere=True) as session:
                    assert session.scalar(select(Worker.lock_key)) is not None
            finally:
                process.drain()
            assert bench.broken == []
        dispose(app)
        assert "pooler" not in caplog.text

    @pytest.mark.journey
    def test_a_killed_worker_is_detected_within_seconds(
        self, pooled: Pooler, database: DatabaseUnderTest, tmp_path: Path
    ) -> None:
        variables = database.environment(
            tmp_path / "data",
            DATABASE_URL=pooled.url,
            DATABASE_SESSION_URL=database.url,
            DATABASE_OWNER_URL=database.owner_url,
        )
        site = Installation(variables, tmp_path / "workers.log")
        assert database.superuser_url is not None
        with (
            psycopg.connect(database.superuser_url, autocommit=True) as watcher,
            site.running(sys.executable, "worker.py") as dying,
            site.running(sys.executable, "worker.py"),
        ):
            wait_for(lambda: _registered(watcher) == 2, f"for two workers; their log is {site.log}")
            os.killpg(dying.pid, signal.SIGKILL)
            killed_at = monotonic()
            wait_for(lambda: _registered(watcher) == 1, f"for the death to be detected; the log is {site.log}")
            assert monotonic() - killed_at < 5


def _has_completed(bench: Bench, number: int) -> bool:
    return bench.queue.counts()[JobStatus.COMPLETED] == number


def _all_sleep(but: Collection[wakeup.Sleeper]) -> bool:
    sleepers = [sleeper for sleeper in _sleepers() if sleeper not in but]
    return bool(sleepers) and all(sleeper._is_asleep for sleeper in sleepers)


def _sleepers() -> list[wakeup.Sleeper]:
    with wakeup._sleepers_lock:
        return list(wakeup._sleepers)


def _registered(watcher: "psycopg.Connection[tuple[int]]") -> int:
    row = watcher.execute("SELECT count(*) FROM workers WHERE lock_key IS NOT NULL AND ended_at IS NULL").fetchone()
    return row[0] if row else 0


@pytest.fixture
def bench(pooled: Pooler, tmp_path: Path) -> Iterator[Bench]:
    quick = {"POLL_SECONDS": "0.05", "HEARTBEAT_SECONDS": "0.2"}
    app: Flask = make_bare_app(settings_for(tmp_path / "data", DATABASE_URL=pooled.url, **quick))
    with app.app_context():
        bench = Bench(app, wire(app.config["DOCMILL_SETTINGS"]))
        yield bench
        bench.close()
    dispose(app)


def test_jobs_are_done_and_heartbeats_keep_what_is_running(bench: Bench) -> None:
    gate, running = Gate(), bench.new_run()
    bench.pool(lambda context: gate(context) if context.run_id == running else finish(context))
    gate.wait_for_entry()
    runs = [bench.new_run() for _ in range(20)]
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == len(runs))
    bench.grow_silent(running, 1000)
    wait_for(lambda: _has_beaten(bench, running), "for a heartbeat")
    gate.opened.set()
    wait_for(lambda: bench.states(running) == ("SUCCEEDED", "COMPLETED"))
    assert {bench.job(run).attempts for run in [running, *runs]} == {0}
    assert bench.broken == []


def _has_beaten(bench: Bench, run_id: UUID) -> bool:
    job = bench.job(run_id)
    return job.heartbeat_at is not None and job.heartbeat_at > job.created_at
