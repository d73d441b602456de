"""Where what was read from a page is on its picture: blocks of its text, fields, tables and passages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from webapp.db import reading
from webapp.documents.model import Document, DocumentField
from webapp.library import lookup
from webapp.library.page_words import PageMarks, PlacedPage, page_words
from webapp.library.searchable import WORDS
from webapp.pipeline.markdown import split_pages
from webapp.readers.filetypes import PDF
from webapp.readers.versions import OTHERS
from webapp.search import passages
from webapp.search.places import words_of
from webapp.web import markdown
from webapp.web.access import services
from webapp.web.document.text_view import markdown_of

MARKS_MAX = 300
_POINTS_PER_INCH = 72


class Marked(StrEnum):
    """What is marked: the name of the section that shows it."""

    TEXT = "text"
    FIELDS = "fields"
    TABLES = "tables"
    PASSAGES = "passages"


@dataclass(frozen=True)
class MarksOfPage:
    """The boxes of a page, by the keys that the section's elements have; `size` is None where no place is known."""

    size: tuple[float, float] | None
    marks: Mapping[str, PageMarks]


@dataclass(frozen=True)
class _Page:
    """A page of a document, with its words where these have places."""

    document: Document
    number: int
    paths: Mapping[str, str]
    words: PlacedPage


_Found = Iterator[tuple[str, PageMarks | None]]


def marks(document: Document, number: int, what: Marked) -> MarksOfPage:
    """The marks of one section on a page."""
    with reading(document.org_id):
        paths = lookup.artifact_paths(document.org_id, document.id)
    words = page_words(services().providers, document, number, paths.get(WORDS))
    if words is None:
        return MarksOfPage(None, {})
    placed = PlacedPage(words)
    found = _FINDERS[what](_Page(document, number, paths, placed))
    return MarksOfPage((placed.width, placed.height), {key: marks for key, marks in found if marks})


def _blocks(page: _Page) -> _Found:
    """The blocks of the page's text by their numbers; none where the text is cut in the middle of the page."""
    source = markdown_of(page.paths.get("markdown")) or ""
    texts = [each.text for each in split_pages(source, page.document.page_count) if each.number == page.number]
    if len(texts) == 1 and len(texts[0]) <= markdown.PART_CHARACTERS:
        for number, text in enumerate(markdown.blocks(texts[0])[:MARKS_MAX]):
            yield f"block-{number}", page.words.marks(words_of(text))


def _fields(page: _Page) -> _Found:
    with reading(page.document.org_id):
        fields = lookup.fields(page.document.org_id, page.document.id)
    for field in [each for each in fields if each.page == page.number][:MARKS_MAX]:
        yield f"field-{field.ordinal}", _box_of(page, field) or page.words.marks(words_of(field.value))


def _box_of(page: _Page, field: DocumentField) -> PageMarks | None:
    """The field's own box. Readers here count in points; the service counts in inches on a PDF, else in pixels."""
    is_by_others = (page.document.read_by or OTHERS).startswith(OTHERS)
    if not field.polygon or (is_by_others and page.document.content_type != PDF):
        return None
    scale = _POINTS_PER_INCH if is_by_others else 1
    return page.words.outline([each * scale for each in field.polygon])


def _tables(page: _Page) -> _Found:
    with reading(page.document.org_id):
        tables = lookup.tables(page.document.org_id, page.document.id)
    for table in [each for each in tables if each.page == page.number][:MARKS_MAX]:
        text = " ".join(cell for row in table.rows for cell in row)
        yield f"table-{table.ordinal}", page.words.marks(words_of(text))


def _passages(page: _Page) -> _Found:
    with reading(page.document.org_id):
        found = passages.on_page(page.document.org_id, page.document.id, page.number, limit=MARKS_MAX)
    for passage in found:
        yield f"passage-{passage.id}", page.words.marks(words_of(passage.text))


_FINDERS: Mapping[Marked, Callable[[_Page], _Found]] = {
    Marked.TEXT: _blocks,
    Marked.FIELDS: _fields,
    Marked.TABLES: _tables,
    Marked.PASSAGES: _passages,
}
