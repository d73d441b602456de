"""What the providers' tests share."""

from pathlib import Path

import pytest

from tests import local_providers
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.local.extract import LocalExtractor


@pytest.fixture(scope="session")
def models() -> Path:
    return local_providers.models_folder()


@pytest.fixture(scope="session")
def embedder(models: Path) -> LocalEmbedder:
    return LocalEmbedder(models, threads=1)


@pytest.fixture(scope="session")
def extractor(local_extractor: LocalExtractor) -> LocalExtractor:
    return local_extractor
