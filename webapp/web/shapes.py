"""The parts of a document as JSON."""

from typing import Any

from webapp.documents.model import DocumentField, DocumentTable
from webapp.search.model import Chunk


def field_json(field: DocumentField) -> dict[str, Any]:
    """A named value for programs."""
    return {
        "name": field.name,
        "value": field.value,
        "confidence": field.confidence,
        "page": field.page,
        "polygon": field.polygon,
    }


def table_json(table: DocumentTable) -> dict[str, Any]:
    """A table for programs."""
    return {"page": table.page, "caption": table.caption, "rows": table.rows}


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    """A passage for programs."""
    return {
        "id": chunk.id,
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "heading": chunk.heading,
        "page_from": chunk.page_from,
        "page_to": chunk.page_to,
        "time_from": chunk.time_from,
        "time_to": chunk.time_to,
        "embedding_model": chunk.embedding_model,
    }
