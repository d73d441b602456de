"""Deleting a document with all that lies in it, at any moment of its processing."""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import Table, delete, literal, select

from webapp.batches import batches
from webapp.db import reading, session, transaction
from webapp.documents.blob_layout import answers_folder, document_folder
from webapp.documents.model import Document
from webapp.jobs.queue import JobQueue
from webapp.library.contents import folders_without_owner
from webapp.library.usage import add_stored
from webapp.provider_errors import ProviderError
from webapp.providers.ports import BlobStore
from webapp.runs import of_documents
from webapp.search.answers import delete_of_documents

_log = logging.getLogger(__name__)

PARTS_PER_TRANSACTION = 50
_IDS_PER_STATEMENT = 500
_documents = cast(Table, Document.__table__)


def delete_document(queue: JobQueue, org_id: UUID, document_id: UUID) -> list[str] | None:
    """Remove a document with its parts, at any moment of its processing; the folders of blobs to remove afterwards.

    None where there is no such document. Of a container with many parts `delete_parts` is called first.
    """
    with transaction(org_id):
        return _delete(org_id, stopped(queue, org_id, [document_id])) or None


def delete_parts(queue: JobQueue, org_id: UUID, document_id: UUID) -> Iterator[list[str]]:
    """Remove what lies in a container, the innermost first, some in each transaction; the folders of their blobs.

    A container that is being unpacked has to be stopped first, and gets no new parts from then on.
    """
    with transaction(org_id):
        stop(queue, _of_org(org_id, [document_id]))
    while True:
        with reading(org_id):
            ids = _innermost(org_id, document_id)
        if not ids:
            return
        with transaction(org_id):
            folders = _delete(org_id, stopped(queue, org_id, ids))
        yield folders


def delete_rows(org_id: UUID, document_id: UUID) -> list[str] | None:
    """Remove one document that has no parts, and everything about it; the folders of blobs to remove.

    None where there is no such document.
    """
    return _delete(org_id, [document_id]) or None


def stopped(queue: JobQueue, org_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
    """These documents and all that lies in them, with no work left: first the jobs, which are locked before documents.

    Once its jobs are ended, nobody adds parts to a document any more.
    """
    inner = _of_org(org_id, ids)
    found = list(inner)
    while inner:
        stop(queue, inner)
        d = _documents.c
        # Without the org, which they have from their container: named beside it, SQLite reads all of its documents.
        inner = [
            each
            for part in batches(inner, _IDS_PER_STATEMENT)
            for each in session().scalars(select(d.id).where(d.parent_id.in_(part)))
        ]
        found += inner
    return found


def _of_org(org_id: UUID, ids: Collection[UUID]) -> list[UUID]:
    d = _documents.c
    return [
        each
        for part in batches(ids, _IDS_PER_STATEMENT)
        for each in session().scalars(select(d.id).where(d.org_id == org_id, d.id.in_(part)))
    ]


def stop(queue: JobQueue, ids: Collection[UUID]) -> None:
    """End all work on these documents; called before any document is locked."""
    for part in batches(of_documents.with_work_left(ids), _IDS_PER_STATEMENT):
        queue.cancel_runs(part)


def remove_folders(store: BlobStore, folders: Iterable[str]) -> None:
    """Remove what a deleted document leaves. What cannot be removed now is swept later: its rows are gone."""
    for folder in folders:
        try:
            store.delete_prefix(folder)
        except ProviderError as error:
            _log.warning("blobs of a deleted document stay behind until they are swept: %s", error.code)


def _delete(org_id: UUID, ids: Sequence[UUID]) -> list[str]:
    d = _documents.c
    these = d.org_id == org_id, d.id.in_(ids)
    # In the order of their ids, as all do who lock several documents. Not RETURNING: of a container and its parts
    # SQLite returns the container alone.
    known = select(d.id, d.sha256, d.answers_folder, d.size_bytes).where(*these).order_by(d.id).with_for_update()
    rows = session().execute(known).all()
    delete_of_documents(org_id, ids)
    session().execute(delete(_documents).where(*these))
    if not rows:
        return []
    add_stored(org_id, -sum(row.size_bytes for row in rows))
    answers = {answers_folder(org_id, row.sha256, row.answers_folder): row.sha256 for row in rows}
    return [*(document_folder(org_id, row.id) for row in rows), *folders_without_owner(org_id, answers)]


def _innermost(org_id: UUID, document_id: UUID) -> list[UUID]:
    """Some of the documents that lie in a container, those that lie deepest first."""
    outer = (
        select(_documents.c.id, literal(0).label("depth"))
        .where(_documents.c.org_id == org_id, _documents.c.parent_id == document_id)
        .cte("below", recursive=True)
    )
    inner = _documents.alias("inner")
    below = outer.union_all(select(inner.c.id, outer.c.depth + 1).where(inner.c.parent_id == outer.c.id))
    deepest = select(below.c.id).order_by(below.c.depth.desc(), below.c.id).limit(PARTS_PER_TRANSACTION)
    return list(session().scalars(deepest))
