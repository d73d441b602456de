"""Finds jobs by what ops have at hand: the id of a job, a run or a document, or words of a file's name."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, select

from webapp.db import session
from webapp.documents.model import Document, ProcessingRun
from webapp.jobs.queue import JobQueue, JobSnapshot
from webapp.library import grid, names

DOCUMENTS_MAX = 25
RUNS_MAX = 100


def search(queue: JobQueue, org_id: UUID, q: str) -> list[JobSnapshot]:
    """The jobs of this org that are meant, the newest first, inside of a transaction about it."""
    wanted = _as_id(q)
    if wanted is not None:
        job = queue.get(wanted)
        if job is not None:
            return [job] if job.org_id == org_id else []
        documents, runs = [wanted], [wanted]
    else:
        documents, runs = _named(org_id, q), []
    found = [*_of_org(org_id, _RUNS_OF_DOCUMENTS, documents), *_of_org(org_id, _RUNS, runs)]
    jobs = queue.of_runs(found) if found else []
    return sorted(jobs, key=lambda job: job.id, reverse=True)


def _named(org_id: UUID, q: str) -> list[UUID]:
    """The documents of this name. A file's name is no query: what has a meaning there has none here."""
    words = names.query_words(q)[: names.QUERY_WORDS_MAX]
    return [row.document.id for row in grid.page(org_id, q=" ".join(words), limit=DOCUMENTS_MAX).rows] if words else []


def _as_id(q: str) -> UUID | None:
    try:
        return UUID(q.strip())
    except ValueError:
        return None


def _of_org(org_id: UUID, runs: Any, ids: Sequence[UUID]) -> list[UUID]:
    rows = session().execute(runs, {"ids": list(ids)}) if ids else ()
    return [row.id for row in rows if row.org_id == org_id]


# Ids alone say which rows: named beside the org, a planner may read all rows of the org and pick these.
_ids: Any = bindparam("ids", expanding=True)
_RUNS = select(ProcessingRun.id, ProcessingRun.org_id).where(ProcessingRun.id.in_(_ids))
_RUNS_OF_DOCUMENTS = (
    select(ProcessingRun.id, ProcessingRun.org_id)
    .join_from(Document, ProcessingRun, ProcessingRun.document_id == Document.id)
    .where(Document.id.in_(_ids))
    .order_by(ProcessingRun.created_at.desc(), ProcessingRun.id.desc())
    .limit(RUNS_MAX)
)
