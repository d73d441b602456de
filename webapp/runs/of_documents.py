"""The runs of several documents at once: which are alive, which have work left."""

from collections.abc import Collection
from typing import cast
from uuid import UUID

from sqlalchemy import Table, exists, or_, select

from webapp.batches import batches
from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import LiveRun, RunState
from webapp.jobs.model import Job
from webapp.jobs.states import JobStatus

_documents = cast(Table, Document.__table__)
_LIVE = (RunState.QUEUED, RunState.RUNNING)
_IDS_PER_STATEMENT = 500


def live_among(document_ids: Collection[UUID]) -> list[LiveRun]:
    """The runs of these documents that have not ended, in the order of the documents' ids."""
    runs = select(ProcessingRun.id, ProcessingRun.org_id, ProcessingRun.document_id)
    runs = runs.where(ProcessingRun.state.in_(_LIVE)).order_by(ProcessingRun.document_id, ProcessingRun.id)
    parts = batches(sorted(document_ids), _IDS_PER_STATEMENT)
    return [
        LiveRun(*row) for part in parts for row in session().execute(runs.where(ProcessingRun.document_id.in_(part)))
    ]


def with_work_left(document_ids: Collection[UUID]) -> list[UUID]:
    """The runs of these documents that are alive or have live jobs, in the order of the documents' ids."""
    has_job = exists().where(Job.run_id == ProcessingRun.id, Job.status.in_((JobStatus.PENDING, JobStatus.PROCESSING)))
    runs = select(ProcessingRun.id).where(or_(ProcessingRun.state.in_(_LIVE), has_job))
    runs = runs.order_by(ProcessingRun.document_id, ProcessingRun.id)
    parts = batches(sorted(document_ids), _IDS_PER_STATEMENT)
    return [run for part in parts for run in session().scalars(runs.where(ProcessingRun.document_id.in_(part)))]


def lock_many(org_id: UUID, ids: Collection[UUID]) -> list[UUID]:
    """Lock these documents, those that are there and not in the bin, in the order of their ids."""
    d = _documents.c
    rows = select(d.id).where(d.org_id == org_id, d.id.in_(ids), in_library).order_by(d.id).with_for_update()
    return list(session().scalars(rows))
