"""What the providers' tests share; the contract suites take the same from here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.providers import stand
from webapp.providers.local_embed import LocalEmbedder
from webapp.providers.local_extract import LocalExtractor


@pytest.fixture(scope="session")
def models() -> Path:
    return stand.models_folder()


@pytest.fixture(scope="session")
def embedder(models: Path) -> LocalEmbedder:
    return LocalEmbedder(models, threads=1)


@pytest.fixture(scope="session")
def extractor() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor(memory_mb=512)
    yield extractor
    extractor.close()
