"""A workplace on each database."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.pipeline.workplace import Workplace, make_workplace
from webapp.config import Settings
from webapp.providers.local_extract import LocalExtractor


@pytest.fixture(scope="session")
def extractor() -> Iterator[LocalExtractor]:
    """One parsers' process for all tests of this worker."""
    extractor = LocalExtractor(memory_mb=512)
    yield extractor
    extractor.close()


@pytest.fixture
def workplace(bare_app: Flask, settings: Settings, extractor: LocalExtractor) -> Workplace:
    return make_workplace(settings, extractor)
