"""Nothing is an answer: what is not near enough is not found by its meaning."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.search.passages import Searcher, new_document, put
from webapp.db import reading
from webapp.search import floors
from webapp.search.floors import FLOORS, Floor
from webapp.search.grammar import parse
from webapp.search.query import search
from webapp.search.scope import SearchScope
from webapp.search.vectors import QueryVector
from webapp.search.wanted import wanted_of

MODEL = "of-two-dimensions"


def pointing(cosine: float) -> NDArray[np.float32]:
    """A direction whose cosine with the query's is this."""
    return np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32)


@pytest.fixture
def found(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> "Finder":
    monkeypatch.setitem(floors.FLOORS, MODEL, Floor(0.4, 0.6))
    for text, cosine in [("A storm at sea.", 0.7), ("A boat and a keeper.", 0.5), ("Rust and paint.", 0.3)]:
        put(searcher.org_id, new_document(searcher.org_id), [text], embedding=pointing(cosine), embedding_model=MODEL)
    return Finder(searcher)


class Finder:
    """Asks with one and the same vector."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def __call__(self, text: str) -> list[str]:
        org_id, vector = self._searcher.org_id, QueryVector(MODEL, pointing(1.0))
        with reading(org_id):
            hits = search(SearchScope(org_id), wanted_of(parse(text)), [vector], 10, self._searcher.folder).hits
        return [hit.text for hit in hits]


def test_with_a_known_word_what_is_near_is_found(found: Finder) -> None:
    assert found("the keeper of the tempest") == ["A boat and a keeper.", "A storm at sea."]


def test_without_a_known_word_it_must_be_nearer(found: Finder) -> None:
    assert found("asdfqwerzxcv") == ["A storm at sea."]


def test_what_holds_the_words_is_found_however_far_its_meaning_is(found: Finder) -> None:
    assert found("rust")[0] == "Rust and paint."


def test_the_model_of_this_installation_was_measured() -> None:
    assert FLOORS["minilm-l6-v2-int8"].with_known_words < FLOORS["minilm-l6-v2-int8"].without < 1
