"""A place where documents are processed: real queue, real blobs, the real extractor, small vectors."""

import io
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from sqlalchemy import select
from sqlalchemy.orm import undefer

from tests.hashed_words import HashedWords
from tests.search.passages import new_org
from webapp.accounts.seal import WEBHOOK_SECRETS, Seal
from webapp.clock import monotonic
from webapp.config import Settings
from webapp.db import reading, transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import Document, ProcessingRun, RunEvent
from webapp.documents.states import RunTrigger
from webapp.jobs.queue import Lease
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sealed_passwords import PasswordSeal
from webapp.jobs.sql import SqlJobQueue
from webapp.library.intake import Ingested, ingest, receive
from webapp.pipeline.connect import detect_connections
from webapp.pipeline.handlers import do_steps
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import ProviderError
from webapp.providers.checked_post import CheckedPoster
from webapp.providers.local.blob import LocalBlobStore
from webapp.providers.ports import Embedder, Extractor, KeptParts, Providers
from webapp.readers.extraction import Extraction
from webapp.runs import lifecycle, transitions
from webapp.runs.stages import DETECT_CONNECTIONS
from webapp.search.model import Chunk
from webapp.services import Services


class Crash(BaseException):
    """The process is gone: nothing after this moment happens."""


class Counted:
    """An Extractor around another: counts the calls, and fails or dies when it is told to."""

    def __init__(self, real: Extractor) -> None:
        self.real = real
        self.name = real.name
        self.version = real.version
        self.calls = 0
        self.failures: list[BaseException] = []

    def options_key(self) -> str:
        return self.real.options_key()

    def accepts(self, content_type: str) -> bool:
        return self.real.accepts(content_type)

    def check(self) -> None:
        self.real.check()

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return self.real.extract(source, content_type, timeout_seconds=timeout_seconds, progress=progress, parts=parts)


class Fallible(HashedWords):
    """The small embedder, which fails or dies at its n-th batch when it is told to."""

    def __init__(self, model: str = "hashed-words-64") -> None:
        super().__init__(model=model)
        self.batches = 0
        self.failures: dict[int, BaseException] = {}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches += 1
        if failure := self.failures.pop(self.batches, None):
            raise failure
        return super().embed(texts)


@dataclass
class Workplace(Services):
    """Services, an org, and one worker's hands."""

    extractor: Counted
    embedder: Fallible
    org_id: UUID
    stopping: threading.Event = field(default_factory=threading.Event)

    def upload(self, data: bytes, filename: str = "a.txt", org_id: UUID | None = None) -> Ingested:
        incoming = receive(self.providers.blobs.incoming(), io.BytesIO(data), self.settings.limits.upload_bytes_max)
        return ingest(self, org_id or self.org_id, incoming, filename)

    def reprocess(self, document_id: UUID, *, max_attempts: int = 5, **more: Any) -> UUID:
        return lifecycle.queue_run(
            self.queue, self.org_id, document_id, RunTrigger.REPROCESS, max_attempts=max_attempts, **more
        )

    def claim(self) -> Lease:
        """Take the next job and start its run."""
        self.queue.wake_delayed()
        (lease,) = self.queue.claim("worker")
        return lease

    def die_before(self, saved: str, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
        """Process the job until the attempt dies, right before its checkpoint says this."""
        checkpoint = self.queue.checkpoint

        def dies(lease: Any, state: Any) -> None:
            if state["processing_stage"] == saved:
                raise Crash
            checkpoint(lease, state)

        with monkeypatch.context() as patch:
            patch.setattr(self.queue, "checkpoint", dies)
            with pytest.raises(Crash):
                self.process(lease)

    def take_back(self, lease: Lease) -> Lease:
        """The worker died: its job goes to the next one."""
        with transaction(everywhere=True):
            assert self.queue.release([lease])
        return self.claim()

    def context(self, lease: Lease, **more: Any) -> StageContext:
        values = {
            "step_attempts": 2,
            "deadline": monotonic() + 120,
            "stopping": self.stopping,
            "retry_pause_seconds": 0.001,
            # As if each step took long: what it did is stored at once.
            "save_after_seconds": 0.0,
            "seal": self.seal,
            **more,
        }
        return StageContext(lease=lease, queue=self.queue, providers=self.providers, **values)

    def process(self, lease: Lease | None = None, **more: Any) -> StageContext:
        context = self.context(lease or self.claim(), **more)
        do_steps(context)
        return context

    def connect(self, **more: Any) -> None:
        """Do the oldest job that looks for connections."""
        lease = self.claim()
        assert lease.stage == DETECT_CONNECTIONS
        detect_connections(self.context(lease, **more))

    def connected(self, data: bytes, filename: str = "a.txt") -> Document:
        """A document whose connections have been looked for."""
        document = self.processed(data, filename)
        self.connect()
        return document

    def processed(self, data: bytes, filename: str = "a.txt") -> Document:
        """A document that is READY."""
        document_id = self.upload(data, filename).document.id
        self.process()
        return self.document(document_id)

    def with_extractor(self, extractor: Extractor) -> None:
        self.extractor = Counted(extractor)
        self.providers = replace(self.providers, extractor=self.extractor)

    def with_embedder(self, embedder: Embedder) -> None:
        # Only a test that brought a Fallible one asks it for its failures.
        self.embedder = cast(Fallible, embedder)
        self.providers = replace(self.providers, embedder=embedder)

    def document(self, document_id: UUID) -> Document:
        with reading(self.org_id) as opened:
            return opened.get_one(Document, document_id, options=[undefer(Document.embedding)])

    def run(self, document_id: UUID) -> ProcessingRun:
        with reading(self.org_id) as opened:
            run_id = transitions.newest_of(document_id)
            assert run_id is not None
            return opened.get_one(ProcessingRun, run_id)

    def chunks(self, document_id: UUID) -> list[Chunk]:
        with reading(self.org_id) as opened:
            return list(opened.scalars(select(Chunk).where(Chunk.document_id == document_id).order_by(Chunk.ordinal)))

    def all(self, table: type[Any]) -> list[Any]:
        """The rows of a table, the oldest first: an id begins with its time."""
        with reading(self.org_id) as opened:
            return list(opened.scalars(select(table).order_by(*table.__table__.primary_key)))

    def steps(self, run_id: UUID) -> list[tuple[str, str]]:
        """Kind and step of the lines of a run that are about steps."""
        with reading(self.org_id) as opened:
            lines = select(RunEvent).where(RunEvent.run_id == run_id, RunEvent.step.is_not(None))
            found = opened.scalars(lines.order_by(RunEvent.created_at, RunEvent.id))
            return [(event.kind, event.step or "") for event in found]

    def calls(self, operation: str) -> list[ProviderCall]:
        return [call for call in self.all(ProviderCall) if call.operation == operation]

    def blobs(self) -> list[str]:
        return [blob.path for blob in self.providers.blobs.list()]

    def checkpoint(self, lease: Lease) -> dict[str, Any]:
        with reading(self.org_id):
            job = self.queue.get(lease.job_id)
        assert job is not None
        return dict(job.checkpoint)


def make_workplace(settings: Settings, extractor: Extractor) -> Workplace:
    counted, embedder = Counted(extractor), Fallible()
    blobs = LocalBlobStore(settings.data_dir / "blobs")
    return Workplace(
        settings=settings,
        queue=SqlJobQueue(RetryPolicy(settings.queue.backoff_base_seconds, settings.queue.backoff_max_seconds)),
        providers=Providers(blobs=blobs, extractor=counted, embedder=embedder),
        seal=PasswordSeal(lambda: "a key of the tests"),
        poster=CheckedPoster(allows_private=True),
        webhook_seal=Seal(lambda: "a key of the tests", WEBHOOK_SECRETS),
        extractor=counted,
        embedder=embedder,
        org_id=new_org(),
    )


def unavailable(**more: Any) -> ProviderError:
    return ProviderError("the provider is away", **more)


def prose(paragraphs: int, start: int = 0) -> bytes:
    """Text in Markdown, of so many paragraphs of some 600 characters that all differ."""
    parts = ["# A long story"]
    for number in range(start, start + paragraphs):
        if number % 10 == 0:
            parts.append(f"## Chapter {number // 10}")
        parts.append(" ".join(f"Sentence {number}-{place} tells of harbours and lights." for place in range(13)))
    return "\n\n".join(parts).encode()
