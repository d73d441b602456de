"""A process of the product that kills itself, hard, right before or right after its n-th commit.

It counts the commits of the threads that work on jobs. Where it lives long enough to see its
document ended, it leaves of its own accord.
"""

import logging
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from flask import Flask
from sqlalchemy import event
from sqlalchemy.orm import Session

from tests.bare import settings_for
from webapp.app import create_app
from webapp.db import reading
from webapp.documents import runs
from webapp.worker.workshop import Workshop


@dataclass(frozen=True)
class Crash:
    """Where to die: `moment` is "before_commit" or "after_commit", counted from 1."""

    moment: str
    number: int

    def arm(self) -> None:
        """Count from now on."""
        seen = [0]

        def count(session: Session) -> None:
            if not threading.current_thread().name.startswith("claimer") or not _has_written(session):
                return
            seen[0] += 1
            if seen[0] == self.number:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(Session, self.moment, count)


def _has_written(session: Session) -> bool:
    scope = session.info.get("scope")
    return scope is not None and scope.writes


def live(data_dir: Path, variables: dict[str, str], crash: Crash, org_id: UUID, run_id: UUID) -> None:
    """Work until the run and the jobs that follow it have ended, or until the crash."""
    logging.disable()
    app = create_app(settings_for(data_dir, **variables))
    crash.arm()
    workshop = Workshop(app, lambda why: None)
    workshop.start()
    pause = threading.Event()
    while not _has_ended(app, org_id, run_id):
        pause.wait(0.02)
    workshop.drain()


def _has_ended(app: Flask, org_id: UUID, run_id: UUID) -> bool:
    with app.app_context(), reading(org_id):
        state = runs.state_of(run_id)
        jobs = app.extensions["docmill"].queue.of_run(run_id)
    return state is None or (state.is_ended and all(job.status.is_ended for job in jobs))
