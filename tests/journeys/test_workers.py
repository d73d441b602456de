"""Workers mode as a team has it: web and worker processes of their own, on PostgreSQL."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import DatabaseUnderTest
from tests.emulators.ports import free_port
from tests.journeys.site import END_SECONDS, Installation
from tests.pipeline.workplace import prose
from tests.worker.bench import wait_for
from webapp.clock import monotonic

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

DOCUMENTS, TOGETHER = 200, 20
LONG = prose(300)
WORK = (sys.executable, "worker.py")


@pytest.fixture
def team(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Installation]:
    variables = {
        **postgresql_database.environment(tmp_path / "data"),
        "DATABASE_OWNER_URL": postgresql_database.owner_url,
        "POLL_SECONDS": "0.1",
        "HEARTBEAT_SECONDS": "1",
        "WATCHDOG_SECONDS": "0.5",
        "WORKER_THREADS": "2",
        "EMBED_THREADS": "1",
        "DRAIN_SECONDS": "5",
    }
    team = Installation(variables, tmp_path / "team.log")
    team.token = team.flask("tokens", "create", "--org", "Team", "--role", "ops")
    yield team
    said = team.log.read_text()
    assert "Traceback" not in said
    assert "SIGABRT" not in said


def _rows(database: DatabaseUnderTest, query: str) -> list[tuple[Any, ...]]:
    assert database.superuser_url is not None
    with psycopg.connect(database.superuser_url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_honcho_start_makes_two_hundred_documents_ready_each_processed_once(
    team: Installation, postgresql_database: DatabaseUnderTest
) -> None:
    with team.running("honcho", "start", "-c", "web=1,worker=2", "-p", str(team.port)) as honcho:
        team.wait_until_ready()
        wait_for(lambda: len(_rows(postgresql_database, "SELECT id FROM workers")) == 2)
        for first in range(0, DOCUMENTS, TOGETHER):
            numbers = range(first, first + TOGETHER)
            assert len(team.upload({f"{number}.md": prose(2, start=10 * number) for number in numbers})) == TOGETHER
        _wait_for_all(team)
        honcho.send_signal(signal.SIGTERM)
        honcho.wait(END_SECONDS)
    _assert_each_once(postgresql_database)


def _wait_for_all(team: Installation) -> None:
    deadline, pause = monotonic() + 200, threading.Event()
    while (counts := team.get("/documents")["counts"])["READY"] < DOCUMENTS:
        assert counts["FAILED"] == counts["TIMED_OUT"] == 0
        assert monotonic() < deadline, f"{counts}; the log is {team.log}"
        pause.wait(0.5)


def _assert_each_once(database: DatabaseUnderTest) -> None:
    per_run = "SELECT count(*) FROM run_events WHERE kind = '{}' GROUP BY run_id"
    for kind in ("RUN_STARTED", "RUN_SUCCEEDED"):
        assert _rows(database, per_run.format(kind)) == [(1,)] * DOCUMENTS
    steps = "SELECT count(*) FROM run_events WHERE kind IN ('STEP_SUCCEEDED', 'STEP_REUSED') GROUP BY run_id, step"
    assert set(_rows(database, steps)) == {(1,)}
    assert _rows(database, "SELECT DISTINCT attempts FROM document_processing_jobs") == [(0,)]
    assert _rows(database, "SELECT 1 FROM chunks GROUP BY document_id, ordinal HAVING count(*) > 1") == []


def _is_alive(site: Installation) -> bool:
    try:
        return bool(site.get("/healthz") == {"status": "ok"})
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_idle_web_process_ends_cleanly_and_soon(team: Installation, number: int) -> None:
    with team.running("gunicorn", "wsgi:app") as web:
        team.wait_until_ready()
        began_at = monotonic()
        web.send_signal(number)
        assert web.wait(END_SECONDS) == 0
        assert monotonic() - began_at < 10


def test_a_web_process_begins_without_its_database_and_says_so_in_one_line(tmp_path: Path) -> None:
    url = f"postgresql://docmill:secret-of-the-database@127.0.0.1:{free_port()}/docmill"
    alone = Installation({"DATA_DIR": str(tmp_path), "DATABASE_URL": url, "WEB_CONCURRENCY": "1"}, tmp_path / "web.log")
    with alone.running("gunicorn", "wsgi:app") as web:
        wait_for(lambda: _is_alive(alone))
        assert alone.refused("/readyz")[0] == 503
        web.send_signal(signal.SIGTERM)
        assert web.wait(END_SECONDS) == 0
    said = alone.log.read_text()
    assert "the database does not answer" in said
    assert "Traceback" not in said
    assert "secret" not in said


class TestWorkerProcess:
    @pytest.fixture
    def web(self, team: Installation) -> Iterator[Installation]:
        with team.running("gunicorn", "wsgi:app"):
            team.wait_until_ready()
            yield team

    def _caught_at_work(self, web: Installation) -> str:
        (uploaded,) = web.upload({"long.md": LONG})
        document_id = str(uploaded["id"])
        wait_for(lambda: web.get(f"/documents/{document_id}/status")["stage"] == "embedding")
        return document_id

    def test_sigterm_to_the_group_hands_the_job_back_uncounted(
        self, web: Installation, postgresql_database: DatabaseUnderTest
    ) -> None:
        with web.running(*WORK) as worker:
            document_id = self._caught_at_work(web)
            began_at = monotonic()
            os.killpg(worker.pid, signal.SIGTERM)
            assert worker.wait(END_SECONDS) == 0
            assert monotonic() - began_at < 5 + 5
        job = "SELECT status, attempts, lease_id FROM document_processing_jobs"
        assert _rows(postgresql_database, job) == [("PENDING", 0, None)]
        assert _rows(postgresql_database, "SELECT id FROM workers") == []
        with web.running(*WORK):
            web.wait_for_status(document_id, "READY")
        assert _rows(postgresql_database, "SELECT count(*) FROM run_events WHERE kind = 'RUN_STARTED'") == [(1,)]

    def test_a_second_signal_ends_it_at_once_and_safely(
        self, team: Installation, postgresql_database: DatabaseUnderTest
    ) -> None:
        team.variables = {**team.variables, "DRAIN_SECONDS": "600"}
        with team.running("gunicorn", "wsgi:app"), team.running(*WORK) as worker:
            team.wait_until_ready()
            self._caught_at_work(team)
            os.kill(worker.pid, signal.SIGTERM)
            wait_for(lambda: self._signalled_until_gone(worker))
        assert worker.returncode == 0
        assert _rows(postgresql_database, "SELECT DISTINCT status FROM document_processing_jobs")[0][0] != "PROCESSING"

    @staticmethod
    def _signalled_until_gone(worker: "subprocess.Popen[bytes]") -> bool:
        if worker.poll() is None:
            os.kill(worker.pid, signal.SIGTERM)
        return worker.poll() is not None

    def test_kill_9_costs_an_attempt_and_nothing_else(
        self, web: Installation, postgresql_database: DatabaseUnderTest
    ) -> None:
        with web.running(*WORK) as worker:
            document_id = self._caught_at_work(web)
            worker.kill()
            worker.wait()
        with psycopg.connect(str(postgresql_database.superuser_url)) as connection:
            connection.execute("UPDATE document_processing_jobs SET heartbeat_at = now() - interval '3 hours'")
        with web.running(*WORK):
            web.wait_for_status(document_id, "READY")
        attempts = "SELECT attempts FROM document_processing_jobs WHERE stage = 'process_document'"
        assert _rows(postgresql_database, attempts) == [(1,)]
        reset = "SELECT count(*) FROM run_events WHERE kind = 'JOB_RESET'"
        assert _rows(postgresql_database, reset) == [(1,)]
        chunks = "SELECT 1 FROM chunks GROUP BY document_id, ordinal HAVING count(*) > 1"
        assert _rows(postgresql_database, chunks) == []


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"DATABASE_URL": ""}, "In the embedded mode the web process does the work"),
        ({"DATABASE_URL": "", "POLL_SECONDS": "soon"}, "POLL_SECONDS='soon' is not a number"),
    ],
)
def test_a_worker_that_cannot_be_of_use_says_why(tmp_path: Path, variables: dict[str, str], sentence: str) -> None:
    nowhere = Installation({"DATA_DIR": str(tmp_path), **variables}, tmp_path / "worker.log")
    with nowhere.running(*WORK) as worker:
        assert worker.wait(END_SECONDS) == 2
    assert sentence in nowhere.log.read_text()
