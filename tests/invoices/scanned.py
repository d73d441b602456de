"""Poor scans of printed documents: their words as OCR reads them, for the rules for fields."""

import os
import random
from functools import cache
from pathlib import Path

import pypdfium2

from tests import scans
from tests.local_providers import ROOT
from webapp.providers.models import ocr
from webapp.readers.fields.words import PageWords
from webapp.readers.pictures.page import PageReader
from webapp.readers.pictures.read import page_words

DEGREES = 1.2
POINTS_PER_PIXEL = 72 / scans.DPI


def scanned_pages(path: Path) -> list[PageWords]:
    """Read the pages of a PDF as if a poor scanner had made them: askew, blurred, grainy, packed hard."""
    document = pypdfium2.PdfDocument(path)
    try:
        return [_scanned(document, number, random.Random(f"{path.name} {number}")) for number in range(len(document))]
    finally:
        document.close()


def _scanned(document: pypdfium2.PdfDocument, index: int, chance: random.Random) -> PageWords:
    printed = document[index].render(scale=1 / POINTS_PER_PIXEL).to_pil().convert("L")
    scan = scans.noisy(printed, chance.uniform(-DEGREES, DEGREES), chance.randrange(1_000))
    return page_words(index + 1, _reader().read(scan.convert("RGB")), POINTS_PER_PIXEL)


@cache
def _reader() -> PageReader:
    folder = Path(os.environ.get("MODELS_DIR") or ROOT / ".cache" / "models")
    ocr.ensure(folder)
    ocr.ensure_language(folder, "rus")
    return PageReader(str(ocr.model_folder(folder)), str(ocr.data_folder(folder)), ocr.languages(folder, ()), threads=2)
