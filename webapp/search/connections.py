"""Connections between passages of different documents: written as sets, read from both ends.

A row belongs to the passage that found the other. Finding connections again replaces the rows of the own
document, and leaves alone what others have found in it. Passages that vanish take their rows along.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    Float,
    Select,
    Subquery,
    Text,
    Uuid,
    case,
    column,
    delete,
    func,
    literal,
    select,
    tuple_,
    union_all,
    values,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import aliased, defer

from webapp.batches import batches
from webapp.clock import now
from webapp.db import session
from webapp.documents.binned import binned
from webapp.documents.model import Document
from webapp.search.model import Chunk, Connection

ROWS_PER_STATEMENT = 500
SCORE_TOLERANCE = 0.001


class Kind(StrEnum):
    """Why two passages belong together; in the order in which people want to see them."""

    NEAR_DUPLICATE = "near_duplicate"
    """The same text, but for a word or two."""
    SHARED_VALUE = "shared_value"
    """Both hold the same number, code or address."""
    SIMILAR = "similar"
    """They speak of the same."""


_BY_VECTORS = (Kind.SIMILAR, Kind.NEAR_DUPLICATE)


@dataclass(frozen=True, slots=True)
class Link:
    """A connection to be stored: from a passage of the document to one of another."""

    source: UUID
    target: UUID
    document_id: UUID
    kind: Kind
    score: float


@dataclass(frozen=True)
class Changed:
    """What replacing a document's connections did. `vanished` had lost an end by then."""

    added: int
    kept: int
    removed: int
    vanished: int


@dataclass(frozen=True)
class Connected:
    """A connection as the reader of a document sees it: one of its passages, and one of another's."""

    kind: Kind
    score: float
    passage: Chunk
    other: Chunk
    document: Document


@dataclass(frozen=True)
class Linked:
    """Another document, how many connections there are with it, and the surest of them."""

    document: Document
    connections: int
    surest: Sequence[Connected]


@dataclass(frozen=True)
class Neighbour:
    """Another document, and how much connects it with the one that is read."""

    document: Document
    connections: int
    score: float


def lock_documents(org_id: UUID, ids: Iterable[UUID]) -> set[UUID]:
    """Lock these documents against publishing and deletion until the end of the transaction.

    Everybody who changes a document's passages locks its row first, in one order, so there are no
    deadlocks. Those that are gone are left out.
    """
    held: set[UUID] = set()
    for part in batches(sorted(ids), ROWS_PER_STATEMENT):
        rows = select(Document.id).where(Document.org_id == org_id, Document.id.in_(part)).order_by(Document.id)
        held.update(session().scalars(rows.with_for_update(read=True, key_share=True)))
    return held


def replace(org_id: UUID, document_id: UUID, links: Collection[Link]) -> Changed:
    """Let these be all that the document's passages have found.

    Those that were found by vectors and end at a passage with another model's vector stay: the two can't be compared
    until both have vectors of one model.
    """
    stored = {(row.source_chunk_id, row.target_chunk_id, row.kind): row.score for row in _stored(org_id, document_id)}
    coming = {(link.source, link.target, str(link.kind)): link for link in links}
    kept = {key for key, score in stored.items() if key in coming and abs(coming[key].score - score) <= SCORE_TOLERANCE}
    _delete(org_id, sorted(stored.keys() - kept))
    new = [link for key, link in sorted(coming.items()) if key not in kept]
    added = sum(_insert(org_id, document_id, part) for part in batches(new, ROWS_PER_STATEMENT))
    return Changed(added=added, kept=len(kept), removed=len(stored) - len(kept), vanished=len(new) - added)


def found_by_others(org_id: UUID, document_id: UUID, model: str) -> list[Link]:
    """The links by vectors that end at a document's passages, where both ends have vectors of the model."""
    source, target = aliased(Chunk), aliased(Chunk)
    rows = select(Connection.source_chunk_id, Connection.target_chunk_id, Connection.kind, Connection.score)
    rows = rows.join(source, (source.org_id == Connection.org_id) & (source.id == Connection.source_chunk_id))
    rows = rows.join(target, (target.org_id == Connection.org_id) & (target.id == Connection.target_chunk_id))
    rows = rows.where(source.embedding_model == model, target.embedding_model == model)
    found = rows.where(Connection.org_id == org_id, target.document_id == document_id, Connection.kind.in_(_BY_VECTORS))
    return [Link(row[0], row[1], document_id, Kind(row[2]), row[3]) for row in session().execute(found)]


def remove(org_id: UUID, links: Collection[Link]) -> None:
    """Remove these."""
    _delete(org_id, sorted((link.source, link.target, str(link.kind)) for link in links))


def _stored(org_id: UUID, document_id: UUID) -> Any:
    """What the document's passages have found so far, but for what can't be looked for again now."""
    source, target = aliased(Chunk), aliased(Chunk)
    rows = select(Connection.source_chunk_id, Connection.target_chunk_id, Connection.kind, Connection.score)
    rows = rows.join(source, (source.org_id == Connection.org_id) & (source.id == Connection.source_chunk_id))
    rows = rows.join(target, (target.org_id == Connection.org_id) & (target.id == Connection.target_chunk_id))
    # Where one of them has no vector, this is unknown, which is not true.
    is_out_of_reach = Connection.kind.in_(_BY_VECTORS) & (source.embedding_model != target.embedding_model)
    found = rows.where(Connection.org_id == org_id, source.document_id == document_id, is_out_of_reach.is_not(True))
    return session().execute(found)


def _delete(org_id: UUID, keys: Sequence[tuple[UUID, UUID, str]]) -> None:
    key = tuple_(Connection.source_chunk_id, Connection.target_chunk_id, Connection.kind)
    for part in batches(keys, ROWS_PER_STATEMENT):
        gone = delete(Connection).where(Connection.org_id == org_id, key.in_(part))
        session().execute(gone.execution_options(synchronize_session=False))


def _insert(org_id: UUID, document_id: UUID, links: Sequence[Link]) -> int:
    """Add those whose two ends exist: an end that is gone by now costs the row, and is no error.

    The ends are locked as they are looked up, so they are still there when the foreign keys are checked.
    """
    found, source, target = _as_rows(links), aliased(Chunk), aliased(Chunk)
    ends = (
        select(found.c.source, found.c.target, found.c.kind, literal(org_id, Uuid), found.c.score, now())
        .join(source, (source.org_id == org_id) & (source.id == found.c.source))
        .join(target, (target.org_id == org_id) & (target.id == found.c.target))
        .where(source.document_id == document_id, target.document_id != document_id)
        .with_for_update(read=True, key_share=True, of=(source, target))
    )
    columns = ["source_chunk_id", "target_chunk_id", "kind", "org_id", "score", "created_at"]
    # The clause is the same in both databases, and each compiles it.
    adding = postgresql.insert(Connection).from_select(columns, ends).on_conflict_do_nothing()
    return len(session().execute(adding.returning(Connection.kind)).all())


def _as_rows(links: Sequence[Link]) -> CTE:
    columns = (column("source", Uuid), column("target", Uuid), column("kind", Text), column("score", Float))
    rows = [(link.source, link.target, str(link.kind), link.score) for link in links]
    return values(*columns, name="found").data(rows).cte("found")


def count(org_id: UUID, document_id: UUID) -> int:
    """How many connections a document has."""
    return session().scalar(select(func.count()).select_from(_pairs(org_id, document_id))) or 0


def of_document(
    org_id: UUID,
    document_id: UUID,
    *,
    kind: Kind | None = None,
    other_id: UUID | None = None,
    start: int = 0,
    limit: int = 50,
) -> list[Connected]:
    """The connections of a document, with all others or with one, from number `start` on: the surest first."""
    pairs = _pairs(org_id, document_id)
    own, other = aliased(Chunk), aliased(Chunk)
    rows = (
        select(pairs.c.kind, pairs.c.score, own, other, Document)
        .join(own, (own.org_id == org_id) & (own.id == pairs.c.own))
        .join(other, (other.org_id == org_id) & (other.id == pairs.c.other))
        .join(Document, (Document.org_id == org_id) & (Document.id == other.document_id))
        .options(defer(own.embedding), defer(other.embedding), defer(Document.embedding))
        .order_by(_surest(pairs), pairs.c.score.desc(), own.ordinal, pairs.c.other)
    )
    if kind is not None:
        rows = rows.where(pairs.c.kind == kind)
    if other_id is not None:
        rows = rows.where(other.document_id == other_id)
    return [Connected(Kind(row[0]), *row[1:]) for row in session().execute(rows.offset(start).limit(limit))]


def kind_counts(org_id: UUID, document_id: UUID) -> dict[Kind, int]:
    """How many connections of each kind a document has."""
    pairs = _pairs(org_id, document_id)
    rows = session().execute(select(pairs.c.kind, func.count()).group_by(pairs.c.kind))
    found = {row[0]: row[1] for row in rows}
    return {kind: found[kind] for kind in Kind if kind in found}


def linked(
    org_id: UUID, document_id: UUID, *, kind: Kind | None = None, start: int = 0, limit: int = 10, pairs_each: int = 3
) -> list[Linked]:
    """The other documents from number `start` on, each with its surest connections: the surest and most first."""
    pairs = _pairs(org_id, document_id)
    surest, number, best = func.min(_surest(pairs)), func.count(), func.max(pairs.c.score)
    totals = select(Chunk.document_id, number.label("number")).join(
        pairs, (Chunk.org_id == org_id) & (Chunk.id == pairs.c.other)
    )
    if kind is not None:
        totals = totals.where(pairs.c.kind == kind)
    totals = totals.group_by(Chunk.document_id).order_by(surest, number.desc(), best.desc(), Chunk.document_id)
    numbers = {row.document_id: row.number for row in session().execute(totals.offset(start).limit(limit))}
    shown: dict[UUID, list[Connected]] = {other_id: [] for other_id in numbers}
    for each in _surest_of_each(org_id, document_id, list(numbers), kind, pairs_each):
        shown[each.document.id].append(each)
    return [Linked(found[0].document, numbers[other_id], found) for other_id, found in shown.items() if found]


def _surest_of_each(
    org_id: UUID, document_id: UUID, others: Sequence[UUID], kind: Kind | None, most: int
) -> list[Connected]:
    """Of the connections with each of these documents the surest."""
    pairs = _pairs(org_id, document_id)
    own, other = aliased(Chunk), aliased(Chunk)
    order = (_surest(pairs), pairs.c.score.desc(), own.ordinal, pairs.c.other)
    place = func.row_number().over(partition_by=other.document_id, order_by=order).label("place")
    numbered = (
        select(pairs.c.own, pairs.c.other, pairs.c.kind, pairs.c.score, other.document_id, place)
        .join(own, (own.org_id == org_id) & (own.id == pairs.c.own))
        .join(other, (other.org_id == org_id) & (other.id == pairs.c.other))
        .where(other.document_id.in_(others))
    )
    if kind is not None:
        numbered = numbered.where(pairs.c.kind == kind)
    few = numbered.subquery()
    mine, theirs = aliased(Chunk), aliased(Chunk)
    rows = (
        select(few.c.kind, few.c.score, mine, theirs, Document)
        .join(mine, (mine.org_id == org_id) & (mine.id == few.c.own))
        .join(theirs, (theirs.org_id == org_id) & (theirs.id == few.c.other))
        .join(Document, (Document.org_id == org_id) & (Document.id == few.c.document_id))
        .where(few.c.place <= most)
        .options(defer(mine.embedding), defer(theirs.embedding), defer(Document.embedding))
        .order_by(few.c.document_id, few.c.place)
    )
    return [Connected(Kind(row[0]), *row[1:]) for row in session().execute(rows)]


def _surest(pairs: Subquery) -> Any:
    """The place of a connection's kind among the kinds."""
    return case({str(each): place for place, each in enumerate(Kind)}, value=pairs.c.kind)


def neighbours(org_id: UUID, document_id: UUID, limit: int = 12) -> list[Neighbour]:
    """The documents that most connects with this one."""
    pairs = _pairs(org_id, document_id)
    number, best = func.count().label("number"), func.max(pairs.c.score).label("best")
    totals = (
        select(Chunk.document_id, number, best)
        .join(pairs, (Chunk.org_id == org_id) & (Chunk.id == pairs.c.other))
        .group_by(Chunk.document_id)
        .order_by(number.desc(), best.desc(), Chunk.document_id)
        .limit(limit)
        .subquery()
    )
    rows = (
        select(Document, totals.c.number, totals.c.best)
        .join(totals, Document.id == totals.c.document_id)
        .where(Document.org_id == org_id)
        .options(defer(Document.embedding))
        .order_by(totals.c.number.desc(), totals.c.best.desc(), Document.id)
    )
    return [Neighbour(*row) for row in session().execute(rows)]


def _pairs(org_id: UUID, document_id: UUID) -> Subquery:
    """Own passage, other passage, kind, score: from both ends, each pair once though both have found it."""
    both = union_all(
        _seen_from(org_id, document_id, Connection.source_chunk_id, Connection.target_chunk_id),
        _seen_from(org_id, document_id, Connection.target_chunk_id, Connection.source_chunk_id),
    ).subquery()
    once = select(both.c.own, both.c.other, both.c.kind, func.max(both.c.score).label("score"))
    return once.group_by(both.c.own, both.c.other, both.c.kind).subquery()


def _seen_from(org_id: UUID, document_id: UUID, own: Any, other: Any) -> Select[Any]:
    rows = select(own.label("own"), other.label("other"), Connection.kind, Connection.score)
    rows = rows.join(Chunk, (Chunk.org_id == Connection.org_id) & (Chunk.id == own))
    theirs = aliased(Chunk)
    rows = rows.join(theirs, (theirs.org_id == Connection.org_id) & (theirs.id == other))
    rows = rows.where(theirs.document_id.not_in(binned(org_id)))
    return rows.where(Chunk.org_id == org_id, Chunk.document_id == document_id)
