"""A real server on SQLite, embedded, and what benchmarks ask of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.journeys.site import Installation

SERVE = ("gunicorn", "wsgi:app")
PATIENCE_SECONDS, LOOK_SECONDS = 3600.0, 0.5


def installation(folder: Path, **variables: str) -> Installation:
    """An empty one in this folder, with these settings, and a token for it."""
    settings = {"DATA_DIR": str(folder / "data"), "POLL_SECONDS": "0.1", **variables}
    site = Installation(settings, folder / "server.log", patience_seconds=300)
    site.flask("db", "upgrade")
    site.token = site.flask("tokens", "create", "--org", "Home", "--role", "ops")
    return site


@contextmanager
def running(site: Installation) -> Iterator[Any]:
    """The server's process, from when it is ready to the end of the block."""
    with site.running(*SERVE) as server:
        site.wait_until_ready()
        yield server


def upload(site: Installation, name: str, data: bytes) -> str:
    """Upload a file; its document's id."""
    (document,) = site.upload({name: data})
    return str(document["id"])


def until(condition: Callable[[], object], look_seconds: float = LOOK_SECONDS) -> None:
    """Wait for it; the benchmark ends where it never comes."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("waited in vain; see the server's log")
        time.sleep(look_seconds)


def is_ready(site: Installation, document_id: str) -> bool:
    """Whether a document is READY; the benchmark ends where it failed."""
    status = str(site.get(f"/documents/{document_id}/status")["status"])
    if status not in {"PROCESSING", "READY"}:
        raise SystemExit(f"a document ended as {status}")
    return status == "READY"


def memory_mb(server: Any) -> float:
    """The memory of all processes of the server, what they share divided among them (PSS)."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            session = int(path.read_text(encoding="utf-8").rpartition(")")[2].split()[3])
            if session == server.pid:
                lines = (path.parent / "smaps_rollup").read_text(encoding="utf-8").splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / 1024
