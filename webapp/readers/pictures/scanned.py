"""What OCR makes of one page, as plain data that is kept until all pages of its document are read."""

from dataclasses import dataclass

from webapp.readers.extraction import Field, PageState, Table, Word
from webapp.typed_json import TypedJson

# Longer scans have no fields.
PAGES_WITH_FIELDS_MAX = 3


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """One page that was read by its looks; sizes and places are in points, of the page upright."""

    number: int
    text: str
    markdown: str
    width: float
    height: float
    turned: int = 0
    """By how many degrees, against the clock, the page had to be turned to be upright."""
    words: tuple[Word, ...] = ()
    fields: tuple[Field, ...] = ()
    tables: tuple[Table, ...] = ()
    confidence: float | None = None
    is_in_unknown_script: bool = False
    is_blank: bool = False
    """Whether nothing at all is on the page."""
    lost_as: PageState | None = None
    """What kept its reader from reading the page, where something did."""


@dataclass(frozen=True, slots=True)
class ScannedPages(TypedJson):
    """The pages of one window, in order."""

    pages: tuple[ScannedPage, ...] = ()
