"""GET /documents/{id}/original/view: the uploaded file as the browser shows it, where that is safe."""

from uuid import UUID

from flask import Blueprint, Response, redirect, url_for

from webapp.web import blobs
from webapp.web.access import get_document, services
from webapp.web.security_log import note_download

pages = Blueprint("original", __name__, url_prefix="/documents/<uuid:document_id>/original")


@pages.get("/view")
def show(document_id: UUID) -> Response:
    """PDFs, pictures and sound in place; whatever else it is leads to the download."""
    document = get_document(document_id)
    if not blobs.opens_inline(document.content_type):
        leads_to: Response = redirect(url_for("document.original", document_id=document_id))  # type: ignore[assignment]
        return leads_to
    response = blobs.show_blob(services().providers.blobs, document)
    if response.status_code < 300:
        note_download(document_id, "original", document.filename)
    return response
