"""GET /documents/{id}/outline: the headings of a document's text, each with the way to its page."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from flask import Blueprint, Response, url_for

from webapp.db import reading
from webapp.library import lookup
from webapp.pipeline.markdown import headings, split_pages
from webapp.readers.filetypes import PLAIN
from webapp.web import markdown
from webapp.web.access import org_id
from webapp.web.document.document_pages import show_section
from webapp.web.document.reader import beside
from webapp.web.document.results import ShownResult, find
from webapp.web.document.text_view import markdown_of

pages = Blueprint("outline", __name__, url_prefix="/documents/<uuid:document_id>")

HEADINGS_MAX = 2_000


@dataclass(frozen=True)
class OutlineEntry:
    """A heading of the text; `page` is None where the format has no pages."""

    level: int
    title: str
    page: int | None
    url: str


@pages.get("/outline")
def show(document_id: UUID) -> Response:
    """The headings, in the order of the text."""
    org = org_id()
    with reading(org):
        found = find(document_id)
        path = lookup.artifact_paths(org, document_id).get("markdown")
    # In plain text a line that begins with # is a comment.
    source = None if found.document.content_type == PLAIN else markdown_of(path)
    entries = list(islice(_entries(found, source or ""), HEADINGS_MAX))
    return show_section(
        found,
        "outline",
        lambda: {"headings": [_as_json(each) for each in entries]},
        entries=entries,
        reader=beside(found, "outline"),
    )


def _entries(found: ShownResult, source: str) -> Iterator[OutlineEntry]:
    document = found.document
    for number, part in enumerate(markdown.parts(split_pages(source, document.page_count)), 1):
        for piece in part:
            url = _url(document.id, number, piece.number)
            for heading in headings(piece.text):
                yield OutlineEntry(heading.level, heading.title, piece.number, url)


def _url(document_id: UUID, part: int, page: int | None) -> str:
    if page is None:
        return url_for("document.show", document_id=document_id, part=part)
    return url_for("document.show", document_id=document_id, page=page, _anchor=f"page-{page}")


def _as_json(entry: OutlineEntry) -> dict[str, object]:
    return {"level": entry.level, "title": entry.title, "page": entry.page}
