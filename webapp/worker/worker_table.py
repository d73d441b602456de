"""The table of worker processes: shown to ops, and used to see which of them are alive."""

import os
import socket
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects import postgresql

from webapp.clock import after, new_id, now
from webapp.db import session, transaction
from webapp.jobs.model import LEASED, Job, Worker

_FORGOTTEN_AFTER_SECONDS = 7 * 24 * 3600

# A worker's id and the key of the advisory lock that its row names. A worker that comes back has another key.
WorkerLock = tuple[UUID, int]


@dataclass(frozen=True)
class Registration:
    """This process's row in the table; its jobs are locked by `name`."""

    threads: int
    stages: tuple[str, ...] | None = None
    """The stages whose jobs it takes; None for all."""
    id: UUID = field(default_factory=new_id)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)

    @property
    def name(self) -> str:
        """The worker's name: tells a person where it runs, and is never used twice."""
        return f"{self.host}:{self.pid}:{self.id}"

    def report(self) -> None:
        """Write this process's row, or its time."""
        self._write()

    def register(self, lock_key: int | None) -> None:
        """Name the lock whose holding shows that the worker is alive; without one, its heartbeats do.

        This also brings back a worker that was marked as ended: under its name, without its old leases.
        """
        self._write(lock_key=lock_key, ended_at=None)

    def sign_off(self) -> None:
        """Remove this process's row."""
        with transaction(everywhere=True) as opened:
            opened.execute(delete(Worker).where(Worker.id == self.id))

    def _write(self, **values: object) -> None:
        own = {"id": self.id, "name": self.name, "host": self.host, "pid": self.pid, "threads": self.threads}
        taken = {"stages": None if self.stages is None else list(self.stages)}
        # One statement, since a timer and the presence thread may write the row at once. The clause is the same in
        # both databases, and each compiles it.
        row = postgresql.insert(Worker).values(**own, **taken, **values)
        with transaction(everywhere=True) as opened:
            opened.execute(
                row.on_conflict_do_update(index_elements=["id"], set_={"last_seen": now(), **taken, **values})
            )
            opened.execute(delete(Worker).where(Worker.last_seen < after(-_FORGOTTEN_AFTER_SECONDS)))


def lock_dead(worker: WorkerLock) -> str | None:
    """The name of a worker that is dead, whose row stays locked until this transaction ends; None if it is alive.

    Of several processes that try at once, one gets it. A worker that comes back waits here for its row.
    """
    worker_id, lock_key = worker
    row = session().execute(
        select(Worker.name)
        .where(Worker.id == worker_id, Worker.lock_key == lock_key, Worker.ended_at.is_(None))
        .with_for_update(skip_locked=True)
    )
    name = row.scalar_one_or_none()
    if name is None or not session().scalar(select(func.pg_try_advisory_xact_lock(lock_key))):
        return None
    return name


def mark_ended(worker_id: UUID) -> None:
    """Mark a dead worker as ended: its jobs were taken back."""
    session().execute(update(Worker).where(Worker.id == worker_id).values(ended_at=now()))


def job_holders() -> dict[str, bool]:
    """The names of the workers that have a job now, and whether each was marked as ended."""
    ended = select(Worker.id).where(Worker.name == Job.locked_by, Worker.ended_at.is_not(None)).exists()
    rows = session().execute(select(Job.locked_by, ended).where(text(LEASED)).distinct()).all()
    return {name: is_ended for name, is_ended in rows if name is not None}
