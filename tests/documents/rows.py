"""Rows to start from: an org's documents, and their runs."""

from typing import Any
from uuid import UUID

from sqlalchemy import select

from tests.search.passages import new_org
from webapp.clock import new_id
from webapp.db import reading, transaction
from webapp.documents import runs
from webapp.documents.model import Document, ProcessingRun, RunEvent
from webapp.documents.states import RunTrigger

__all__ = ["document", "events_of", "new_document", "new_org", "queue", "run"]


def new_document(org_id: UUID, filename: str = "a.txt", **more: Any) -> UUID:
    """A document that nothing has happened to."""
    document_id = new_id()
    values = {
        "filename": filename,
        "content_type": "text/plain",
        "size_bytes": 1,
        "sha256": document_id.hex * 2,
        "blob_path": f"{org_id}/documents/{document_id}/original",
        **more,
    }
    with transaction(org_id) as session:
        session.add(Document(id=document_id, org_id=org_id, **values))
    return document_id


def queue(org_id: UUID, document_id: UUID, trigger: RunTrigger = RunTrigger.REPROCESS) -> UUID:
    """One more run."""
    with transaction(org_id):
        return runs.create(org_id, document_id, trigger).id


def document(org_id: UUID, document_id: UUID) -> Document:
    with reading(org_id) as session:
        return session.get_one(Document, document_id)


def run(org_id: UUID, run_id: UUID) -> ProcessingRun:
    with reading(org_id) as session:
        return session.get_one(ProcessingRun, run_id)


def events_of(org_id: UUID, run_id: UUID) -> list[str]:
    """The kinds of a run's lines, in their order."""
    with reading(org_id) as session:
        lines = select(RunEvent.kind).where(RunEvent.run_id == run_id)
        return list(session.scalars(lines.order_by(RunEvent.created_at, RunEvent.id)))
