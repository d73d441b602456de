"""Figures for the ops page and for monitors: reads only, each a fixed number of queries."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, exists, func, select, tuple_, type_coerce
from sqlalchemy.orm import aliased

from webapp.clock import after, now
from webapp.db import UtcDateTime, session
from webapp.documents.model import Document, ProcessingRun
from webapp.jobs.model import Job, Worker
from webapp.jobs.states import JobStatus

_WORKERS_SHOWN = 100
_FORGOTTEN_AFTER_SECONDS = 86_400


@dataclass(frozen=True)
class WorkerFigure:
    """A worker process as it last reported itself."""

    id: UUID
    host: str
    pid: int
    threads: int
    started_at: datetime
    last_seen: datetime
    alive: bool


def oldest_due_seconds(org_id: UUID) -> float | None:
    """For how long the job that waits longest could have been worked on; None where none waits."""
    due = Job.org_id == org_id, Job.status == JobStatus.PENDING, Job.available_at <= now()
    row = session().execute(select(func.min(Job.available_at), type_coerce(now(), UtcDateTime)).where(*due)).one()
    since, present = row
    return (present - since).total_seconds() if since else None


def at_work() -> dict[str, int]:
    """How many jobs of each stage are at work, of everybody who may be seen."""
    counted = select(Job.stage, func.count()).where(Job.status == JobStatus.PROCESSING).group_by(Job.stage)
    return {row[0]: row[1] for row in session().execute(counted)}


def workers(silent_seconds: float) -> list[WorkerFigure]:
    """The processes that work, the latest first; those that were silent for a day are left out."""
    alive = and_(Worker.ended_at.is_(None), Worker.last_seen > after(-silent_seconds))
    seen = Worker.last_seen > after(-_FORGOTTEN_AFTER_SECONDS)
    rows = session().execute(
        select(Worker, alive).where(seen).order_by(Worker.last_seen.desc(), Worker.id).limit(_WORKERS_SHOWN)
    )
    return [
        WorkerFigure(w.id, w.host, w.pid, w.threads, w.started_at, w.last_seen, bool(is_alive)) for w, is_alive in rows
    ]


def filenames(org_id: UUID, document_ids: set[UUID]) -> dict[UUID, str]:
    """The names of some documents, in one query."""
    wanted = Document.org_id == org_id, Document.id.in_(document_ids)
    rows = session().execute(select(Document.id, Document.filename).where(*wanted))
    return {row.id: row.filename for row in rows}


def retryable(org_id: UUID, limit: int, stage: str | None = None) -> list[UUID]:
    """The failed jobs (of a stage) whose run is still their document's newest, the newest first."""
    run, newer = aliased(ProcessingRun), aliased(ProcessingRun)
    is_newer = tuple_(newer.created_at, newer.id) > tuple_(run.created_at, run.id)
    failed = (
        select(Job.id)
        .join(run, run.id == Job.run_id)
        .where(Job.org_id == org_id, Job.status == JobStatus.FAILED)
        .where(~exists().where(newer.document_id == run.document_id, is_newer))
        .order_by(Job.created_at.desc(), Job.id.desc())
    )
    if stage is not None:
        failed = failed.where(Job.stage == stage)
    return list(session().scalars(failed.limit(limit)))
