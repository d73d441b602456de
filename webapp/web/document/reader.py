"""The picture of a page beside what was read from it, and the way to the other pages."""

from dataclasses import dataclass
from uuid import UUID

from flask import request, url_for

from webapp.documents.model import Document
from webapp.library.page_words import PageMarks, PlacedPage, page_words
from webapp.library.pictures import has_pictures
from webapp.readers.filetypes import PDF
from webapp.search.places import words_of
from webapp.web.access import services
from webapp.web.document.page_marks import Marked
from webapp.web.document.results import ShownResult, number_in_query
from webapp.web.document.text_view import AskedPassage, Text

# What stands beside a page, and a kept file that has nothing to stand beside it.
_SECTIONS = frozenset({*Marked, "file", "outline"})
# What an address says of one page alone.
_OF_ONE_PAGE = frozenset({"part", "passage", "words", "q"})


@dataclass(frozen=True)
class ReaderView:
    """The page whose picture is shown, of how many; `last` is None where nobody has counted them."""

    document_id: UUID
    run_id: UUID | None
    """The run whose result stands beside the page."""
    number: int
    last: int | None
    view: str
    """What a narrow screen shows: "page" or "text"."""
    marked: str | None
    """The section whose boxes can be marked on the picture."""
    marks: PageMarks | None = None
    """Where the passage is that the address names."""

    @property
    def previous_url(self) -> str | None:
        return self.address(self.number - 1, self.view) if self.number > 1 else None

    @property
    def next_url(self) -> str | None:
        return self.address(self.number + 1, self.view) if self.last is None or self.number < self.last else None

    def address(self, number: int, view: str) -> str:
        """The same section beside a page, as it is shown now."""
        anchor = f"page-{number}" if self.marked == Marked.TEXT and view == "text" else None
        kept = {name: value for name, value in request.args.items() if self._is_kept(name, number)}
        values = {**kept, **(request.view_args or {}), "page": number, "view": view}
        return url_for(str(request.endpoint), **values, _anchor=anchor)

    def _is_kept(self, name: str, number: int) -> bool:
        """Whether this part of the address holds beside that page: a passage is on one page."""
        return number == self.number or name not in _OF_ONE_PAGE


def beside(
    found: ShownResult,
    section: str,
    *,
    text: Text | None = None,
    wanted: AskedPassage | None = None,
    words: str | None = None,
) -> ReaderView | None:
    """The reader of a section; None where the document has no pictures, or the section stands alone."""
    document = found.document
    if section not in _SECTIONS or not has_pictures(document) or _is_locked(found):
        return None
    last = document.page_count or (None if document.content_type == PDF else 1)
    number = _asked_page(text, wanted) or (text.first_page if text else None) or 1
    number = min(number, last) if last else number
    marks = marks_of(document, number, wanted, words) if wanted else None
    view = "page" if request.args.get("view") == "page" or section == "file" else "text"
    return ReaderView(document.id, found.run_id, number, last, view, section if section in {*Marked} else None, marks)


def _asked_page(text: Text | None, wanted: AskedPassage | None) -> int | None:
    """The page that the address names, or the one that has what it leads to."""
    asked = number_in_query("page")
    if asked or wanted is None:
        return asked
    return (text.hit_page if text else None) or (wanted.chunk.page_from if wanted.chunk else None)


def _is_locked(found: ShownResult) -> bool:
    """Whether nobody can draw its pages before somebody gives the password."""
    return found.view.needs_password and not found.document.locked_parts and not found.document.opened_path


def marks_of(document: Document, number: int, wanted: AskedPassage, words_path: str | None) -> PageMarks | None:
    """Where a passage is on a page; None where nobody knows."""
    known = page_words(services().providers, document, number, words_path)
    return PlacedPage(known).marks(words_of(wanted.text), wanted.looked_for) if known else None
