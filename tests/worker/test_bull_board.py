"""BullMQ's package for Node and bull-board: they see Docmill's queues, and nothing that they change there matters."""

import http.client
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ViewportSize

from tests.chromium import find_chromium, with_browser
from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.emulators import nodejs
from tests.redis_server import RedisServer, running_redis
from tests.worker.bench import Bench, Gate, wait_for
from webapp.app import create_app
from webapp.config.queue import STAGE_NAMES
from webapp.db import reading
from webapp.documents.model import RunEvent
from webapp.jobs.dispatch.bullmq.client import RedisAway, RedisClient
from webapp.jobs.dispatch.bullmq.queues import BullQueues, Seats
from webapp.jobs.model import Job
from webapp.jobs.states import JobStatus
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.worker.process import WorkerProcess

pytestmark = [
    pytest.mark.redis,
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.timeout(400),
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]

PREFIX = "{docmill}"
PROGRAM = Path(__file__).parent / "bull_board.mjs"
VERSIONS = {
    "bullmq": "6.7.0",
    "ioredis": "6.0.0",
    "@bull-board/api": "9.10.1",
    "@bull-board/express": "9.10.1",
    "express": "5.3.0",
}
VERSION = f"{VERSIONS['bullmq']}-{VERSIONS['@bull-board/api']}"
ANSWER_SECONDS = 60
# The relay takes offers back that wait too long, and makes new ones: a moment later all are there again.
SIGHT_SECONDS = 120.0
TRIES = 5
SIZE: ViewportSize = {"width": 1200, "height": 560}


@pytest.fixture(scope="module")
def program() -> list[str]:
    """The command that runs the script beside its packages."""
    try:
        folder = nodejs.packages("bull-board", VERSION, {"private": True, "dependencies": VERSIONS})
        # Node looks for packages beside the script.
        return [str(nodejs.node()), str(shutil.copy(str(PROGRAM), str(folder)))]
    except nodejs.NotInstalled as error:
        if os.environ.get("REQUIRE_REDIS") == "1":
            raise
        pytest.skip(str(error))


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
def gate(bench: Bench, redis: RedisServer) -> Iterator[Gate]:
    """What a worker with two seats stops at."""
    gate = Gate()
    process = WorkerProcess(bench.services, bench.broken.append, handlers={PROCESS_DOCUMENT: gate})
    process.start()
    assert process._bullmq is not None
    dispatch = process._bullmq.dispatch
    wait_for(lambda: not dispatch.is_by_database and _published(redis) == 2, "for a relay and the seats")
    yield gate
    gate.opened.set()
    process._bullmq.stop()
    # Its wait for news has come to an end before the connections are closed.
    wait_for(lambda: "relay-calls" not in {thread.name for thread in threading.enumerate()}, "for the relay")
    process.drain()
    assert bench.broken == []


def _published(redis: RedisServer) -> int:
    client = redis.client
    found = [client.get(key) for key in client.scan_iter(f"{PREFIX}:docmill:seats:*")]
    return sum(int(json.loads(str(text))["seats"]) for text in found if text)


def _environment(redis: RedisServer) -> dict[str, str]:
    queues = ",".join(STAGE_NAMES)
    return {"PATH": os.environ["PATH"], "REDIS_URL": redis.url, "PREFIX": PREFIX, "QUEUES": queues}


def _run(program: list[str], redis: RedisServer, what: str) -> str:
    command = [*program, what]
    done = subprocess.run(
        command, env=_environment(redis), capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def _board(program: list[str], redis: RedisServer) -> Iterator[int]:
    process = subprocess.Popen([*program, "serve"], env=_environment(redis), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(ANSWER_SECONDS)
        process.stdout.close()


@contextmanager
def _three_more_seats(redis: RedisServer) -> Iterator[None]:
    """A worker that listens and is slow to take: its offers wait."""
    client = RedisClient(redis.url, f"{PREFIX}:probe")
    queues = BullQueues(client, PREFIX, STAGE_NAMES)
    ending = threading.Event()

    def listen() -> None:
        while not ending.wait(0.5):
            with suppress(RedisAway):
                queues.publish("slow", Seats(3, frozenset({PROCESS_DOCUMENT})), calls_relay=True)

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        wait_for(lambda: (_length(redis, "wait"), _length(redis, "active")) == (3, 2), "for offers")
        yield
    finally:
        ending.set()
        listening.join()
        client.close()


def _length(redis: RedisServer, state: str) -> int:
    return int(str(redis.client.llen(f"{PREFIX}:{PROCESS_DOCUMENT}:{state}")))


def _read(program: list[str], redis: RedisServer) -> dict[str, Any]:
    """What Node sees at a moment at which the relay has offered as much as there are seats."""
    found: dict[str, Any] = {}

    def is_all_there() -> bool:
        found.update(json.loads(_run(program, redis, "read")))
        return (found[PROCESS_DOCUMENT]["waiting"], found[PROCESS_DOCUMENT]["active"]) == (3, 2)

    wait_for(is_all_there, "for Node to see the offers", SIGHT_SECONDS)
    return found


def _fill(bench: Bench, gate: Gate, redis: RedisServer) -> set[str]:
    """Five jobs, two of which run by an offer; the ids of all."""
    for _ in range(TRIES):
        for _ in range(2):
            bench.new_run()
        gate.wait_for_entry()
        gate.wait_for_entry()
        if _length(redis, "active") == 2:
            break
        # Redis did not answer in time on a busy machine, and the database's claim took over: once more.
        gate.opened.set()
        wait_for(lambda: not _unfinished(), "for jobs that were claimed from the database")
        gate.opened.clear()
    for _ in range(3):
        bench.new_run()
    return {str(job.id) for job in _unfinished()}


def _unfinished() -> list[Job]:
    return [job for job in _jobs() if job.status != JobStatus.COMPLETED]


def _jobs() -> list[Job]:
    with reading(everywhere=True) as session:
        found = session.query(Job).all()
        session.expunge_all()
        return found


def test_node_reads_queues_counts_names_and_payloads(
    bench: Bench, gate: Gate, redis: RedisServer, program: list[str]
) -> None:
    ids = _fill(bench, gate, redis)
    with _three_more_seats(redis):
        found = _read(program, redis)
    assert set(found) == set(STAGE_NAMES)
    queue = found[PROCESS_DOCUMENT]
    assert (queue["waiting"], queue["active"], queue["completed"], queue["failed"]) == (3, 2, 0, 0)
    assert sorted(job["state"] for job in queue["jobs"]) == ["active"] * 2 + ["waiting"] * 3
    assert {job["name"] for job in queue["jobs"]} == {PROCESS_DOCUMENT}
    assert {job["data"]["job_id"] for job in queue["jobs"]} == ids
    assert {tuple(sorted(job["data"])) for job in queue["jobs"]} == {("document_id", "job_id", "org_id", "stage")}
    assert {(each["waiting"], each["active"]) for name, each in found.items() if name != PROCESS_DOCUMENT} == {(0, 0)}


def test_what_node_changes_in_redis_changes_nothing_here(
    bench: Bench, gate: Gate, redis: RedisServer, program: list[str]
) -> None:
    _fill(bench, gate, redis)
    with _three_more_seats(redis):
        _run(program, redis, "meddle")
    assert not redis.client.exists(f"{PREFIX}:{PROCESS_DOCUMENT}:active")
    gate.opened.set()
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 5, "for all five")
    assert {job.attempts for job in _jobs()} == {0}
    with reading(everywhere=True) as session:
        started = [event.run_id for event in session.query(RunEvent).all() if event.kind == "RUN_STARTED"]
    assert len(started) == len(set(started)) == 5
    # Later jobs come through the queues as before.
    bench.new_run()
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 6, "for one more")


def test_bull_board_shows_the_queues_and_lets_nobody_change_them(
    bench: Bench, gate: Gate, redis: RedisServer, program: list[str], tmp_path: Path
) -> None:
    _fill(bench, gate, redis)
    with _three_more_seats(redis), _board(program, redis) as port:
        wait_for(lambda: _counts(port) == (3, 2), "for the counts", SIGHT_SECONDS)
        shown = _queues(port)
        assert set(shown) == set(STAGE_NAMES)
        assert {queue["readOnlyMode"] for queue in shown.values()} == {True}
        for change in ("clean/waiting", "promote", "pause", "empty", "retry/failed"):
            status, _ = _ask(port, "PUT", f"/api/queues/{PROCESS_DOCUMENT}/{change}")
            assert 400 <= status < 500
        wait_for(lambda: _counts(port) == (3, 2), "for the counts", SIGHT_SECONDS)
        _take_picture(port, Path(os.environ.get("PICTURES", tmp_path)) / "bull-board.png")


def _queues(port: int) -> dict[str, Any]:
    found = json.loads(_ask(port, "GET", f"/api/queues?activeQueue={PROCESS_DOCUMENT}")[1])
    return {queue["name"]: queue for queue in found["queues"]}


def _counts(port: int) -> tuple[int, int]:
    counts = _queues(port)[PROCESS_DOCUMENT]["counts"]
    return counts["waiting"], counts["active"]


def _ask(port: int, method: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    connection.request(method, path, b"{}", {"Content-Type": "application/json"})
    with connection.getresponse() as answer:
        found = answer.status, answer.read().decode()
    connection.close()
    return found


def _take_picture(port: int, path: Path) -> None:
    """The page as a person sees it; PICTURES names the folder where it is to be kept."""
    if find_chromium() is None:
        return

    def take(browser: Browser) -> None:
        page = browser.new_page(viewport=SIZE)
        page.goto(f"http://127.0.0.1:{port}/queue/{PROCESS_DOCUMENT}?status=active")
        page.get_by_text(f'"stage": "{PROCESS_DOCUMENT}"').or_(page.get_by_text("Active")).first.wait_for()
        page.screenshot(path=path)

    with_browser(take)
    assert path.stat().st_size > 10_000
