"""Finding passages by meaning: the ones whose vectors point where the query's does."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Uuid, bindparam, text

from webapp.db import Embedding, ask_postgresql, is_postgresql, session
from webapp.search import matrix

Vector = NDArray[np.float32]

# Models that have an HNSW index, and the length of their vectors (migrations make the indexes).
INDEXED_MODELS = {"minilm-l6-v2-int8": 384}
# An index over all orgs finds little of a small one before it gives up. Up to this many passages
# each is compared instead, which is exact and quick enough.
EXACT_CHUNKS_MAX = 10_000


@dataclass(frozen=True)
class QueryVector:
    """A query's direction, under the model whose vectors it can be compared with."""

    model: str
    values: Vector


def nearest(org_id: UUID, wanted: QueryVector, limit: int, folder: Path) -> list[UUID]:
    """The passages of an org that come nearest, best first; `folder` is where SQLite's matrices lie."""
    if not is_postgresql():
        return matrix.nearest(folder, org_id, wanted.model, wanted.values, limit)
    if INDEXED_MODELS.get(wanted.model) == len(wanted.values) and is_large(org_id):
        return _by_index(org_id, wanted, limit)
    return _by_comparing(org_id, wanted, limit)


def is_large(org_id: UUID) -> bool:
    """Whether an org has more passages than PostgreSQL compares one by one; SQLite has no index of vectors."""
    # In an order that an index has, and with the org and the limit as parts of the text: a plan made for any org may
    # read all orgs' passages.
    some = (
        "SELECT count(*) FROM (SELECT 1 FROM chunks WHERE org_id = :org_id "  # noqa: S608 - our own number
        f"ORDER BY id LIMIT {EXACT_CHUNKS_MAX + 1}) AS few"
    )
    of_org = text(some).bindparams(bindparam("org_id", type_=Uuid, literal_execute=True))
    row = ask_postgresql(of_org, {"org_id": org_id})
    return row is not None and row[0] > EXACT_CHUNKS_MAX


def _by_comparing(org_id: UUID, wanted: QueryVector, limit: int) -> list[UUID]:
    # The CASE keeps vectors of another model, and so of another length, out of the comparison.
    return _ids(
        "SELECT id FROM chunks WHERE org_id = :org_id AND embedding_model = :model "
        "ORDER BY CASE WHEN embedding_model = :model THEN embedding <=> CAST(:wanted AS vector) END, id LIMIT :limit",
        {"org_id": org_id, "model": wanted.model, "wanted": wanted.values, "limit": limit},
    )


# A scan goes on until the limit is reached, though most of what it meets may belong to other orgs.
# A generic plan could not know that the partial index holds the model's rows, and without fresh
# statistics the planner would rather compare and sort everything.
_SCAN_ON = text(
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '100', true), "
    "set_config('hnsw.max_scan_tuples', '200000', true), set_config('hnsw.scan_mem_multiplier', '4', true), "
    "set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true)"
)
_SORT_AGAIN = text("SELECT set_config('enable_sort', 'on', true)")


def _by_index(org_id: UUID, wanted: QueryVector, limit: int) -> list[UUID]:
    dimensions = INDEXED_MODELS[wanted.model]
    distance = f"embedding::vector({dimensions}) <=> CAST(:wanted AS vector({dimensions}))"
    # Relaxed order is nearly right: the outer ORDER BY makes it right. Both names are our own.
    with scanning_on():
        return _ids(
            f"WITH near AS MATERIALIZED (SELECT id, {distance} AS distance FROM chunks "  # noqa: S608
            f"WHERE org_id = :org_id AND embedding_model = '{wanted.model}' ORDER BY {distance} LIMIT :limit) "
            "SELECT id FROM near ORDER BY distance, id",
            {"org_id": org_id, "wanted": wanted.values, "limit": limit},
        )


@contextmanager
def scanning_on() -> Iterator[None]:
    """Let the index be used in this transaction, and read on until there is enough."""
    session().execute(_SCAN_ON)
    yield
    session().execute(_SORT_AGAIN)


def _ids(statement: str, values: dict[str, object]) -> list[UUID]:
    typed = text(statement).bindparams(bindparam("org_id", type_=Uuid), bindparam("wanted", type_=Embedding()))
    return [row.id for row in session().execute(typed.columns(id=Uuid), values)]
