"""A worker's bench: the real pool, queue and watchdog, with small handlers of the tests' own."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from flask import Flask
from sqlalchemy import event, update

from tests.bare import changed
from tests.documents.rows import events_of, new_document, new_org, run
from webapp.clock import after, monotonic
from webapp.db import transaction
from webapp.documents.model import ProcessingRun
from webapp.documents.states import LiveRun, RunTrigger
from webapp.jobs.dispatch.database import DatabaseDispatch
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import JobSnapshot, Lease
from webapp.pipeline.handlers import Handler
from webapp.pipeline.steps import StageContext
from webapp.runs import lifecycle
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.services import Services
from webapp.wiring import wire
from webapp.worker.attempt import Attempts, Claimed, Outcome
from webapp.worker.policy import ExecutionPolicy
from webapp.worker.pool import Pool, PoolSize

# Far longer than anything takes, since a disk may be busy with others for that long.
PATIENCE_SECONDS = 40.0


def wait_for(condition: Callable[[], bool], what: str = "", seconds: float = PATIENCE_SECONDS) -> None:
    """Until the condition holds; a deadline is a failure."""
    deadline, pause = monotonic() + seconds, threading.Event()
    while not condition():
        assert monotonic() < deadline, f"waited in vain {what}"
        pause.wait(0.01)


class Gate:
    """A handler that stops in the middle of its work until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.contexts: list[StageContext] = []

    def __call__(self, context: StageContext) -> None:
        self.contexts.append(context)
        self.entered.release()
        assert self.opened.wait(PATIENCE_SECONDS)
        context.check()
        finish(context)

    def wait_for_entry(self) -> StageContext:
        """Until one more attempt is in the middle of its work."""
        assert self.entered.acquire(timeout=PATIENCE_SECONDS)
        return self.contexts[-1]


def finish(context: StageContext) -> None:
    """A handler that does nothing, well."""
    with context.transaction():
        lifecycle.succeed_run(context.queue, context.lease)


def raising(error: BaseException) -> Handler:
    def handler(context: StageContext) -> None:
        raise error

    return handler


class Bench:
    """Services on the database under test, one org, and jobs for the handlers at hand."""

    def __init__(self, app: Flask, services: Services) -> None:
        self.app = app
        self.services = services
        self.queue = services.queue
        self.org_id = new_org()
        self.policy = ExecutionPolicy.of(services.settings)
        self.broken: list[str] = []
        self.pools: list[Pool] = []
        self._listening: list[tuple[Any, str, Callable[..., None]]] = []

    def listen(self, target: Any, name: str, listener: Callable[..., None]) -> None:
        """Hear of what happens inside SQLAlchemy until the test is over: not even then while a thread is in there."""
        event.listen(target, name, listener)
        self._listening.append((target, name, listener))

    def close(self) -> None:
        """Nobody works any more."""
        for pool in self.pools:
            if not pool._draining.is_set():
                pool.drain(PATIENCE_SECONDS)
        # A thread that was left behind in a drain would go on in the next test's database.
        wait_for(lambda: not any(thread.name.startswith("claimer-") for thread in threading.enumerate()), "for threads")
        for target, name, listener in self._listening:
            event.remove(target, name, listener)

    @classmethod
    def make(cls, app: Flask, settings: Any) -> "Bench":
        return cls(app, wire(settings))

    def with_queue(self, **changes: Any) -> "Bench":
        """Other settings of the queue."""
        settings = changed(self.services.settings, "queue", **changes)
        self.services = replace(self.services, settings=settings)
        self.policy = ExecutionPolicy.of(settings)
        return self

    def new_run(self, document_id: UUID | None = None, *, max_attempts: int = 2, stage: str | None = None) -> UUID:
        document_id = document_id or new_document(self.org_id)
        return lifecycle.queue_run(
            self.queue, self.org_id, document_id, RunTrigger.UPLOAD, max_attempts=max_attempts, stage=stage
        )

    def attempts(self, handler: Handler | Mapping[str, Handler]) -> Attempts:
        handlers = handler if isinstance(handler, Mapping) else {PROCESS_DOCUMENT: handler}
        return Attempts(self.services, self.policy, handlers)

    def attempt(self, handler: Handler, stopping: threading.Event | None = None) -> Outcome:
        """One job, from claim to outcome."""
        attempts = self.attempts(handler)
        self.queue.wake_delayed()
        (claimed,) = attempts.claim("worker")
        return attempts.run(claimed, stopping or threading.Event())

    def claim(self) -> Claimed:
        self.queue.wake_delayed()
        (claimed,) = self.attempts(finish).claim("worker")
        return claimed

    def pool(self, handler: Handler | Mapping[str, Handler], threads: int = 2) -> Pool:
        """A pool at work."""
        settings = self.services.settings
        pool = Pool(
            f"worker-{len(self.pools)}",
            self.attempts(handler),
            DatabaseDispatch(self.queue),
            PoolSize(threads, settings.queue.poll_seconds),
            self.broken.append,
        )
        self.pools.append(pool)
        pool.start()
        return pool

    def job(self, run_id: UUID) -> JobSnapshot:
        (job,) = self.queue.of_run(run_id)
        return job

    def run(self, run_id: UUID) -> ProcessingRun:
        return run(self.org_id, run_id)

    def live_run(self, run_id: UUID) -> LiveRun:
        return LiveRun(run_id, self.org_id, self.run(run_id).document_id)

    def states(self, run_id: UUID) -> tuple[str, str]:
        return self.run(run_id).state, self.job(run_id).status

    def events(self, run_id: UUID) -> list[str]:
        return events_of(self.org_id, run_id)

    def grow_old(self, run_id: UUID, seconds: float) -> None:
        """As if its run had been at work for so long."""
        with transaction(self.org_id) as session:
            old = update(ProcessingRun).where(ProcessingRun.id == run_id)
            session.execute(old.values(started_at=after(-seconds)))

    def grow_silent(self, run_id: UUID, seconds: float) -> None:
        """As if its worker had sent no heartbeat for so long."""
        with transaction(self.org_id) as session:
            silent = update(JobRow).where(JobRow.run_id == run_id)
            session.execute(silent.values(heartbeat_at=after(-seconds)))

    def take_away(self, lease: Lease) -> None:
        """Another process thinks that this worker is dead."""
        self.grow_silent(lease.run_id, 7300)
        assert lifecycle.reset_silent(self.queue, 7200)
