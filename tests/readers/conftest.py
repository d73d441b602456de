"""What the readers' tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from webapp.providers.local.extract import LocalExtractor
from webapp.readers.extraction import Extraction

Extract = Callable[[bytes, str], Extraction]


@pytest.fixture(scope="session")
def extractor(local_extractor: LocalExtractor) -> LocalExtractor:
    return local_extractor


@pytest.fixture
def extract(extractor: LocalExtractor, tmp_path: Path) -> Extract:
    """Read bytes as a file of a type, in the sandbox, as the pipeline does."""

    def extract(data: bytes, content_type: str) -> Extraction:
        source = tmp_path / "source"
        source.write_bytes(data)
        return extractor.extract(source, content_type, timeout_seconds=60, progress=lambda _: None)

    return extract
