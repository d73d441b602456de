"""`make run` as a person has it: one server, killed, stopped and started again."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import DatabaseUnderTest
from tests.journeys.site import END_SECONDS, Installation
from tests.pipeline.workplace import prose
from tests.worker.bench import wait_for
from webapp.clock import monotonic

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

SERVE = ("gunicorn", "wsgi:app")
# Long enough to be caught in the middle of its embedding.
LONG = prose(300)


@pytest.fixture
def home(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Installation]:
    home = Installation(
        {**sqlite_database.environment(tmp_path / "data"), "POLL_SECONDS": "0.1", "DRAIN_SECONDS": "1"},
        tmp_path / "server.log",
    )
    home.token = home.flask("tokens", "create", "--org", "Home", "--role", "ops")
    yield home
    said = home.log.read_text()
    assert "Traceback" not in said
    assert "was sent SIGABRT" not in said
    assert "was sent SIGSEGV" not in said


def _host_pid(database: DatabaseUnderTest) -> int | None:
    """The process that works, as it has reported itself."""
    with sqlite3.connect(database.url.removeprefix("sqlite:///")) as connection:
        row = connection.execute("SELECT pid FROM workers ORDER BY started_at DESC LIMIT 1").fetchone()
    connection.close()
    return row[0] if row else None


def _wait_for_host(database: DatabaseUnderTest) -> int:
    wait_for(lambda: _host_pid(database) is not None)
    pid = _host_pid(database)
    assert pid is not None
    return pid


def _caught_at_work(home: Installation) -> str:
    """A document in the middle of its processing."""
    (uploaded,) = home.upload({"long.md": LONG})
    document_id = str(uploaded["id"])
    wait_for(lambda: home.get(f"/documents/{document_id}/status")["stage"] == "embedding")
    return document_id


def _end(server: "subprocess.Popen[bytes]", number: int) -> float:
    """Seconds until it has ended well."""
    began_at = monotonic()
    server.send_signal(number)
    assert server.wait(END_SECONDS) == 0
    return monotonic() - began_at


def _failed_for(home: Installation, document_id: str) -> str:
    home.wait_for_status(document_id, "FAILED")
    return str(home.get(f"/documents/{document_id}")["run"]["failure_type"])


def test_kill_9_of_the_working_process_is_mended_by_the_one_that_follows(
    home: Installation, sqlite_database: DatabaseUnderTest
) -> None:
    with home.running(*SERVE) as server:
        home.wait_until_ready()
        host = _wait_for_host(sqlite_database)
        document_id = _caught_at_work(home)
        os.kill(host, signal.SIGKILL)
        wait_for(lambda: _host_pid(sqlite_database) != host)
        home.wait_until_ready()
        assert _failed_for(home, document_id) == "PROCESS_TERMINATED"
        home.post(f"/documents/{document_id}/reprocess")
        home.wait_for_status(document_id, "READY")
        _end(server, signal.SIGTERM)


def test_kill_9_of_everything_is_mended_by_the_next_start(home: Installation) -> None:
    with home.running(*SERVE) as server:
        home.wait_until_ready()
        document_id = _caught_at_work(home)
        os.killpg(server.pid, signal.SIGKILL)
    began_at = monotonic()
    with home.running(*SERVE) as server:
        home.wait_until_ready()
        assert monotonic() - began_at < 15, "a restart answers soon, even on a busy machine"
        assert _failed_for(home, document_id) == "PROCESS_TERMINATED"
        home.post(f"/documents/{document_id}/reprocess")
        home.wait_for_status(document_id, "READY")
        _end(server, signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_idle_server_ends_cleanly_and_soon(home: Installation, number: int) -> None:
    with home.running(*SERVE) as server:
        home.wait_until_ready()
        (uploaded,) = home.upload({"short.md": prose(1)})
        home.wait_for_status(str(uploaded["id"]), "READY")
        assert _end(server, number) < 10


def test_ctrl_c_in_the_middle_of_the_work_ends_cleanly_too(home: Installation) -> None:
    """A terminal sends SIGINT to the whole group."""
    with home.running(*SERVE) as server:
        home.wait_until_ready()
        document_id = _caught_at_work(home)
        os.killpg(server.pid, signal.SIGINT)
        assert server.wait(END_SECONDS) == 0
    with home.running(*SERVE):
        home.wait_until_ready()
        wait_for(lambda: home.status(document_id) in {"READY", "FAILED"})


def test_a_second_server_on_the_same_database_serves_pages_only(
    home: Installation, tmp_path: Path, sqlite_database: DatabaseUnderTest
) -> None:
    with home.running(*SERVE) as server:
        home.wait_until_ready()
        host = _wait_for_host(sqlite_database)
        second = Installation(home.variables, tmp_path / "second.log", token=home.token)
        with second.running(*SERVE):
            second.wait_until_ready()
            wait_for(lambda: "this one serves pages only" in second.log.read_text())
            (uploaded,) = second.upload({"short.md": prose(1)})
            second.wait_for_status(str(uploaded["id"]), "READY")
            assert _host_pid(sqlite_database) == host
            _end(server, signal.SIGTERM)
            (uploaded,) = second.upload({"another.md": prose(1, start=7)})
            second.wait_for_status(str(uploaded["id"]), "READY")
