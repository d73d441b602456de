"""A workplace on each database."""

import pytest
from flask import Flask

from tests.pipeline.workplace import Workplace, make_workplace
from webapp.config import Settings
from webapp.providers.local_extract import LocalExtractor


@pytest.fixture
def workplace(bare_app: Flask, settings: Settings, local_extractor: LocalExtractor) -> Workplace:
    return make_workplace(settings, local_extractor)
