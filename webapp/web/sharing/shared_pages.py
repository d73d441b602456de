"""GET /s/…: what somebody outside sees by a share link, and nothing else of the org."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, make_response, render_template, request

from webapp.db import reading
from webapp.documents.model import Document
from webapp.library import fields as shown_fields
from webapp.library import lookup, shares
from webapp.library import tables as shown_tables
from webapp.pipeline.markdown import split_pages
from webapp.web import blobs, markdown
from webapp.web.access import public, services
from webapp.web.document.results import number_in_query
from webapp.web.document.text_view import markdown_of
from webapp.web.markdown import RenderedPiece
from webapp.web.plain_text import TextLook, look_of
from webapp.web.sharing.guests import Guest, admitted, nothing_here
from webapp.web.sharing.share_pages import title_of

pages = Blueprint("shared", __name__, url_prefix="/s/<token>")

_ROWS = 50
_TABLES_MAX = 50
_TABLE_ROWS_MAX = 500
_SECTIONS = ("text", "fields", "tables")


@dataclass(frozen=True)
class SharedText:
    """A part of a document's text."""

    pieces: Sequence[RenderedPiece]
    number: int
    total: int
    look: TextLook


@pages.get("")
@public
def show(token: str) -> Response:
    """The shared document, or the list of what a shared view shows now."""
    guest = admitted(token)
    if guest.share.target.document_id is not None:
        return _show_document(guest, token, guest.share.target.document_id)
    number = number_in_query("list") or 1
    with reading(guest.org_id):
        rows, has_more = shares.documents(guest.share, (number - 1) * _ROWS, _ROWS)
    guest.note_opening()
    shown = [{"id": row.document.id, "title": title_of(row.document), "document": row.document} for row in rows]
    return _page("sharing/shared_list.html", token, documents=shown, number=number, has_more=has_more)


@pages.get("/documents/<uuid:document_id>")
@public
def document(token: str, document_id: UUID) -> Response:
    """A document that the link shows."""
    return _show_document(admitted(token), token, document_id)


@pages.get("/documents/<uuid:document_id>/original")
@public
def original(token: str, document_id: UUID) -> Response:
    """The file as it was uploaded, where the link allows it."""
    guest = admitted(token)
    with reading(guest.org_id):
        found = guest.document(document_id)
    if not guest.share.with_original:
        raise nothing_here()
    guest.note_opening()
    response = blobs.download_blob(services().providers.blobs, found)
    if response.status_code < 300:
        guest.note_download(found)
    return response


@pages.after_request
def _keep_private(response: Response) -> Response:
    """The address is a key: no search engine may list it, and no site may learn it from a link in a document."""
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    return response


def _show_document(guest: Guest, token: str, document_id: UUID) -> Response:
    section = request.args.get("show", "")
    section = section if section in _SECTIONS else "text"
    content: dict[str, Any] = {"text": None, "fields": (), "tables": ()}
    with reading(guest.org_id):
        found = guest.document(document_id)
        paths = lookup.artifact_paths(guest.org_id, document_id)
        counts = lookup.part_counts(guest.org_id, document_id)
        if section == "fields":
            listed = shown_fields.of_document(guest.org_id, document_id)
            content["fields"] = [each for each in listed if each.value is not None]
        elif section == "tables":
            content["tables"] = shown_tables.of_document(guest.org_id, document_id).tables[:_TABLES_MAX]
    if section == "text":
        content["text"] = _text(found, paths.get("markdown"))
    guest.note_opening()
    return _page(
        "sharing/shared_document.html",
        token,
        document=found,
        title=title_of(found),
        section=section,
        counts=counts,
        is_listed=guest.share.target.view_id is not None,
        with_original=guest.share.with_original,
        rows_max=_TABLE_ROWS_MAX,
        tables_max=_TABLES_MAX,
        **content,
    )


def _text(found: Document, path: str | None) -> SharedText | None:
    """The part that was asked for, by a page in it or by its number; without pictures."""
    source = markdown_of(path)
    parts = markdown.parts(split_pages(source, found.page_count)) if source and source.strip() else []
    if not parts:
        return None
    page = number_in_query("page")
    asked = markdown.part_of_page(parts, page) if page else (number_in_query("part") or 1) - 1
    index = min(asked, len(parts) - 1)
    look = look_of(found.content_type, found.filename, source or "")
    pieces = markdown.rendered(parts, index, is_plain=look is not TextLook.PROSE)
    return SharedText(pieces, index + 1, len(parts), look)


def _page(template: str, token: str, **context: Any) -> Response:
    # A guest has no account, and no menu of one.
    return make_response(render_template(template, token=token, current_user=None, **context))
