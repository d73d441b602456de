"""Searches by words and by vectors, and fuses the two lists by rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from webapp.db import session
from webapp.documents.model import Document
from webapp.search.model import Chunk
from webapp.search.vectors import QueryVector, nearest
from webapp.search.words import best_by_terms, clean_query, identifiers, query_terms, query_words

CANDIDATES_MIN = 50
# Ranks, not scores: those of the two legs cannot be compared.
RANK_OFFSET = 60
# Meaning finds more than words do, so words only help it, unless there is just one. An exact
# number or code comes before everything else.
MEANING_WEIGHT, WORDS_WEIGHT, SINGLE_WORD_WEIGHT, EXACT_WEIGHT = 1.0, 0.5, 1.0, 2.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `score` only orders the hits of one search."""

    chunk_id: UUID
    document_id: UUID
    filename: str
    title: str | None
    text: str
    heading: str | None
    page_from: int | None
    page_to: int | None
    score: float
    time_from: float | None = None
    time_to: float | None = None
    title_is_guess: bool = False


def search(org_id: UUID, text: str, vectors: Sequence[QueryVector], limit: int, folder: Path) -> list[Hit]:
    """The org's published passages that answer best; without a vector by words alone.

    There is one vector for each model whose vectors the org has. Each passage has one of them, so
    the lists of several models take turns and don't add up.

    `folder` is where the matrices lie on SQLite (`DATA_DIR/index`).
    """
    query = clean_query(text)
    if not query or limit < 1:
        return []
    candidates = max(CANDIDATES_MIN, 2 * limit)
    words = query_words(query)
    scores = fuse(
        [
            *((nearest(org_id, vector, candidates, folder), MEANING_WEIGHT) for vector in vectors),
            (
                best_by_terms(org_id, query_terms(query), candidates),
                WORDS_WEIGHT if len(words) > 1 else SINGLE_WORD_WEIGHT,
            ),
            (best_by_terms(org_id, identifiers(query), candidates), EXACT_WEIGHT),
        ]
    )
    best = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))[:limit]
    return _hits(org_id, best, scores)


def fuse(legs: Sequence[tuple[Sequence[UUID], float]]) -> dict[UUID, float]:
    """Reciprocal ranks, weighted and added up: high in one list or good in both comes first."""
    scores: dict[UUID, float] = {}
    for ids, weight in legs:
        for rank, chunk_id in enumerate(ids, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + weight / (RANK_OFFSET + rank)
    return scores


def _hits(org_id: UUID, ids: Sequence[UUID], scores: dict[UUID, float]) -> list[Hit]:
    columns = select(Chunk, Document.filename, Document.title, Document.title_is_guess).join(
        Document, (Document.org_id == Chunk.org_id) & (Document.id == Chunk.document_id)
    )
    rows = session().execute(columns.where(Chunk.org_id == org_id, Chunk.id.in_(ids)))
    found = {row.Chunk.id: row for row in rows}
    return [_hit(*found[chunk_id], scores[chunk_id]) for chunk_id in ids if chunk_id in found]


def _hit(chunk: Chunk, filename: str, title: str | None, is_guess: bool | None, score: float) -> Hit:
    return Hit(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        filename=filename,
        title=title,
        text=chunk.text,
        heading=chunk.heading,
        page_from=chunk.page_from,
        page_to=chunk.page_to,
        score=round(score, 6),
        time_from=chunk.time_from,
        time_to=chunk.time_to,
        title_is_guess=bool(is_guess),
    )
