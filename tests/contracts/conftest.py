"""The implementations that the contract suites run on: a new one is a new line here."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests import local_providers
from tests.contracts.polled import PolledExtractor
from tests.emulators import live
from tests.emulators.clients import azure_extractor, openai_embedder
from tests.jobs.bull_rig import BullQueueRig
from tests.jobs.rig import QueueRig, SqlQueueRig
from webapp.providers.local.blob import LocalBlobStore
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.models.embedding_files import E5, MINILM
from webapp.providers.ports import BlobStore, Embedder, Extractor

# Real accounts, out of the environment: only with -m live.
LIVE = pytest.param("live", marks=pytest.mark.live)


@pytest.fixture(params=["local", pytest.param("azure", marks=pytest.mark.azurite), LIVE])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlobStore]:
    if request.param == "local":
        yield LocalBlobStore(tmp_path / "blobs")
    elif request.param == "azure":
        yield request.getfixturevalue("azure_store")
    else:
        with live.container(tmp_path / "incoming") as store:
            yield store


@pytest.fixture(scope="session", params=["local", "azure", LIVE])
def extractor(request: pytest.FixtureRequest, local_extractor: LocalExtractor) -> Extractor:
    if request.param == "local":
        return local_extractor
    if request.param == "azure":
        server = request.getfixturevalue("documentintelligence_server")
        return PolledExtractor(azure_extractor(server, local_extractor))
    return PolledExtractor(live.extractor(local_extractor))


@pytest.fixture(scope="session", params=["minilm", "e5", "openai", LIVE])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if local := {"minilm": MINILM, "e5": E5}.get(request.param):
        return LocalEmbedder(local_providers.models_folder(), made_by=local, threads=1)
    if request.param == "openai":
        return openai_embedder(request.getfixturevalue("openai_server"))
    return live.embedder()


@pytest.fixture(params=["database", pytest.param("bullmq", marks=pytest.mark.redis)])
def rig(request: pytest.FixtureRequest, bare_app: Flask) -> Iterator[QueueRig]:
    if request.param == "database":
        yield SqlQueueRig(bare_app)
        return
    rig = BullQueueRig(bare_app, request.getfixturevalue("redis_server"))
    yield rig
    rig.offered.close()
