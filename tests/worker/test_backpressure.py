"""A provider that throttles or refuses us: its stage slows down or waits, and no document pays for it."""

import io
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import update

from tests.documents.rows import document
from tests.hashed_words import HashedWords
from tests.worker.bench import Bench, finish, raising, wait_for
from webapp.clock import after, monotonic
from webapp.db import transaction
from webapp.jobs.model import Job as JobRow
from webapp.jobs.model import StageControlRow
from webapp.library.intake import ingest, receive
from webapp.pipeline.handlers import HANDLERS
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import FailureCode, ProviderError, ProviderUnavailable, RateLimited
from webapp.providers.ports import KeptParts
from webapp.readers.extraction import Extraction, Page
from webapp.runs import lifecycle
from webapp.runs.stage_pause import resume_stage
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.worker import chores
from webapp.worker.attempt import Outcome


class Counter:
    """A provider behind a desk: notes who comes when, how many are inside, and whom it sends away."""

    def __init__(self, mood: Callable[[], ProviderError | None]) -> None:
        self.mood = mood
        self.arrivals: list[float] = []
        self.refused: list[float] = []
        self.inside = self.inside_most = 0
        self._lock = threading.Lock()

    def serve(self) -> None:
        with self._lock:
            self.arrivals.append(monotonic())
            self.inside += 1
            self.inside_most = max(self.inside, self.inside_most)
        try:
            if error := self.mood():
                self.refused.append(monotonic())
                raise error
        finally:
            with self._lock:
                self.inside -= 1


class Embedding(HashedWords):
    """An Embedder at such a desk."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self._counter = counter

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self._counter.serve()
        return super().embed(texts)


class Reading:
    """An Extractor at such a desk: it reads text."""

    name, version = "desk", "1"

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def options_key(self) -> str:
        return "a"

    def accepts(self, content_type: str) -> bool:
        return content_type.startswith("text/")

    def check(self) -> None:
        """Always open."""

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        self._counter.serve()
        text = source.read_text()
        return Extraction(
            extractor=self.name,
            version=self.version,
            markdown=text,
            pages=(Page(1, text, None, None),),
            page_count=1,
            title=None,
            language=None,
            fields=(),
            tables=(),
            partial=False,
            warnings=(),
        )


@pytest.fixture
def shop(bench: Bench) -> Callable[[Counter, Counter], Bench]:
    def with_desks(reading: Counter, embedding: Counter) -> Bench:
        providers = replace(bench.services.providers, extractor=Reading(reading), embedder=Embedding(embedding))
        bench.services = replace(bench.services, providers=providers)
        return bench

    return with_desks


def upload(bench: Bench, number: int) -> UUID:
    services = bench.services
    body = io.BytesIO(f"# Note {number}\n\nWheat number {number} is ground.\n".encode())
    incoming = receive(services.providers.blobs.incoming(), body, services.settings.limits.upload_bytes_max)
    return ingest(services, bench.org_id, incoming, f"{number}.txt").document.id


def content() -> None:
    """In a mood to serve everybody."""


def storm(seconds: float, retry_after_seconds: float) -> Callable[[], ProviderError | None]:
    """In a mood to send everybody away for a while."""
    end = monotonic() + seconds
    return lambda: RateLimited("too many", retry_after_seconds=retry_after_seconds) if monotonic() < end else None


def statuses(bench: Bench, ids: list[UUID]) -> set[str]:
    return {document(bench.org_id, document_id).status for document_id in ids}


def test_a_throttled_call_slows_its_whole_stage_and_counts_an_attempt(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=5)
    bench.new_run()
    assert bench.attempt(raising(RateLimited("slowly", retry_after_seconds=60))) == Outcome.RETRIED
    assert bench.job(run_id).attempts == 1
    control = bench.queue.controls()[PROCESS_DOCUMENT]
    assert 50 < control.rests_seconds <= 60
    assert bench.attempts(finish).claim("worker") == []


@pytest.mark.slow
def test_a_try_that_waits_for_itself_slows_the_others_too(shop: Callable[[Counter, Counter], Bench]) -> None:
    """Embedded: one attempt, so the second try of the step waits in its thread."""
    moods = iter([RateLimited("too many", retry_after_seconds=0.1)])
    desk = Counter(lambda: next(moods, None))
    bench = shop(Counter(content), desk).with_queue(job_max_attempts=1)
    first = upload(bench, 1)
    attempts = bench.attempts(HANDLERS)
    (claimed,) = attempts.claim("worker")
    assert attempts.run(claimed, threading.Event()) == Outcome.COMPLETED
    assert (len(desk.refused), len(desk.arrivals)) == (1, 2)
    assert bench.queue.controls()[PROCESS_DOCUMENT].slowed_until is not None
    assert statuses(bench, [first]) == {"READY"}


@pytest.mark.slow
def test_a_storm_is_met_with_one_probe_at_a_time_and_all_complete(shop: Callable[[Counter, Counter], Bench]) -> None:
    threads, window, length = 4, 0.4, 2.0
    desk = Counter(content)
    bench = shop(Counter(content), desk).with_queue(job_max_attempts=5)
    ids = [upload(bench, number) for number in range(20)]
    desk.mood = storm(length, window)
    bench.pool(HANDLERS, threads)
    wait_for(lambda: statuses(bench, ids) == {"READY"}, "for all documents")
    # At first everybody runs into it who was at work already; then one in each window.
    assert len(desk.refused) <= threads + length / window + 1
    assert desk.refused
    assert not bench.broken


@pytest.mark.slow
def test_after_an_outage_nobody_is_overrun(shop: Callable[[Counter, Counter], Bench]) -> None:
    end = monotonic() + 0.5
    desk = Counter(lambda: ProviderUnavailable("away") if monotonic() < end else None)
    bench = shop(desk, Counter(content)).with_queue(job_max_attempts=9)
    bench.queue.limit(PROCESS_DOCUMENT, 2)
    ids = [upload(bench, number) for number in range(12)]
    bench.pool(HANDLERS, 6)
    wait_for(lambda: statuses(bench, ids) == {"READY"}, "for all documents")
    assert desk.inside_most <= 2


@pytest.mark.slow
@pytest.mark.parametrize("code", [FailureCode.CREDENTIALS_REFUSED, FailureCode.QUOTA_EXHAUSTED])
@pytest.mark.parametrize("max_attempts", [1, 5])
def test_a_refused_account_pauses_the_stage_and_costs_no_document_anything(
    shop: Callable[[Counter, Counter], Bench], code: FailureCode, max_attempts: int
) -> None:
    desk = Counter(lambda: ProviderError("401", permanent=True, code=code))
    bench = shop(desk, Counter(content)).with_queue(job_max_attempts=max_attempts)
    ids = [upload(bench, number) for number in range(3)]
    attempts = bench.attempts(HANDLERS)
    (claimed,) = attempts.claim("worker")
    assert attempts.run(claimed, threading.Event()) == Outcome.RELEASED
    run_id = claimed.lease.run_id
    assert bench.states(run_id) == ("RUNNING", "PENDING")
    assert (bench.job(run_id).attempts, bench.events(run_id)[-1]) == (0, "STAGE_PAUSED")
    control = bench.queue.controls()[PROCESS_DOCUMENT]
    assert (control.is_paused, control.reason, control.changed_by) == (True, code, None)
    assert attempts.claim("worker") == []
    assert statuses(bench, ids) == {"PROCESSING"}
    desk.mood = content
    resume_stage(bench.queue, PROCESS_DOCUMENT, "ana")
    while claims := attempts.claim("worker"):
        assert attempts.run(claims[0], threading.Event()) == Outcome.COMPLETED
    assert statuses(bench, ids) == {"READY"}
    assert len(desk.refused) == 1


def test_time_does_not_count_in_a_paused_stage(bench: Bench) -> None:
    waiting, gone = bench.new_run(max_attempts=5), bench.new_run(max_attempts=5)
    refused = ProviderError("401", permanent=True, code=FailureCode.CREDENTIALS_REFUSED)
    assert bench.attempt(raising(refused)) == Outcome.RELEASED
    bench.queue.resume(PROCESS_DOCUMENT)
    with transaction(bench.org_id) as session:
        hers = update(JobRow).where(JobRow.run_id == waiting)
        session.execute(hers.values(available_at=after(3600), wakes_at=after(3600)))
    # This one is in the hands of a worker that hangs: a pause is no excuse.
    assert bench.claim().lease.run_id == gone
    bench.queue.pause(PROCESS_DOCUMENT)
    for run_id in (waiting, gone):
        bench.grow_old(run_id, 7300)
    assert chores.end_overdue(bench.services, 7200) == 1
    assert bench.states(gone) == ("TIMED_OUT", "FAILED")
    assert bench.states(waiting) == ("RUNNING", "PENDING")
    resume_stage(bench.queue, PROCESS_DOCUMENT)
    assert chores.end_overdue(bench.services, 7200) == 0
    with transaction(everywhere=True) as session:
        assert session.get_one(StageControlRow, PROCESS_DOCUMENT).paused is False


def test_time_does_not_count_before_a_paused_stage_either(bench: Bench) -> None:
    """The job waits for its first worker, but its run is at work since the stage before."""
    run_id = bench.new_run()
    lifecycle.hand_on(bench.queue, bench.claim().lease, "transcribe_start", max_attempts=2, checkpoint={})
    bench.queue.pause("transcribe_start")
    bench.grow_old(run_id, 10_000)
    assert chores.end_overdue(bench.services, 7200) == 0
    resume_stage(bench.queue, "transcribe_start")
    assert chores.end_overdue(bench.services, 7200) == 0
    bench.grow_old(run_id, 10_000)
    assert chores.end_overdue(bench.services, 7200) == 1


def test_however_many_wait_in_a_paused_stage_the_others_windows_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "_BATCH", 2)
    waiting = [bench.new_run(max_attempts=5) for _ in range(5)]
    for claimed in bench.attempts(finish).claim("worker", 5):
        lifecycle.release_job(bench.queue, claimed.lease)
    with transaction(bench.org_id) as session:
        session.execute(update(JobRow).values(available_at=after(3600), wakes_at=after(3600)))
    gone = bench.new_run()
    bench.claim()
    bench.queue.pause(PROCESS_DOCUMENT)
    for run_id in (*waiting, gone):
        bench.grow_old(run_id, 7300)
    assert chores.end_overdue(bench.services, 7200) == 1
    assert bench.run(gone).state == "TIMED_OUT"


def test_an_attempt_without_a_lease_still_slows_the_stage(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=5)

    def handler(context: StageContext) -> None:
        bench.take_away(context.lease)
        raise ProviderError("401", permanent=True, code=FailureCode.CREDENTIALS_REFUSED)

    assert bench.attempt(handler) == Outcome.LEASE_LOST
    assert bench.queue.controls()[PROCESS_DOCUMENT].is_paused
    assert "STAGE_PAUSED" not in bench.events(run_id)
