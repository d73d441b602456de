"""A workplace whose embedder is paid for: several workers at once, calls that can be stopped on their way, the bill."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from flask import Flask, current_app
from sqlalchemy import event, update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests import ledger_check
from tests.emulators.clients import openai_embedder
from tests.emulators.openai import OpenAI
from tests.emulators.server import Emulator
from tests.pipeline.workplace import Crash, Workplace
from webapp.clock import after, now
from webapp.db import reading, transaction
from webapp.documents.ledger_model import CallReservation
from webapp.jobs.interruptions import WaitsForOthers
from webapp.jobs.model import Job
from webapp.jobs.queue import Lease, LeaseLost
from webapp.pipeline import waiting
from webapp.pipeline.handlers import do_steps
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.providers.ports import BlobStore
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.search.model import CachedEmbedding

BATCH, CALLS_AT_ONCE = 2, 4
WORKERS = 4


@dataclass
class PaidPlace:
    """One org's documents, at a server that keeps the bill."""

    workplace: Workplace
    openai: OpenAI
    app: Flask

    def embed_with(self, **more: Any) -> None:
        values = {"batch_size": BATCH, "concurrency": CALLS_AT_ONCE, "timeout_seconds": 60, **more}
        self.workplace.with_embedder(openai_embedder(self.openai, **values))

    def upload(self, data: bytes, name: str = "a.md") -> UUID:
        return self.workplace.upload(data, name).document.id

    def work_off(self, workers: int = WORKERS) -> None:
        """So many workers, each with one job at a time, until nothing is left to do."""
        with ThreadPoolExecutor(workers) as threads:
            for done in [threads.submit(self._work_on) for _ in range(workers)]:
                done.result()

    def _work_on(self) -> None:
        with self.app.app_context():
            while self._is_work_left():
                for lease in self.claim():
                    self.attempt(lease)

    def attempt(self, lease: Lease, context: StageContext | None = None) -> bool:
        """Whether the document is done; a job that waits for others is due again at once, as in a real second."""
        context = context or self.workplace.context(lease)
        try:
            do_steps(context)
        except WaitsForOthers:
            waiting.wait_for_others(context, 0.02)
            return False
        return True

    def attempt_alone(self, lease: Lease) -> bool:
        """The same in a thread of its own."""
        with self.app.app_context():
            return self.attempt(lease)

    def claim(self) -> list[Lease]:
        self.workplace.queue.wake_delayed()
        leases = self.workplace.queue.claim("worker", stages=[PROCESS_DOCUMENT])
        return [waiting.end_waiting(self.workplace.queue, lease)[0] for lease in leases]

    def _is_work_left(self) -> bool:
        with reading(self.workplace.org_id) as session:
            live = session.query(Job).filter(Job.stage == PROCESS_DOCUMENT, Job.status.in_(["PENDING", "PROCESSING"]))
            return live.first() is not None

    @contextmanager
    def caught_in_flight(self, lease: Lease, calls: int = CALLS_AT_ONCE) -> Iterator[list[str]]:
        """Process until so many calls are on their way; they are answered after the block, then the attempt ends."""
        self.openai.misbehave("late", "embeddings", times=calls, seconds=20)
        ended: list[str] = []
        # Another worker is another process, which has clients of its own.
        context = self.workplace.context(lease)
        self.embed_with()

        def process() -> None:
            with self.app.app_context():
                try:
                    ended.append("done" if self.attempt(lease, context) else "waits")
                except LeaseLost:
                    ended.append("lost")

        with self.openai.lock:
            released = self.openai._released
        thread = threading.Thread(target=process)
        thread.start()
        try:
            wait_until(lambda: self.openai.in_flight["embeddings"] == calls)
            yield ended
        finally:
            released.set()
            thread.join(30)

    def cached(self) -> int:
        return len(self.workplace.all(CachedEmbedding))

    def reserved(self) -> list[CallReservation]:
        return self.workplace.all(CallReservation)

    def bill(self, operation: str = "embed") -> list[tuple[int, str, bool]]:
        return sorted((call.units, call.outcome, call.reused) for call in self.workplace.calls(operation))

    def expire(self, lease: Lease, *, silent_seconds: float = 0) -> None:
        """As if the provider's time had passed, and the worker had sent no heartbeat for so long."""
        with transaction(self.workplace.org_id) as session:
            session.execute(update(CallReservation).values(ends_at=after(-1)))
            held = update(Job).where(Job.id == lease.job_id)
            session.execute(held.values(heartbeat_at=after(-silent_seconds) if silent_seconds else now()))


def deviations(workplace: Workplace, *emulators: Emulator, exact: bool = True) -> list[str]:
    """Where the ledger and the bills of these services disagree."""
    with reading(workplace.org_id) as session:
        found = ledger_check.bookings(session)
    return ledger_check.deviations(ledger_check.paid_at(*emulators), found, exact=exact)


def make_place(workplace: Workplace, openai: OpenAI) -> PaidPlace:
    place = PaidPlace(workplace, openai, cast(Any, current_app)._get_current_object())
    place.embed_with()
    return place


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    pause = threading.Event()
    for _ in range(int(seconds * 100)):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("waited in vain")


@contextmanager
def commits_fail(
    when: Callable[[], bool], *, after_commit: bool = False, times: int = 10_000, every: int = 1
) -> Iterator[list[int]]:
    """So many commits of writes lose their connection, one in so many: before they happen, or before the answer."""
    seen, failed = [0], [0]

    def fail(session: Session) -> None:
        scope = session.info.get("scope")
        if scope is None or not scope.writes or failed[0] == times or not when():
            return
        seen[0] += 1
        if seen[0] % every == 0:
            failed[0] += 1
            raise OperationalError(
                "COMMIT", None, ConnectionError("the connection was lost"), connection_invalidated=True
            )

    name = "after_commit" if after_commit else "before_commit"
    event.listen(Session, name, fail)
    try:
        yield failed
    finally:
        event.remove(Session, name, fail)


@contextmanager
def database_away(when: Callable[[], bool]) -> Iterator[None]:
    """No transaction can be begun, neither to write nor to read."""

    def fail(*_: object) -> None:
        if when():
            raise OperationalError("BEGIN", None, ConnectionError("no connection"), connection_invalidated=True)

    event.listen(Session, "after_begin", fail)
    try:
        yield
    finally:
        event.remove(Session, "after_begin", fail)


@dataclass
class Faulty:
    """A blob store in which something happens around the writes to some paths."""

    real: BlobStore
    fragment: str
    dies: bool = False
    full: int = 0
    """How many writes find no room."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def put_bytes(self, path: str, data: bytes, *, durably: bool = True) -> None:
        if self.fragment in path and self.full:
            self.full -= 1
            raise ProviderUnavailable("no room", code=FailureCode.STORAGE_FULL)
        self.real.put_bytes(path, data, durably=durably)
        if self.fragment in path and self.dies:
            raise Crash
