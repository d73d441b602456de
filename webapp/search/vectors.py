"""Finding passages by meaning: the ones whose vectors point where the query's does."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Uuid, bindparam, text

from webapp.db import Embedding, ask_postgresql, is_postgresql, session
from webapp.documents.binned import IS_NOT_BINNED, NOT_AMONG_BINNED
from webapp.search import matrix
from webapp.search.scope import SearchScope

Vector = NDArray[np.float32]

# Models that have an HNSW index, and the length of their vectors (migrations make the indexes).
INDEXED_MODELS = {"minilm-l6-v2-int8": 384, "multilingual-e5-small-int8": 384}
# An index over all orgs finds little of a small one before it gives up. Up to this many passages
# each is compared instead, which is exact and quick enough.
EXACT_CHUNKS_MAX = 10_000
# With 100, a search among 500,000 finds less than .98 of the nearest ones.
CANDIDATES = 200


@dataclass(frozen=True)
class QueryVector:
    """A query's direction, under the model whose vectors it can be compared with."""

    model: str
    values: Vector
    has_words: bool = True
    """Whether the model knows words of the query."""


@dataclass(frozen=True, slots=True)
class NearPassage:
    """A passage, and the cosine of its vector with the query's."""

    id: UUID
    cosine: float


def nearest(scope: SearchScope, wanted: QueryVector, limit: int, folder: Path) -> list[NearPassage]:
    """The passages that come nearest, best first; `folder` is where SQLite's matrices lie."""
    if scope.is_empty:
        return []
    if not is_postgresql():
        found = matrix.nearest(folder, scope.org_id, wanted.model, wanted.values, limit, scope.documents)
        return [NearPassage(*each) for each in found]
    has_index = INDEXED_MODELS.get(wanted.model) == len(wanted.values)
    if scope.documents is None and has_index and is_large(scope.org_id):
        return _by_index(scope.org_id, wanted, limit)
    return _by_comparing(scope, wanted, limit)


def is_large(org_id: UUID) -> bool:
    """Whether an org has more passages than PostgreSQL compares one by one; SQLite has no index of vectors.

    An org that was large a moment ago still is: to count so many passages takes longer than to search.
    """
    if _large_until.get(org_id, 0.0) > time.monotonic():
        return True
    # In an order that an index has, and with the org and the limit as parts of the text: a plan made for any org may
    # read all orgs' passages.
    some = (
        "SELECT count(*) FROM (SELECT 1 FROM chunks WHERE org_id = :org_id "  # noqa: S608 - our own number
        f"ORDER BY id LIMIT {EXACT_CHUNKS_MAX + 1}) AS few"
    )
    of_org = text(some).bindparams(bindparam("org_id", type_=Uuid, literal_execute=True))
    row = ask_postgresql(of_org, {"org_id": org_id})
    is_so = row is not None and row[0] > EXACT_CHUNKS_MAX
    if is_so:
        _large_until[org_id] = time.monotonic() + _LARGE_FOR_SECONDS
    return is_so


# In each process, by org.
_large_until: dict[UUID, float] = {}
_LARGE_FOR_SECONDS = 600.0


def _by_comparing(scope: SearchScope, wanted: QueryVector, limit: int) -> list[NearPassage]:
    values = {"org_id": scope.org_id, "model": wanted.model, "wanted": wanted.values, "limit": limit}
    only = f"AND {NOT_AMONG_BINNED}"
    if scope.documents is not None:
        # These were found in the library.
        only, values["documents"] = "AND document_id = ANY(:documents)", list(scope.documents)
    # The CASE keeps vectors of another model, and so of another length, out of the comparison.
    distance = "CASE WHEN embedding_model = :model THEN embedding <=> CAST(:wanted AS vector) END"
    return _near(
        f"SELECT id, {distance} AS distance FROM chunks "  # noqa: S608
        f"WHERE org_id = :org_id AND embedding_model = :model {only} ORDER BY distance, id LIMIT :limit",
        values,
    )


# A scan goes on until the limit is reached, though most of what it meets may belong to other orgs.
# A generic plan could not know that the partial index holds the model's rows, and without fresh
# statistics the planner would rather compare and sort everything.
_SCAN_ON = text(
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', :candidates, true), "
    "set_config('hnsw.max_scan_tuples', '200000', true), set_config('hnsw.scan_mem_multiplier', '4', true), "
    "set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true)"
)
_SORT_AGAIN = text("SELECT set_config('enable_sort', 'on', true)")


def _by_index(org_id: UUID, wanted: QueryVector, limit: int) -> list[NearPassage]:
    dimensions = INDEXED_MODELS[wanted.model]
    distance = f"embedding::vector({dimensions}) <=> CAST(:wanted AS vector({dimensions}))"
    # Relaxed order is nearly right: the outer ORDER BY makes it right. Both names are our own.
    with scanning_on():
        return _near(
            f"WITH near AS MATERIALIZED (SELECT id, {distance} AS distance FROM chunks "  # noqa: S608
            f"WHERE org_id = :org_id AND embedding_model = '{wanted.model}' AND {IS_NOT_BINNED} "
            f"ORDER BY {distance} LIMIT :limit) "
            "SELECT id, distance FROM near ORDER BY distance, id",
            {"org_id": org_id, "wanted": wanted.values, "limit": limit},
        )


@contextmanager
def scanning_on(candidates: int = CANDIDATES) -> Iterator[None]:
    """Let the index be used in this transaction, and read on until there is enough.

    More candidates are compared for a better answer, at more cost.
    """
    session().execute(_SCAN_ON, {"candidates": str(candidates)})
    yield
    session().execute(_SORT_AGAIN)


def _near(statement: str, values: Mapping[str, object]) -> list[NearPassage]:
    typed = text(statement).bindparams(bindparam("org_id", type_=Uuid), bindparam("wanted", type_=Embedding()))
    return [NearPassage(row.id, 1.0 - float(row.distance)) for row in session().execute(typed.columns(id=Uuid), values)]
