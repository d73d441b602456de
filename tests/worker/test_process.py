"""A whole worker, put together: it works from its first moment."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from tests.bare import changed
from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.worker.bench import PATIENCE_SECONDS, Bench, finish, wait_for
from webapp.app import create_app
from webapp.clock import monotonic
from webapp.jobs.states import JobStatus
from webapp.runs.stages import EMBED_ANEW, PROCESS_DOCUMENT
from webapp.worker.process import WorkerProcess
from webapp.worker.worker_table import Registration

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
_POLL_SECONDS = 30


@pytest.fixture
def app(database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Flask]:
    variables = {"EXECUTION": "workers", "POLL_SECONDS": str(_POLL_SECONDS)}
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url, **variables))
    with app.app_context():
        yield app
    dispose(app)


@pytest.fixture
def bench(app: Flask) -> Bench:
    return Bench(app, app.extensions["docmill"])


def test_work_begins_as_soon_as_others_know_that_this_process_lives(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.new_run()
    process = WorkerProcess(bench.services, bench.broken.append, handlers={PROCESS_DOCUMENT: finish})
    began_at = monotonic()
    with caplog.at_level(logging.WARNING):
        process.start()
        try:
            wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 1)
            assert monotonic() - began_at < _POLL_SECONDS / 2, "not by the poll"
        finally:
            process.drain()
    assert caplog.messages == []


def test_a_worker_looks_for_sessions_whose_client_froze(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    has_looked = threading.Event()
    monkeypatch.setattr("webapp.worker.process.end_half_sent", has_looked.set)
    process = WorkerProcess(bench.services, bench.broken.append, handlers={PROCESS_DOCUMENT: finish})
    process.start()
    try:
        assert has_looked.wait(PATIENCE_SECONDS)
    finally:
        process.drain()


def test_threads_of_a_process_may_report_it_at_the_same_moment(bench: Bench) -> None:
    errors: list[BaseException] = []

    def report(registration: Registration, together: threading.Barrier, lock_key: int | None) -> None:
        try:
            with bench.app.app_context():
                together.wait(PATIENCE_SECONDS)
                if lock_key is None:
                    registration.report()
                else:
                    registration.register(lock_key)
        except BaseException as error:  # noqa: BLE001 - judged by the test, in its own thread
            errors.append(error)

    for _ in range(10):
        registration, together = Registration(threads=1), threading.Barrier(2)
        keys: tuple[int | None, ...] = (None, 4711)
        threads = [threading.Thread(target=report, args=(registration, together, key)) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
    assert errors == []


def test_a_worker_takes_the_jobs_of_its_stages_alone(bench: Bench) -> None:
    others, own = bench.new_run(), bench.new_run(stage=EMBED_ANEW)
    settings = changed(bench.services.settings, "queue", worker_stages=(EMBED_ANEW,))
    process = WorkerProcess(
        replace(bench.services, settings=settings),
        bench.broken.append,
        handlers={PROCESS_DOCUMENT: finish, EMBED_ANEW: finish},
    )
    process.start()
    try:
        wait_for(lambda: bench.states(own) == ("SUCCEEDED", "COMPLETED"))
        assert bench.states(others) == ("QUEUED", "PENDING")
    finally:
        process.drain()
