"""Where what was read from a page is on its picture: blocks of its text, fields, tables and passages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from webapp.db import reading
from webapp.documents.model import Document
from webapp.library import fields, lookup, tables
from webapp.library.fields import ShownField
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
    """The boxes of a page in a run's result, by the keys of the section's elements; no `size` where none is known."""

    run_id: UUID | None
    size: tuple[float, float] | None
    marks: Mapping[str, PageMarks]


@dataclass(frozen=True)
class _Candidate:
    """A thing of the section: its key, its text, and its box where the reader gave one."""

    key: str
    text: str
    polygon: Sequence[float] | None = None


def marks(document: Document, number: int, what: Marked) -> MarksOfPage:
    """The marks of one section on a page, all of one result."""
    with reading(document.org_id):
        published = lookup.published_run(document.org_id, document.id)
        run_id = published.id if published else None
        paths = lookup.artifact_paths(document.org_id, document.id)
        listed = list(_listed(document, number, what))
    words = page_words(services().providers, document, number, paths.get(WORDS))
    if words is None:
        return MarksOfPage(run_id, None, {})
    if what is Marked.TEXT:
        listed = list(_blocks(document, number, paths.get("markdown")))
    page = PlacedPage(words)
    found = {each.key: _place(page, each) for each in listed[:MARKS_MAX]}
    return MarksOfPage(run_id, (page.width, page.height), {key: marks for key, marks in found.items() if marks})


def _place(page: PlacedPage, wanted: _Candidate) -> PageMarks | None:
    own = page.outline(wanted.polygon) if wanted.polygon else None
    return own or page.marks(words_of(wanted.text))


def _listed(document: Document, number: int, what: Marked) -> Iterator[_Candidate]:
    """What the database has of a section on this page."""
    org, id_ = document.org_id, document.id
    if what is Marked.FIELDS:
        here = (each for each in fields.of_document(org, id_) if each.page == number and each.is_found)
        yield from (_Candidate(f"field-{each.ordinal}", each.found or "", _polygon(document, each)) for each in here)
    elif what is Marked.TABLES:
        found_tables = (each for each in tables.of_document(org, id_).tables if each.page == number)
        yield from (_Candidate(f"table-{each.ordinal}", " ".join(map(" ".join, each.rows))) for each in found_tables)
    elif what is Marked.PASSAGES:
        found = passages.on_page(org, id_, number, limit=MARKS_MAX)
        yield from (_Candidate(f"passage-{each.id}", each.text) for each in found)


def _blocks(document: Document, number: int, path: str | None) -> Iterator[_Candidate]:
    """The blocks of the page's text by their numbers; none where the text is cut in the middle of the page."""
    pages = split_pages(markdown_of(path) or "", document.page_count)
    texts = [each.text for each in pages if each.number == number]
    if len(texts) == 1 and len(texts[0]) <= markdown.PART_CHARACTERS:
        yield from (_Candidate(f"block-{place}", text) for place, text in enumerate(markdown.blocks(texts[0])))


def _polygon(document: Document, field: ShownField) -> Sequence[float] | None:
    """The field's own box. Readers here count in points; the service counts in inches on a PDF, else in pixels."""
    is_by_others = (document.read_by or OTHERS).startswith(OTHERS)
    if not field.polygon or (is_by_others and document.content_type != PDF):
        return None
    scale = _POINTS_PER_INCH if is_by_others else 1
    return [each * scale for each in field.polygon]
