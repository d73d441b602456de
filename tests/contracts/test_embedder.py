"""What every Embedder promises."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from webapp.providers.ports import Embedder

TEXTS = [
    "The lighthouse keeper lit the lamp at dusk.",
    "Short.",
    "A much longer passage about the price of bolts, nuts and washers in the workshop, " * 6,
    "Маяк горит до рассвета.",
    "",
    "🙂 \u0301 \t tabs and marks",
]


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_it_says_what_it_is(embedder: Embedder) -> None:
    assert embedder.name
    assert embedder.model
    assert min(embedder.batch_size, embedder.batch_bytes, embedder.concurrency) > 0
    embedder.check()


def test_one_unit_vector_for_each_text(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert len(vectors) == len(TEXTS)
    assert {len(vector) for vector in vectors} == {embedder.dimensions}
    for vector in vectors:
        assert math.isclose(dot(vector, vector), 1.0, abs_tol=1e-3)


def test_nothing_gives_nothing(embedder: Embedder) -> None:
    assert embedder.embed([]) == []


def test_a_vector_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = [embedder.embed([text])[0] for text in TEXTS]
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    for one, two, three in zip(together, alone, backwards, strict=True):
        assert one == pytest.approx(two, abs=1e-6)
        assert one == pytest.approx(three, abs=1e-6)


def test_near_meanings_are_near(embedder: Embedder) -> None:
    ask = embedder.embed_query("How long is the warranty?")
    near, far = embedder.embed(["The guarantee lasts two years.", "The goalkeeper caught the ball."])
    assert math.isclose(dot(ask, ask), 1.0, abs_tol=1e-3)
    # Models differ in how far apart they put what has nothing in common.
    assert dot(ask, near) > dot(ask, far) + 0.05


def test_texts_of_any_length_are_accepted(embedder: Embedder) -> None:
    (vector,) = embedder.embed(["word " * 50_000])
    assert math.isclose(dot(vector, vector), 1.0, abs_tol=1e-3)


def test_threads_may_share_it(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: embedder.embed(TEXTS), range(4)))
    for answer in answers:
        for one, two in zip(answer, expected, strict=True):
            assert one == pytest.approx(two, abs=1e-6)
