"""A PDF's text by windows of pages, and how they become one extraction; nothing of the file itself is opened here."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction, Field, Page, Table
from webapp.readers.page_markdown import assemble, drop_running_heads
from webapp.readers.titles import title_of
from webapp.typed_json import TypedJson

NAME = "local"
# The slowest pages, full of ruled tables, take a twentieth of a second each: so much is read again after a crash.
WINDOW_PAGES = 200
PAGES_NAMED_MAX = 12

# What readers of the document should know; {pages} is "3" or "1, 4-6".
NO_TEXT_ON = "Looks scanned and was not read, since OCR is off: page {pages}."
DAMAGED_ON = "The hidden text doesn't match what the page shows, and OCR is off: page {pages}."
PLAIN_ON = "Shown as plain text, since the layout couldn't be read: page {pages}."
LOST_ON = "Page {pages} could not be read."


@dataclass(frozen=True, slots=True)
class PdfWindow(TypedJson):
    """What was read of some pages of a PDF that has `count` of them, with what the file says of itself."""

    count: int
    pages: tuple[Page, ...]
    markdown: tuple[str, ...]
    """Of each page."""
    title: str = ""
    created: str | None = None
    language: str | None = None
    fields: tuple[Field, ...] = ()
    tables: tuple[Table, ...] = ()
    scanned: tuple[int, ...] = ()
    """The numbers of pages without text of use; below, of blank ones, of those without layout, and of lost ones."""
    blank: tuple[int, ...] = ()
    plain: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    parts: int = 0
    """How many files are embedded in it."""


def window_from(first: int, count: int) -> range:
    """The numbers of the pages of the window that begins at `first`."""
    return range(first, min(count, first + WINDOW_PAGES - 1) + 1)


def joined(windows: Sequence[PdfWindow], *, has_ocr: bool) -> Extraction:
    """The extraction of a PDF from all its windows; BadInput where there is nothing to read."""
    pages = tuple(chain.from_iterable(window.pages for window in windows))
    scanned, plain, lost = (
        _all(windows, lambda window: window.scanned),
        _all(windows, lambda window: window.plain),
        _all(windows, lambda window: window.lost),
    )
    _refuse_nothing(
        len(pages), len(_all(windows, lambda window: window.blank)), len(lost), 0 if has_ocr else len(scanned)
    )
    texts = list(chain.from_iterable(window.markdown for window in windows))
    markdown = assemble(drop_running_heads(texts))
    damaged = [] if has_ocr else [page.number for page in pages if page.is_damaged]
    notes = ((NO_TEXT_ON, [] if has_ocr else scanned), (DAMAGED_ON, damaged), (PLAIN_ON, plain), (LOST_ON, lost))
    title, is_guess = title_of(windows[0].title, markdown)
    return Extraction(
        extractor=NAME,
        version="",
        markdown=markdown,
        pages=pages,
        page_count=len(pages),
        title=title,
        title_is_guess=is_guess,
        created=windows[0].created,
        language=windows[0].language,
        fields=tuple(chain.from_iterable(window.fields for window in windows)),
        tables=tuple(chain.from_iterable(window.tables for window in windows)),
        partial=bool(lost),
        parts=windows[0].parts,
        warnings=tuple(words.format(pages=spans(numbers)) for words, numbers in notes if numbers),
    )


def spans(numbers: Iterable[int]) -> str:
    """Write page numbers shortly: 1, 4-6."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    named = [f"{group[0]}-{group[-1]}" if len(group) > 1 else str(group[0]) for group in groups]
    more = [f"and {len(named) - PAGES_NAMED_MAX} more"] if len(named) > PAGES_NAMED_MAX else []
    return ", ".join(named[:PAGES_NAMED_MAX] + more)


def _all(windows: Sequence[PdfWindow], numbers: Callable[[PdfWindow], Iterable[int]]) -> list[int]:
    return list(chain.from_iterable(map(numbers, windows)))


def _refuse_nothing(count: int, blank: int, lost: int, without_ocr: int) -> None:
    if blank == count:
        raise BadInput("all pages are blank", code=FailureCode.EMPTY)
    if lost + blank == count:
        raise BadInput("no page could be read")
    if lost + blank + without_ocr == count:
        raise BadInput("no page has text: needs OCR", code=FailureCode.NO_TEXT)
