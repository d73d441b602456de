"""Figures for the ops page and for monitors: reads only, each a fixed number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, select

from webapp.clock import after
from webapp.db import session
from webapp.db.bounded import Count
from webapp.documents.model import Document
from webapp.jobs.model import Worker
from webapp.jobs.queue import JobQueue

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


def counts_by_status(queue: JobQueue, org_id: UUID) -> dict[str, Count]:
    """How many jobs an org has in each state, by its lower-case name; of the failed ones those that are open."""
    return {status.value.lower(): count for status, count in queue.counts_up_to_most(org_id).items()}
