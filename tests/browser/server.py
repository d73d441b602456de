"""Docmill as a process of its own, for a browser to visit."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.emulators.ports import free_port
from tests.postgres import ROOT
from tests.preloaded import Preloaded, printed_by
from webapp.providers.models import htmx

START_SECONDS = 60
STOP_SECONDS = 45
MODELS = ROOT / ".cache" / "models"
_LINK = re.compile(r"http://\S+/sign-in/\S+")


@dataclass(frozen=True)
class Visit:
    """A running Docmill and the link that lets its owner in."""

    url: str
    link: str


@contextmanager
def docmill(data_dir: Path, **variables: str) -> Iterator[Visit]:
    """Migrate, start, wait until it answers; in the end ask it to stop and see that it does."""
    htmx.ensure(MODELS)
    port = str(free_port())
    environment = _environment(data_dir, PORT=port, **variables)
    printed_by(["flask", "--app", "wsgi", "db", "upgrade"], environment)
    log = data_dir / "server.log"
    process = Preloaded(["gunicorn", "wsgi:app"], environment, log)
    try:
        yield Visit(f"http://127.0.0.1:{port}", _sign_in_link(process, log))
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            process.kill()
            process.wait()


def _environment(data_dir: Path, **variables: str) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    own = {
        "DATA_DIR": str(data_dir),
        "MODELS_DIR": str(MODELS),
        "SECRET_KEY": "for tests only, long",
    }
    return {**inherited, **own, **variables}


def _sign_in_link(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """The link that a start prints once pages are served."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        text = log.read_text(encoding="utf-8", errors="replace")
        if found := _LINK.search(text):
            return found[0]
        try:
            # Waiting for the process to end is also a pause that ends at once if it does.
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(f"Docmill did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
