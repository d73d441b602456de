"""A bench on each database."""

from collections.abc import Iterator

import pytest
from flask import Flask

from tests.worker.bench import Bench
from webapp.config import Settings


@pytest.fixture
def bench(bare_app: Flask, settings: Settings) -> Iterator[Bench]:
    bench = Bench.make(bare_app, settings)
    yield bench
    bench.close()
