"""GET /documents/{id}/tables/{n}.csv and .xlsx: a table to take along, with the cells that people corrected."""

from uuid import UUID

from flask import Blueprint, Response

from webapp.db import reading
from webapp.documents.model import Document
from webapp.library import tables
from webapp.library.tables import ShownTable
from webapp.library.typed_cells import typed_rows
from webapp.web import blobs, sheets
from webapp.web.access import get_document, org_id
from webapp.web.errors import Problem
from webapp.web.security_log import note_download

pages = Blueprint("table_file", __name__, url_prefix="/documents/<uuid:document_id>/tables")


@pages.get("/<int:number>.csv")
def as_csv(document_id: UUID, number: int) -> Response:
    """The cells as the document writes them."""
    document, table = _find(document_id, number)
    return _send(document, number, sheets.as_csv(table.rows), "csv", sheets.CSV)


@pages.get("/<int:number>.xlsx")
def as_xlsx(document_id: UUID, number: int) -> Response:
    """Numbers as numbers, days as days, and cells that take several places as such."""
    document, table = _find(document_id, number)
    heading = table.rows[0] if table.rows else ()
    return _send(document, number, sheets.as_xlsx(heading, typed_rows(table)[1:], table.spans), "xlsx", sheets.XLSX)


def _find(document_id: UUID, number: int) -> tuple[Document, ShownTable]:
    org = org_id()
    with reading(org):
        document, table = get_document(document_id), tables.of_document(org, document_id).get(number)
    if table is None:
        raise Problem(404, detail="This document has no table with this number. They count from 1.")
    return document, table


def _send(document: Document, number: int, content: bytes, ending: str, content_type: str) -> Response:
    note_download(document.id, "table", document.filename)
    return blobs.download(content, f"{document.filename}-table-{number}.{ending}", content_type)
