"""What the pipeline's tests share: a workplace on each database, and a reader of sound."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.pipeline import studio
from tests.pipeline.workplace import Workplace, make_workplace
from webapp.config import Settings
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.sound import AudioDecoder


@pytest.fixture
def workplace(bare_app: Flask, settings: Settings, local_extractor: LocalExtractor) -> Workplace:
    return make_workplace(settings, local_extractor)


@pytest.fixture(scope="module")
def reader() -> Iterator[AudioDecoder]:
    """One reader's process for all tests of a module."""
    reader = AudioDecoder()
    yield reader
    reader.close()


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    yield
    studio.close_clients()
