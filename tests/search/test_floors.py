"""Nothing is an answer: what is not near enough is not found by its meaning."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.search.passages import Searcher, new_document, put
from webapp.db import reading
from webapp.providers.models.embedding_files import EMBEDDING_MODELS
from webapp.search import floors
from webapp.search.floors import FLOORS, Floor
from webapp.search.grammar import parse
from webapp.search.link_floors import LINK_FLOORS, link_floor_of
from webapp.search.query import search
from webapp.search.scope import SearchScope
from webapp.search.vectors import INDEXED_MODELS, QueryVector
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

    def __call__(self, text: str, *, has_words: bool = True) -> list[str]:
        org_id, vector = self._searcher.org_id, QueryVector(MODEL, pointing(1.0), has_words=has_words)
        with reading(org_id):
            hits = search(SearchScope(org_id), wanted_of(parse(text)), [vector], 10, self._searcher.folder).hits
        return [hit.text for hit in hits]


def test_with_a_known_word_what_is_near_is_found(found: Finder) -> None:
    assert found("the keeper of the tempest") == ["A boat and a keeper.", "A storm at sea."]


def test_without_a_known_word_it_must_be_nearer(found: Finder) -> None:
    assert found("asdfqwerzxcv") == ["A storm at sea."]


def test_what_is_far_below_the_best_is_not_found(found: Finder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(floors.FLOORS, MODEL, Floor(0.4, 0.4, below_best=0.1))
    assert found("tempest") == ["A storm at sea."]


def test_what_holds_the_words_is_found_however_far_its_meaning_is(found: Finder) -> None:
    assert found("rust")[0] == "Rust and paint."


def test_what_is_no_word_to_anybody_is_not_compared(found: Finder) -> None:
    assert found("keeper", has_words=False) == ["A boat and a keeper.", "A storm at sea."]
    assert found("asdfqwerzxcv", has_words=False) == []


def test_the_models_of_this_installation_were_measured() -> None:
    assert FLOORS.keys() == LINK_FLOORS.keys() == EMBEDDING_MODELS.keys() == INDEXED_MODELS.keys()
    for model in EMBEDDING_MODELS:
        assert 0 < FLOORS[model].with_known_words <= FLOORS[model].without < 1
        assert link_floor_of(model).similar < link_floor_of(model).same_text < 1
    assert 0 < link_floor_of("of-a-service@1536").similar < 1


def test_passages_with_all_words_come_first_and_in_a_sentence_meaning_decides_too(
    searcher: Searcher,
) -> None:
    texts = [
        "A storm at sea.",
        *(f"A ship, number {number}." for number in range(8)),
        "The keeper cleans lamp and boat.",
    ]
    for place, text in enumerate(texts):
        vector = pointing(0.9 - place / 100)
        put(searcher.org_id, new_document(searcher.org_id), [text], embedding=vector, embedding_model=MODEL)
    finder = Finder(searcher)
    assert finder("keeper lamp")[0] == texts[-1]
    assert finder("keeper boat lamp")[0] == texts[-1]
    sentence = "what does the keeper do with the lamp and the boat"
    assert finder(sentence)[0] == texts[0]
    assert texts[-1] in finder(sentence)[1:4]
