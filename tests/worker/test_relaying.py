"""When the relay makes its rounds: as often as there is something to offer, and no more."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tests.bare import DatabaseUnderTest, dispose, settings_for
from tests.redis_server import RedisServer, running_redis
from tests.worker.bench import Bench, finish, wait_for
from webapp.app import create_app
from webapp.clock import monotonic
from webapp.jobs.states import JobStatus
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.worker import relaying
from webapp.worker.process import WorkerProcess
from webapp.worker.relaying import TICK_SECONDS

THREADS = 2
pytestmark = [
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def bench(database: DatabaseUnderTest, redis: RedisServer, tmp_path: Path) -> Iterator[Bench]:
    """One worker process, which is the relay and has seats."""
    variables = {"QUEUE": "bullmq", "REDIS_URL": redis.url, "WORKER_THREADS": str(THREADS)}
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url, EXECUTION="workers", **variables))
    with app.app_context():
        bench = Bench(app, app.extensions["docmill"])
        process = WorkerProcess(bench.services, bench.broken.append, handlers={PROCESS_DOCUMENT: finish})
        process.start()
        wait_for(lambda: bool(redis.client.exists("{docmill}:docmill:relay")), "for the relay")
        yield bench
        process.drain()
    dispose(app)
    assert bench.broken == []


class Looks:
    """Counts how often due jobs are looked for."""

    def __init__(self) -> None:
        self.number = 0

    def _note(self, connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        self.number += "min(document_processing_jobs.stage)" in statement

    def __enter__(self) -> Self:
        event.listen(Engine, "before_cursor_execute", self._note)
        return self

    def __exit__(self, *error: object) -> None:
        event.remove(Engine, "before_cursor_execute", self._note)


def test_a_free_seat_is_no_reason_to_look_where_nothing_waits(bench: Bench, redis: RedisServer) -> None:
    wait_for(lambda: bool(redis.client.exists("{docmill}:docmill:workers")), "for the seats")
    until = monotonic() + TICK_SECONDS
    wait_for(lambda: monotonic() > until)
    seconds, calls = 4.0, 0
    with Looks() as looks:
        until = monotonic() + seconds
        while monotonic() < until:
            # As a worker does that has one more free seat.
            redis.client.zadd("{docmill}:docmill:call", {"0": 0})
            calls += 1
            wait_for(lambda: not redis.client.exists("{docmill}:docmill:call"), "until the relay has heard it")
    assert calls > 3 * seconds / TICK_SECONDS
    assert looks.number <= seconds / TICK_SECONDS + 2


def test_a_free_seat_is_reason_to_look_while_jobs_wait(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """If only announcements and ticks were, a fleet whose jobs are all there already would work once a tick."""
    number, tick_seconds = 20 * THREADS, 6.0
    monkeypatch.setattr(relaying, "TICK_SECONDS", tick_seconds)
    for _ in range(number):
        bench.new_run()
    began_at = monotonic()
    seconds = 0.5 * tick_seconds * number / THREADS
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == number, "for all jobs", seconds)
    assert monotonic() - began_at < seconds
