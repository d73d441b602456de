"""Finds the nearest passages of other documents, for all passages of a document at once.

Few passages are compared each with each, as products of matrices, some rows at a time: that is
exact, and needs the same memory however large the org is. Where PostgreSQL has an index for the
model and the org has many passages, the index is asked instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, LargeBinary, Select, Uuid, bindparam, func, select, text, type_coerce

from webapp.batches import batches
from webapp.db import is_postgresql, session
from webapp.documents.binned import IS_NOT_BINNED, binned
from webapp.search.link_floors import link_floor_of
from webapp.search.model import Chunk
from webapp.search.vectors import INDEXED_MODELS, is_large, scanning_on

Vectors = NDArray[np.float32]

ROWS_PER_BLOCK = 2000
SOURCES_PER_PRODUCT = 2000
PAIRS_PER_STATEMENT = 500
# Of the index, for each passage: a search is more thorough.
CANDIDATES = 100
# Products of the same vectors differ in their last digits with the shape of the matrices.
DECIMALS = 5


@dataclass(frozen=True)
class Rules:
    """How many neighbours a passage has at most, and how near they must be (the cosine).

    Without a threshold they must be as near as was measured for the model.
    """

    count: int = 5
    threshold: float | None = None

    def least(self, model: str) -> float:
        """The least cosine for vectors of a model."""
        return link_floor_of(model).similar if self.threshold is None else self.threshold


@dataclass(frozen=True)
class Passages:
    """A block of passages with their documents and vectors, ordered by id."""

    ids: Sequence[UUID]
    documents: Sequence[UUID]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Near:
    """A passage of the document, one of another, and how near they are."""

    source: UUID
    target: UUID
    document_id: UUID
    score: float


def of_document(org_id: UUID, document_id: UUID, model: str) -> Passages:
    """A document's own passages."""
    return _read(_passages(org_id, model).where(Chunk.document_id == document_id))


def of_others(org_id: UUID, document_id: UUID, model: str, after: UUID | None) -> Passages:
    """The next block of other documents' passages; an empty one is the end."""
    others = _passages(org_id, model).where(Chunk.document_id != document_id, Chunk.document_id.not_in(binned(org_id)))
    if after is not None:
        others = others.where(Chunk.id > after)
    return _read(others.limit(ROWS_PER_BLOCK))


class Nearest:
    """Keeps the nearest passages for each of a document's own, block by block.

    What it keeps depends neither on the order nor on the size of the blocks: equals are told
    apart by their ids.
    """

    def __init__(self, own: Passages, rules: Rules, model: str = "") -> None:
        self._own = own
        self._count, self._least = rules.count, rules.least(model)
        self._rows = np.empty(0, np.intp)
        self._scores = np.empty(0, np.float64)
        self._found: list[tuple[UUID, UUID]] = []

    def meet(self, others: Passages) -> None:
        """Compare with a block."""
        if not len(self._own.ids) or self._own.vectors.shape[1] != others.vectors.shape[1]:
            return
        for start in range(0, len(self._own.ids), SOURCES_PER_PRODUCT):
            some = self._own.vectors[start : start + SOURCES_PER_PRODUCT]
            rows, columns, scores = _above(some @ others.vectors.T, self._count, self._least)
            self._rows = np.concatenate([self._rows, rows + start])
            self._scores = np.concatenate([self._scores, scores])
            self._found.extend((others.ids[column], others.documents[column]) for column in columns.tolist())
        self._keep_best()

    def found(self) -> list[Near]:
        """The nearest so far."""
        return [
            Near(self._own.ids[row], target, document, score)
            for row, score, (target, document) in zip(
                self._rows.tolist(), self._scores.tolist(), self._found, strict=True
            )
        ]

    def _keep_best(self) -> None:
        by_id = np.argsort(
            np.array([target.bytes for target, _ in self._found], dtype="V16").view("S16"), kind="stable"
        )
        order = by_id[np.lexsort((-self._scores[by_id], self._rows[by_id]))]
        rows = self._rows[order]
        # The index of the first entry of each row.
        place = np.arange(len(rows)) - np.searchsorted(rows, rows, side="left")
        kept = order[place < self._count]
        self._rows, self._scores = self._rows[kept], self._scores[kept]
        self._found = [self._found[index] for index in kept.tolist()]


def scores(org_id: UUID, pairs: Sequence[tuple[UUID, UUID]], model: str) -> list[float | None]:
    """How near the passages of each pair are; None where one of them has no vector of the model."""
    found: list[float | None] = []
    for part in batches(pairs, PAIRS_PER_STATEMENT):
        read = _read(_passages(org_id, model).where(Chunk.id.in_({each for pair in part for each in pair})))
        vectors = dict(zip(read.ids, read.vectors, strict=True))
        found += [float(vectors[a] @ vectors[b]) if a in vectors and b in vectors else None for a, b in part]
    return found


def has_index(org_id: UUID, model: str) -> bool:
    """Whether the index is the better way."""
    return model in INDEXED_MODELS and is_large(org_id)


def by_index(org_id: UUID, document_id: UUID, model: str, sources: Sequence[UUID], rules: Rules) -> list[Near]:
    """The nearest to some of a document's passages, by PostgreSQL's index over all orgs' vectors of the model."""
    dimensions = INDEXED_MODELS[model]
    distance = f"embedding::vector({dimensions}) <=> own"
    # Names and numbers are our own. One scan of the index for each passage; the filter on the org is
    # why it goes on until it has enough.
    statement = text(
        f"WITH source AS MATERIALIZED (SELECT id, embedding::vector({dimensions}) AS own FROM chunks "  # noqa: S608
        "WHERE org_id = :org_id AND id = ANY(:ids)) "
        "SELECT source.id AS source, near.id AS target, near.document_id, 1 - near.distance AS score "
        f"FROM source CROSS JOIN LATERAL (SELECT id, document_id, {distance} AS distance FROM chunks "
        f"WHERE org_id = :org_id AND embedding_model = '{model}' AND document_id <> :document_id AND {IS_NOT_BINNED} "
        f"ORDER BY {distance} LIMIT :count) AS near WHERE 1 - near.distance >= :threshold"
    )
    typed = statement.bindparams(bindparam("org_id", type_=Uuid), bindparam("document_id", type_=Uuid))
    values = {"org_id": org_id, "document_id": document_id, "ids": list(sources)}
    with scanning_on(CANDIDATES):
        rows = session().execute(
            typed.columns(source=Uuid, target=Uuid, document_id=Uuid),
            {**values, "count": rules.count, "threshold": rules.least(model)},
        )
        return [Near(row.source, row.target, row.document_id, round(float(row.score), DECIMALS)) for row in rows]


def _above(
    products: Vectors, count: int, least: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """What is near enough, and of each row not more than count: the first of equals, which have the lowest ids."""
    scores = np.asarray(products, np.float64).round(DECIMALS)
    is_near = scores >= least
    for row in np.flatnonzero(is_near.sum(axis=1) > count):
        best = np.argsort(-scores[row], kind="stable")[:count]
        is_near[row] = False
        is_near[row, best] = True
    rows, columns = np.nonzero(is_near)
    return rows, columns, scores[rows, columns]


@dataclass(frozen=True)
class _Bytes:
    """Vectors as a database gives them in bytes: to read numbers as text takes far longer than to compare them."""

    column: ColumnElement[bytes]
    header_bytes: int
    floats: str


def _bytes() -> _Bytes:
    if is_postgresql():
        # pgvector's own binary form: two short numbers, then the floats in network order.
        return _Bytes(func.vector_send(Chunk.embedding, type_=LargeBinary), 4, ">f4")
    return _Bytes(type_coerce(Chunk.embedding, LargeBinary), 0, "<f4")


def _passages(org_id: UUID, model: str) -> Select[UUID, UUID, bytes]:
    columns = select(Chunk.id, Chunk.document_id, _bytes().column)
    return columns.where(Chunk.org_id == org_id, Chunk.embedding_model == model).order_by(Chunk.id)


def _read(passages: Select[UUID, UUID, bytes]) -> Passages:
    rows = session().execute(passages).all()
    if not rows:
        return Passages([], [], np.empty((0, 0), np.float32))
    ids, documents, vectors = zip(*rows, strict=True)
    return Passages(ids, documents, _floats(vectors))


def _floats(vectors: Sequence[bytes]) -> Vectors:
    form = _bytes()
    rows = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), -1)[:, form.header_bytes :]
    return np.ascontiguousarray(rows).view(form.floats).astype(np.float32, copy=False)
