"""What the readers' tests share."""

import pytest

from webapp.providers.local.extract import LocalExtractor


@pytest.fixture(scope="session")
def extractor(local_extractor: LocalExtractor) -> LocalExtractor:
    return local_extractor
