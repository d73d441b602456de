"""What OCR read of pages becomes part of a document's extraction."""

from dataclasses import replace

import pytest

from webapp.provider_errors import ParserCrashed
from webapp.readers.extraction import Extraction, Field, PageState, Table
from webapp.readers.pictures.merge import LOST_ON, bare, merged
from webapp.readers.pictures.scanned import PAGES_WITH_FIELDS_MAX, ScannedPage

LINES = Table(1, (("Description", "Amount"), ("Lamp oil", "125.00")))


def scanned(number: int, *fields: Field) -> ScannedPage:
    text = f"Page {number} of a letter"
    return ScannedPage(number, text, text, 595, 842, fields=fields, tables=(LINES,) if number == 1 else ())


def total(page: int, value: str = "174.00") -> Field:
    return Field("Total", f"GBP {value}", page=page, kind="total", normalized=value)


def read(*pages: ScannedPage) -> Extraction:
    return merged(bare(len(pages)), pages)


def test_a_value_that_each_page_repeats_is_one_field() -> None:
    found = read(scanned(1, total(1)), scanned(2, total(2), total(2, "9.00")))
    assert found.fields == (total(1), total(2, "9.00"))
    assert found.tables == (LINES,)


def test_pairs_without_a_meaning_are_all_kept() -> None:
    pair = Field("Room", "12", page=1)
    assert read(scanned(1, pair, pair)).fields == (pair, pair)


@pytest.mark.parametrize(("pages", "has_fields"), [(PAGES_WITH_FIELDS_MAX, True), (PAGES_WITH_FIELDS_MAX + 1, False)])
def test_a_long_scan_has_no_fields(pages: int, has_fields: bool) -> None:
    found = read(*(scanned(number, total(1)) for number in range(1, pages + 1)))
    assert (bool(found.fields), bool(found.tables)) == (has_fields, has_fields)


def test_a_page_whose_reader_ended_is_said_to_be_unread() -> None:
    lost = ScannedPage(2, "", "", 0.0, 0.0, lost_as=PageState.OCR_ENDED)
    found = read(scanned(1), lost, scanned(3))
    assert [page.state for page in found.pages] == [PageState.OCR, PageState.OCR_ENDED, PageState.OCR]
    assert found.partial
    assert LOST_ON.format(pages="2") in found.warnings
    with pytest.raises(ParserCrashed):
        read(replace(lost, number=1))
