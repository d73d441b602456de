"""A person who mistypes a setting or starts twice reads one sentence, and no traceback."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.postgres import ROOT
from webapp.serving.listening import port_trouble

BIN = Path(sys.executable).parent
UPGRADE = [str(BIN / "flask"), "--app", "wsgi", "db", "upgrade"]


def words_of(command: list[str], folder: Path, **variables: str) -> str:
    """What a command that cannot do its work says."""
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "DATA_DIR": str(folder), "FLASK_SKIP_DOTENV": "1", **variables}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=50)
    assert done.returncode != 0
    assert done.stdout == ""
    return done.stderr


@pytest.mark.slow
@pytest.mark.alone
def test_a_setting_that_cannot_be_right_is_named(tmp_path: Path) -> None:
    words = words_of(UPGRADE, tmp_path, PORT="eighty")
    assert words.splitlines() == ["PORT='eighty' is not a whole number. Example: PORT=8000."]


@pytest.mark.slow
@pytest.mark.alone
def test_a_database_that_does_not_answer_is_said_to_be_away(tmp_path: Path) -> None:
    url = "postgresql://docmill:secret-of-the-database@127.0.0.1:1/docmill"
    words = words_of(UPGRADE, tmp_path, DATABASE_URL=url, SECRET_KEY="a key for tests only")
    assert words.startswith("The database does not answer, so its tables were not brought up to date.")
    assert "Traceback" not in words
    assert "secret" not in words


@pytest.mark.slow
@pytest.mark.alone
def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = words_of([str(BIN / "gunicorn"), "wsgi:app"], tmp_path, PORT=str(port))
    assert words.splitlines() == [
        f"Another program is listening on port {port} already. Choose another one: PORT={port + 1}"
    ]


@pytest.mark.slow
def test_a_port_that_becomes_free_is_waited_for() -> None:
    """A server that was killed keeps its port for a moment."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert "is listening" in str(port_trouble("127.0.0.1", port, patience_seconds=0))
        threading.Timer(0.5, other.close).start()
        assert port_trouble("127.0.0.1", port) is None


def test_gunicorns_first_process_reads_none_of_what_its_workers_do(tmp_path: Path) -> None:
    """They would inherit old code at a reload, and locks of threads that they have not."""
    look = (
        "import runpy, sys; found = runpy.run_path('gunicorn.conf.py');"
        "from gunicorn.util import load_class; load_class(found['worker_class']);"
        "print(*sorted(name for name in sys.modules if name.startswith(('webapp', 'onnxruntime', 'sqlalchemy'))))"
    )
    environment = {"PATH": "/usr/bin:/bin", "DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, env=environment, capture_output=True, check=True)
    known = ("webapp.config", "webapp.serving")
    read = done.stdout.decode().split()
    assert [name for name in read if name != "webapp" and not name.startswith(known)] == []


def test_an_address_is_tried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert "already" in (port_trouble("127.0.0.1", port) or "")
    assert port_trouble("127.0.0.1", port) is None
    assert port_trouble("203.0.113.1", port) == "HOST=203.0.113.1 is not an address of this machine."


@pytest.mark.slow
@pytest.mark.parametrize("loads", ["runpy.run_path('gunicorn.conf.py')", "__import__('worker').main()"])
def test_who_serves_or_works_does_not_hold_the_owners_address(tmp_path: Path, loads: str) -> None:
    """An attacker in such a process must not be able to drop the policies."""
    look = (
        f"import os, runpy; {loads}; from webapp.config import Settings; "
        "print(Settings.from_environment().database_owner_url, os.environ)"
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "DATA_DIR": str(tmp_path),
        "EXECUTION": "embedded",
        "DATABASE_URL": f"sqlite:///{tmp_path}/a.sqlite3",
        "DATABASE_OWNER_URL": "postgresql://owner:hunter2@127.0.0.1:1/docmill",
    }
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=50
    )
    assert str(tmp_path) in done.stdout, done.stderr
    assert "hunter2" not in done.stdout


@pytest.mark.parametrize("file", ["Procfile", "Makefile"])
def test_neither_is_the_owners_address_in_their_first_environment(file: str) -> None:
    """What a process forgets stays readable in /proc, so it must not be started with it."""
    starts = [
        line
        for line in (ROOT / file).read_text().splitlines()
        if ("gunicorn" in line and "wsgi:app" in line) or line.rstrip("'").endswith("python worker.py")
    ]
    assert len(starts) >= 2
    for line in starts:
        assert "exec env -u DATABASE_OWNER_URL " in line, line
