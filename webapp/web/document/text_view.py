"""The text of a document as its page shows it: one part, and in it the passage that an address names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from flask import request, url_for

from webapp.documents.model import Document
from webapp.documents.page_model import DocumentPage
from webapp.library.pictures import has_pictures
from webapp.pipeline.markdown import MarkdownPage, split_pages
from webapp.provider_errors import BlobMissing
from webapp.readers.page_reading import Reading
from webapp.search import passages
from webapp.search.grammar import Mistake, parse
from webapp.search.model import Chunk
from webapp.search.places import words_of
from webapp.search.wanted import wanted_of
from webapp.web import markdown
from webapp.web.access import services
from webapp.web.document.book_figures import figures_of
from webapp.web.document.results import ShownResult, number_in_query
from webapp.web.fragments import without
from webapp.web.markdown import RenderedPiece
from webapp.web.marked_tokens import Marking
from webapp.web.plain_text import TextLook, look_of
from webapp.web.search.landing import ANCHOR, CHARACTERS_MAX, address


class PassageOutcome(StrEnum):
    """What became of the passage that an address names."""

    HERE = "here"
    """It is marked."""
    CHANGED = "changed"
    """It is gone, and the place with most of its first words is marked."""
    GONE = "gone"
    """Neither it nor its words are in the document."""


@dataclass(frozen=True)
class AskedPassage:
    """A passage as an address names it: by its id, by its first words, and by what was looked for."""

    id: UUID | None
    words: str
    q: str
    looked_for: Sequence[str] = ()
    chunk: Chunk | None = None
    """None where the document has no such passage any more."""

    @property
    def text(self) -> str:
        """What is to be marked."""
        return self.chunk.text if self.chunk else self.words


@dataclass(frozen=True)
class Text:
    """A part of the text, with the way to the parts around it."""

    pieces: list[RenderedPiece]
    readings: Mapping[int, DocumentPage]
    """How pages were read that were not read well, by their numbers."""
    number: int
    total: int
    previous_url: str | None
    next_url: str | None
    found: PassageOutcome | None = None
    """Set where a passage was asked for."""
    link: str | None = None
    """The address of that passage, to be sent to others."""
    look: TextLook = TextLook.PROSE
    line_numbers: range = range(0)
    """Those of the lines of this part, where it is code."""
    picture_url: str | None = None
    """The address of the passage on its page's picture, where pages have pictures."""

    @property
    def first_page(self) -> int | None:
        return next((piece.page for piece in self.pieces if piece.page), None)

    @property
    def hit_page(self) -> int | None:
        """The page with the place that the address leads to: a passage may begin on the page before."""
        return next((piece.page for piece in self.pieces if f'id="{ANCHOR}"' in piece.html), None)

    @property
    def last_page(self) -> int | None:
        return next((piece.page for piece in reversed(self.pieces) if piece.page), None)


def asked_passage(org: UUID, document_id: UUID) -> AskedPassage | None:
    """The passage that the address names, if it names one. Call it inside of the `reading()` of the document."""
    id_ = request.args.get("passage", type=UUID)
    words = request.args.get("words", "").replace("\0", "")[:CHARACTERS_MAX]
    if id_ is None and not words.strip():
        return None
    q = request.args.get("q", "")
    chunk = passages.get(org, document_id, id_) if id_ else None
    return AskedPassage(id_, words, q, _looked_for(q), chunk)


def read(
    found: ShownResult, path: str | None, readings: Sequence[DocumentPage], wanted: AskedPassage | None
) -> Text | None:
    """The part that was asked for: by a passage in it, by a page, or by its number."""
    source = markdown_of(path)
    parts = markdown.parts(split_pages(source, found.document.page_count)) if source and source.strip() else []
    if not parts:
        return None
    place = markdown.part_of_passage(parts, wanted.text, _page_of(wanted)) if wanted else None
    page = number_in_query("page")
    asked = markdown.part_of_page(parts, page) if page else (number_in_query("part") or 1) - 1
    index = min(asked if place is None else place, len(parts) - 1)

    def url(part: int) -> str:
        return url_for("document.show", document_id=found.document.id, part=part, run=found.run_id)

    without_text = [each.number for each in readings if each.reading == Reading.NOT_READ]
    marking = Marking(words_of(wanted.text), wanted.looked_for) if wanted and place is not None else None
    look = look_of(found.document.content_type, found.document.filename, source or "")
    return Text(
        pieces=markdown.rendered(
            parts,
            index,
            without_text,
            marking,
            is_plain=look is not TextLook.PROSE,
            figures=figures_of(found.document, parts, index),
        ),
        readings={each.number: each for each in readings},
        number=index + 1,
        total=len(parts),
        previous_url=url(index) if index else None,
        next_url=url(index + 2) if index + 1 < len(parts) else None,
        found=_outcome(wanted, place) if wanted else None,
        link=address(found.document.id, wanted.chunk.id, wanted.text) if wanted and wanted.chunk else None,
        look=look,
        line_numbers=_line_numbers(parts, index) if look is TextLook.CODE else range(0),
        picture_url=_picture_url(found.document, wanted) if wanted else None,
    )


def _line_numbers(parts: Sequence[Sequence[MarkdownPage]], index: int) -> range:
    first = 1 + sum(piece.text.count("\n") for part in parts[:index] for piece in part)
    return range(first, first + 1 + sum(piece.text.count("\n") for piece in parts[index]))


def markdown_of(path: str | None) -> str | None:
    """The whole text of a document; None where it has none."""
    if path is None:
        return None
    try:
        return services().providers.blobs.read_bytes(path).decode("utf-8", "replace")
    except BlobMissing:
        # The document was deleted after its rows were read. A result that was replaced stays readable.
        return None


def _picture_url(document: Document, wanted: AskedPassage) -> str | None:
    page = _page_of(wanted)
    if page is None or not has_pictures(document):
        return None
    named = without({"passage": wanted.id, "words": wanted.words, "q": wanted.q})
    return url_for("page_view.show", document_id=document.id, number=page, **named, _anchor=ANCHOR)


def _page_of(wanted: AskedPassage) -> int | None:
    return wanted.chunk.page_from if wanted.chunk else None


def _outcome(wanted: AskedPassage, place: int | None) -> PassageOutcome:
    if place is None:
        return PassageOutcome.GONE
    return PassageOutcome.HERE if wanted.chunk else PassageOutcome.CHANGED


def _looked_for(q: str) -> Sequence[str]:
    try:
        return wanted_of(parse(q)).marked
    except Mistake:
        # An address that somebody changed by hand; the passage is shown all the same.
        return ()
