"""Workers that are fed through BullMQ: whatever happens to Redis, jobs are done once, and soon."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.documents.rows import new_org
from tests.redis_server import RedisServer, running_redis
from tests.worker.bench import Bench, Gate, finish, wait_for
from webapp.app import create_app
from webapp.clock import monotonic
from webapp.jobs.states import JobStatus
from webapp.pipeline.handlers import Handler
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.wiring import bull_queues
from webapp.worker.election import RelayRole
from webapp.worker.process import WorkerProcess

pytestmark = [
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]
# What is promised, and what a busy machine may add.
REFUSED_SECONDS, FROZEN_SECONDS, FLUSHED_SECONDS, BUSY_SECONDS = 1.0, 5.0, 2.0, 2.0
STAGE = PROCESS_DOCUMENT
WAIT_KEY = "{docmill}:process_document:wait"

Start = Callable[..., WorkerProcess]


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def bench(database: DatabaseUnderTest, redis: RedisServer, tmp_path: Path) -> Iterator[Bench]:
    variables = {"EXECUTION": "workers", "QUEUE": "bullmq", "REDIS_URL": redis.url, "WORKER_THREADS": "2"}
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url, **variables))
    with app.app_context():
        yield Bench(app, app.extensions["docmill"])
    dispose(app)


@pytest.fixture
def start(bench: Bench) -> Iterator[Start]:
    """Starts worker processes, as threads of this one."""
    started: list[WorkerProcess] = []

    def start(handler: Handler = finish) -> WorkerProcess:
        process = WorkerProcess(bench.services, bench.broken.append, handlers={STAGE: handler})
        started.append(process)
        process.start()
        return process

    yield start
    for process in started:
        process.drain()
    assert bench.broken == []


@pytest.fixture
def two(bench: Bench, start: Start, redis: RedisServer) -> list[WorkerProcess]:
    """Two workers, one of which is the relay."""
    found = [start(), start()]
    wait_for(lambda: sorted(_role(each).name for each in found) == ["DEPUTY", "RELAY"], "for a relay and its deputy")
    wait_for(lambda: not any(_is_by_database(each) for each in found), "for offers")
    wait_for(lambda: _published(redis) == 4, "for the seats")
    return found


def _role(process: WorkerProcess) -> RelayRole:
    assert process._bullmq is not None
    return process._bullmq.election.role


def _is_by_database(process: WorkerProcess) -> bool:
    assert process._bullmq is not None
    return process._bullmq.dispatch.is_by_database


def _published(redis: RedisServer) -> int:
    client = redis.client
    found = [client.get(key) for key in client.scan_iter("{docmill}:docmill:seats:*")]
    return sum(int(str(text).split('"seats": ')[1].split(",")[0]) for text in found if text)


def _done(bench: Bench) -> int:
    return bench.queue.counts()[JobStatus.COMPLETED]


def _seconds_of_one(bench: Bench) -> float:
    """From the commit of a new job to its end."""
    before, began_at = _done(bench), monotonic()
    bench.new_run()
    wait_for(lambda: _done(bench) > before, "for a job")
    return monotonic() - began_at


def _open_offers(redis: RedisServer) -> int:
    client = redis.client
    return sum(int(client.llen(f"{{docmill}}:{STAGE}:{state}")) for state in ("wait", "active"))


def test_jobs_are_done_by_offers_and_leave_nothing_in_redis(
    bench: Bench, two: list[WorkerProcess], redis: RedisServer
) -> None:
    for _ in range(40):
        bench.new_run()
    wait_for(lambda: _done(bench) == 40)
    assert not any(_is_by_database(each) for each in two)
    wait_for(lambda: _open_offers(redis) == 0, "for the last acknowledgement")
    assert min(_seconds_of_one(bench) for _ in range(5)) < 0.5


def test_an_offer_names_ids_and_a_stage_and_nothing_else(bench: Bench, start: Start, redis: RedisServer) -> None:
    gate = Gate()
    start(gate)
    wait_for(lambda: _published(redis) == 2, "for the seats")
    found = bench.job(bench.new_run())
    gate.wait_for_entry()
    client = redis.client
    (offer_id,) = client.lrange(f"{{docmill}}:{STAGE}:active", 0, -1)
    data = json.loads(str(client.hget(f"{{docmill}}:{STAGE}:{offer_id!s}", "data")))
    assert data == {
        "job_id": str(found.id),
        "org_id": str(bench.org_id),
        "document_id": str(found.document_id),
        "stage": STAGE,
    }
    gate.opened.set()
    wait_for(lambda: _open_offers(redis) == 0, "for the acknowledgements")


def test_a_refused_connection_costs_a_second(
    bench: Bench, two: list[WorkerProcess], redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        redis.kill()
        assert _seconds_of_one(bench) < REFUSED_SECONDS + BUSY_SECONDS
        for _ in range(10):
            bench.new_run()
        wait_for(lambda: _done(bench) == 11)
        redis.start()
        wait_for(lambda: not any(_is_by_database(each) for each in two), "for Redis to be used again")
    assert _seconds_of_one(bench) < REFUSED_SECONDS + BUSY_SECONDS
    said = [message for message in caplog.messages if "away" in message]
    assert len([message for message in said if message.startswith("jobs are claimed from the database")]) <= 2
    assert len([message for message in said if message.startswith("Redis is away")]) <= 2


def test_a_frozen_redis_costs_five_seconds_at_most(bench: Bench, two: list[WorkerProcess], redis: RedisServer) -> None:
    redis.freeze(is_on=True)
    assert _seconds_of_one(bench) < FROZEN_SECONDS
    assert _seconds_of_one(bench) < REFUSED_SECONDS + BUSY_SECONDS, "nobody waits for it twice"
    redis.freeze(is_on=False)
    wait_for(lambda: not any(_is_by_database(each) for each in two), "for Redis to be used again")
    assert _seconds_of_one(bench) < REFUSED_SECONDS + BUSY_SECONDS


def test_a_flush_under_load_costs_two_seconds(bench: Bench, two: list[WorkerProcess], redis: RedisServer) -> None:
    for _ in range(60):
        bench.new_run()
    for _ in range(5):
        redis.client.flushall()
    wait_for(lambda: _done(bench) == 60)
    redis.client.flushall()
    assert _seconds_of_one(bench) < FLUSHED_SECONDS + BUSY_SECONDS


def test_a_changed_password_is_as_good_as_away(bench: Bench, two: list[WorkerProcess], redis: RedisServer) -> None:
    client = redis.client
    client.config_set("requirepass", "another")
    client.client_kill_filter(_type="normal", skipme=True)
    assert _seconds_of_one(bench) < REFUSED_SECONDS + BUSY_SECONDS
    assert all(_is_by_database(each) for each in two)


def _remove_all(client: Any) -> None:
    for state in ("wait", "active"):
        for offer_id in client.lrange(f"{{docmill}}:{STAGE}:{state}", 0, -1):
            client.delete(f"{{docmill}}:{STAGE}:{offer_id}")
        client.delete(f"{{docmill}}:{STAGE}:{state}")


def _add_bogus(client: Any) -> None:
    for number in range(300):
        client.lpush(WAIT_KEY, f"bogus-{number}")
    client.zadd(f"{{docmill}}:{STAGE}:marker", {"0": 0})


def _pause(client: Any) -> None:
    client.hset(f"{{docmill}}:{STAGE}:meta", "paused", "1")


def _limit(client: Any) -> None:
    client.hset(f"{{docmill}}:{STAGE}:meta", mapping={"max": "1", "duration": "3600000"})


def _break(client: Any) -> None:
    client.delete(WAIT_KEY)
    client.set(WAIT_KEY, "no list")


def _retry(client: Any) -> None:
    """Put what is at work back into the line, as the button of a dashboard does."""
    while client.rpoplpush(f"{{docmill}}:{STAGE}:active", WAIT_KEY):
        pass


@pytest.mark.parametrize("change", [_remove_all, _add_bogus, _pause, _limit, _break, _retry])
def test_what_is_changed_in_redis_by_hand_changes_nothing(
    bench: Bench, two: list[WorkerProcess], redis: RedisServer, change: Callable[[Any], None]
) -> None:
    runs = [bench.new_run() for _ in range(30)]
    change(redis.client)
    wait_for(lambda: _done(bench) == 30)
    change(redis.client)
    bench.new_run()
    wait_for(lambda: _done(bench) == 31)
    assert {run_id: bench.events(run_id).count("RUN_STARTED") for run_id in runs} == dict.fromkeys(runs, 1)
    wait_for(lambda: not any(_is_by_database(each) for each in two), "for offers")
    wait_for(lambda: _open_offers(redis) == 0, "for a tidy queue")


def test_a_paused_stage_is_not_offered_and_what_was_offered_waits(
    bench: Bench, two: list[WorkerProcess], redis: RedisServer
) -> None:
    bench.queue.pause(STAGE, by="ana")
    run_id = bench.new_run()
    rounds = _relay_rounds(redis)
    wait_for(lambda: next(rounds) >= 2, "for rounds of the relay")
    assert _open_offers(redis) == 0
    assert bench.states(run_id) == ("QUEUED", "PENDING")
    bench.queue.resume(STAGE)
    wait_for(lambda: _done(bench) == 1)


def _relay_rounds(redis: RedisServer) -> Iterator[int]:
    """How often the relay has renewed its key so far."""
    client, number, last = redis.client, 0, 0
    while True:
        left = int(client.pttl("{docmill}:docmill:relay"))
        number += left > last
        last = left
        yield number


def test_a_relay_that_dies_is_followed_by_its_deputy(
    bench: Bench, start: Start, two: list[WorkerProcess], database: DatabaseUnderTest
) -> None:
    relay = next(each for each in two if _role(each) is RelayRole.RELAY)
    deputy = next(each for each in two if each is not relay)
    _end_session(relay, database)
    began_at = monotonic()
    wait_for(lambda: _role(deputy) is RelayRole.RELAY or _role(relay) is RelayRole.RELAY, "for a relay")
    assert monotonic() - began_at < 3
    wait_for(lambda: {_role(relay), _role(deputy)} == {RelayRole.RELAY, RelayRole.DEPUTY}, "for both")
    assert _seconds_of_one(bench) < 1 + BUSY_SECONDS


def _end_session(process: WorkerProcess, database: DatabaseUnderTest) -> None:
    assert process._presence is not None
    key = "SELECT lock_key FROM workers WHERE id = %s"
    holder = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = (%s & 4294967295)::oid"
    )
    with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
        row = connection.execute(key, [process._registration.id]).fetchone()
        assert row is not None
        connection.execute(holder, [row[0]])


def test_an_idle_worker_that_is_not_the_relay_asks_the_database_hardly_anything(
    bench: Bench, start: Start, two: list[WorkerProcess]
) -> None:
    third = start()
    wait_for(lambda: third._presence is not None and third._presence.is_registered, "for the third")
    wait_for(lambda: not _is_by_database(third), "for offers")
    assert _role(third) is RelayRole.NONE
    said: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        said.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        until = monotonic() + 4
        wait_for(lambda: monotonic() > until)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    # Four seconds: the relay makes delayed jobs due and looks for due stages, it and its deputy look at the locks
    # twice a second.
    assert len([one for one in said if "pg_locks" in one and "workers" in one]) <= 4 * 2 * 2 + 4 / 2 + 4
    assert len([one for one in said if "stage_controls" in one]) <= 4 + 4
    assert len([one for one in said if "SKIP LOCKED" in one and "wakes_at <=" in one]) <= 4 + 2


def test_a_wake_up_that_comes_late_ends_the_next_wait_and_nothing_else(bench: Bench) -> None:
    queues = bull_queues(bench.services.settings)
    try:
        for _ in range(5):
            # As the callback of a wake-up whose flag an earlier wait has cleared already.
            threading.Timer(0.1, lambda: queues.client.soon(queues._end_wait)).start()
            queues.wait_for_offers([STAGE])
        assert queues.client.is_up
    finally:
        queues.client.close()


def test_orgs_share_the_seats_of_all_workers(bench: Bench, start: Start, redis: RedisServer) -> None:
    """The next free seat goes to the org with the fewest seats in all workers, not in the one that has it."""
    ours, gates = bench.org_id, [Gate(), Gate()]
    for gate in gates:
        start(gate)
    wait_for(lambda: _published(redis) == 4, "for the seats")
    for _ in range(8):
        bench.new_run()
    wait_for(lambda: sum(len(gate.contexts) for gate in gates) == 4, "for four at work")
    bench.org_id = new_org()
    newcomer = bench.new_run()
    first_four = [context for gate in gates for context in gate.contexts]
    assert {context.lease.org_id for context in first_four} == {ours}
    gates[0].opened.set()
    wait_for(lambda: bench.states(newcomer) == ("SUCCEEDED", "COMPLETED"), "for the newcomer's job")
    order = [context.lease.org_id for context in gates[0].contexts]
    # Two seats are free at about the same moment: the newcomer has one of them.
    assert bench.org_id in order[2:4]
    gates[1].opened.set()
    wait_for(lambda: _done(bench) == 9, "for the rest")
