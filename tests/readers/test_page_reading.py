"""How well a page was read follows from what its reader says of it."""

from dataclasses import replace

import pytest

from webapp.readers.extraction import Page, PageState, Word
from webapp.readers.page_reading import (
    PAGES_LISTED_MAX,
    SURE_WORD,
    PageReading,
    Reading,
    ReadingReason,
    may_be_read_again,
    page_reading,
    page_readings,
    share_of_sure_letters,
)

TEXT = "Some words that are on the page"
WELL, IN_PART, NOT_READ = Reading.WELL, Reading.IN_PART, Reading.NOT_READ


@pytest.mark.parametrize(
    ("page", "reading", "reason"),
    [
        (Page(1, TEXT), WELL, None),
        (Page(1, TEXT, state=PageState.OCR), WELL, None),
        (Page(1, "", state=PageState.BLANK), WELL, ReadingReason.BLANK),
        (Page(1, " \n"), NOT_READ, ReadingReason.NO_TEXT),
        (Page(1, "", state=PageState.NO_TEXT), NOT_READ, ReadingReason.NO_TEXT),
        (Page(1, "", state=PageState.NEEDS_OCR), NOT_READ, ReadingReason.OCR_OFF),
        (Page(1, "PAID", state=PageState.NEEDS_OCR), IN_PART, ReadingReason.OCR_OFF),
        (Page(1, "q\ue000zx", state=PageState.NEEDS_OCR, is_damaged=True), IN_PART, ReadingReason.DAMAGED_TEXT),
        (Page(1, "q\ue000zx", is_damaged=True), IN_PART, ReadingReason.DAMAGED_TEXT),
        (Page(1, TEXT, state=PageState.OCR, is_damaged=True), WELL, None),
        (Page(1, "", state=PageState.UNKNOWN_SCRIPT), NOT_READ, ReadingReason.UNKNOWN_SCRIPT),
        (Page(1, "PAID", state=PageState.UNKNOWN_SCRIPT), IN_PART, ReadingReason.UNKNOWN_SCRIPT),
        (Page(1, "", state=PageState.LOST), NOT_READ, ReadingReason.PAGE_FAILED),
        (Page(1, "", state=PageState.OCR_ENDED), NOT_READ, ReadingReason.OCR_ENDED),
        (Page(1, "", state=PageState.OUT_OF_TIME), NOT_READ, ReadingReason.TIME_LIMIT),
        (Page(1, TEXT, state=PageState.OCR, sure_share=0.5), IN_PART, ReadingReason.LOW_CONFIDENCE),
        (Page(1, TEXT, state=PageState.OCR, sure_share=0.99), WELL, None),
    ],
)
def test_each_state_of_a_page_is_a_reading(page: Page, reading: Reading, reason: ReadingReason | None) -> None:
    found = page_reading(page)
    assert (found.reading, found.reason) == (reading, reason)
    assert found.by_ocr == (page.state is PageState.OCR)
    assert found.sure_share == page.sure_share


def test_sureness_is_counted_by_letters() -> None:
    words = [Word("extraordinary", SURE_WORD), Word("certainties", 1.0), Word("i", 0.1)]
    assert share_of_sure_letters(words) == 0.96
    assert share_of_sure_letters(words[:1]) is None
    assert share_of_sure_letters([replace(word, confidence=None) for word in words]) is None


def test_a_page_that_the_answer_lacks_was_not_read() -> None:
    left_out = PageReading(2, NOT_READ, ReadingReason.NOT_ANSWERED)
    found = page_readings([Page(3, TEXT), Page(1, TEXT), Page(1, ""), Page(9, TEXT), Page(0, TEXT)], 3)
    assert found == [PageReading(1, WELL), left_out, PageReading(3, WELL)]


@pytest.mark.parametrize(("count", "listed"), [(None, 0), (0, 0), (1, 1), (PAGES_LISTED_MAX + 1, 1), (10**9, 1)])
def test_a_number_of_pages_that_nothing_proves_makes_no_list(count: int | None, listed: int) -> None:
    assert len(page_readings([Page(1, TEXT)], count)) == listed
    assert page_readings([], count) == []


def test_what_may_pass_is_tried_again() -> None:
    assert may_be_read_again([Page(1, TEXT), Page(2, "", state=PageState.OUT_OF_TIME)])
    assert not may_be_read_again([Page(1, TEXT), Page(2, "", state=PageState.UNKNOWN_SCRIPT)])
