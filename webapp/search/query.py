"""Searches by words and by meaning, and puts what both find into one order.

First come the passages that hold the whole question in a row, then those with all its codes and numbers, then those
with all its words, unless it is a sentence, then those with some words or the same meaning. Within each of these,
ranks in the lists are added up.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select
from sqlalchemy.orm import defer

from webapp.db import session
from webapp.documents.model import Document
from webapp.search import accents, alike
from webapp.search.floors import floor_of
from webapp.search.model import Chunk
from webapp.search.phrases import exactly, with_phrase, with_question
from webapp.search.scope import Matching, SearchScope
from webapp.search.stems import plain_words
from webapp.search.tsquery import SAMPLED_MIN
from webapp.search.vectors import QueryVector, nearest
from webapp.search.wanted import WantedPassages
from webapp.search.words import has_common_words, holding, which_hold

# Of each list. Always the same number, so that pages of one search follow each other.
CANDIDATES = 100
# Of passages that must hold something, and of those that are looked through for a filter.
REQUIRED_MAX = 1000
# Ranks, not scores: those of the two legs cannot be compared.
RANK_OFFSET = 10
# Meaning finds more than words do, so words only help it, unless there is just one. An exact
# number or code comes before everything else. `python -m bench.questions` shows what these numbers find.
MEANING_WEIGHT, WORDS_WEIGHT, SINGLE_WORD_WEIGHT, EXACT_WEIGHT = 1.0, 0.35, 1.0, 2.0
# A question in a sentence of more words than this is often answered by a passage that has not all of them.
KEYWORDS_MAX = 2
# Of so many of the first ones with all words it is asked whether they have the accents of the question.
ACCENTS_COMPARED = 40
SIMILAR_SHOWN_MAX = 20
# Shorter questions are not looked for in a row across passages.
ROW_WORDS_MIN = 2


@dataclass(frozen=True, slots=True)
class SimilarPassage:
    """A passage with nearly the same text as a hit, which is not shown as one."""

    chunk_id: UUID
    document_id: UUID
    filename: str
    page_from: int | None
    content_type: str = ""


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
    similar: Sequence[SimilarPassage] = ()
    """The first of the passages that say nearly the same, and stand behind this one."""
    similar_count: int = 0
    content_type: str = ""


@dataclass(frozen=True)
class FoundHits:
    """Some of the hits, and whether there are more."""

    hits: Sequence[Hit]
    has_more: bool = False
    passages: Sequence[UUID] = ()
    """All passages that were found, best first, of which `hits` are some."""
    with_all_words: int = 0
    """How many passages have all words, as far as they were looked up."""


def search(
    scope: SearchScope,
    wanted: WantedPassages,
    vectors: Sequence[QueryVector],
    limit: int,
    folder: Path,
    *,
    start: int = 0,
) -> FoundHits:
    """The published passages that answer best, from number `start` on; without a vector by words alone.

    There is one vector for each model whose vectors the org has. Each passage has one of them, so
    the lists of several models take turns and don't add up.

    `folder` is where the matrices lie on SQLite (`DATA_DIR/index`).
    """
    if wanted.is_empty or limit < 1 or scope.is_empty:
        return FoundHits([])
    gathering = _Gathering(scope, wanted, folder)
    all_words = gathering.all_words()
    ordered = _in_order(gathering, all_words, vectors)
    if scope.matching is not None:
        ordered = _of_matching(scope.org_id, scope.matching, ordered)
    passages = tuple(chunk_id for chunk_id, _ in ordered)
    similar = alike.under_the_first([chunk_id for chunk_id, _ in ordered])
    under_others = {chunk_id for others in similar.values() for chunk_id in others}
    ordered = [each for each in ordered if each[0] not in under_others]
    shown = ordered[start : start + limit]
    return FoundHits(_hits(scope.org_id, shown, similar), len(ordered) > start + limit, passages, len(all_words))


def _in_order(
    gathering: "_Gathering", all_words: Sequence[UUID], vectors: Sequence[QueryVector]
) -> list[tuple[UUID, float]]:
    """All that was found with its score, best first."""
    wanted = gathering.wanted
    words = all_words if len(all_words) >= gathering.depth else [*all_words, *gathering.some_words(all_words)]
    # What must be there word for word is in the order of its words; meaning orders what loose words find.
    near = [gathering.near(each, has_known_words=bool(words)) for each in vectors] if wanted.words else []
    exact = gathering.exact()
    weight = WORDS_WEIGHT if len(wanted.telling) > 1 else SINGLE_WORD_WEIGHT
    scores = fuse([*((ids, MEANING_WEIGHT) for ids in near), (words, weight), (exact, EXACT_WEIGHT)])
    found = set(all_words) if gathering.asks_by_keywords else set()
    if found and gathering.may_have_more:
        found |= which_hold(gathering.scope, wanted.all_words(), scores.keys() - found)
    row = gathering.row(all_words)
    scores |= {chunk_id: 0.0 for chunk_id in row if chunk_id not in scores}
    tiers = [set(row), set(exact), found]
    places = {chunk_id: place for place, chunk_id in enumerate(row)}

    def tier(chunk_id: UUID) -> tuple[bool, ...]:
        return tuple(chunk_id not in each for each in tiers)

    def before(chunk_id: UUID) -> tuple[object, ...]:
        return (tier(chunk_id), -scores[chunk_id], places.get(chunk_id, len(places)), chunk_id)

    ordered = sorted(scores, key=before)
    # Of the others, one with a word in other accents is still better than one without the word.
    complete = [chunk_id for chunk_id in ordered if chunk_id in places or chunk_id in found]
    others = accents.otherwise(gathering.scope.org_id, complete[:ACCENTS_COMPARED], wanted.marked)
    ordered.sort(key=lambda chunk_id: (tier(chunk_id), chunk_id in others))
    return [(chunk_id, scores[chunk_id]) for chunk_id in ordered]


class _Gathering:
    """The lists of passages that one search finds, each best first."""

    def __init__(self, scope: SearchScope, wanted: WantedPassages, folder: Path) -> None:
        self.scope = scope
        self.wanted = wanted
        self._folder = folder
        self.depth = REQUIRED_MAX if wanted.required or scope.matching is not None else CANDIDATES
        self.may_have_more = False
        """Whether more passages have all words than `all_words` found."""
        self._has_phrases: dict[UUID, bool] = {}
        self._required = self._all_required() if wanted.required else None

    def _all_required(self) -> list[UUID]:
        """The passages with all that must be there."""
        wanted = self.wanted
        is_phrase = len(wanted.required) == 1 and len(wanted.phrases) == 1 and len(wanted.phrases[0]) == 1
        found: list[UUID] = []
        if wanted.words or not is_phrase:
            found = self._with_phrases(holding(self.scope, wanted.having(), REQUIRED_MAX))
        if is_phrase and not found:
            # Alone, or where no passage has the whole of it, it may go on in the next passage.
            return with_phrase(self.scope, wanted.phrases[0][0], REQUIRED_MAX, wanted.without)
        return found

    @property
    def asks_by_keywords(self) -> bool:
        """Whether passages with all words come first, whatever is nearer by its meaning."""
        return len(self.wanted.telling) <= KEYWORDS_MAX or not has_common_words(self.wanted.words)

    def near(self, vector: QueryVector, *, has_known_words: bool) -> list[UUID]:
        """The passages that mean the same; none for letters that are a word neither here nor to the model."""
        if not (has_known_words or vector.has_words):
            return []
        nearby = nearest(self.scope, vector, self.depth, self._folder)
        if self._required is not None:
            return self._among_required([each.id for each in nearby])
        best = max((each.cosine for each in nearby), default=0.0)
        least = floor_of(vector.model, best, has_known_words=has_known_words)
        ids = [each.id for each in nearby if each.cosine >= least]
        if not self.wanted.without:
            return ids
        excluded = which_hold(self.scope, self.wanted.excluded(), ids)
        return [chunk_id for chunk_id in ids if chunk_id not in excluded]

    def all_words(self) -> list[UUID]:
        """The passages with all words; where there are none, those with what is required."""
        if not self.wanted.words:
            return list(self._required or ())
        found = holding(self.scope, self.wanted.all_words(), self.depth)
        # Of what very many passages have, PostgreSQL finds those of a sample.
        self.may_have_more = len(found) >= min(self.depth, SAMPLED_MIN)
        return self._with_phrases(found)

    def some_words(self, known: Collection[UUID]) -> list[UUID]:
        """The other passages with some of the words, or at least what is required."""
        if not self.wanted.words:
            return []
        found = self._with_phrases(holding(self.scope, self.wanted.some_words(), self.depth))
        rest = dict.fromkeys([*found, *(self._required or ())])
        return [chunk_id for chunk_id in rest if chunk_id not in set(known)]

    def exact(self) -> list[UUID]:
        """The passages with all numbers and codes."""
        return self._with_phrases(holding(self.scope, self.wanted.exact(), self.depth))

    def row(self, all_words: Sequence[UUID]) -> list[UUID]:
        """The passages that hold the whole question, word for word, where it is one without operators."""
        wanted = self.wanted
        if not wanted.is_plain or len(plain_words(wanted.words)) < ROW_WORDS_MIN:
            return []
        known = None if self.may_have_more else all_words
        return with_question(self.scope, wanted.words, wanted.without, known, self.depth)

    def _among_required(self, ids: Sequence[UUID]) -> list[UUID]:
        """Those with all that must be there; `_required` may be some of very many."""
        known = set(self._required or ())
        others = [chunk_id for chunk_id in ids if chunk_id not in known]
        held = which_hold(self.scope, self.wanted.having(), others)
        known |= set(self._with_phrases([chunk_id for chunk_id in others if chunk_id in held]))
        return [chunk_id for chunk_id in ids if chunk_id in known]

    def _with_phrases(self, ids: Sequence[UUID]) -> list[UUID]:
        """Those that have the phrases word for word; no passage is read twice."""
        new = [chunk_id for chunk_id in ids if chunk_id not in self._has_phrases]
        having = set(exactly(self.scope, new, self.wanted.phrases))
        self._has_phrases |= {chunk_id: chunk_id in having for chunk_id in new}
        return [chunk_id for chunk_id in ids if self._has_phrases[chunk_id]]


def _of_matching(org_id: UUID, matching: Matching, ordered: Sequence[tuple[UUID, float]]) -> list[tuple[UUID, float]]:
    """Those of documents that fulfil the filters."""
    ids = [chunk_id for chunk_id, _ in ordered]
    rows = session().execute(select(Chunk.id, Chunk.document_id).where(Chunk.org_id == org_id, Chunk.id.in_(ids)))
    documents = {row.id: row.document_id for row in rows}
    kept = set(matching(set(documents.values())))
    return [each for each in ordered if documents.get(each[0]) in kept]


def fuse(legs: Sequence[tuple[Sequence[UUID], float]]) -> dict[UUID, float]:
    """Reciprocal ranks, weighted and added up: high in one list or good in both comes first."""
    scores: dict[UUID, float] = {}
    for ids, weight in legs:
        for rank, chunk_id in enumerate(ids, start=1):
            scores[chunk_id] = scores.get(chunk_id, 0.0) + weight / (RANK_OFFSET + rank)
    return scores


def _hits(org_id: UUID, scored: Sequence[tuple[UUID, float]], similar: Mapping[UUID, Sequence[UUID]]) -> list[Hit]:
    found = _rows(org_id, [chunk_id for chunk_id, _ in scored])
    others = _rows(org_id, [each for chunk_id, _ in scored for each in similar.get(chunk_id, ())[:SIMILAR_SHOWN_MAX]])
    return [
        _hit(
            found[chunk_id],
            score,
            [_similar(others[each]) for each in similar.get(chunk_id, ()) if each in others],
            len(similar.get(chunk_id, ())),
        )
        for chunk_id, score in scored
        if chunk_id in found
    ]


def _rows(org_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Row[Any]]:
    if not ids:
        return {}
    columns: Any = select(
        Chunk, Document.filename, Document.title, Document.title_is_guess, Document.content_type
    ).join(Document, (Document.org_id == Chunk.org_id) & (Document.id == Chunk.document_id))
    rows = columns.where(Chunk.org_id == org_id, Chunk.id.in_(ids)).options(defer(Chunk.embedding))
    return {row.Chunk.id: row for row in session().execute(rows)}


def _similar(row: Row[Any]) -> SimilarPassage:
    return SimilarPassage(row.Chunk.id, row.Chunk.document_id, row.filename, row.Chunk.page_from, row.content_type)


def _hit(row: Row[Any], score: float, similar: Sequence[SimilarPassage], similar_count: int) -> Hit:
    chunk = row.Chunk
    return Hit(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        filename=row.filename,
        title=row.title,
        text=chunk.text,
        heading=chunk.heading,
        page_from=chunk.page_from,
        page_to=chunk.page_to,
        score=round(score, 6),
        time_from=chunk.time_from,
        time_to=chunk.time_to,
        title_is_guess=bool(row.title_is_guess),
        similar=similar,
        similar_count=similar_count,
        content_type=row.content_type,
    )
