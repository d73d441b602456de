"""What the tests of Office documents share: a child of the sandbox reads each of them."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from webapp.providers.local.extract import LocalExtractor
from webapp.readers.extraction import Extraction

Read = Callable[[bytes, str], Extraction]
SECONDS_MAX = 30.0


@pytest.fixture
def read(extractor: LocalExtractor, tmp_path: Path) -> Read:
    def read(data: bytes, content_type: str) -> Extraction:
        path = tmp_path / "document"
        path.write_bytes(data)
        started = time.monotonic()
        try:
            return extractor.extract(path, content_type, timeout_seconds=SECONDS_MAX, progress=lambda _: None)
        finally:
            assert time.monotonic() - started < SECONDS_MAX

    return read
