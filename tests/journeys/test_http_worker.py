"""A worker in another language, over HTTP: it takes notes of recordings, and dies by SIGKILL at every call."""

import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import sounds
from tests.conftest import DatabaseUnderTest
from tests.emulators import nodejs
from tests.emulators.openai import OpenAI
from tests.emulators.server import KEY
from tests.journeys.place import Place, running_place
from tests.postgres import ROOT
from tests.worker.bench import wait_for
from webapp.config.queue import STAGE_NAMES

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

WORKER = Path(__file__).parent / "http_worker.mjs"
DOCS = ROOT / "docs" / "workers-over-http.md"
CALLS = ("claim", "inputs", "heartbeat", "checkpoint", "results", "complete")
MOMENTS = ("before", "sent", "answered")
PATIENCE_SECONDS = 120.0


@pytest.fixture
def node() -> str:
    try:
        return str(nodejs.node())
    except nodejs.NotInstalled as error:
        pytest.skip(f"the worker of this test needs node: {error}")


@pytest.fixture
def place(database: DatabaseUnderTest, openai: OpenAI, tmp_path: Path) -> Iterator[Place]:
    """An installation whose own workers leave the notes to others."""
    own = ",".join(stage for stage in STAGE_NAMES if stage != "analyze")
    variables = {
        "WORKER_STAGES": own,
        "JOB_MAX_ATTEMPTS": "5",
        "HTTP_WORKER_SILENT_SECONDS": "1.5",
        "HEARTBEAT_SECONDS": "1",
        "WATCHDOG_SECONDS": "0.5",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": openai.base_url,
        "OPENAI_EMBEDDING_DIMENSIONS": "64",
    }
    with running_place(database, tmp_path, **variables) as found:
        yield found


def _start(node: str, place: Place, token: str, **variables: str) -> "subprocess.Popen[bytes]":
    environment = {"PATH": os.environ["PATH"], "URL": f"http://127.0.0.1:{place.site.port}", "TOKEN": token}
    return subprocess.Popen([node, WORKER], env={**environment, **variables}, stdin=subprocess.DEVNULL)


def _rows(database: DatabaseUnderTest, query: str) -> list[tuple[Any, ...]]:
    if database.superuser_url is None:
        connection = sqlite3.connect(database.url.removeprefix("sqlite:///"))
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()
    with psycopg.connect(database.superuser_url) as found:
        return found.execute(query.encode()).fetchall()


def test_a_worker_that_is_killed_at_every_call_makes_every_recording_ready_once(
    place: Place, database: DatabaseUnderTest, openai: OpenAI, node: str
) -> None:
    deaths = [(call, moment) for call in CALLS for moment in MOMENTS]
    documents = [
        place.upload(f"{number}.wav", sounds.wav(sounds.babble(2, pitch=100 + number)))
        for number, _ in enumerate(deaths)
    ]
    wait_for(lambda: _waiting(database) == len(documents), "for the transcripts", PATIENCE_SECONDS)
    found = place.site.get(f"/documents/{documents[0]}/status")
    assert (found["status"], found["waits_for"]) == ("PROCESSING", "worker")
    stages = {row["stage"]: row for row in place.site.get("/ops")["stages"]}
    assert stages["analyze"]["is_untaken"]
    assert not stages["index"]["is_untaken"]

    token = place.site.flask("tokens", "create", "--org", place.org, "--role", "worker")
    for number, (call, moment) in enumerate(deaths):
        worker = _start(node, place, token, DIE_AT=call, DIE=moment, WORKER=f"dies-{number}", QUIET_SECONDS="30")
        assert worker.wait(PATIENCE_SECONDS) == -signal.SIGKILL, f"{call} {moment}"
    assert _start(node, place, token, QUIET_SECONDS="6").wait(PATIENCE_SECONDS) == 0

    for document_id in documents:
        place.site.wait_for_status(document_id, "READY")
    _once(database, len(documents))
    summaries = {
        field["value"]
        for document_id in documents
        for field in place.site.get(f"/documents/{document_id}/fields")["fields"]
        if field["name"] == "Summary"
    }
    assert {summary.partition(" ")[0] for summary in summaries} == {"Node"}
    assert openai.calls["chat"] == 0
    assert openai.paid_twice() == {}


def test_the_worker_in_the_docs_works(place: Place, node: str, tmp_path: Path) -> None:
    (example,) = re.findall(r"```js\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "example.mjs").write_text(example)
    token = place.site.flask("tokens", "create", "--org", place.org, "--role", "worker")
    address = f"http://127.0.0.1:{place.site.port}"
    environment = {"PATH": os.environ["PATH"], "DOCMILL": address, "TOKEN": token}
    worker = subprocess.Popen([node, tmp_path / "example.mjs"], env=environment, stdin=subprocess.DEVNULL)
    try:
        document_id = place.upload("call.wav", sounds.wav(sounds.babble(4)))
        place.site.wait_for_status(document_id, "READY")
        fields = place.site.get(f"/documents/{document_id}/fields")["fields"]
        assert [field["value"] for field in fields if field["name"] == "Summary"] != []
        assert worker.poll() is None
    finally:
        worker.kill()
        worker.wait(PATIENCE_SECONDS)


def _waiting(database: DatabaseUnderTest) -> int:
    waiting = "SELECT count(*) FROM document_processing_jobs WHERE stage = 'analyze' AND status = 'PENDING'"
    return int(_rows(database, waiting)[0][0])


def _once(database: DatabaseUnderTest, documents: int) -> None:
    """Each thing of each recording happened once, whoever died."""
    wait_for(lambda: _rows(database, "SELECT 1 FROM document_processing_jobs WHERE completed_at IS NULL") == [])
    stages = "SELECT stage, status, count(*) FROM document_processing_jobs GROUP BY stage, status"
    assert {row[1:] for row in _rows(database, stages)} == {("COMPLETED", documents)}
    per_run = "SELECT count(*) FROM run_events WHERE kind = '{}' GROUP BY run_id"
    assert _rows(database, per_run.format("RUN_SUCCEEDED")) == [(1,)] * documents
    done = "SELECT count(*) FROM run_events WHERE kind = 'STEP_SUCCEEDED' AND step = 'analyzing' GROUP BY run_id"
    assert _rows(database, done) == [(1,)] * documents
    assert _rows(database, "SELECT kind, count(*) FROM artifacts WHERE kind = 'analysis' GROUP BY kind") == [
        ("analysis", documents)
    ]
    reset = "SELECT count(*) FROM run_events WHERE kind = 'JOB_RESET'"
    # All died but those before and at the claim, or with an end that the server had taken in.
    assert _rows(database, reset)[0][0] >= len(MOMENTS) * (len(CALLS) - 2)
