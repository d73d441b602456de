"""The same product on other people's services: a server of its own, and emulators that keep the bill."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import samples
from tests.conftest import DatabaseUnderTest
from tests.emulators import azurite as emulated_azure
from tests.emulators.azurite import Azurite
from tests.emulators.clients import connect
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.emulators.server import KEY
from tests.journeys.site import Installation
from tests.worker.bench import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.azurite, pytest.mark.timeout(300)]

SERVE = ("gunicorn", "wsgi:app")
PAGES = 5


@pytest.fixture
def cloud(
    sqlite_database: DatabaseUnderTest,
    tmp_path: Path,
    azurite: Azurite,
    documentintelligence: DocumentIntelligence,
    openai: OpenAI,
) -> Iterator[Installation]:
    home = Installation(
        {
            **sqlite_database.environment(tmp_path / "data"),
            "POLL_SECONDS": "0.1",
            "DRAIN_SECONDS": "1",
            "AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string,
            "AZURE_STORAGE_CONTAINER": f"journey-{os.getpid()}",
            "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT": documentintelligence.url,
            "AZURE_DOCUMENTINTELLIGENCE_KEY": KEY,
            "AZURE_DOCUMENTINTELLIGENCE_WINDOW_PAGES": "2",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": openai.base_url,
            "OPENAI_EMBEDDING_DIMENSIONS": "64",
        },
        tmp_path / "server.log",
    )
    home.token = home.flask("tokens", "create", "--org", "Cloud", "--role", "ops")
    yield home
    assert "Traceback" not in home.log.read_text()


def test_a_document_goes_through_the_cloud_and_leaves_no_key_behind(
    cloud: Installation,
    azurite: Azurite,
    documentintelligence: DocumentIntelligence,
    openai: OpenAI,
    sqlite_database: DatabaseUnderTest,
    tmp_path: Path,
) -> None:
    book = samples.report_pdf(pages=PAGES)
    store = connect(azurite.connection_string, tmp_path / "copies", cloud.variables["AZURE_STORAGE_CONTAINER"])
    with cloud.running(*SERVE):
        cloud.wait_until_ready()
        assert store._container.exists()
        (uploaded,) = cloud.upload({"book.pdf": book})
        cloud.wait_for_status(uploaded["id"], "READY")
        assert documentintelligence.units() == PAGES
        found = cloud.get("/search?q=keepers")
        assert any(hit["document_id"] == uploaded["id"] for hit in found["hits"])
        assert not found["words_only"]
        names = {row["role"]: row["name"] for row in cloud.get("/ops")["providers"]}
        assert (names["blobs"], names["extraction"], names["embeddings"]) == ("azure", "azure", "openai")
        status, original = cloud._send("GET", f"/documents/{uploaded['id']}/original", headers={"Range": "bytes=0-4"})
        assert (status, original) == (206, b"%PDF-")
        assert "extraction: ok (azure)" in cloud.flask("doctor")

    kept = b"".join(store.read_bytes(info.path) for info in store.list())
    rows = "\n".join(_dump(sqlite_database))
    for secret in (KEY, emulated_azure.KEY):
        assert secret not in cloud.log.read_text()
        assert secret not in rows
        assert secret.encode() not in kept
    assert "Request headers" not in cloud.log.read_text(), "the log is not about every request to a service"
    assert openai.paid_twice() == documentintelligence.paid_twice() == {}


def test_a_server_that_is_killed_while_azure_works_pays_once(
    cloud: Installation, documentintelligence: DocumentIntelligence
) -> None:
    documentintelligence.keeps_running = True
    with cloud.running(*SERVE) as server:
        cloud.wait_until_ready()
        (uploaded,) = cloud.upload({"book.pdf": samples.report_pdf(pages=PAGES)})
        wait_for(lambda: documentintelligence.calls["poll"] > 5, "for Azure to be looked after")
        os.killpg(server.pid, signal.SIGKILL)
    documentintelligence.keeps_running = False

    with cloud.running(*SERVE):
        cloud.wait_until_ready()
        wait_for(lambda: cloud.status(uploaded["id"]) != "PROCESSING", "for the end of what was at work")
        if cloud.status(uploaded["id"]) == "FAILED":
            cloud.post(f"/documents/{uploaded['id']}/reprocess")
        cloud.wait_for_status(uploaded["id"], "READY")
    assert documentintelligence.units() == PAGES
    assert documentintelligence.paid_twice() == {}


def _dump(database: DatabaseUnderTest) -> list[str]:
    """All that the database holds, as text."""
    connection = sqlite3.connect(database.url.removeprefix("sqlite:///"))
    lines = [line for line in connection.iterdump() if "fts" not in line.lower()]
    connection.close()
    return lines
