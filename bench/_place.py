"""A new database with the product's services on it, and real worker processes that say when they begin a document."""

import io
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

from flask import Flask
from flask_migrate import upgrade

from bench._databases import DATABASES, postgresql
from tests.bare import dispose, make_bare_app, settings_for
from webapp.config import Settings
from webapp.jobs.states import JobStatus, Priority
from webapp.library.intake import ingest, receive
from webapp.services import Services
from webapp.wiring import wire

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 300.0
_LOOK_EVERY_SECONDS = 0.01


@dataclass(frozen=True)
class Place:
    """A migrated database, and what works on it. `owner_url` is a superuser's, on PostgreSQL."""

    name: str
    variables: Mapping[str, str]
    settings: Settings
    services: Services
    app: Flask
    owner_url: str | None

    def upload(self, org_id: UUID, data: bytes, filename: str, priority: int = Priority.PERSON) -> UUID:
        """Take a file in as the upload page does; the id of the document."""
        incoming = receive(self.services.providers.blobs.incoming(), io.BytesIO(data), len(data))
        return ingest(self.services, org_id, incoming, filename, priority).document.id

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of a process of the product."""
        found = {**os.environ, **self.variables, "SECRET_KEY": "a key for measuring only", **more}
        found.pop("DATABASE_OWNER_URL", None)
        return found

    def is_idle(self) -> bool:
        """Whether no job is queued or being worked on."""
        counts = self.services.queue.counts()
        return not counts.get(JobStatus.PENDING) and not counts.get(JobStatus.PROCESSING)


@contextmanager
def place(name: str, *, connections: int = 0) -> Iterator[Place]:
    """A new database, in whose application context the caller is; `connections` where it is to allow more of them."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with postgresql(connections) if connections else DATABASES[name]() as given:
        variables = {**given, "MODELS_DIR": os.environ.get("MODELS_DIR", str(ROOT / ".cache" / "models"))}
        settings = settings_for(Path(given["DATA_DIR"]), **{n: v for n, v in variables.items() if n != "DATA_DIR"})
        app = make_bare_app(settings)
        services = wire(settings)
        with app.app_context():
            upgrade()
            yield Place(name, variables, settings, services, app, given.get("DATABASE_OWNER_URL"))
        dispose(app)


class Worker:
    """A worker process (`bench._worker`), which is working when this exists and is killed at the end."""

    def __init__(self, at: Place, program: str = "bench._worker", **settings: str) -> None:
        descriptor, path = tempfile.mkstemp(prefix="worker-", suffix=".log", dir=at.settings.data_dir)
        self.log = Path(path)
        with os.fdopen(descriptor, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", program],
                cwd=ROOT,
                env=at.environment(**settings),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
            )
        assert self.process.stdout is not None
        self._output = self.process.stdout
        wait_until(lambda: self.has_logged("working with"))

    def has_logged(self, words: str) -> bool:
        """Whether these words are in its log."""
        return words in self.log.read_text()

    def begun(self) -> tuple[float, UUID]:
        """Wait for the next document that it begins: the moment (monotonic seconds), and which one."""
        nanoseconds, document = self._output.readline().split()
        return int(nanoseconds) / 1e9, UUID(document.decode())

    def lines(self) -> Iterator[str]:
        """What it prints, until it ends."""
        return (line.decode() for line in self._output)

    def fileno(self) -> int:
        """So that `select` can wait for it to begin a document."""
        return self._output.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()


def wait_until(is_so: Callable[[], bool], every_seconds: float = _LOOK_EVERY_SECONDS) -> None:
    """Look every 10 ms, or as often as is said, until it is so."""
    deadline, pause = time.monotonic() + PATIENCE_SECONDS, threading.Event()
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        pause.wait(every_seconds)
