"""Documents, runs and their parts as JSON."""

from collections.abc import Mapping
from typing import Any

from webapp.documents.correction_model import Correction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.page_model import DocumentPage
from webapp.library.fields import ShownField
from webapp.library.intake import Ingested
from webapp.library.tables import ShownTable
from webapp.pipeline.description import GUESSED_DATES
from webapp.readers.page_reading import Reading
from webapp.search.model import Chunk
from webapp.search.query import Hit
from webapp.web.document_view import DocumentView


def field_json(field: ShownField, who: Mapping[str, str]) -> dict[str, Any]:
    """A named value for programs; `who` has the names of those who corrected."""
    return {
        "ordinal": field.ordinal,
        "name": field.name,
        "nth": field.nth,
        "value": field.value,
        "found": field.found,
        "confidence": field.confidence,
        "page": field.page,
        "polygon": field.polygon,
        "kind": field.kind,
        "normalized": field.normalized,
        "doubt": field.doubt,
        "correction": correction_json(field.correction, who) if field.correction else None,
    }


def correction_json(correction: Correction, who: Mapping[str, str]) -> dict[str, Any]:
    """What a person says of a value; `found` is what they saw."""
    return {
        "id": correction.id,
        "verdict": correction.verdict,
        "found": correction.found,
        "by": who.get(correction.by),
        "at": correction.at,
    }


def page_json(page: DocumentPage) -> dict[str, Any]:
    """How well a page was read, for programs."""
    return {
        "number": page.number,
        "reading": page.reading,
        "reason": page.reason,
        "by_ocr": page.by_ocr,
        "sure_share": page.sure_share,
    }


def table_json(table: ShownTable, who: Mapping[str, str]) -> dict[str, Any]:
    """A table for programs. Rows and columns count from 0."""
    return {
        "number": table.number,
        "page": table.page,
        "caption": table.caption,
        "rows": table.rows,
        "columns": list(table.columns) or None,
        "values": [{"row": row, "column": column, "value": value} for row, column, value in table.values],
        "corrections": [
            {"row": row, "column": column, "value": table.rows[row][column], **correction_json(each, who)}
            for (row, column), each in table.said.items()
        ],
    }


def passage_json(chunk: Chunk) -> dict[str, Any]:
    """The text of a passage, and where it is."""
    return {
        "id": chunk.id,
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "heading": chunk.heading,
        "page_from": chunk.page_from,
        "page_to": chunk.page_to,
    }


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    """A passage with all that is known of it."""
    return {
        **passage_json(chunk),
        "time_from": chunk.time_from,
        "time_to": chunk.time_to,
        "embedding_model": chunk.embedding_model,
    }


def brief_json(document: Document) -> dict[str, Any]:
    """What names a document."""
    return {
        "id": document.id,
        "filename": document.filename,
        "title": document.title,
        "title_is_guess": document.title_is_guess,
    }


def document_json(view: DocumentView) -> dict[str, Any]:
    """A document with its newest run."""
    document = view.document
    return {
        "id": document.id,
        "filename": document.filename,
        "title": document.title,
        "title_is_guess": document.title_is_guess,
        "kind": document.kind,
        "document_date": document.document_date.isoformat() if document.document_date else None,
        "document_date_from": document.document_date_from,
        "document_date_is_guess": document.document_date_from in GUESSED_DATES if document.document_date else None,
        "content_type": document.content_type,
        "size_bytes": document.size_bytes,
        "sha256": document.sha256,
        "parent_id": document.parent_id,
        "path_in_parent": document.path_in_parent,
        "folder": document.folder,
        "note": document.note,
        "favourite": bool(document.favourite),
        "status": document.status,
        "page_count": document.page_count,
        "pages_read": document.pages_read,
        "reading": Reading.NOT_READ.value if document.is_kept else document.reading,
        "kept": document.is_kept,
        "needs_password": view.needs_password,
        "language": document.language,
        "warnings": document.warnings or [],
        "has_result": view.has_result,
        "published_run_id": document.published_run_id,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
        "error": view.error,
        "run": run_json(view.run) if view.run else None,
    }


def status_json(view: DocumentView) -> dict[str, Any]:
    """How far the processing of a document is."""
    return {
        "id": view.document.id,
        "status": view.document.status,
        "stage": view.stage,
        "progress": round(view.progress, 4),
        "pages": None if view.pages is None else dict(zip(("done", "total"), view.pages, strict=True)),
        "attempts": view.attempts,
        "waits_for": view.waits_for,
        "needs_password": view.needs_password,
        "error": view.error,
        "run": run_json(view.run) if view.run else None,
    }


def run_json(run: ProcessingRun) -> dict[str, Any]:
    """A run of a document."""
    return {
        "id": run.id,
        "state": run.state,
        "trigger": run.trigger,
        "failure_type": run.failure_type,
        "failure_code": run.failure_code,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def uploaded_json(one: Ingested) -> dict[str, Any]:
    """A document that was uploaded just now."""
    document = one.document
    return {
        "id": document.id,
        "filename": document.filename,
        "folder": document.folder,
        "content_type": document.content_type,
        "size_bytes": document.size_bytes,
        "sha256": document.sha256,
        "status": document.status,
        "created_at": document.created_at,
        "duplicate_of": one.duplicate_of,
        "restored": one.is_restored,
        "run": {"id": one.run.id, "state": one.run.state},
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    """A passage that a search found."""
    return {
        "document_id": hit.document_id,
        "chunk_id": hit.chunk_id,
        "filename": hit.filename,
        "title": hit.title,
        "title_is_guess": hit.title_is_guess,
        "text": hit.text,
        "heading": hit.heading,
        "page_from": hit.page_from,
        "page_to": hit.page_to,
        "time_from": hit.time_from,
        "time_to": hit.time_to,
        "score": hit.score,
        "similar": {
            "count": hit.similar_count,
            "passages": [
                {
                    "document_id": each.document_id,
                    "chunk_id": each.chunk_id,
                    "filename": each.filename,
                    "page_from": each.page_from,
                }
                for each in hit.similar
            ],
        },
    }
