"""Finding by meaning: exact where it can be, nearly so where it has to be, never another org's."""

from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import text

from tests.search.conftest import only_postgresql
from tests.search.passages import Searcher, new_org, put_vectors, random_directions
from webapp.db import reading
from webapp.search import vectors

MINILM, DIMENSIONS = "minilm-l6-v2-int8", 384


def true_nearest(ids: list[UUID], rows: NDArray[np.float32], wanted: NDArray[np.float32], limit: int) -> list[UUID]:
    return [ids[row] for row in np.argsort(-(rows @ wanted), kind="stable")[:limit]]


def test_the_nearest_come_first(searcher: Searcher) -> None:
    rows = random_directions(200, DIMENSIONS)
    ids = put_vectors(searcher.org_id, MINILM, rows)
    wanted = random_directions(1, DIMENSIONS, seed=7)[0]

    assert searcher.near(MINILM, wanted, 10) == true_nearest(ids, rows, wanted, 10)


def test_more_than_there_is_gives_what_there_is(searcher: Searcher) -> None:
    ids = put_vectors(searcher.org_id, MINILM, random_directions(3, DIMENSIONS))

    assert set(searcher.near(MINILM, random_directions(1, DIMENSIONS)[0], 50)) == set(ids)


def test_vectors_of_another_model_and_length_stay_out(searcher: Searcher) -> None:
    put_vectors(searcher.org_id, "another", random_directions(20, 7))
    ids = put_vectors(searcher.org_id, MINILM, random_directions(20, DIMENSIONS))

    assert set(searcher.near(MINILM, random_directions(1, DIMENSIONS)[0], 50)) == set(ids)
    assert len(searcher.near("another", random_directions(1, 7)[0], 50)) == 20
    assert searcher.near("unknown", random_directions(1, 5)[0], 50) == []


def test_other_orgs_stay_out(searcher: Searcher) -> None:
    other = new_org()
    put_vectors(other, MINILM, random_directions(20, DIMENSIONS))

    assert searcher.near(MINILM, random_directions(1, DIMENSIONS)[0], 50) == []


@pytest.mark.slow
@only_postgresql
def test_a_small_org_is_found_in_the_index_of_a_large_one(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trap: an index scan that stops after its first candidates, which all belong to the large org."""
    monkeypatch.setattr(vectors, "EXACT_CHUNKS_MAX", 0)
    large = new_org()
    put_vectors(large, MINILM, random_directions(2000, DIMENSIONS))
    rows = random_directions(40, DIMENSIONS, seed=2)
    ids = put_vectors(searcher.org_id, MINILM, rows)

    recalls = []
    for wanted in random_directions(10, DIMENSIONS, seed=3):
        found = searcher.near(MINILM, wanted, 10)
        assert len(found) == 10
        recalls.append(len(set(found) & set(true_nearest(ids, rows, wanted, 10))) / 10)

    assert np.mean(recalls) >= 0.95


@pytest.mark.slow
@only_postgresql
def test_a_large_org_is_searched_through_its_index(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT_CHUNKS_MAX", 0)
    rows = random_directions(1500, DIMENSIONS)
    ids = put_vectors(searcher.org_id, MINILM, rows)
    wanted = random_directions(5, DIMENSIONS, seed=3)

    found = [searcher.near(MINILM, each, 10) for each in wanted]

    right = [len(set(a) & set(true_nearest(ids, rows, each, 10))) for a, each in zip(found, wanted, strict=True)]
    assert sum(right) >= 45
    assert _uses_index(searcher.org_id)


def _uses_index(org_id: UUID) -> bool:
    distance = f"embedding::vector({DIMENSIONS}) <=> CAST(array_fill(0.1, ARRAY[{DIMENSIONS}]) AS vector({DIMENSIONS}))"
    with reading(org_id) as opened:
        opened.execute(text("SET LOCAL enable_seqscan = off"))
        opened.execute(text("SET LOCAL enable_sort = off"))
        plan = opened.scalars(
            text(
                f"EXPLAIN SELECT id FROM chunks WHERE org_id = '{org_id}' AND embedding_model = '{MINILM}' "
                f"ORDER BY {distance} LIMIT 10"
            )
        )
        return any("ix_chunks_embedding_minilm" in line for line in plan)
