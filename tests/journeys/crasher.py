"""A process of the product that kills itself, hard, right before or right after its n-th commit.

It counts the commits of the threads that work on jobs, as far as these have written something. Where it lives long
enough to see its document ended, it leaves of its own accord.
"""

import logging
import os
import re
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from tests.bare import settings_for
from webapp.app import create_app
from webapp.db import reading
from webapp.jobs.queue import JobQueue
from webapp.pipeline import steps
from webapp.runs import transitions
from webapp.services import Services
from webapp.worker.process import WorkerProcess


@dataclass(frozen=True)
class Crash:
    """Where to die: `moment` is "before_commit" or "after_commit", counted from 1."""

    moment: str
    number: int
    saves_at_once: bool = True
    """Whether each step is stored at once, as those of a long document are: then there are more commits to die at."""

    def arm(self) -> None:
        """Count from now on."""
        seen = [0]
        if self.saves_at_once:
            steps.SAVE_AFTER_SECONDS = 0.0

        wrote = threading.local()

        def note(connection: object, cursor: Any, statement: str, *more: object) -> None:
            # An idle worker looks for jobs in transactions that write nothing.
            if _WRITES.search(statement) and cursor.rowcount != 0:
                wrote.anything = True

        def count(session: Session) -> None:
            has_written, wrote.anything = getattr(wrote, "anything", False), False
            if not threading.current_thread().name.startswith("claimer") or not has_written:
                return
            seen[0] += 1
            if seen[0] == self.number:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(Engine, "after_cursor_execute", note)
        event.listen(Session, self.moment, count)


_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE)\b")


def live(data_dir: Path, variables: dict[str, str], crash: Crash, org_id: UUID, run_id: UUID) -> None:
    """Work until the run and the jobs that follow it have ended, or until the crash."""
    logging.disable()
    app = create_app(settings_for(data_dir, **variables))
    crash.arm()
    services: Services = app.extensions["docmill"]
    with app.app_context():
        process = WorkerProcess(services, lambda why: None)
        process.start()
        pause = threading.Event()
        while not _has_ended(services.queue, org_id, run_id):
            pause.wait(0.02)
        process.drain()


def _has_ended(queue: JobQueue, org_id: UUID, run_id: UUID) -> bool:
    with reading(org_id):
        state = transitions.state_of(run_id)
        jobs = queue.of_run(run_id)
    return state is None or (state.is_ended and all(job.status.is_ended for job in jobs))
