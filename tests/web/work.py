"""Documents and jobs as the workers leave them, for the pages that show them."""

import hashlib
from dataclasses import dataclass
from uuid import UUID

from flask import Flask
from sqlalchemy import update

from webapp.clock import new_id
from webapp.db import session, transaction
from webapp.documents.model import Document
from webapp.documents.states import FailureType, RunTrigger
from webapp.jobs.model import NEVER, Job
from webapp.jobs.queue import JobError, JobQueue, Lease
from webapp.library import names
from webapp.runs import lifecycle


@dataclass(frozen=True)
class Work:
    """One org's document with its newest run and job."""

    document_id: UUID
    run_id: UUID
    job_id: UUID


def queued(app: Flask, org_id: UUID, filename: str = "a.pdf") -> Work:
    """A document that waits for a worker."""
    queue: JobQueue = app.extensions["docmill"].queue
    document_id = new_id()
    with app.app_context(), transaction(org_id):
        session().add(_document(org_id, document_id, filename))
        session().flush()
        names.add(org_id, document_id, filename)
        run_id = lifecycle.queue_run(queue, org_id, document_id, RunTrigger.UPLOAD, max_attempts=3)
        [job] = queue.of_run(run_id)
    return Work(document_id, run_id, job.id)


def failed(
    app: Flask, org_id: UUID, filename: str = "a.pdf", message: str = "it broke", code: str = "timed_out"
) -> Work:
    """A document whose only job has failed."""
    queue: JobQueue = app.extensions["docmill"].queue
    work = queued(app, org_id, filename)
    with app.app_context():
        lease = claim(queue, work.job_id)
        error = JobError(code, message, "TimedOut", "extract")
        lifecycle.fail_run(queue, lease, FailureType.STEP_FAILED, error)
    return work


def claim(queue: JobQueue, job_id: UUID) -> Lease:
    """Claim this job, while the others are not due."""
    due = update(Job).where(Job.status == "PENDING", Job.id != job_id)
    with transaction(everywhere=True) as session:
        hidden = session.scalars(due.where(Job.wakes_at.is_(None)).values(wakes_at=NEVER).returning(Job.id)).all()
        (lease,) = queue.claim("tests", limit=2)
        session.execute(due.where(Job.id.in_(hidden)).values(wakes_at=None))
    return lease


def _document(org_id: UUID, document_id: UUID, filename: str) -> Document:
    return Document(
        id=document_id,
        org_id=org_id,
        filename=filename,
        content_type="application/pdf",
        size_bytes=1,
        sha256=hashlib.sha256(document_id.bytes).hexdigest(),
        blob_path=f"{org_id}/documents/{document_id}/original",
    )
