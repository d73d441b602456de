"""GET /documents/{id}/pages/{n}.png: how a page of a PDF or of a picture file looks."""

from uuid import UUID

from flask import Blueprint, Response, request

from webapp.documents.model import Document
from webapp.library.pictures import Size, has_pictures, page_picture, picture_name
from webapp.web import blobs
from webapp.web.access import get_document, services
from webapp.web.errors import Problem

pages = Blueprint("picture", __name__, url_prefix="/documents/<uuid:document_id>/pages")


@pages.get("/<int:number>.png")
def page(document_id: UUID, number: int) -> Response:
    """One page as PNG; `size=small` is one of many, to find it by its looks."""
    document, size = get_document(document_id), _size(request.args.get("size", ""))
    _expect_page(document, number)
    # The file of a document never changes, so neither does a picture of it.
    tag = f"{document.sha256}-{picture_name(document, number, size)}"
    if request.if_none_match.contains(tag):
        return blobs.picture(None, tag)
    picture = page_picture(services().providers, document, number, size)
    if picture is None:
        raise Problem(404, "no_picture", detail="There is no such page, or it cannot be drawn.")
    return blobs.picture(picture, tag)


def _size(word: str) -> Size:
    try:
        return Size(word) if word else Size.LARGE
    except ValueError as error:
        raise Problem(422, detail=f"size must be one of: {', '.join(Size)}.") from error


def _expect_page(document: Document, number: int) -> None:
    """404 for what nobody needs to open the file to know."""
    if not has_pictures(document):
        raise Problem(404, "no_picture", detail="Only the pages of PDF files and of pictures can be shown.")
    if number < 1 or (document.page_count is not None and number > document.page_count):
        raise Problem(404, "no_such_page", detail="This document has no page with this number.")
