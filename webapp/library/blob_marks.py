"""Marks by which processes on several machines find out whether they share their files.

Each worker process stores a small blob under its own id. A process that does not find the mark of a worker that lives
has its files elsewhere: what one of them stores, the other will not find.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from webapp.clock import after
from webapp.db import reading
from webapp.documents import blob_layout
from webapp.jobs.model import Worker
from webapp.provider_errors import ProviderError
from webapp.providers.ports import BlobStore

# A network folder may show a new file so much later.
_SHOWN_AFTER_SECONDS = 60.0


@dataclass(frozen=True)
class WorkerElsewhere:
    """A worker that lives, and whose files are not where this process has them."""

    id: UUID
    host: str
    pid: int

    @property
    def warning(self) -> str:
        """A sentence for operators."""
        return (
            f"The worker on {self.host} (process {self.pid}) does not share its files with this machine: what one of "
            "them stores, the other does not find. Give all machines one shared folder as DATA_DIR, or Azure Blob "
            "Storage (docs/operations.md)."
        )


def leave(blobs: BlobStore, worker_id: UUID) -> None:
    """Store the mark of a worker; before it registers, or others would miss it."""
    blobs.put_bytes(blob_layout.worker_mark(worker_id), worker_id.hex.encode())


def remove(blobs: BlobStore, worker_id: UUID) -> None:
    """Remove the mark of a worker that has signed off."""
    blobs.delete(blob_layout.worker_mark(worker_id))


def workers_elsewhere(blobs: BlobStore, silent_seconds: float) -> list[WorkerElsewhere]:
    """The workers that were heard of so recently, and whose marks are not here; none where the files can't be seen."""
    with reading(everywhere=True) as session:
        alive = Worker.ended_at.is_(None), Worker.last_seen > after(-silent_seconds)
        rows = session.execute(
            select(Worker.id, Worker.host, Worker.pid)
            .where(*alive, Worker.started_at < after(-_SHOWN_AFTER_SECONDS))
            .order_by(Worker.host, Worker.id)
        ).all()
    if not rows:
        return []
    try:
        marked = {info.path for info in blobs.list(blob_layout.WORKER_MARKS)}
    except ProviderError:
        return []
    return [WorkerElsewhere(*row) for row in rows if blob_layout.worker_mark(row.id) not in marked]


def sweep(blobs: BlobStore) -> int:
    """Remove the marks of workers that have no row any more, and count them."""
    # Listed first: a worker that comes meanwhile is not in it.
    marked = {info.path for info in blobs.list(blob_layout.WORKER_MARKS)}
    if not marked:
        return 0
    with reading(everywhere=True) as session:
        known = {blob_layout.worker_mark(worker_id) for worker_id in session.scalars(select(Worker.id))}
    for path in marked - known:
        blobs.delete(path)
    return len(marked - known)
