"""GET /documents/{id}/pages/{n}: a page's picture, large, with marks where a passage is on it."""

from typing import Any
from uuid import UUID

from flask import Blueprint, Response, jsonify, request, url_for

from webapp.db import reading
from webapp.documents.model import Document
from webapp.library import lookup
from webapp.library.page_words import PageMarks
from webapp.library.pictures import has_pictures
from webapp.library.searchable import WORDS
from webapp.web import fragments
from webapp.web.access import get_document, org_id
from webapp.web.document.page_marks import Marked, marks
from webapp.web.document.reader import marks_of
from webapp.web.document.text_view import AskedPassage, asked_passage
from webapp.web.errors import Problem
from webapp.web.search.landing import address

pages = Blueprint("page_view", __name__, url_prefix="/documents/<uuid:document_id>/pages")


@pages.get("/<int:number>")
def show(document_id: UUID, number: int) -> Response:
    """A page as it looks; `passage` and `words` name what is marked on it, as in the address of a passage."""
    org = org_id()
    with reading(org):
        document = get_document(document_id)
        wanted = asked_passage(org, document_id)
        words_path = lookup.artifact_paths(org, document_id).get(WORDS)
    last = _expect_page(document, number)
    marked = marks_of(document, number, wanted, words_path) if wanted else None
    return fragments.answer(
        page="document/page_view.html",
        fragment="document/page_view.html",
        data=lambda: _as_json(number, marked),
        document=document,
        number=number,
        last=last,
        wanted=wanted,
        marks=marked,
        text_url=_text_url(document_id, number, wanted),
        previous_url=url_for(".show", document_id=document_id, number=number - 1) if number > 1 else None,
        next_url=url_for(".show", document_id=document_id, number=number + 1) if number < last else None,
    )


@pages.get("/<int:number>/marks")
def show_marks(document_id: UUID, number: int) -> Response:
    """Where the things of one section are on a page's picture, as JSON for everybody: `of` names the section."""
    document = get_document(document_id)
    _expect_page(document, number)
    try:
        what = Marked(request.args.get("of", Marked.TEXT))
    except ValueError as error:
        raise Problem(422, detail=f"of must be one of: {', '.join(Marked)}.") from error
    found = marks(document, number, what)
    boxes = {key: [[box.x, box.y, box.width, box.height] for box in each.lines] for key, each in found.marks.items()}
    return jsonify({"number": number, "run_id": found.run_id, "size": found.size, "marks": boxes})


def _expect_page(document: Document, number: int) -> int:
    """The number of the last page; 404 where there is no page with this one."""
    if not has_pictures(document):
        raise Problem(404, "no_picture", detail="Only the pages of PDF files and of pictures can be shown.")
    last = document.page_count or 1
    if not 1 <= number <= last:
        raise Problem(404, "no_such_page", detail="This document has no page with this number.")
    return last


def _text_url(document_id: UUID, number: int, wanted: AskedPassage | None) -> str:
    if wanted is not None and wanted.chunk is not None:
        return address(document_id, wanted.chunk.id, wanted.text, q=wanted.q)
    return url_for("document.show", document_id=document_id, page=number, _anchor=f"page-{number}")


def _as_json(number: int, marks: PageMarks | None) -> dict[str, Any]:
    boxes = [[box.x, box.y, box.width, box.height] for box in marks.lines] if marks else []
    size = [marks.width, marks.height] if marks else None
    return {"number": number, "size": size, "marks": boxes}
