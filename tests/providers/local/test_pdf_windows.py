"""A long PDF is read by windows of pages that are kept: the same text, and no window is read twice."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from tests import samples
from tests.local_providers import extract
from tests.providers.local.test_ocr import Kept, read
from webapp.provider_errors import TimedOut
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.cleaning import clean_extraction
from webapp.readers.extraction import Extraction
from webapp.readers.pdf import windows
from webapp.readers.pdf.read import parse_pdf
from webapp.readers.pdf.windows import PdfWindow
from webapp.sandbox.child import Report

pytestmark = pytest.mark.slow

PAGES = 450


@pytest.fixture(scope="module")
def extractor() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor()
    yield extractor
    extractor.close()


@pytest.fixture(scope="module")
def book() -> bytes:
    return samples.report_pdf(PAGES, 1)


def test_a_book_is_read_by_windows_and_goes_on_where_it_was_interrupted(
    extractor: LocalExtractor, tmp_path: Path, book: bytes
) -> None:
    kept = Kept(dies_after=2)
    with pytest.raises(KeyboardInterrupt):
        read(extractor, tmp_path, book, kept)
    assert kept.pages == [(200, PAGES), (400, PAGES)]

    # What is read again would be kept again.
    kept.parts = {name: data.replace(b"what the keepers saw", b"what was kept") for name, data in kept.parts.items()}
    kept.dies_after, heard = None, list[float]()
    found = read(extractor, tmp_path, book, kept, heard)
    assert kept.pages == [(200, PAGES), (400, PAGES), (PAGES, PAGES)]
    assert (found.page_count, len(found.pages)) == (PAGES, PAGES)
    for number in (1, 200, 201, 400):
        assert f"Chapter {number}: what was kept" in found.markdown
    for number in (401, PAGES):
        assert f"<!-- page {number} -->\n\n# Chapter {number}: what the keepers saw" in found.markdown
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


class Unheard:
    def progress(self, fraction: float) -> None:
        """Nobody asks."""


def test_windows_change_nothing(
    extractor: LocalExtractor, tmp_path: Path, book: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_windows = extract(extractor, tmp_path, book)
    monkeypatch.setattr(windows, "WINDOW_PAGES", PAGES)
    source = (tmp_path / "source").rename(tmp_path / "book.pdf")
    arguments = {"source": str(source), "pages_max": PAGES, "first": 1, "layout": True, "ocr": False}
    answer = parse_pdf(arguments, cast(Report, Unheard()))
    at_once = Extraction.from_plain(json.loads(json.dumps(answer["whole"])))
    assert clean_extraction(replace(at_once, version=by_windows.version)) == by_windows


def test_a_short_pdf_keeps_no_parts(extractor: LocalExtractor, tmp_path: Path) -> None:
    kept = Kept()
    assert read(extractor, tmp_path, samples.report_pdf(3), kept).page_count == 3
    assert kept.parts == {}


def test_pages_beyond_a_thousand_have_their_layout(extractor: LocalExtractor, tmp_path: Path) -> None:
    """The layout parser has a limit of its own, which counts from the first page of the file."""
    found = extract(extractor, tmp_path, samples.report_pdf(1_010, 1))
    assert "<!-- page 1010 -->\n\n# Chapter 1010: what the keepers saw" in found.markdown
    assert found.warnings == ()


def test_a_window_gets_no_more_time_than_the_run_has(extractor: LocalExtractor, tmp_path: Path, book: bytes) -> None:
    kept = Kept()
    kept.seconds_left = lambda: 0.0  # type: ignore[method-assign] # a run whose time is over
    with pytest.raises(TimedOut):
        read(extractor, tmp_path, book, kept)
    assert kept.parts == {}


@pytest.mark.parametrize("damage", [b"\x00", b"{}", PdfWindow(450, (), ()).to_json()])
def test_a_damaged_window_is_read_again(extractor: LocalExtractor, tmp_path: Path, book: bytes, damage: bytes) -> None:
    kept = Kept()
    first = read(extractor, tmp_path, book, kept)
    kept.parts["text-201"] = damage
    assert read(extractor, tmp_path, book, kept) == first
