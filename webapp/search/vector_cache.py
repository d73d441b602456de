"""The cache of vectors: by org, model and text, whatever document holds the text."""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, bindparam, select
from sqlalchemy.dialects import postgresql

from webapp.db import session
from webapp.search.model import CachedEmbedding

Vector = NDArray[np.float32]
KEYS_PER_QUERY = 500


def known(org_id: UUID, model: str, hashes: Collection[str]) -> set[str]:
    """Which of these texts are in the cache."""
    found: set[str] = set()
    for part in _parts(hashes):
        rows = select(CachedEmbedding.text_sha256).where(*_key(org_id, model), _is_one_of(part))
        found.update(session().scalars(rows))
    return found


def load(org_id: UUID, model: str, hashes: Collection[str]) -> dict[str, Vector]:
    """The vectors of these texts; those that are not in the cache are left out."""
    found: dict[str, Vector] = {}
    for part in _parts(hashes):
        rows = select(CachedEmbedding.text_sha256, CachedEmbedding.embedding)
        rows = rows.where(*_key(org_id, model), _is_one_of(part))
        found.update((sha256, vector) for sha256, vector in session().execute(rows))
    return found


def save(org_id: UUID, model: str, vectors: Mapping[str, Vector]) -> None:
    """Keep these vectors; whoever was faster with the same text has kept the same."""
    # In one order for all, so that two savers of the same texts wait for each other only one way.
    rows = [
        {"org_id": org_id, "model": model, "text_sha256": sha256, "embedding": vectors[sha256]}
        for sha256 in sorted(vectors)
    ]
    # The clause is the same in both databases, and each compiles it.
    session().execute(postgresql.insert(CachedEmbedding).on_conflict_do_nothing(), rows)


def _key(org_id: UUID, model: str) -> tuple[ColumnElement[bool], ...]:
    return (CachedEmbedding.org_id == org_id, CachedEmbedding.model == model)


def _is_one_of(hashes: Collection[str]) -> ColumnElement[bool]:
    """Written into the statement: hundreds of parameters take a driver longer than the database takes to answer."""
    return CachedEmbedding.text_sha256.in_(bindparam("hashes", hashes, expanding=True, literal_execute=True))


def _parts(hashes: Collection[str]) -> Iterator[list[str]]:
    rest = iter(hashes)
    while part := list(islice(rest, KEYS_PER_QUERY)):
        yield part
