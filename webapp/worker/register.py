"""The list of processes that work: for the ops pages, and for whoever looks which of them still live."""

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


@dataclass(frozen=True)
class Registration:
    """This process's line in the list; `name` is what its jobs are locked by."""

    threads: int
    id: UUID = field(default_factory=new_id)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)

    @property
    def name(self) -> str:
        """Tells a person where to look, and is never used twice."""
        return f"{self.host}:{self.pid}:{self.id}"

    def report(self) -> None:
        """Say that this process is here."""
        self._write()

    def vouch(self, lock_key: int | None) -> None:
        """Say that it is here as long as this lock is held; without one its heartbeats speak for it.

        Whoever was believed dead is back by this: under the same name, and without its old leases.
        """
        self._write(lock_key=lock_key, ended_at=None)

    def sign_off(self) -> None:
        """Leave the list."""
        with transaction(everywhere=True) as opened:
            opened.execute(delete(Worker).where(Worker.id == self.id))

    def _write(self, **values: object) -> None:
        own = {"id": self.id, "name": self.name, "host": self.host, "pid": self.pid, "threads": self.threads}
        # One statement: at the start a timer and the thread that looks after the lock both say so. The clause is
        # the same in both databases, and each compiles it.
        row = postgresql.insert(Worker).values(**own, **values)
        with transaction(everywhere=True) as opened:
            opened.execute(row.on_conflict_do_update(index_elements=["id"], set_={"last_seen": now(), **values}))
            opened.execute(delete(Worker).where(Worker.last_seen < after(-_FORGOTTEN_AFTER_SECONDS)))


def lock_dead(worker_id: UUID, lock_key: int) -> str | None:
    """The name of a worker whose lock is free, kept so until the end of this transaction; None where it lives.

    Of two processes that look at once, one gets it. A worker that comes back waits here for its row.
    """
    row = session().execute(
        select(Worker.name)
        .where(Worker.id == worker_id, Worker.lock_key == lock_key, Worker.ended_at.is_(None))
        .with_for_update(skip_locked=True)
    )
    name = row.scalar_one_or_none()
    if name is None or not session().scalar(select(func.pg_try_advisory_xact_lock(lock_key))):
        return None
    return name


def close(worker_id: UUID) -> None:
    """It was found dead, and nothing is left in its hands."""
    session().execute(update(Worker).where(Worker.id == worker_id).values(ended_at=now()))


def dead_with_jobs() -> list[str]:
    """Workers that were found dead and got a job nevertheless: by a claim that was on its way when they died."""
    held = select(Job.id).where(Job.locked_by == Worker.name, text(LEASED)).exists()
    return list(session().scalars(select(Worker.name).where(Worker.ended_at.is_not(None), held)))


def others_with_jobs(own_name: str) -> list[str]:
    """Workers but for this one that have jobs in their hands."""
    names = select(Job.locked_by).where(text(LEASED), Job.locked_by != own_name).distinct()
    return [name for name in session().scalars(names) if name is not None]
