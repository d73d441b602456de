"""What is particular about embeddings from a server: batches, its errors, its wrong answers, its key."""

import logging
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.emulators.clients import openai_embedder
from tests.emulators.openai import OpenAI
from tests.emulators.ports import free_port
from webapp.provider_errors import FailureCode, ProviderError, RateLimited, TimedOut
from webapp.providers.openai.client import connect
from webapp.providers.openai.embed import Model, OpenAIEmbedder


def failure(embed: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        embed()
    return caught.value


def test_nothing_of_the_environment_goes_along(openai: OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-somebody")
    embedder = openai_embedder(openai)
    headers = {name.lower(): str(value) for name, value in embedder._client.default_headers.items()}
    assert "of-somebody" not in str(headers)


def test_model_and_length_are_settings(openai: OpenAI) -> None:
    embedder = openai_embedder(openai, model=Model("text-embedding-3-large", 64))
    (vector,) = embedder.embed(["some words"])
    assert len(vector) == 64
    assert embedder.model == "text-embedding-3-large@64"


def test_models_that_cannot_shorten_are_not_asked_to(openai: OpenAI) -> None:
    embedder = openai_embedder(openai, model=Model("another-model", 1536))
    assert len(embedder.embed(["some words"])[0]) == 1536


def test_calls_keep_to_count_and_bytes(openai: OpenAI) -> None:
    embedder = openai_embedder(openai, batch_size=4)
    embedder.embed([f"text number {number}" for number in range(10)])
    assert openai.calls["embeddings"] == 3

    openai.reset()
    embedder = openai_embedder(openai, batch_size=2000)
    embedder.embed([f"{number} {'word ' * 1500}" for number in range(100)])
    assert openai.calls["embeddings"] == 3


def test_there_are_as_many_turns_as_calls_are_allowed(openai: OpenAI) -> None:
    openai.delay_seconds = 0.1
    embedder = openai_embedder(openai, concurrency=3)

    def ask(number: int) -> None:
        with embedder.turns:
            embedder.embed([f"text {number}"])

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(ask, range(9)))
    openai.delay_seconds = 0
    assert 1 < openai.most_in_flight["embeddings"] <= 3


def test_vectors_are_put_in_order(openai: OpenAI) -> None:
    embedder = openai_embedder(openai)
    expected = embedder.embed(["one word", "another sentence", "three"])
    openai.misbehave("shuffled", "embeddings")
    assert embedder.embed(["one word", "another sentence", "three"]) == expected


def test_patience_is_passed_on(openai: OpenAI) -> None:
    embedder = openai_embedder(openai)
    openai.misbehave("status", "embeddings", code=429, headers={"Retry-After": "17"})
    error = failure(lambda: embedder.embed(["a", "b"]))
    assert isinstance(error, RateLimited)
    assert (error.retry_after_seconds, error.permanent) == (17, False)

    openai.misbehave("status", "embeddings", code=429, headers={"retry-after-ms": "250", "Retry-After": "1"})
    assert failure(lambda: embedder.embed(["a", "b"])).retry_after_seconds == 0.25
    assert openai.calls["embeddings"] == 2, "the client tried again by itself"


def test_a_quota_that_is_spent_does_not_come_back_by_waiting(openai: OpenAI) -> None:
    openai.misbehave("insufficient_quota", "embeddings")
    error = failure(lambda: openai_embedder(openai).embed(["a"]))
    assert (error.code, error.permanent) == (FailureCode.QUOTA_EXHAUSTED, True)


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_server_in_trouble_may_recover(openai: OpenAI, code: int) -> None:
    openai.misbehave("status", "embeddings", code=code)
    error = failure(lambda: openai_embedder(openai).embed(["a"]))
    assert (error.code, error.permanent) == (FailureCode.UNAVAILABLE, False)
    assert openai.calls["embeddings"] == 1


@pytest.mark.parametrize("fault", ["cut", "malformed", "wrong_count", "no_direction", "lost"])
def test_a_wrong_answer_counts_as_a_failure(openai: OpenAI, fault: str) -> None:
    openai.misbehave(fault, "embeddings")
    error = failure(lambda: openai_embedder(openai, model=Model("m", 1536)).embed(["a", "b"]))
    assert (error.code, error.permanent) == (FailureCode.UNAVAILABLE, False)
    assert openai.calls["embeddings"] == 1


def test_vectors_of_another_length_are_a_setting_gone_wrong(openai: OpenAI) -> None:
    openai.misbehave("wrong_dimensions", "embeddings")
    error = failure(lambda: openai_embedder(openai).embed(["a"]))
    assert (error.code, error.permanent) == (FailureCode.REQUEST_REFUSED, True)
    assert "OPENAI_EMBEDDING_DIMENSIONS" in error.message


def test_silence_ends(openai: OpenAI) -> None:
    openai.misbehave("hang", "embeddings")
    error = failure(lambda: openai_embedder(openai, timeout_seconds=0.2).embed(["a", "b"]))
    assert isinstance(error, TimedOut)
    assert error.is_outcome_unknown


def test_nobody_there_is_said(openai: OpenAI) -> None:
    embedder = OpenAIEmbedder(
        connect(f"http://127.0.0.1:{free_port()}/v1", "", 5),
        Model("m", 8),
        batch_size=8,
        concurrency=1,
        timeout_seconds=5,
    )
    assert failure(lambda: embedder.embed(["a"])).code is FailureCode.UNAVAILABLE
    assert failure(embedder.check).code is FailureCode.UNAVAILABLE


def test_a_refused_key_is_said_without_being_told(openai: OpenAI, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    key = "sk-canary-0123456789abcdef"
    embedder = openai_embedder(openai, api_key=key)
    for ask in (lambda: embedder.embed(["a"]), embedder.check):
        error = failure(ask)
        assert (error.code, error.permanent) == (FailureCode.CREDENTIALS_REFUSED, True)
        assert key not in "".join(traceback.format_exception(error))
    openai.misbehave("status", "embeddings", code=404)
    assert key not in "".join(traceback.format_exception(failure(lambda: embedder.embed(["a"]))))
    assert key not in caplog.text


def test_a_model_that_is_not_known_is_named(openai: OpenAI) -> None:
    openai.misbehave("status", "embeddings", code=404)
    error = failure(lambda: openai_embedder(openai).embed(["a"]))
    assert (error.code, error.permanent) == (FailureCode.REQUEST_REFUSED, True)
    assert "model_not_found" in error.message


def test_a_person_who_asks_does_not_wait_for_long(openai: OpenAI) -> None:
    embedder = openai_embedder(openai, timeout_seconds=600)
    asked: dict[str, float] = {}
    real = embedder._client._client.send

    def send(request: object, **more: object) -> object:
        asked.update(request.extensions["timeout"])  # type: ignore[attr-defined]
        return real(request, **more)  # type: ignore[arg-type]

    embedder._client._client.send = send  # type: ignore[method-assign, assignment]
    embedder.embed(["a question"])
    assert asked["read"] == 10
    embedder.embed(["two", "passages"])
    assert asked["read"] == 600


def test_odd_texts_are_sent_in_a_form_that_is_accepted(openai: OpenAI) -> None:
    vectors = openai_embedder(openai).embed(["", "\ud800", "я" * 20_000, "fine"])
    assert len(vectors) == 4


def test_the_check_costs_nothing(openai: OpenAI) -> None:
    openai_embedder(openai).check()
    openai.misbehave("status", "models", code=404)
    openai_embedder(openai).check()
    assert openai.units() == 0
