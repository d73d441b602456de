"""The embedded host: one process at a time, with a recovery at its start."""

import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from flask import Flask

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.documents.rows import new_document
from tests.worker.bench import PATIENCE_SECONDS, Bench, Gate, finish, wait_for
from webapp.app import create_app
from webapp.jobs.queue import NewJob
from webapp.jobs.states import JobStatus
from webapp.pipeline.handlers import Handler
from webapp.runs import lifecycle
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.worker.embedded import EmbeddedHost

Start = Callable[[Handler], EmbeddedHost]

QUICK = {"EXECUTION": "embedded", "POLL_SECONDS": "0.05", "HEARTBEAT_SECONDS": "0.1", "WATCHDOG_SECONDS": "0.1"}


@pytest.fixture
def app(database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Flask]:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url, **QUICK))
    with app.app_context():
        yield app
    dispose(app)


@pytest.fixture
def bench(app: Flask) -> Bench:
    return Bench(app, app.extensions["docmill"])


@pytest.fixture
def start(app: Flask) -> Iterator[Start]:
    hosts = []

    def start(handler: Handler) -> EmbeddedHost:
        handlers: Mapping[str, Any] = {PROCESS_DOCUMENT: handler}
        hosts.append(EmbeddedHost(app.extensions["docmill"], handlers))
        hosts[-1].start()
        return hosts[-1]

    yield start
    for host in hosts:
        host.stop()


def test_a_lone_process_becomes_the_host_and_works(bench: Bench, start: Start) -> None:
    for _ in range(3):
        bench.new_run()
    assert start(finish).wait_until_working(PATIENCE_SECONDS)
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 3)


@pytest.mark.slow
def test_a_second_process_serves_pages_only_until_the_first_has_ended(
    bench: Bench, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    first = start(finish)
    assert first.wait_until_working(PATIENCE_SECONDS)
    with caplog.at_level(logging.WARNING):
        second = start(finish)
        wait_for(lambda: "this one serves pages only" in caplog.text)
    assert not second.wait_until_working(0.3)
    assert first.stop()
    assert second.wait_until_working(PATIENCE_SECONDS)
    bench.new_run()
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 1)


def test_a_process_that_never_became_the_host_leaves_at_once(start: Start) -> None:
    assert start(finish).wait_until_working(PATIENCE_SECONDS)
    assert start(finish).stop()


def test_runs_that_lost_their_process_fail_at_the_next_start(bench: Bench, start: Start) -> None:
    document_id = new_document(bench.org_id)
    orphan, following = bench.new_run(document_id, max_attempts=1), bench.new_run(document_id, max_attempts=1)
    bench.claim()
    start(finish)
    wait_for(lambda: bench.states(following) == ("SUCCEEDED", "COMPLETED"))
    assert bench.states(orphan) == ("FAILED", "FAILED")
    assert bench.run(orphan).failure_type == "PROCESS_TERMINATED"


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_jobs_that_a_dying_process_still_holds_locked_at_the_start_are_found_later(
    bench: Bench, start: Start, database: DatabaseUnderTest
) -> None:
    """Its session with the database may outlive it by a moment, and the recovery passes by what that holds."""
    run_id = bench.new_run()
    lifecycle.succeed_run(bench.queue, bench.claim().lease)
    follow = NewJob(bench.org_id, bench.live_run(run_id), "detect_connections", 2)
    bench.queue.enqueue([follow])
    assert len(bench.queue.claim("worker")) == 1
    with psycopg.connect(str(database.superuser_url)) as dying:
        dying.execute("SELECT FROM document_processing_jobs WHERE id = %s FOR UPDATE", [follow.id])
        assert start(finish).wait_until_working(PATIENCE_SECONDS)
    wait_for(lambda: _attempts(bench, follow.id) > 0)


def _attempts(bench: Bench, job_id: UUID) -> int:
    job = bench.queue.get(job_id)
    assert job is not None
    return job.attempts


def test_a_drain_lets_jobs_end(bench: Bench, start: Start) -> None:
    gate, run_id = Gate(), bench.new_run()
    host = start(gate)
    gate.wait_for_entry()
    host.on_signal(signal.SIGTERM, None)
    gate.opened.set()
    assert host.stop()
    assert bench.states(run_id) == ("SUCCEEDED", "COMPLETED")


def test_a_run_past_its_window_times_out_under_its_worker(bench: Bench, start: Start) -> None:
    gate, run_id = Gate(), bench.new_run()
    start(gate)
    gate.wait_for_entry()
    bench.grow_old(run_id, 121)
    wait_for(lambda: bench.states(run_id) == ("TIMED_OUT", "FAILED"))
    wait_for(gate.contexts[0].stopping.is_set)
    gate.opened.set()
    assert bench.states(run_id) == ("TIMED_OUT", "FAILED")


@pytest.fixture
def terminations() -> Iterator[list[int]]:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_who_loses_the_hosts_lock_ends_its_process(
    database: DatabaseUnderTest, start: Start, terminations: list[int]
) -> None:
    host = start(finish)
    assert host.wait_until_working(PATIENCE_SECONDS)
    assert database.superuser_url is not None
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(_END_LOCKS)
    wait_for(lambda: bool(terminations))
    assert host.stop()


# Of this database alone: the server is shared with the tests beside this one.
_END_LOCKS = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def test_nobody_works_on_tables_that_are_not_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = create_app(settings_for(tmp_path, **QUICK))
    with app.app_context():
        host = EmbeddedHost(app.extensions["docmill"])
    with caplog.at_level(logging.WARNING):
        host.start()
        wait_for(lambda: "flask --app wsgi db upgrade" in caplog.text)
    assert not host.wait_until_working(0)
    upgraded = app.test_cli_runner().invoke(args=["db", "upgrade"])
    assert upgraded.exit_code == 0, upgraded.output
    assert host.wait_until_working(PATIENCE_SECONDS)
    assert host.stop()
    dispose(app)
