"""The implementations that the contract suites run on: a new one is a new line here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import dispose, make_bare_app, settings_for
from tests.jobs.letterbox import Letterbox, SqlLetterbox
from tests.providers import stand
from webapp.providers.local_blob import LocalBlobStore
from webapp.providers.local_embed import LocalEmbedder
from webapp.providers.local_extract import LocalExtractor
from webapp.providers.ports import BlobStore, Embedder, Extractor


@pytest.fixture(params=["local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    stores = {"local": lambda: LocalBlobStore(tmp_path / "blobs")}
    return stores[request.param]()


@pytest.fixture(scope="session", params=["local"])
def extractor(request: pytest.FixtureRequest) -> Iterator[Extractor]:
    extractors = {"local": lambda: LocalExtractor(memory_mb=512)}
    extractor = extractors[request.param]()
    yield extractor
    extractor.close()


@pytest.fixture(scope="session", params=["local"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    embedders = {"local": lambda: LocalEmbedder(stand.models_folder(), threads=1)}
    return embedders[request.param]()


@pytest.fixture(params=["sqlite", "postgresql"])
def letterbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Letterbox]:
    url = request.getfixturevalue(f"{request.param}_database").url
    app = make_bare_app(settings_for(tmp_path / "data", DATABASE_URL=url))
    with app.app_context():
        yield SqlLetterbox(app)
    dispose(app)
