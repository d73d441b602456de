"""The emulators as fixtures: each is started once in a test run, and is empty and well-behaved for each test."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.emulators import azurite as emulated_azure
from tests.emulators.azurite import Azurite
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.emulators.speechkit import SpeechKitServer

if TYPE_CHECKING:
    from webapp.providers.azure.blob import AzureBlobStore


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """A running Azurite; tests that ask for it have the mark `azurite`."""
    with emulated_azure.running(tmp_path_factory.mktemp("azurite")) as running:
        yield running


@pytest.fixture
def azure_store(azurite: Azurite, tmp_path: Path) -> "AzureBlobStore":
    """An empty store in a container of its own."""
    # Half a second for the vendors' clients, which only these tests have to pay.
    from tests.emulators.clients import connect  # noqa: PLC0415

    return connect(azurite.connection_string, tmp_path / "incoming")


@pytest.fixture(scope="session")
def openai_server() -> Iterator[OpenAI]:
    """A running server; `openai` is the same, empty."""
    server = OpenAI()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def openai(openai_server: OpenAI) -> Iterator[OpenAI]:
    """OpenAI with an empty ledger, on its best behaviour."""
    openai_server.reset()
    yield openai_server
    # Clients that still wait for an answer need not wait any longer.
    openai_server.reset()


@pytest.fixture(scope="session")
def documentintelligence_server() -> Iterator[DocumentIntelligence]:
    """A running server; `documentintelligence` is the same, empty."""
    server = DocumentIntelligence()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def documentintelligence(documentintelligence_server: DocumentIntelligence) -> Iterator[DocumentIntelligence]:
    """Document Intelligence with an empty ledger, on its best behaviour."""
    documentintelligence_server.reset()
    yield documentintelligence_server
    documentintelligence_server.reset()


@pytest.fixture(scope="session")
def speechkit_server() -> Iterator[SpeechKitServer]:
    """A running server; `speechkit` is the same, empty."""
    server = SpeechKitServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def speechkit(speechkit_server: SpeechKitServer) -> Iterator[SpeechKitServer]:
    """SpeechKit without operations, on its best behaviour."""
    speechkit_server.reset()
    yield speechkit_server
    speechkit_server.reset()
