"""The JSON that an export has for people and their programs: what holds of a document, and what was found."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import select

from webapp.accounts import actors
from webapp.db import session
from webapp.documents.correction_model import Correction
from webapp.documents.model import Document
from webapp.library import corrections, fields, tables, tags
from webapp.library.fields import ShownField

_SAID = ("target", "name", "nth", "row_number", "column_number", "verdict", "value", "found", "by")


def describe(document: Document, container: str | None) -> dict[str, Any]:
    """All that people know of a document; `container` is the file that it lies in."""
    org_id, document_id = document.org_id, document.id
    said = corrections.of_document(org_id, document_id)
    who = actors.names(org_id, [each.by for each in said])
    return {
        "id": str(document_id),
        "filename": document.filename,
        "title": document.title,
        "folder": document.folder,
        "container": container,
        "path_in_container": document.path_in_parent,
        "content_type": document.content_type,
        "size_bytes": document.size_bytes,
        "sha256": document.sha256,
        "status": document.status,
        "kind": document.kind,
        "document_date": _iso(document.document_date),
        "language": document.language,
        "page_count": document.page_count,
        "tags": tags.of_document(org_id, document_id),
        "note": document.note,
        "favourite": bool(document.favourite),
        "uploaded_at": _iso(document.created_at),
        "deleted_at": _iso(document.deleted_at),
        "found": document.found or {},
        "fields": [_field(each) for each in fields.of_document(org_id, document_id)],
        "tables": [
            {"page": each.page, "caption": each.caption, "rows": [list(row) for row in each.rows]}
            for each in tables.of_document(org_id, document_id).tables
        ],
        "corrections": [_said(each, who) for each in said],
    }


def containers_of(document: Document) -> list[Document]:
    """The containers that a document lies in, the outermost first."""
    found: list[Document] = []
    parent: UUID | None = document.parent_id
    while parent is not None:
        asked = select(Document).where(Document.org_id == document.org_id, Document.id == parent)
        above = session().scalars(asked).one_or_none()
        if above is None:
            break
        found.insert(0, above)
        parent = above.parent_id
    return found


def _field(shown: ShownField) -> dict[str, Any]:
    return {
        "name": shown.name,
        "value": shown.value,
        "normalized": shown.normalized,
        "found": shown.found,
        "confidence": shown.confidence,
        "page": shown.page,
        "kind": shown.kind,
        "verdict": shown.verdict,
    }


def _said(correction: Correction, who: Mapping[str, str]) -> dict[str, Any]:
    said = {name: getattr(correction, name) for name in _SAID} | {"by": who.get(correction.by)}
    return {**{name: value for name, value in said.items() if value is not None}, "at": _iso(correction.at)}


def _iso(value: Any) -> str | None:
    return None if value is None else value.isoformat()
