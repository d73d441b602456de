"""What the providers' tests share; the contract suites take the same from here."""

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
def extractor(local_extractor: LocalExtractor) -> LocalExtractor:
    return local_extractor
