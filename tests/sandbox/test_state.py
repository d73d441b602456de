"""Which locks hold is told to operators, and SANDBOX=require means what it says."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulators.ports import free_port
from tests.guards.sources import ROOT
from webapp.config import Settings, SettingsError
from webapp.sandbox import state as sandbox_state

LOCKS = ["files", "network", "limits", "strays", "calls"]


def without_namespaces(tmp_path: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "FLASK_SKIP_DOTENV": "1", **variables}
    program = [sys.executable, "-m", "tests.sandbox.without_network_lock", *command]
    return subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=50, check=False)


def test_all_locks_hold_here() -> None:
    assert sandbox_state.locks() == dict.fromkeys(LOCKS, True)
    assert sandbox_state.missing() == []
    assert sandbox_state.refusal(required=True) is None


def test_the_locks_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        sandbox_state.log_locks()
    assert "files are read under these locks: files, network, limits, strays, calls" in caplog.text


@pytest.mark.slow
def test_a_missing_lock_is_a_warning_by_default(tmp_path: Path) -> None:
    program = "from webapp.sandbox.state import log_locks, refusal; log_locks(); print(refusal(required=False))"
    done = without_namespaces(tmp_path, "-c", program)
    assert "files are read without these locks, which this machine does not offer: network" in done.stderr
    assert done.stdout.strip() == "None"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [("worker.py",), ("-m", "gunicorn", "--config", "gunicorn.conf.py", "wsgi:app")], ids=["worker", "web"]
)
def test_nothing_starts_where_a_lock_is_required_and_missing(tmp_path: Path, command: tuple[str, ...]) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none"
    done = without_namespaces(tmp_path, *command, SANDBOX="require", DATABASE_URL=url, PORT=str(free_port()))
    assert done.returncode != 0
    assert "SANDBOX=require: these locks are missing here: network." in done.stderr


@pytest.mark.slow
def test_the_doctor_fails_where_a_required_lock_is_missing(tmp_path: Path) -> None:
    done = without_namespaces(tmp_path, "-m", "flask", "--app", "wsgi", "doctor", SANDBOX="require")
    assert done.returncode == 1
    assert "sandbox: missing network (held: files, limits, strays, calls)" in done.stdout
    assert "extraction: SANDBOX=require, and these locks are missing here: network" in done.stdout


def test_the_setting_knows_two_words(tmp_path: Path) -> None:
    def read(**variables: str) -> bool:
        return Settings.from_environment({"DATA_DIR": str(tmp_path), **variables}).parsers.requires_locks

    assert not read()
    assert read(SANDBOX="require")
    with pytest.raises(SettingsError, match="SANDBOX='off' is not known"):
        read(SANDBOX="off")
