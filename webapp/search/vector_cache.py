"""The cache of vectors: by org, model and text, whatever document holds the text."""

from collections.abc import Collection, Mapping
from typing import cast
from uuid import UUID, uuid4

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Table, and_, bindparam, select
from sqlalchemy.dialects import postgresql

from webapp.batches import batches
from webapp.db import session
from webapp.search.model import CachedEmbedding

Vector = NDArray[np.float32]
KEYS_PER_QUERY = 500
# The clause is the same in both databases, and each compiles it.
_rows = cast(Table, CachedEmbedding.__table__)
_ADD = postgresql.insert(_rows).on_conflict_do_nothing()
_ASKED = and_(
    _rows.c.org_id == bindparam("org"),
    _rows.c.model == bindparam("model"),
    # Written into the statement: hundreds of parameters take a driver longer than the database takes to answer.
    _rows.c.text_sha256.in_(bindparam("hashes", expanding=True, literal_execute=True)),
)
_KNOWN = select(_rows.c.text_sha256).where(_ASKED)
_LOAD = select(_rows.c.text_sha256, _rows.c.embedding).where(_ASKED)
# Some 64 kB, as of a call's answer; random, so that no database can compress it.
_TRIAL = "trial"
_TRIAL_VECTOR = np.random.default_rng(1).random(16_000, dtype=np.float32)


def known(org_id: UUID, model: str, hashes: Collection[str]) -> set[str]:
    """Which of these texts are in the cache."""
    found: set[str] = set()
    for part in batches(hashes, KEYS_PER_QUERY):
        found.update(session().scalars(_KNOWN, {"org": org_id, "model": model, "hashes": part}))
    return found


def load(org_id: UUID, model: str, hashes: Collection[str]) -> dict[str, Vector]:
    """The vectors of these texts; those that are not in the cache are left out."""
    found: dict[str, Vector] = {}
    for part in batches(hashes, KEYS_PER_QUERY):
        rows = session().execute(_LOAD, {"org": org_id, "model": model, "hashes": part})
        found.update((sha256, vector) for sha256, vector in rows)
    return found


def save(org_id: UUID, model: str, vectors: Mapping[str, Vector]) -> None:
    """Store these vectors, unless another job has stored them already."""
    if not vectors:
        return
    # Sorted, so that two jobs that save the same texts can't deadlock.
    rows = [
        {"org_id": org_id, "model": model, "text_sha256": sha256, "embedding": vectors[sha256]}
        for sha256 in sorted(vectors)
    ]
    session().execute(_ADD, rows)


def save_trial(org_id: UUID) -> None:
    """Write as much as a call's answer needs, as a trial that the caller rolls back."""
    save(org_id, _TRIAL, {uuid4().hex: _TRIAL_VECTOR})
