"""Neighbours in an org with more passages than are compared one by one: right, and in time."""

import time
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import select

from tests.search.conftest import only_postgresql
from tests.search.passages import Searcher, new_org, put_vectors, random_directions
from webapp.db import reading
from webapp.search import neighbours, vectors
from webapp.search.model import Chunk
from webapp.search.neighbours import Near, Nearest, Rules

MINILM, DIMENSIONS = "minilm-l6-v2-int8", 384
TOPICS, OWN = 200, 200
# From how many passages on an org is large here: fewer than in use, since the index takes long to build.
LARGE = 4_000
RULES = Rules(threshold=0.55)
MILLISECONDS_PER_PASSAGE_MAX = 25.0

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]


def about_topics(count: int, seed: int) -> NDArray[np.float32]:
    """Directions that gather around some topics, as those of real passages do."""
    chance = np.random.default_rng(seed)
    topics = random_directions(TOPICS, DIMENSIONS, seed=1)
    rows = topics[chance.integers(0, TOPICS, count)] + 0.6 * random_directions(count, DIMENSIONS, seed=seed)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def exactly(org_id: UUID, document_id: UUID) -> list[Near]:
    """Each compared with each."""
    with reading(org_id):
        nearest, after = Nearest(neighbours.of_document(org_id, document_id, MINILM), RULES), None
        while (block := neighbours.of_others(org_id, document_id, MINILM, after)).ids:
            nearest.meet(block)
            after = block.ids[-1]
    return nearest.found()


@only_postgresql
def test_the_index_finds_what_comparing_finds(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT_CHUNKS_MAX", LARGE)
    org_id = searcher.org_id
    put_vectors(new_org(), MINILM, about_topics(1000, seed=8))
    for seed in range(2, 7):
        put_vectors(org_id, MINILM, about_topics(LARGE // 5, seed=seed))
    sources = put_vectors(org_id, MINILM, about_topics(OWN, seed=7))
    with reading(org_id):
        assert neighbours.has_index(org_id, MINILM)
        (document_id,) = _documents(org_id, sources[:1])
        started = time.perf_counter()
        found = neighbours.by_index(org_id, document_id, MINILM, sources, RULES)
        took = time.perf_counter() - started

    expected = {(near.source, near.target): near.score for near in exactly(org_id, document_id)}
    seen = {(near.source, near.target): near.score for near in found}
    assert len(expected) > 2 * OWN
    assert len(seen.keys() & expected.keys()) >= 0.95 * len(expected)
    assert all(abs(score - expected[pair]) < 1e-3 for pair, score in seen.items() if pair in expected)
    assert max(map([near.source for near in found].count, sources)) <= RULES.count
    assert all(near.document_id != document_id and near.score >= RULES.least("") for near in found)
    assert took * 1000 / OWN < MILLISECONDS_PER_PASSAGE_MAX


def _documents(org_id: UUID, ids: list[UUID]) -> list[UUID]:
    with reading(org_id) as opened:
        return list(opened.scalars(select(Chunk.document_id).where(Chunk.org_id == org_id, Chunk.id.in_(ids))))
