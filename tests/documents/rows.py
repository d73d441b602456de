"""Rows to start from: an org's documents, and their runs."""

from typing import Any
from uuid import UUID

from sqlalchemy import select, update

from tests.search.passages import new_org
from webapp.clock import new_id
from webapp.db import reading, transaction
from webapp.documents.model import Document, ProcessingRun, RunEvent
from webapp.documents.states import LiveRun, RunTrigger
from webapp.jobs.queue import NewJob
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue
from webapp.library import names
from webapp.runs import transitions

__all__ = ["document", "events_of", "new_document", "new_org", "queue", "run", "start"]


def new_document(org_id: UUID, filename: str = "a.txt", **more: Any) -> UUID:
    """A document that nothing has happened to."""
    document_id = new_id()
    values = {
        "filename": filename,
        "content_type": "text/plain",
        "size_bytes": 1,
        "sha256": document_id.hex * 2,
        "blob_path": f"{org_id}/documents/{document_id}/original",
        **{name: value for name, value in more.items() if name != "title"},
    }
    with transaction(org_id) as session:
        session.add(Document(id=document_id, org_id=org_id, **values))
        session.flush()
        names.add(org_id, document_id, filename)
        if "title" in more:
            names.rename(org_id, document_id, {"title": more["title"]})
            session.execute(update(Document).where(Document.id == document_id).values(title=more["title"]))
    return document_id


def queue(org_id: UUID, document_id: UUID, trigger: RunTrigger = RunTrigger.REPROCESS) -> UUID:
    """One more run."""
    with transaction(org_id):
        return transitions.create(org_id, document_id, trigger).id


def start(org_id: UUID, run_id: UUID) -> bool:
    """Whether the run starts when a job of it is claimed now."""
    jobs = SqlJobQueue(RetryPolicy(base_seconds=30, max_seconds=600))
    with transaction(org_id) as session:
        found = session.get(ProcessingRun, run_id)
        if found is None:
            return False
        # Of a stage of its own, so that it can be claimed beside others.
        job = NewJob(org_id, LiveRun(run_id, org_id, found.document_id), stage=new_id().hex, max_attempts=1)
        jobs.enqueue([job])
    before = run(org_id, run_id).state
    jobs.claim("tests", 1, stages=[job.stage])
    return (before, run(org_id, run_id).state) == ("QUEUED", "RUNNING")


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
