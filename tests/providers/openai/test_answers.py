"""What the clients for fields and answers make of odd streams and forms."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Self

import pytest

from tests.emulators.openai import OpenAI
from tests.pipeline import studio
from webapp.provider_errors import ProviderError
from webapp.providers.openai import answers
from webapp.providers.openai.answers import OpenAIAnswerer


@pytest.fixture
def answerer(openai: OpenAI) -> Iterator[OpenAIAnswerer]:
    yield studio.answers_at(openai)
    studio.close_clients()


class Stream(list[Any]):
    """Pieces of text as the vendor's client gives them; an object without text is a sign of life."""

    def __init__(self, *pieces: str | None, reason: str | None = "stop") -> None:
        deltas = [SimpleNamespace(delta=SimpleNamespace(content=each), finish_reason=None) for each in pieces]
        deltas.append(SimpleNamespace(delta=None, finish_reason=reason))
        super().__init__(SimpleNamespace(choices=[each]) for each in deltas)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def answer(answerer: OpenAIAnswerer, monkeypatch: pytest.MonkeyPatch, stream: Stream, seconds: float = 5) -> str:
    monkeypatch.setattr(answerer, "_stream", lambda material, timeout_seconds: stream)
    return "".join(answerer.answer("who?", ["a"], timeout_seconds=seconds))


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("NO", "NE"), ""),
        (("NONE", ".\n"), ""),
        (("NO", "NE of them [1]"), "NONE of them [1]"),
        (("Yes", " [1]"), "Yes [1]"),
    ],
)
def test_the_word_for_no_answer_alone_is_none(
    answerer: OpenAIAnswerer, monkeypatch: pytest.MonkeyPatch, pieces: tuple[str, ...], text: str
) -> None:
    assert answer(answerer, monkeypatch, Stream(*pieces)) == text


@pytest.mark.parametrize(
    ("stream", "seconds"),
    [
        (Stream("a" * (answers.ANSWER_CHARACTERS_MAX + 1)), 5),
        (Stream("half", reason=None), 5),
        (Stream("half", reason="length"), 5),
        # Signs of life without text count, too.
        (Stream(None, None), -1),
    ],
)
def test_an_answer_that_is_not_whole_or_too_late_is_none(
    answerer: OpenAIAnswerer, monkeypatch: pytest.MonkeyPatch, stream: Stream, seconds: float
) -> None:
    with pytest.raises(ProviderError):
        answer(answerer, monkeypatch, stream, seconds)


def test_a_form_is_cleaned_or_refused(openai: OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = studio.fields_at(openai)
    value = {"field": "total", "value": "1\ud800.00 ", "page": 1}
    monkeypatch.setattr(finder, "_fill", lambda *_: {"document": "invoice", "values": [value, {**value, "value": " "}]})
    assert [each.text for each in finder.find(None, [(1, "a")], timeout_seconds=5).values] == ["1.00"]
    monkeypatch.setattr(
        finder, "_fill", lambda *_: {"document": "invoice", "values": [{**value, "page": float("inf")}]}
    )
    with pytest.raises(ProviderError):
        finder.find(None, [(1, "a")], timeout_seconds=5)
    studio.close_clients()
