"""A process that starts and ends runs as fast as it can, beside others that do the same.

Run as `python -m tests.documents.starter ORG` with the variables of the product; prints `ready`, waits
for a line, works until no run is left, and prints the ids of the runs that it has started.
"""

import os
import sys
from uuid import UUID

from sqlalchemy import func, select

from tests.bare import dispose, make_bare_app
from webapp.config import Settings
from webapp.db import reading, session, transaction
from webapp.documents import runs
from webapp.documents.model import ProcessingRun


def main(org_id: UUID) -> None:
    app = make_bare_app(Settings.from_environment(os.environ))
    with app.app_context():
        queued(org_id)
        print("ready", flush=True)  # noqa: T201 - that is how it says so
        sys.stdin.readline()
        for run_id in work(org_id):
            print(run_id)  # noqa: T201 - as above
    dispose(app)


def work(org_id: UUID) -> list[UUID]:
    """Try every queued run, the youngest first, so that the guard has something to refuse."""
    started = []
    while waiting := queued(org_id):
        for run_id in waiting:
            with transaction(org_id):
                won = runs.start(run_id)
                assert running_of(run_id) <= 1
            if won:
                started.append(run_id)
                with transaction(org_id):
                    assert runs.succeed(run_id) is not None
    return started


def queued(org_id: UUID) -> list[UUID]:
    with reading(org_id):
        waiting = select(ProcessingRun.id).where(ProcessingRun.state == "QUEUED")
        return list(session().scalars(waiting.order_by(ProcessingRun.created_at.desc())))


def running_of(run_id: UUID) -> int:
    """How many runs of the same document are at work."""
    document_id = select(ProcessingRun.document_id).where(ProcessingRun.id == run_id).scalar_subquery()
    running = select(func.count()).where(ProcessingRun.document_id == document_id, ProcessingRun.state == "RUNNING")
    return session().scalar(running) or 0


if __name__ == "__main__":
    main(UUID(sys.argv[1]))
