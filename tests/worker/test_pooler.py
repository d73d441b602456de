"""Workers behind PgBouncer, which shares the sessions of PostgreSQL or lends them whole."""

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import select

from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.emulators.pooler import Pooler, pooler
from tests.worker.bench import Bench, Gate, finish, wait_for
from webapp.app import create_app
from webapp.db import reading
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
