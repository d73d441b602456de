"""Calls side by side: as many as allowed, saved as they come, and none that was answered is lost."""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import pytest
from flask import current_app

from tests.emulators.clients import openai_embedder
from tests.emulators.openai import OpenAI
from tests.pipeline.workplace import Workplace, prose
from webapp.jobs.interruptions import Drained
from webapp.jobs.queue import LeaseLost
from webapp.provider_errors import ProviderError, RateLimited
from webapp.providers.openai.embed import Model
from webapp.search.model import CachedEmbedding

STORY = prose(40)
CONCURRENCY = 4


@pytest.fixture
def office(workplace: Workplace, openai: OpenAI) -> Workplace:
    """A workplace whose embedder asks a server."""
    workplace.with_embedder(openai_embedder(openai, batch_size=2, concurrency=CONCURRENCY))
    return workplace


def cached(office: Workplace) -> int:
    return len(office.all(CachedEmbedding))


def upload(office: Workplace, data: bytes = STORY) -> UUID:
    return office.upload(data, "a.md").document.id


def test_a_document_is_embedded_side_by_side(office: Workplace, openai: OpenAI) -> None:
    openai.delay_seconds = 0.02
    document_id = upload(office)
    office.process()
    openai.delay_seconds = 0
    assert office.document(document_id).embedding_model == "text-embedding-3-small@256"
    assert 1 < openai.most_in_flight["embeddings"] <= CONCURRENCY
    assert openai.paid_twice() == {}
    assert sum(call.units for call in office.calls("embed")) == openai.units() == cached(office)
    assert Counter(call.units for call in office.calls("embed")).keys() <= {1, 2}


def test_a_call_keeps_its_place_until_its_answer_is_saved(office: Workplace, openai: OpenAI) -> None:
    upload(office)
    lease = office.claim()
    openai.delay_seconds = 0.01
    real, app = office.embedder.embed, cast(Any, current_app)._get_current_object()
    one_at_a_time, made, unsaved = threading.Lock(), 0, []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        nonlocal made
        with one_at_a_time, app.app_context():
            saved = len(office.calls("embed"))
            made += 1
            unsaved.append(made - saved)
        return real(texts)

    office.embedder.embed = embed  # type: ignore[method-assign]
    office.process(lease)
    assert 1 < max(unsaved) <= CONCURRENCY


def test_a_failure_loses_no_answer(office: Workplace, openai: OpenAI) -> None:
    upload(office)
    openai.misbehave("status", "embeddings", code=500, times=2)
    lease = office.claim()
    with pytest.raises(ProviderError):
        office.process(lease, step_attempts=1)
    assert cached(office) == openai.units()

    office.process(office.take_back(lease))
    assert openai.paid_twice() == {}


def test_patience_is_left_to_the_queue(office: Workplace, openai: OpenAI) -> None:
    upload(office)
    openai.misbehave("status", "embeddings", code=429, headers={"Retry-After": "90"})
    with pytest.raises(RateLimited) as caught:
        office.process()
    assert caught.value.retry_after_seconds == 90
    assert cached(office) == openai.units()


@pytest.mark.parametrize(
    "fault", ["malformed", "wrong_count", "cut", "lost", pytest.param("hang", marks=pytest.mark.slow)]
)
def test_a_wrong_answer_is_asked_for_again_and_is_on_the_bill(office: Workplace, openai: OpenAI, fault: str) -> None:
    impatient = openai_embedder(openai, batch_size=2, concurrency=CONCURRENCY, timeout_seconds=0.5)
    office.with_embedder(impatient)
    document_id = upload(office)
    openai.misbehave(fault, "embeddings")
    office.process()
    assert office.document(document_id).status == "READY"
    # That one answer was paid for, or may have been, and could not be used.
    assert sum(openai.paid_twice().values()) == 2 * len(openai.paid_twice()) <= 2 * 2
    assert [call.units for call in office.calls("embed") if call.outcome == "unknown"] == [2]
    assert sum(call.units for call in office.calls("embed") if call.outcome == "ok" and not call.reused) == cached(
        office
    )


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_call_that_was_refused_is_not_on_the_bill(office: Workplace, openai: OpenAI, code: int) -> None:
    upload(office)
    openai.misbehave("status", "embeddings", code=code)
    office.process()
    assert {(call.outcome, call.reused) for call in office.calls("embed")} <= {("ok", False), ("ok", True)}
    assert sum(call.units for call in office.calls("embed") if not call.reused) == openai.units() == cached(office)


def test_a_drain_saves_what_is_on_its_way(office: Workplace, openai: OpenAI) -> None:
    upload(office)
    lease = office.claim()
    openai.delay_seconds = 0.05
    real = office.embedder.embed

    def embed(texts: list[str]) -> list[list[float]]:
        if openai.calls["embeddings"] >= 6:
            office.stopping.set()
        return real(texts)

    office.embedder.embed = embed  # type: ignore[method-assign, assignment]
    with pytest.raises(Drained):
        office.process(lease)
    openai.delay_seconds = 0
    assert 0 < cached(office) == openai.units()


def test_a_worker_that_lost_its_job_saves_nothing(office: Workplace, openai: OpenAI) -> None:
    upload(office)
    lease = office.claim()
    office.take_back(lease)
    with pytest.raises(LeaseLost):
        office.process(lease)
    assert cached(office) == openai.calls["embeddings"] == 0


def test_another_model_asks_anew_and_keeps_the_old_vectors(office: Workplace, openai: OpenAI) -> None:
    document_id = upload(office)
    office.process()
    before = cached(office)
    other = openai_embedder(openai, batch_size=2, concurrency=CONCURRENCY, model=Model("text-embedding-3-small", 64))
    office.with_embedder(other)
    assert {chunk.embedding_model for chunk in office.chunks(document_id)} == {"text-embedding-3-small@256"}
    office.reprocess(document_id)
    office.process()
    assert {chunk.embedding_model for chunk in office.chunks(document_id)} == {"text-embedding-3-small@64"}
    assert cached(office) == 2 * before
