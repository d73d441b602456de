"""The list of processes that work, for the ops pages. Nothing is decided by it."""

import os
import socket
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import delete, insert, update

from webapp.clock import after, new_id, now
from webapp.db import transaction
from webapp.jobs.model import Worker

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
        with transaction(everywhere=True) as session:
            seen = update(Worker).where(Worker.id == self.id).values(last_seen=now())
            if session.execute(seen.returning(Worker.id)).first() is None:
                values = {"id": self.id, "host": self.host, "pid": self.pid, "threads": self.threads}
                session.execute(insert(Worker).values(**values))
                session.execute(delete(Worker).where(Worker.last_seen < after(-_FORGOTTEN_AFTER_SECONDS)))

    def sign_off(self) -> None:
        """Leave the list."""
        with transaction(everywhere=True) as session:
            session.execute(delete(Worker).where(Worker.id == self.id))
