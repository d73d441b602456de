"""Before a paid call: room for its answer and money for the day, or the job waits and nothing has failed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, text, update

from tests import samples, sounds
from tests.bare import DatabaseUnderTest, changed
from tests.emulators.clients import azure_extractor, openai_embedder
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.pipeline import hands, studio
from tests.pipeline.full import full_database
from tests.pipeline.workplace import Workplace, prose
from tests.search.passages import new_org
from webapp.clock import after, utc_now
from webapp.db import db, reading, transaction
from webapp.documents import events
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import ProcessingRun
from webapp.documents.states import EventKind
from webapp.jobs.interruptions import WaitReason
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import WAITS_FOR
from webapp.jobs.states import JobStatus
from webapp.pipeline.paid_calls import gates
from webapp.provider_errors import ProviderError
from webapp.providers.local.blob import LocalBlobStore
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.sound import AudioDecoder
from webapp.runs import stage_pause
from webapp.runs.checkpoint import WAITS_SINCE
from webapp.runs.stages import ANALYZE, PROCESS_DOCUMENT, TRANSCRIBE_START
from webapp.worker import chores
from webapp.worker.attempt import Outcome

MORE_THAN_ANY_DISK = 1 << 60


def use_store(workplace: Workplace, *, free_min_bytes: int) -> None:
    blobs = LocalBlobStore(workplace.settings.data_dir / "blobs", free_min_bytes=free_min_bytes)
    workplace.providers = replace(workplace.providers, blobs=blobs)


def fill(workplace: Workplace) -> Callable[[], None]:
    """The disk has less free than must stay free."""
    use_store(workplace, free_min_bytes=MORE_THAN_ANY_DISK)
    return lambda: use_store(workplace, free_min_bytes=0)


def take_away(workplace: Workplace) -> Callable[[], None]:
    """The folder of what is on its way in is gone, as where a network disk is not mounted."""
    folder = workplace.settings.data_dir / "blobs" / "incoming"
    elsewhere = folder.rename(folder.with_name("elsewhere"))

    def bring_back() -> None:
        elsewhere.rename(folder)

    return bring_back


TROUBLES = [(fill, WaitReason.STORAGE_FULL), (take_away, WaitReason.STORAGE_UNAVAILABLE)]
on_both_troubles = pytest.mark.parametrize(("trouble", "reason"), TROUBLES, ids=["full", "away"])


def assert_waits(workplace: Workplace, document_id: UUID, stage: str, reason: WaitReason) -> None:
    """Waiting, and nothing else: no attempt counted, nothing failed, the stage paused with its reason."""
    job, run = hands.job_of(workplace, document_id), workplace.run(document_id)
    assert (job.stage, job.status, job.attempts) == (stage, JobStatus.PENDING, 0)
    assert (job.checkpoint[WAITS_FOR], run.state) == (reason, "RUNNING")
    control = workplace.queue.controls()[stage]
    assert (control.is_paused, control.reason, control.changed_by) == (True, reason, None)
    assert hands.attempt(workplace) is None
    assert hands.resume(workplace) == 0


@on_both_troubles
def test_no_passage_is_sent_while_nothing_can_be_stored(
    workplace: Workplace, openai: OpenAI, trouble: Any, reason: WaitReason
) -> None:
    document_id = _chunked(workplace, openai)
    mend = trouble(workplace)
    assert hands.attempt_until_idle(workplace) == [Outcome.SNOOZED]
    assert_waits(workplace, document_id, PROCESS_DOCUMENT, reason)
    assert sum(openai.calls.values()) == 0

    mend()
    assert hands.resume(workplace) == 1
    assert hands.finish(workplace, document_id) == "READY"
    assert openai.paid_twice() == {}
    assert openai.units() == sum(call.units for call in workplace.calls("embed"))


@on_both_troubles
def test_no_page_is_sent_while_nothing_can_be_stored(
    workplace: Workplace,
    local_extractor: LocalExtractor,
    documentintelligence: DocumentIntelligence,
    trouble: Any,
    reason: WaitReason,
) -> None:
    remote = azure_extractor(documentintelligence, local_extractor, window_pages=2)
    workplace.providers = replace(workplace.providers, remote_extractor=remote)
    ids = [workplace.upload(samples.report_pdf(pages=pages), "a.pdf").document.id for pages in (3, 4, 5)]
    mend = trouble(workplace)
    assert hands.attempt_until_idle(workplace) == [Outcome.SNOOZED]
    assert_waits(workplace, ids[0], PROCESS_DOCUMENT, reason)
    assert documentintelligence.calls["analyze"] == 0

    mend()
    assert hands.resume(workplace) == 1
    assert {hands.finish(workplace, each) for each in ids} == {"READY"}
    assert documentintelligence.paid_twice() == {}
    assert documentintelligence.units() == 12


@pytest.mark.slow
@on_both_troubles
def test_no_sound_is_sent_while_nothing_can_be_stored(
    workplace: Workplace, reader: AudioDecoder, openai: OpenAI, trouble: Any, reason: WaitReason
) -> None:
    studio.equip(workplace, reader, studio.openai_at(openai, reader), studio.chat_at(openai))
    document_id = workplace.upload(sounds.wav(sounds.babble(8)), "call.wav").document.id
    for stage, kind in ((TRANSCRIBE_START, "audio"), (ANALYZE, "chat")):
        while hands.job_of(workplace, document_id).stage != stage:
            assert hands.attempt(workplace) in {Outcome.COMPLETED, Outcome.SNOOZED}
        mend = trouble(workplace)
        assert hands.attempt_until_idle(workplace) == [Outcome.SNOOZED]
        assert_waits(workplace, document_id, stage, reason)
        assert openai.calls[kind] == 0
        mend()
        assert hands.resume(workplace) == 1
    assert hands.finish(workplace, document_id) == "READY"
    assert openai.paid_twice() == {}
    assert openai.calls["audio"] == openai.calls["chat"] == 1


def test_no_passage_is_sent_while_the_database_is_full(
    workplace: Workplace,
    openai: OpenAI,
    database: DatabaseUnderTest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in gates._BELIEVED_SECONDS:
        monkeypatch.setitem(gates._BELIEVED_SECONDS, name, 0.0)
    document_id = _chunked(workplace, openai)
    with full_database(database, "embedding_cache", spare_pages=4):
        assert hands.attempt_until_idle(workplace) == [Outcome.SNOOZED]
        assert_waits(workplace, document_id, PROCESS_DOCUMENT, WaitReason.DATABASE_FULL)
        assert sum(openai.calls.values()) == 0
    assert hands.resume(workplace) == 1
    assert hands.finish(workplace, document_id) == "READY"
    assert openai.paid_twice() == {}


# What is paused by itself, and what people say meanwhile.


def test_a_persons_pause_is_not_lifted_by_space(workplace: Workplace) -> None:
    workplace.queue.pause(PROCESS_DOCUMENT, by="ana")
    workplace.queue.pause(PROCESS_DOCUMENT, WaitReason.STORAGE_FULL)
    control = workplace.queue.controls()[PROCESS_DOCUMENT]
    assert (control.reason, control.changed_by) == (None, "ana")
    assert hands.resume(workplace) == 0
    assert workplace.queue.controls()[PROCESS_DOCUMENT].is_paused


def test_a_person_may_resume_it_before(workplace: Workplace, openai: OpenAI) -> None:
    document_id = _chunked(workplace, openai)
    mend = fill(workplace)
    hands.attempt_until_idle(workplace)
    stage_pause.resume_stage(workplace.queue, PROCESS_DOCUMENT, "ana")
    assert hands.attempt_until_idle(workplace) == [Outcome.SNOOZED]
    assert sum(openai.calls.values()) == 0
    # One line, however often it waits for the same reason.
    assert _waits(workplace, document_id) == [WaitReason.STORAGE_FULL]
    mend()
    hands.resume(workplace)
    assert hands.finish(workplace, document_id) == "READY"


def test_time_does_not_count_while_a_job_waits(workplace: Workplace, openai: OpenAI) -> None:
    document_id = _chunked(workplace, openai)
    mend = fill(workplace)
    hands.attempt_until_idle(workplace)
    _grow_old(workplace)
    assert chores.end_overdue(workplace, 120) == 0
    mend()
    hands.resume(workplace)
    assert hands.finish(workplace, document_id) == "READY"


# Money.


def _spend(workplace: Workplace, price: float, days_ago: int = 0, **more: Any) -> None:
    """A line in the ledger, of today or before."""
    with transaction(workplace.org_id) as session:
        line = {"provider": "openai", "operation": "embed", "units": 1, "seconds": 1.0, "outcome": "ok", **more}
        call = ProviderCall(org_id=workplace.org_id, price=price, **line)
        session.add(call)
        session.flush()
        session.execute(
            update(ProviderCall).where(ProviderCall.id == call.id).values(created_at=after(-86_400 * days_ago))
        )


def _limit(workplace: Workplace, spend_per_day: float) -> None:
    workplace.settings = changed(workplace.settings, "limits", spend_per_day=spend_per_day)


def test_what_counts_as_spent_today(workplace: Workplace) -> None:
    _spend(workplace, 1.0)
    _spend(workplace, 2.0, outcome="unknown")
    _spend(workplace, 4.0, reused=True)
    _spend(workplace, 8.0, outcome="error")
    _spend(workplace, 16.0, days_ago=1)
    with reading(workplace.org_id):
        assert gates.spent_today(workplace.org_id) == 3.0
    assert not gates.is_spent(workplace.org_id, 0)
    assert not gates.is_spent(workplace.org_id, 3.5)
    assert gates.is_spent(workplace.org_id, 3.0)


def test_an_org_that_has_spent_its_money_waits_for_tomorrow(workplace: Workplace, openai: OpenAI) -> None:
    document_id = _chunked(workplace, openai)
    _limit(workplace, 1.0)
    _spend(workplace, 1.0)
    assert hands.attempt_until_idle(workplace) == [Outcome.SNOOZED]
    job = hands.job_of(workplace, document_id)
    assert (job.status, job.attempts, job.checkpoint[WAITS_FOR]) == (JobStatus.PENDING, 0, WaitReason.SPEND_LIMIT)
    assert job.available_at is not None
    waits = job.available_at - utc_now()
    assert timedelta(0) < waits <= timedelta(days=1, minutes=1)
    tomorrow = job.available_at - timedelta(seconds=gates.AFTER_MIDNIGHT_SECONDS)
    assert tomorrow.hour == tomorrow.minute == 0 or tomorrow.minute == 59
    # The stage is open to everybody else, and a day of waiting ends no run.
    assert not workplace.queue.controls()
    _grow_old(workplace)
    _wait_as_long(workplace)
    assert chores.end_overdue(workplace, 120) == 0
    assert chores.wake_spenders(workplace) == 0
    assert sum(openai.calls.values()) == 0
    assert _waits(workplace, document_id) == [WaitReason.SPEND_LIMIT]

    _limit(workplace, 2.0)
    assert chores.wake_spenders(workplace) == 1
    assert hands.finish(workplace, document_id) == "READY"
    assert openai.paid_twice() == {}


def test_one_orgs_money_is_no_concern_of_anothers(workplace: Workplace, openai: OpenAI) -> None:
    document_id = _chunked(workplace, openai)
    _limit(workplace, 1.0)
    _spend(workplace, 1.0)
    other = new_org()
    theirs = workplace.upload(prose(3, start=500), "b.md", other).document.id
    hands.attempt_until_idle(workplace)
    with reading(other) as session:
        status = session.execute(text("SELECT status FROM documents WHERE org_id = :org"), {"org": _key(other)})
        assert status.scalar_one() == "READY", theirs
    assert workplace.document(document_id).status == "PROCESSING"


def test_what_this_machine_does_costs_nothing_and_waits_for_no_money(workplace: Workplace) -> None:
    _limit(workplace, 1.0)
    _spend(workplace, 5.0)
    workplace.embedder.name = "local"
    document_id = workplace.upload(prose(3), "a.md").document.id
    assert hands.finish(workplace, document_id) == "READY"


def _chunked(workplace: Workplace, openai: OpenAI) -> UUID:
    """A document whose next attempt begins with a paid call."""
    workplace.with_embedder(openai_embedder(openai))
    document_id = workplace.upload(prose(10), "a.md").document.id
    lease = workplace.claim()
    openai.misbehave("status", "embeddings", code=503, times=2)
    with pytest.raises(ProviderError, match="503"):
        workplace.process(lease)
    with transaction(everywhere=True):
        workplace.queue.release([lease])
    openai.reset()
    return document_id


def _grow_old(workplace: Workplace) -> None:
    with transaction(workplace.org_id) as session:
        session.execute(update(ProcessingRun).values(started_at=after(-90_000)))


def _wait_as_long(workplace: Workplace) -> None:
    """As if all this time the job had only waited."""
    since = (utc_now() - timedelta(seconds=90_000)).isoformat()
    with transaction(workplace.org_id) as session:
        (job,) = session.scalars(select(JobRow))
        job.checkpoint = {**job.checkpoint, WAITS_SINCE: since}


def _waits(workplace: Workplace, document_id: UUID) -> list[str]:
    run_id = workplace.run(document_id).id
    with reading(workplace.org_id):
        lines = events.timeline(workplace.org_id, document_id, run_id)
    return [(line.details or {})["reason"] for line in lines if line.kind == EventKind.JOB_WAITS]


def _key(org_id: UUID) -> Any:
    return org_id.hex if db.engine.dialect.name == "sqlite" else org_id
