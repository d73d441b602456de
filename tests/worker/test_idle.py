"""What a worker costs the database that has nothing to do: one question a poll."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.worker.bench import Bench, finish, wait_for
from webapp.app import create_app
from webapp.clock import monotonic
from webapp.db import transaction
from webapp.jobs.queue import Lease
from webapp.jobs.states import JobStatus
from webapp.pipeline.stages import PROCESS_DOCUMENT
from webapp.pipeline.steps import Snoozed, StageContext
from webapp.worker.workshop import Workshop

POLL_SECONDS = 0.2
POLLS = 12
ASKS = {"Query", "Sync"}


class Questions:
    """How often the database was asked anything, over all connections that were opened since."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun = 0
        self._traces: list[Path] = []

    def listen(self, connection: Any, _: object) -> None:
        """Hear a new connection; on PostgreSQL by what its client really sends."""
        if isinstance(connection, sqlite3.Connection):
            connection.set_trace_callback(self._hear)
            return
        trace = self._folder / f"trace {len(self._traces)}"
        self._traces.append(trace)
        # The client closes the file together with the connection.
        connection.pgconn.trace(os.open(trace, os.O_CREAT | os.O_WRONLY))

    def _hear(self, statement: str) -> None:
        self._begun += statement.startswith("BEGIN")

    def number(self) -> int:
        """On SQLite transactions, elsewhere round trips."""
        return self._begun + sum(_round_trips(trace) for trace in self._traces)


def _round_trips(trace: Path) -> int:
    """A line is a time, F for what the client sends, a length, and the name of the message."""
    parts = (line.split("\t") for line in trace.read_text().splitlines())
    return sum(part[1] == "F" and part[3] in ASKS for part in parts if len(part) > 3)


@pytest.fixture
def questions(tmp_path: Path) -> Iterator[Questions]:
    found = Questions(tmp_path)
    event.listen(Pool, "connect", found.listen)
    yield found
    event.remove(Pool, "connect", found.listen)


@pytest.fixture
def stage_limits() -> str:
    return ""


@pytest.fixture
def bench(questions: Questions, database: DatabaseUnderTest, tmp_path: Path, stage_limits: str) -> Iterator[Bench]:
    variables = {
        "POLL_SECONDS": str(POLL_SECONDS),
        "EXECUTION": "embedded" if database.name == "sqlite" else "workers",
        "STAGE_LIMITS": stage_limits,
    }
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url, **variables))
    with app.app_context():
        yield Bench(app, app.extensions["docmill"])
    dispose(app)


@pytest.fixture
def waits_once(bench: Bench) -> Iterator[Workshop]:
    """A worker, each of whose jobs has to be taken twice."""
    has_waited: set[UUID] = set()

    def handler(context: StageContext) -> None:
        if context.run_id not in has_waited:
            has_waited.add(context.run_id)
            raise Snoozed(2 * POLL_SECONDS)
        finish(context)

    workshop = Workshop(bench.app, bench.broken.append, handlers={PROCESS_DOCUMENT: handler})
    workshop.start()
    yield workshop
    workshop.drain()
    assert bench.broken == []


@pytest.mark.usefixtures("waits_once")
def test_an_idle_worker_asks_once_a_poll_and_misses_nothing(bench: Bench, questions: Questions) -> None:
    _work_is_done(bench, 1)
    _asks_once_a_poll(questions)
    _work_is_done(bench, 2)


@pytest.mark.usefixtures("waits_once")
@pytest.mark.parametrize("stage_limits", ["", "process_document=1"], ids=["by ops", "by the settings"])
def test_so_does_a_worker_whose_stage_is_full(bench: Bench, questions: Questions, stage_limits: str) -> None:
    _work_is_done(bench, 1)
    bench.queue.pause(PROCESS_DOCUMENT)
    for _ in range(2):
        bench.new_run()
    if not stage_limits:
        bench.queue.limit(PROCESS_DOCUMENT, 1)
    (theirs,) = _takes_one(bench)
    _asks_once_a_poll(questions)
    assert bench.queue.counts()[JobStatus.COMPLETED] == 1
    bench.queue.release([theirs])
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 3)


def _takes_one(bench: Bench) -> list[Lease]:
    """Somebody else takes the only job of a stage that may be worked on; nobody else is quick enough."""
    with transaction(everywhere=True):
        bench.queue.resume(PROCESS_DOCUMENT)
        return bench.queue.claim("somebody else", 5)


def _asks_once_a_poll(questions: Questions) -> None:
    """Counted is time: on a slow machine so many questions take longer, and never less long."""
    _pass(questions, 2 * POLLS)
    began_at = monotonic()
    _pass(questions, POLLS)
    assert monotonic() - began_at > 0.8 * POLLS * POLL_SECONDS


def _work_is_done(bench: Bench, number: int) -> None:
    """Nobody rings when the time of a job has come that was to wait a little."""
    bench.new_run()
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == number)


def _pass(questions: Questions, number: int) -> None:
    until = questions.number() + number
    wait_for(lambda: questions.number() >= until)
