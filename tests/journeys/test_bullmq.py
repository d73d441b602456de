"""Workers on PostgreSQL with BullMQ in front: real processes, and a Redis to which everything happens."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import psycopg
import pytest

from tests.certificates import certificates
from tests.conftest import DatabaseUnderTest
from tests.emulators.ports import free_port
from tests.journeys.site import END_SECONDS, Installation
from tests.pipeline.workplace import prose
from tests.redis_server import RedisServer, running_redis
from tests.worker.bench import wait_for
from webapp.clock import monotonic

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

# The promise is 1.5 s from the death to the claim; a busy machine and the first step take some more.
RERUN_SECONDS = 3.5
# Of six seats: then others have free ones for what a victim had.
AT_ONCE = 4
WORK = (sys.executable, "worker.py")


class Team:
    """A web process, workers, PostgreSQL and a Redis of their own."""

    def __init__(self, database: DatabaseUnderTest, redis: RedisServer, folder: Path) -> None:
        self.database, self.redis = database, redis
        variables = {
            **database.environment(folder / "data"),
            "DATABASE_OWNER_URL": database.owner_url,
            "QUEUE": "bullmq",
            "REDIS_URL": redis.url,
            "WORKER_THREADS": "2",
            "EMBED_THREADS": "1",
            "DRAIN_SECONDS": "5",
            "WEB_CONCURRENCY": "1",
        }
        self.site = Installation(variables, folder / "team.log")
        self.site.token = self.site.flask("tokens", "create", "--org", f"Team {uuid4().hex}", "--role", "operator")
        self.workers: list[subprocess.Popen[bytes]] = []
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self._running.enter_context(self.site.running("gunicorn", "wsgi:app"))
        self.site.wait_until_ready()
        return self

    def __exit__(self, *error: object) -> None:
        self._running.close()

    @property
    def log(self) -> str:
        return self.site.log.read_text()

    def add_worker(self) -> "subprocess.Popen[bytes]":
        self.workers.append(self._running.enter_context(self.site.running(*WORK)))
        return self.workers[-1]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(str(self.database.superuser_url), autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()

    def upload(self, number: int, paragraphs: int = 2) -> list[str]:
        first = int(time.time() * 1000) % 10**9
        files = {f"{first + one}.md": prose(paragraphs, start=first + 10 * paragraphs * one) for one in range(number)}
        return [str(document["id"]) for document in self.site.upload(files)]

    def wait_until_ready(self, documents: list[str]) -> None:
        for document in documents:
            self.site.wait_for_status(document, "READY")

    def relay(self) -> str | None:
        """The process id of the relay."""
        found = self.redis.client.get("{docmill}:docmill:relay")
        return str(found).split(":")[1] if found else None

    def wait_for_relay(self) -> int:
        wait_for(lambda: self.relay() is not None, "for a relay")
        return int(str(self.relay()))


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture
def team(postgresql_database: DatabaseUnderTest, redis: RedisServer, tmp_path: Path) -> Iterator[Team]:
    with Team(postgresql_database, redis, tmp_path) as team:
        team.add_worker()
        team.add_worker()
        team.wait_for_relay()
        yield team
    assert "Traceback" not in team.log


def test_documents_become_ready_by_offers_whatever_happens_to_redis(team: Team) -> None:
    documents = team.upload(6)
    team.redis.kill()
    documents += team.upload(6)
    team.redis.start()
    team.wait_for_relay()
    documents += team.upload(6)
    team.redis.freeze(is_on=True)
    documents += team.upload(6)
    team.wait_until_ready(documents[:12])
    team.redis.freeze(is_on=False)
    team.redis.client.flushall()
    documents += team.upload(6)
    team.wait_until_ready(documents)
    assert all(worker.poll() is None for worker in team.workers)
    attempts = "SELECT DISTINCT attempts FROM document_processing_jobs"
    assert team.rows(attempts) == [(0,)]
    started = "SELECT DISTINCT count(*) FROM run_events WHERE kind = 'RUN_STARTED' GROUP BY run_id"
    assert team.rows(started) == [(1,)]


_EMBEDS = """
    SELECT locked_by FROM document_processing_jobs
    WHERE status = 'PROCESSING' AND checkpoint ->> 'processing_stage' = 'embedding'
"""
_RESET_AND_BEGUN = """
    SELECT extract(epoch FROM min(created_at))::float8 FROM run_events
    WHERE kind IN ('STEP_REUSED', 'STEP_STARTED')
    AND created_at > (SELECT max(created_at) FROM run_events WHERE kind = 'JOB_RESET')
"""


_COME_TO_EMBEDDING = """
    SELECT count(*) FROM document_processing_jobs WHERE stage = 'process_document'
    AND (status = 'COMPLETED' OR checkpoint ->> 'processing_stage' = 'embedding')
"""


def _upload_until(team: Team, chosen: Callable[[set[int]], set[int]]) -> tuple[int, list[str]]:
    """Upload documents until one of the chosen workers embeds: its process id, and the documents."""
    documents: list[str] = []
    while not (pids := chosen({int(name.split(":")[1]) for (name,) in team.rows(_EMBEDS)})):
        if len(documents) % AT_ONCE == 0:
            team.wait_until_ready(documents)
        documents += team.upload(1, paragraphs=80)
        wait_for(lambda: team.rows(_COME_TO_EMBEDDING)[0][0] >= len(documents), "for one more")  # noqa: B023 - called at once
    return min(pids), documents


@pytest.mark.parametrize("is_relay", [True, False], ids=["relay", "another"])
def test_kill_9_of_a_worker_until_its_job_runs_again(team: Team, is_relay: bool) -> None:
    team.add_worker()
    registered = "SELECT id FROM workers WHERE lock_key IS NOT NULL AND ended_at IS NULL"
    wait_for(lambda: len(team.rows(registered)) == 3, "for the workers")
    relay = team.wait_for_relay()
    pid, documents = _upload_until(team, lambda pids: pids & {relay} if is_relay else pids - {relay})
    worker = next(one for one in team.workers if one.pid == pid)
    killed_at = time.time()
    worker.kill()
    worker.wait()
    wait_for(lambda: team.rows(_RESET_AND_BEGUN)[0][0] is not None, "for its job to run again")
    seconds = float(team.rows(_RESET_AND_BEGUN)[0][0]) - killed_at
    team.wait_until_ready(documents)
    assert seconds < RERUN_SECONDS, seconds


def test_a_team_listens_and_claims_without_redis_until_it_is_there_again(team: Team) -> None:
    team.redis.kill()
    team.wait_until_ready(team.upload(4))
    shown = team.site.get("/ops")["dispatch"]
    assert shown["queue"] == "bullmq"
    assert shown["redis"] == "away"
    team.redis.start()
    team.wait_for_relay()
    wait_for(lambda: team.site.get("/ops")["dispatch"]["redis"] == "ok", "for the page")
    assert str(team.site.get("/ops")["dispatch"]["relay"]).split(":")[1] == team.relay()
    team.wait_until_ready(team.upload(4))


# A start.


def _ended(site: Installation) -> tuple[int, str, float]:
    """How a worker ends that can't be used: its exit code, what it says, and how long that takes."""
    began_at = monotonic()
    with site.running(*WORK) as worker:
        code = worker.wait(END_SECONDS)
    return code, site.log.read_text(), monotonic() - began_at


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("redis://127.0.0.1:{closed}/0", "Connect call failed"),
        ("redis://:wrong-secret@127.0.0.1:{port}/0", "the user or the password is refused"),
        ("rediss://127.0.0.1:{port}/0", "Timeout"),
        ("redis://127.0.0.1:{port}/0?nonsense=1", "a parameter of the address can't be used"),
    ],
)
def test_a_wrong_address_or_password_ends_a_worker_with_a_sentence(
    postgresql_database: DatabaseUnderTest, tmp_path: Path, url: str, reason: str
) -> None:
    with running_redis(password="the-secret") as server:
        address = url.format(closed=free_port(), port=server.port)
        variables = {**postgresql_database.environment(tmp_path), "QUEUE": "bullmq", "REDIS_URL": address}
        code, said, seconds = _ended(Installation(variables, tmp_path / "worker.log"))
    assert code == 2, said
    assert "Redis at 127.0.0.1:" in said
    assert reason in said
    assert "Traceback" not in said
    assert "secret" not in said
    assert seconds < 40, "some seconds, and what the machine takes to start a process"


def test_tls_with_an_authority_of_ones_own_a_password_and_a_prefix(
    postgresql_database: DatabaseUnderTest, tmp_path: Path
) -> None:
    authority, key, certificate = certificates(tmp_path)
    options = ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority]
    server = RedisServer(*options, "--tls-auth-clients", "no", password="the-secret", scheme="rediss")
    variables = {**postgresql_database.environment(tmp_path / "data"), "QUEUE": "bullmq", "REDIS_PREFIX": "{ours}"}
    try:
        code, said, _ = _ended(Installation({**variables, "REDIS_URL": server.url}, tmp_path / "first.log"))
        assert code == 2
        assert "CERTIFICATE_VERIFY_FAILED" in said
        url = f"{server.url}?ssl_ca_certs={authority}"
        site = Installation({**variables, "REDIS_URL": url}, tmp_path / "second.log")
        with site.running(*WORK) as worker:
            wait_for(lambda: "jobs are taken from BullMQ" in site.log.read_text(), "for a worker")
            worker.terminate()
            assert worker.wait(END_SECONDS) == 0
        assert "secret" not in site.log.read_text()
    finally:
        server.stop()
