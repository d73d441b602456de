"""A workplace whose files are read elsewhere: the real client, the real queue, an emulator of the service."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from tests.emulators.documentintelligence import DocumentIntelligence
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import Document
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.model import Job
from webapp.jobs.queue import Lease
from webapp.pipeline.handlers import do_steps
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Unsaved

LOOKS_MAX = 100


@dataclass
class Countdown:
    """Dies at the n-th moment, and only there; merely counts them where `at` is 0."""

    at: int = 0
    passed: int = 0

    def tick(self) -> None:
        self.passed += 1
        if self.passed == self.at:
            raise Crash


@dataclass
class Dying:
    """Something whose caller may die before and after each of these calls."""

    real: Any
    countdown: Countdown
    calls: frozenset[str]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        return self._around(found) if name in self.calls else found

    def _around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def dying(*given: Any, **more: Any) -> Any:
            self.countdown.tick()
            result = call(*given, **more)
            self.countdown.tick()
            return result

        return dying


@dataclass
class RemotePlace:
    """One worker's hands, at files that somebody else reads."""

    workplace: Workplace
    extractor: Any
    server: DocumentIntelligence
    countdown: Countdown | None = None
    lease: Lease = field(init=False)

    def use(self, extractor: Any, blobs: Any = None) -> None:
        providers = self.workplace.providers
        self.workplace.providers = replace(providers, remote_extractor=extractor, blobs=blobs or providers.blobs)

    def claim(self) -> Lease:
        self.lease = self.workplace.claim()
        return self.lease

    def look(self, lease: Lease) -> StageContext | None:
        """One attempt as the worker makes it; None when the job went to wait."""
        context = self._context(lease)
        try:
            do_steps(context)
        except Snoozed:
            with transaction(lease.org_id):
                self.workplace.queue.snooze(lease, 0, context.checkpoint)
            return None
        return context

    def finish(self, lease: Lease | None = None) -> StageContext:
        """Look again and again until the document is done."""
        lease = lease or self.claim()
        for _ in range(LOOKS_MAX):
            if context := self.look(lease):
                return context
            lease = self.claim()
        raise AssertionError(f"not done after {LOOKS_MAX} looks")

    def recover(self) -> None:
        """After a crash: another worker takes over, unless all was done."""
        (job,) = [job for job in self.workplace.all(Job) if job.id == self.lease.job_id]
        if job.status == "PROCESSING":
            self.finish(self.workplace.take_back(self.lease))
        elif job.status == "PENDING":
            self.finish()

    def upload(self, data: bytes, filename: str = "a.pdf") -> UUID:
        return self.workplace.upload(data, filename).document.id

    def document(self, document_id: UUID) -> Document:
        return self.workplace.document(document_id)

    def operations(self) -> dict[str, str]:
        """The ids of the operations that are stored, by their windows."""
        blobs = self.workplace.providers.blobs
        paths = [path for path in self.workplace.blobs() if path.endswith(".operation")]
        return {path.rpartition("/")[2]: blobs.read_bytes(path).decode().partition("\n")[0] for path in paths}

    def bill(self) -> list[tuple[int, str, bool]]:
        """What the ledger says of extractions: pages, outcome, reused."""
        calls: list[ProviderCall] = self.workplace.calls("extract")
        return sorted((call.units, call.outcome, call.reused) for call in calls)

    def _context(self, lease: Lease) -> StageContext:
        context = self.workplace.context(lease)
        if self.countdown is not None:
            real = context.transaction
            context.transaction = partial(_dying, real, self.countdown)  # type: ignore[method-assign] # of this one alone
        return context


@contextmanager
def _dying(
    real: Callable[..., AbstractContextManager[Any]], countdown: Countdown, last: Unsaved | None = None
) -> Iterator[Any]:
    """A transaction whose process may die before it, and after its commit."""
    countdown.tick()
    with real(last) as session:
        yield session
    countdown.tick()
