"""Says of each page how well it was read, and what is in the way where that is not well."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from webapp.readers.extraction import Page, PageState, Word

# A word below the first is doubtful; a page with a smaller share of sure words than the second may be wrong in places.
SURE_WORD, SURE_SHARE_LEAST = 0.9, 0.91
# Of fewer letters, a share says nothing.
LETTERS_LEAST = 25
PAGES_LISTED_MAX = 20_000


class Reading(StrEnum):
    """How well a page was read, or a document."""

    WELL = "well"
    """All that was found on it is there, and so is a page with nothing on it."""
    IN_PART = "in_part"
    """Some text is missing or may be wrong."""
    NOT_READ = "not_read"
    """There is no text of it."""


class ReadingReason(StrEnum):
    """Why a page was not read well; or well, although it has no text."""

    BLANK = "blank"
    NO_TEXT = "no_text"
    OCR_OFF = "ocr_off"
    UNKNOWN_SCRIPT = "unknown_script"
    LOW_CONFIDENCE = "low_confidence"
    DAMAGED_TEXT = "damaged_text"
    PAGE_FAILED = "page_failed"
    OCR_ENDED = "ocr_ended"
    TIME_LIMIT = "time_limit"
    NOT_ANSWERED = "not_answered"
    """The service that read the document left the page out."""


@dataclass(frozen=True, slots=True)
class PageReading:
    """How well one page was read."""

    number: int
    reading: Reading
    reason: ReadingReason | None = None
    by_ocr: bool = False
    sure_share: float | None = None
    """As that of the page."""


_IN_THE_WAY = {
    PageState.NEEDS_OCR: ReadingReason.OCR_OFF,
    PageState.UNKNOWN_SCRIPT: ReadingReason.UNKNOWN_SCRIPT,
    PageState.LOST: ReadingReason.PAGE_FAILED,
    PageState.OCR_ENDED: ReadingReason.OCR_ENDED,
    PageState.OUT_OF_TIME: ReadingReason.TIME_LIMIT,
}
# What was in the way of these pages may not be there at the next try.
_MAY_PASS = frozenset({PageState.OCR_ENDED, PageState.OUT_OF_TIME})


def page_readings(pages: Sequence[Page], count: int | None) -> list[PageReading]:
    """How well each of a document's pages was read; none where it has no pages, or nothing is said of them.

    The pages may come from a program elsewhere: of several with one number the first counts, and it may say that there
    are more than any document has.
    """
    if not count or not pages:
        return []
    found: dict[int, Page] = {}
    for page in pages:
        if 1 <= page.number <= count:
            found.setdefault(page.number, page)
    numbers = range(1, count + 1) if count <= PAGES_LISTED_MAX else sorted(found)
    return [page_reading(found[number]) if number in found else _left_out(number) for number in numbers]


def page_reading(page: Page) -> PageReading:
    """How well a page was read."""
    by_ocr = page.state is PageState.OCR and bool(page.text.strip())
    if page.state is PageState.BLANK:
        return PageReading(page.number, Reading.WELL, ReadingReason.BLANK)
    reason = _reason(page)
    if reason is None:
        return PageReading(page.number, Reading.WELL, None, by_ocr, page.sure_share)
    reading = Reading.IN_PART if page.text.strip() else Reading.NOT_READ
    return PageReading(page.number, reading, reason, by_ocr, page.sure_share)


def _left_out(number: int) -> PageReading:
    return PageReading(number, Reading.NOT_READ, ReadingReason.NOT_ANSWERED)


def may_be_read_again(pages: Iterable[Page]) -> bool:
    """Whether another try may read more of them."""
    return any(page.state in _MAY_PASS for page in pages)


def _reason(page: Page) -> ReadingReason | None:
    has_text = bool(page.text.strip())
    if page.is_damaged and has_text and page.state is not PageState.OCR:
        return ReadingReason.DAMAGED_TEXT
    if page.state in _IN_THE_WAY:
        return _IN_THE_WAY[page.state]
    if not has_text:
        return ReadingReason.NO_TEXT
    is_sure = page.sure_share is None or page.sure_share >= SURE_SHARE_LEAST
    return None if is_sure else ReadingReason.LOW_CONFIDENCE


def share_of_sure_letters(words: Sequence[Word]) -> float | None:
    """The share of a page's letters that are in words of which their reader was sure.

    Letters, not words: a stroke that was read as a word of one letter counts for less than a long word.
    """
    known = [(len(word.text), word.confidence) for word in words if word.confidence is not None]
    letters = sum(size for size, _ in known)
    if letters < LETTERS_LEAST:
        return None
    return round(sum(size for size, confidence in known if confidence >= SURE_WORD) / letters, 4)
