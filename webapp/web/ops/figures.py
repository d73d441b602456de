"""Figures for the ops page and for monitors: reads only, each a fixed number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, func, select, text

from webapp.clock import after
from webapp.db import session
from webapp.documents.model import Document
from webapp.jobs.model import LEASED, Job, Worker
from webapp.jobs.queue import JobQueue
from webapp.jobs.states import JobStatus
from webapp.library import lookup

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


def oldest_due_seconds(stages: Iterable[float | None]) -> float | None:
    """For how long the job that waits longest could have been worked on, from each stage's; None where none waits."""
    return max((seconds for seconds in stages if seconds is not None), default=None)


def running_by_stage() -> dict[str, int]:
    """How many jobs of each stage are running, of all orgs that this transaction may see."""
    counted = select(Job.stage, func.count()).where(text(LEASED)).group_by(Job.stage)
    return {row[0]: row[1] for row in session().execute(counted)}


def workers(silent_seconds: float) -> list[WorkerFigure]:
    """The worker processes, the latest first, without those that were silent for a day."""
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
    # Ids alone say which rows: named beside the org, a planner may read all rows of the org and pick these.
    rows = session().execute(
        select(Document.id, Document.org_id, Document.filename).where(Document.id.in_(document_ids))
    )
    return {row.id: row.filename for row in rows if row.org_id == org_id}


def retryable(queue: JobQueue, org_id: UUID, limit: int, stage: str | None = None) -> list[UUID]:
    """The failed jobs (of a stage) whose run is still their document's newest, the newest first."""
    found: list[UUID] = []
    before = None
    while len(found) < limit:
        failed = queue.find(org_id, JobStatus.FAILED, stage=stage, before=before, limit=limit)
        runs = {job.id: job.run for job in failed if job.run}
        newest = lookup.newest_runs({run.document_id for run in runs.values()})
        found += [job_id for job_id, run in runs.items() if newest.get(run.document_id) == run.id]
        if len(failed) < limit:
            break
        before = failed[-1].id
    return found[:limit]
