"""What the queue's tests need beside a queue: runs to work on, a clock to turn, threads to work in.

Another implementation of `JobQueue` brings a class like `SqlQueueRig` and a line in the fixture of
tests/contracts/conftest.py, and has to pass all of it.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID, uuid4

from flask import Flask
from sqlalchemy import bindparam, select, update

from webapp.accounts.model import Org
from webapp.db import transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import LiveRun
from webapp.jobs.model import Job as JobRow
from webapp.jobs.model import StageControlRow
from webapp.jobs.queue import JobQueue, JobSnapshot, Lease, NewJob
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue

RETRY = RetryPolicy(base_seconds=30, max_seconds=600)


@dataclass(frozen=True)
class Run:
    """A run that jobs can be about."""

    org_id: UUID
    document_id: UUID
    id: UUID

    def job(self, stage: str = "process_document", **more: Any) -> NewJob:
        run = LiveRun(self.id, self.org_id, self.document_id)
        return NewJob(self.org_id, run, stage, **{"max_attempts": 3, **more})


class QueueRig(Protocol):
    """A queue under test, and what surrounds it."""

    queue: JobQueue

    def new_org(self) -> UUID:
        """An org, with nothing in it."""

    def new_runs(self, number: int, org_id: UUID | None = None) -> list[Run]:
        """Runs of as many documents, in one org."""

    def pass_time(self, seconds: float) -> None:
        """Let so much time pass for every job and every stage."""

    def together(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Do all of this at the same time, and return what came of it."""


def new_run(rig: QueueRig) -> Run:
    return rig.new_runs(1)[0]


def enqueue(rig: QueueRig, **more: Any) -> NewJob:
    """One job of a run of its own."""
    job = new_run(rig).job(**more)
    rig.queue.enqueue([job])
    return job


def claim_one(rig: QueueRig, worker: str = "a") -> Lease:
    (lease,) = rig.queue.claim(worker)
    return lease


def job(rig: QueueRig, job_id: UUID) -> JobSnapshot:
    """A job as it is now."""
    found = rig.queue.get(job_id)
    assert found is not None
    return found


def ids(jobs: Sequence[Any]) -> list[UUID]:
    """The ids of jobs or of leases."""
    return [job.job_id if isinstance(job, Lease) else job.id for job in jobs]


class SqlQueueRig:
    """The queue in a database. Runs inside an application context."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.queue: JobQueue = SqlJobQueue(RETRY)
        self._org_id: UUID | None = None

    def new_org(self) -> UUID:
        with transaction(everywhere=True) as opened:
            org = Org(name=uuid4().hex)
            opened.add(org)
        return org.id

    def new_runs(self, number: int, org_id: UUID | None = None) -> list[Run]:
        self._org_id = self._org_id or self.new_org()
        org_id = org_id or self._org_id
        with transaction(org_id) as opened:
            documents = [_document(org_id) for _ in range(number)]
            opened.add_all(documents)
            opened.flush()
            runs = [ProcessingRun(org_id=org_id, document_id=document.id, trigger="UPLOAD") for document in documents]
            opened.add_all(runs)
        return [Run(org_id, run.document_id, run.id) for run in runs]

    def pass_time(self, seconds: float) -> None:
        names = ("available_at", "wakes_at", "created_at", "started_at", "heartbeat_at", "completed_at")
        jobs = JobRow.__table__
        columns = [jobs.c[name] for name in names]
        change = update(JobRow).where(jobs.c.id == bindparam("job"))
        with transaction(everywhere=True) as opened:
            connection = opened.connection()
            for row in connection.execute(select(jobs.c.id, *columns)).all():
                times = {name: getattr(row, name) for name in names}
                earlier = {name: at and at - timedelta(seconds=seconds) for name, at in times.items()}
                connection.execute(change.values(earlier), {"job": row.id})
            for control in opened.scalars(select(StageControlRow).where(StageControlRow.slowed_until.is_not(None))):
                assert control.slowed_until is not None
                control.slowed_until -= timedelta(seconds=seconds)
        self.queue.wake_delayed()

    def together(self, *tasks: Callable[[], Any]) -> list[Any]:
        start = threading.Barrier(len(tasks))

        def run(task: Callable[[], Any]) -> Any:
            with self.app.app_context():
                start.wait(20)
                return task()

        with ThreadPoolExecutor(len(tasks)) as threads:
            return list(threads.map(run, tasks))


def _document(org_id: UUID) -> Document:
    return Document(
        org_id=org_id,
        filename="a.txt",
        content_type="text/plain",
        size_bytes=1,
        sha256=uuid4().hex * 2,
        blob_path="nowhere",
    )
