"""Deleting a document, at any moment of its processing."""

from uuid import UUID

from sqlalchemy import delete

from webapp.db import session, transaction
from webapp.documents.blob_layout import answers_folder, document_folder
from webapp.documents.model import Document
from webapp.jobs.queue import JobQueue
from webapp.library.usage import add_stored
from webapp.runs import transitions


def delete_document(queue: JobQueue, org_id: UUID, document_id: UUID) -> list[str] | None:
    """Remove a document at any moment of its processing; the folders of blobs to remove after the commit."""
    with transaction(org_id):
        for run_id in transitions.with_work_left(document_id):
            queue.cancel_run(run_id)
        return delete_rows(org_id, document_id)


def delete_rows(org_id: UUID, document_id: UUID) -> list[str] | None:
    """Remove a document and everything about it; the folders of blobs to remove after the commit.

    None where there is no such document.
    """
    gone = delete(Document).where(Document.org_id == org_id, Document.id == document_id)
    known = gone.returning(Document.sha256, Document.answers_folder, Document.size_bytes)
    row = session().execute(known.execution_options(synchronize_session=False)).one_or_none()
    if row is None:
        return None
    add_stored(org_id, -row.size_bytes)
    return [document_folder(org_id, document_id), answers_folder(org_id, row.sha256, row.answers_folder)]
