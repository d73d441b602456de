"""A worker with nothing to do asks the database at most three cheap questions a poll."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.worker.bench import Bench, finish, wait_for
from webapp.app import create_app
from webapp.clock import monotonic
from webapp.jobs.states import JobStatus
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.worker.process import WorkerProcess

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("database", ["postgresql"], indirect=True)]
POLL_SECONDS = 0.2
POLLS = 8
STATEMENTS_A_POLL = 3


class Statements:
    """Counts the statements that clients really send, by the trace of each connection."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._traces: list[Path] = []

    def trace(self, connection: Any, _: object) -> None:
        """Begin to trace a new connection, which closes the file when it ends."""
        trace = self._folder / f"trace {len(self._traces)}"
        self._traces.append(trace)
        connection.pgconn.trace(os.open(trace, os.O_CREAT | os.O_WRONLY))

    def count(self) -> int:
        return sum(_is_statement(line) for trace in self._traces for line in trace.read_text().splitlines())


def _is_statement(line: str) -> bool:
    """A line has a time, F for what the client sends, a length, a message's name and its content."""
    if "\tF\t" not in line or any(word in line for word in ("BEGIN", "COMMIT", "ROLLBACK")):
        return False
    return "\tQuery\t" in line or line.endswith("\tSync")


@pytest.fixture
def statements(tmp_path: Path) -> Iterator[Statements]:
    found = Statements(tmp_path)
    event.listen(Pool, "connect", found.trace)
    yield found
    event.remove(Pool, "connect", found.trace)


@pytest.fixture
def bench(statements: Statements, database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Bench]:
    variables = {"POLL_SECONDS": str(POLL_SECONDS), "EXECUTION": "workers"}
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url, **variables))
    with app.app_context():
        yield Bench(app, app.extensions["docmill"])
    dispose(app)


def test_an_idle_worker_asks_at_most_three_statements_a_poll(bench: Bench, statements: Statements) -> None:
    process = WorkerProcess(bench.services, bench.broken.append, handlers={PROCESS_DOCUMENT: finish})
    process.start()
    try:
        bench.new_run()
        wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 1)
        # It goes to sleep first, and the timers of its start have passed.
        _wait_for_more(statements, POLLS * STATEMENTS_A_POLL)
        began_at = monotonic()
        _wait_for_more(statements, POLLS * STATEMENTS_A_POLL)
        # On a slow machine so many take longer, and never less long.
        assert monotonic() - began_at > 0.8 * POLLS * POLL_SECONDS
    finally:
        process.drain()
    assert bench.broken == []


def _wait_for_more(statements: Statements, number: int) -> None:
    until = statements.count() + number
    wait_for(lambda: statements.count() >= until)
