"""What the tests of OCR share."""

from collections.abc import Iterator

import pytest

from tests import scans
from webapp.providers.local.extract import LocalExtractor


@pytest.fixture(scope="session")
def extractor() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor(ocr=scans.reader())
    yield extractor
    extractor.close()
