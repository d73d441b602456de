"""What a reader makes of a file's bytes: an Extraction, as plain data that travels as JSON.

It lies with the readers, since the sandboxed ones build it too and import nothing of the providers.
"""

from dataclasses import dataclass
from enum import StrEnum

from webapp.typed_json import TypedJson

PAGE_MARK = "<!-- page {number} -->"


@dataclass(frozen=True, slots=True)
class Field:
    """A named value found in a document.

    `polygon` is x, y of the four corners, clockwise from the top left, in the unit of the page's
    width and height with the origin at its top left. `value` is as the document writes it. Where the reader knows
    what the value means, `kind` says it ("due_date"), and `normalized` is the value as programs read it
    ("2026-05-17", "1234.50"). `doubt` is the code of what contradicts it.
    """

    name: str
    value: str
    confidence: float | None = None
    page: int | None = None
    polygon: tuple[float, ...] | None = None
    kind: str | None = None
    normalized: str | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table as rows of cell texts; the first row is the heading where there is one.

    `columns` says what each column holds ("quantity", "amount"), where the reader knows.
    """

    page: int | None
    rows: tuple[tuple[str, ...], ...]
    caption: str | None = None
    columns: tuple[str, ...] = ()
    values: tuple[tuple[int, int, int | float | str], ...] = ()
    """Row, column and value of each cell that is shown in another way: 0.125 of "12.5%", 2026-03-04 of "4 March"."""
    spans: tuple[tuple[int, int, int, int], ...] = ()
    """Row, column, number of rows and of columns of each cell that takes several places; the others are empty."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word and its position on its page; `polygon` as that of a field."""

    text: str
    confidence: float | None = None
    polygon: tuple[float, ...] | None = None


class PageState(StrEnum):
    """Where a page's text comes from, or why there is none."""

    OWN_TEXT = "own_text"
    """The file holds the text."""
    OCR = "ocr"
    """It was read from the page's picture."""
    NEEDS_OCR = "needs_ocr"
    """There is a picture, and no text of use."""
    UNKNOWN_SCRIPT = "unknown_script"
    """It was tried, and no data for its letters is installed."""
    NO_TEXT = "no_text"
    """Something is there, and no text was found on it."""
    BLANK = "blank"
    """Nothing is on the page."""
    LOST = "lost"
    """The page could not be opened or drawn."""
    OCR_ENDED = "ocr_ended"
    """OCR ended on its picture."""
    OUT_OF_TIME = "out_of_time"
    """OCR took longer for its picture than one page may take."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page's plain text and size, and its words where the extractor gives their positions."""

    number: int
    text: str
    width: float | None = None
    height: float | None = None
    words: tuple[Word, ...] = ()
    state: PageState = PageState.OWN_TEXT
    confidence: float | None = None
    """How sure OCR is of its letters, on average."""
    turned: int = 0
    """By how many degrees, against the clock, the page's picture is turned to be upright."""
    sure_share: float | None = None
    """The share of its letters that are in words of which their reader was sure; None where it does not say."""
    is_damaged: bool = False
    """Whether the text that the file holds for the page is not what people see there."""
    language: str | None = None
    """The language of its text, where that shows one."""


# Of a table of data: the summary of its columns and the first rows. The other rows differ in their words, not in what
# they are about.
DATA_VECTORS_MAX = 50


@dataclass(frozen=True, slots=True)
class Extraction(TypedJson):
    """All that was read out of a file.

    `markdown` holds a line `<!-- page N -->` where page N begins, so that passages know their
    pages; formats without pages have no such line. `partial` means that something is known to
    be missing; `warnings` say what a reader should know either way. `vectors_max` is how many
    passages of a page (of the whole, where there are no pages) get vectors, from the first one on; the others are
    found by their words alone. An empty `title` means that the file's name says more than its first heading;
    `title_is_guess` that nobody called the document so, and the title is its first heading. `created` is the day on
    which the file says that it was made. `parts` is how many files lie in it, which become documents of their own;
    None where nobody has looked. Of these, a password locks `locked_parts`.
    """

    extractor: str
    version: str
    markdown: str
    pages: tuple[Page, ...] = ()
    page_count: int | None = None
    title: str | None = None
    language: str | None = None
    fields: tuple[Field, ...] = ()
    tables: tuple[Table, ...] = ()
    partial: bool = False
    warnings: tuple[str, ...] = ()
    vectors_max: int | None = None
    parts: int | None = None
    title_is_guess: bool = False
    created: str | None = None
    locked_parts: int = 0
