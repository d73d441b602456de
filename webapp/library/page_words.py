"""The words of a page with their places: what OCR read, or else what a PDF holds; for marks on the page's picture."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from webapp.documents.model import Document
from webapp.provider_errors import BadInput, BlobMissing, ParserCrashed, ProviderError, TimedOut
from webapp.providers.ports import Providers
from webapp.readers.extraction import Word
from webapp.readers.filetypes import PDF
from webapp.readers.pictures.words_file import WordsOfPage, unpacked
from webapp.search.places import find_run, words_of

_log = logging.getLogger(__name__)
TIMEOUT_SECONDS = 10.0
# x and y of the four corners of a place.
_CORNERS = 8


@dataclass(frozen=True, slots=True)
class MarkBox:
    """A rectangle on a page's picture, in the unit of the page's size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class PageMarks:
    """Where a passage is on a page's picture, line by line, and the words in it that were looked for."""

    width: float
    height: float
    lines: Sequence[MarkBox]
    words: Sequence[MarkBox] = ()


def page_words(providers: Providers, document: Document, number: int, words_path: str | None) -> WordsOfPage | None:
    """The words of a page; None where nobody knows where they are."""
    try:
        found = _by_ocr(providers, words_path, number) if words_path else None
        return found or _own(providers, document, number)
    except BlobMissing:
        # Deleted, or replaced long ago.
        return None
    except (BadInput, ParserCrashed, TimedOut, ProviderError, ValueError) as error:
        _log.info("the words of page %s of document %s are not known: %s", number, document.id, error)
        return None


class PlacedPage:
    """The words of a page as they are compared, to find texts among them."""

    def __init__(self, page: WordsOfPage) -> None:
        self._page = page
        self._flat = [(word, spoken) for word in page.words if word.polygon for spoken in words_of(word.text)]
        self._spoken = [spoken for _, spoken in self._flat]
        turned = page.turned % 180 == 90
        self.width, self.height = (page.height, page.width) if turned else (page.width, page.height)

    def marks(self, passage: Sequence[str], looked_for: Sequence[str] = ()) -> PageMarks | None:
        """Where the words of a passage are on the page; None where they are not on it.

        `passage` has its words as `words_of` gives them; `looked_for` has them as somebody typed them.
        """
        run = find_run(self._spoken, passage)
        if run is None or not self._has_size:
            return None
        marked = self._flat[run.start : run.end]
        of_words = groupby(marked, key=lambda each: id(each[0]))
        boxes = [(_box(self._page, next(of_word)[0].polygon or ()), key) for key, of_word in of_words]
        wanted = {spoken for typed in looked_for for spoken in words_of(typed)}
        named = {id(word) for word, spoken in marked if spoken in wanted}
        lines = list(_lines([box for box, _ in boxes]))
        return PageMarks(self.width, self.height, lines, [box for box, key in boxes if key in named])

    def outline(self, polygon: Sequence[float]) -> PageMarks | None:
        """The box around a polygon that is in the unit of the page's size; None where it is not on the page."""
        if len(polygon) < 4 or not self._has_size:
            return None
        box = _box(self._page, polygon)
        is_inside = 0 <= box.x <= box.x + box.width <= self.width and 0 <= box.y <= box.y + box.height <= self.height
        return PageMarks(self.width, self.height, [box]) if is_inside and box.width and box.height else None

    @property
    def _has_size(self) -> bool:
        return self._page.width > 0 and self._page.height > 0


def marks_of_value(page: WordsOfPage, polygon: Sequence[float] | None, text: str) -> PageMarks | None:
    """Where a field's value is: at its place, if its words are there, else where they are found first."""
    placed, words = PlacedPage(page), words_of(text)
    if polygon and len(polygon) == _CORNERS:
        inside = {spoken for each in page.words if _is_inside(each, polygon) for spoken in words_of(each.text)}
        if inside & set(words) and (outline := placed.outline(polygon)):
            return outline
    return placed.marks(words)


def _is_inside(word: Word, polygon: Sequence[float]) -> bool:
    if not word.polygon:
        return False
    x, y = sum(word.polygon[::2]) / len(word.polygon[::2]), sum(word.polygon[1::2]) / len(word.polygon[1::2])
    return min(polygon[::2]) <= x <= max(polygon[::2]) and min(polygon[1::2]) <= y <= max(polygon[1::2])


def _by_ocr(providers: Providers, path: str, number: int) -> WordsOfPage | None:
    with providers.blobs.local_copy(path) as words:
        return next((page for page in unpacked(words) if page.number == number), None)


def _own(providers: Providers, document: Document, number: int) -> WordsOfPage | None:
    if providers.artist is None or document.content_type != PDF:
        return None
    local_copy = providers.copies or providers.blobs.local_copy
    with local_copy(document.readable_path) as source:
        return providers.artist.words(source, number, timeout_seconds=TIMEOUT_SECONDS, org=str(document.org_id))


def _box(page: WordsOfPage, polygon: Sequence[float]) -> MarkBox:
    """Where a word is on the picture; the page of its words is upright, and its picture may not be."""
    xs, ys = polygon[::2], polygon[1::2]
    left, top, right, bottom = min(xs), min(ys), max(xs), max(ys)
    match page.turned % 360:
        case 90:
            left, top, right, bottom = page.height - bottom, left, page.height - top, right
        case 180:
            left, top, right, bottom = page.width - right, page.height - bottom, page.width - left, page.height - top
        case 270:
            left, top, right, bottom = top, page.width - right, bottom, page.width - left
    return MarkBox(round(left, 1), round(top, 1), round(right - left, 1), round(bottom - top, 1))


def _lines(boxes: Sequence[MarkBox]) -> Iterator[MarkBox]:
    """Boxes of words that follow each other in a line, put together."""
    line: MarkBox | None = None
    for box in boxes:
        if line is not None and _goes_on(line, box):
            top, bottom = min(line.y, box.y), max(line.y + line.height, box.y + box.height)
            line = MarkBox(line.x, top, round(box.x + box.width - line.x, 1), round(bottom - top, 1))
            continue
        if line is not None:
            yield line
        line = box
    if line is not None:
        yield line


def _goes_on(line: MarkBox, box: MarkBox) -> bool:
    middle, gap = box.y + box.height / 2, box.x - line.x - line.width
    return line.y <= middle <= line.y + line.height and box.x >= line.x and gap < 3 * box.height
