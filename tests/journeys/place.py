"""An installation with one process that works, which must outlive whatever a test does to it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.conftest import DatabaseUnderTest
from tests.journeys.site import Installation

MULTIPART = "multipart/form-data; boundary=border"


@dataclass
class Place:
    """The installation, and who works there: the web process itself on SQLite."""

    site: Installation
    web: "subprocess.Popen[bytes]"
    worker: "subprocess.Popen[bytes]"
    org: str = ""

    @property
    def log(self) -> str:
        """What its processes have said so far."""
        return self.site.log.read_text()

    def upload(self, name: str, data: bytes) -> str:
        """The new document's id."""
        (document,) = self.site.upload({name: data})
        return str(document["id"])

    def refused_upload(self, name: str, data: bytes, accept: str = "application/json") -> tuple[int, str]:
        """Status and text of the answer to an upload that cannot be taken in."""
        head = f'--border\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + data + b"\r\n--border--\r\n"
        return self.site.refused("/documents", body, Accept=accept, **{"Content-Type": MULTIPART})

    def named(self, name: str) -> list[dict[str, Any]]:
        """The documents with this filename."""
        found = self.site.get("/documents")["documents"]
        return [document for document in found if document["filename"] == name]

    def run(self, document_id: str) -> dict[str, Any]:
        """The newest run of a document."""
        found: dict[str, Any] = self.site.get(f"/documents/{document_id}")["run"]
        return found


@contextmanager
def running_place(database: DatabaseUnderTest, folder: Path, **variables: str) -> Iterator[Place]:
    """One that runs; in the end the same processes must still be there, with no error that nobody expected."""
    own = {"POLL_SECONDS": "0.1", "WORKER_THREADS": "2", "WEB_CONCURRENCY": "1", "STEP_ATTEMPTS": "1"}
    owner = {"DATABASE_OWNER_URL": database.owner_url}
    site = Installation({**database.environment(folder / "data"), **owner, **own, **variables}, folder / "site.log")
    org = f"Org {uuid4().hex}"
    site.token = site.flask("tokens", "create", "--org", org, "--role", "operator")
    with ExitStack() as running:
        web = worker = running.enter_context(site.running("gunicorn", "wsgi:app"))
        if database.name == "postgresql":
            worker = running.enter_context(site.running(sys.executable, "worker.py"))
        site.wait_until_ready()
        yield Place(site, web, worker, org)
        assert web.poll() is None
        assert worker.poll() is None
    said = site.log.read_text()
    assert "Traceback" not in said
    assert "was sent SIGABRT" not in said
    assert "was sent SIGSEGV" not in said
