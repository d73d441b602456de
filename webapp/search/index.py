"""Writes the index: replaces a document's passages, in the caller's transaction.

A passage whose text did not change keeps its row: its vector, its connections and, in the
databases' own indexes, its place. Only differences are written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from uuid import UUID

from sqlalchemy import Row, Table, bindparam, delete, insert, select, update

from webapp.batches import batches
from webapp.db import session
from webapp.search import word_rows
from webapp.search.model import Chunk
from webapp.search.word_rows import DocumentNames

# Few enough to be prepared in a moment: the server ends a session that is idle in its transaction.
ROWS_AT_ONCE = 500
_ADD = insert(cast(Table, Chunk.__table__))


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A passage to be stored in the index."""

    id: UUID
    ordinal: int
    text: str
    text_sha256: str
    heading: str | None
    page_from: int | None
    page_to: int | None
    embedding: Any
    embedding_model: str | None
    time_from: float | None = None
    time_to: float | None = None


@dataclass(frozen=True)
class IndexChange:
    """How much of the index a new result changed."""

    added: int
    kept: int
    removed: int


StoredChunks = Mapping[UUID, Row[Any]]
Item = TypeVar("Item")


def stored_chunks(org_id: UUID, document_id: UUID) -> StoredChunks:
    """The passages that a document has: the position of each, and its vector's model."""
    places = (Chunk.heading, Chunk.page_from, Chunk.page_to, Chunk.time_from, Chunk.time_to)
    columns: Any = select(Chunk.id, Chunk.ordinal, *places, Chunk.embedding_model)
    rows = columns.where(Chunk.org_id == org_id, Chunk.document_id == document_id)
    return {row.id: row for row in session().execute(rows)}


def texts(org_id: UUID, document_id: UUID) -> Sequence[Row[Any]]:
    """What a document's passages say that have vectors: id, ordinal, text and its hash, in order."""
    columns: Any = select(Chunk.id, Chunk.ordinal, Chunk.text, Chunk.text_sha256)
    rows = columns.where(Chunk.org_id == org_id, Chunk.document_id == document_id, Chunk.embedding_model.is_not(None))
    return session().execute(rows.order_by(Chunk.ordinal)).all()


def renew_vectors(org_id: UUID, vectors: Sequence[tuple[UUID, Any]], model: str) -> None:
    """Give passages vectors of another model; one that is gone is left out."""
    change = update(Chunk).where(Chunk.org_id == org_id, Chunk.id == bindparam("the_id"))
    change = change.values(embedding=bindparam("new_embedding"), embedding_model=model)
    for part in batches(vectors, ROWS_AT_ONCE):
        rows = [{"the_id": chunk_id, "new_embedding": vector} for chunk_id, vector in part]
        session().connection().execute(change, rows)


def replace(
    org_id: UUID,
    document_id: UUID,
    chunks: Sequence[NewChunk],
    stored: StoredChunks | None = None,
    names: DocumentNames | None = None,
) -> IndexChange:
    """Let the document have these passages and no others; `stored` is what it has, where that is known.

    `names` are those that it gets in this transaction; without them it keeps its own.
    """
    stored = stored_chunks(org_id, document_id) if stored is None else stored
    coming = {chunk.id: chunk for chunk in chunks}
    gone = [chunk_id for chunk_id in stored if chunk_id not in coming]
    _delete(org_id, gone)
    kept = [chunk for chunk in chunks if chunk.id in stored]
    if kept:
        _move(org_id, [chunk for chunk in kept if _place(chunk) != _place(stored[chunk.id])], stored)
        _embed_anew(org_id, [chunk for chunk in kept if chunk.embedding_model != stored[chunk.id].embedding_model])
    added = [chunk for chunk in chunks if chunk.id not in stored]
    _add(org_id, document_id, added)
    headed_anew = (chunk.id for chunk in kept if chunk.heading != stored[chunk.id].heading)
    word_rows.write(org_id, document_id, chunks, {*(chunk.id for chunk in added), *headed_anew}, names)
    return IndexChange(added=len(chunks) - len(kept), kept=len(kept), removed=len(gone))


_PLACE = ("heading", "page_from", "page_to", "time_from", "time_to")


def _place(chunk: NewChunk | Row[Any]) -> tuple[Any, ...]:
    return (chunk.ordinal, chunk.heading, chunk.page_from, chunk.page_to, chunk.time_from, chunk.time_to)


def _delete(org_id: UUID, ids: Iterable[UUID]) -> None:
    for part in batches(ids, ROWS_AT_ONCE):
        session().execute(delete(Chunk).where(Chunk.org_id == org_id, Chunk.id.in_(part)), **_UNWATCHED)


def _move(org_id: UUID, chunks: Sequence[NewChunk], stored: StoredChunks) -> None:
    """Renumber, one after the other: at every moment a place belongs to one passage only."""
    moves = [(stored[chunk.id].ordinal, chunk.ordinal, chunk.id) for chunk in chunks]
    change = update(Chunk).where(Chunk.org_id == org_id, Chunk.id == bindparam("the_id"))
    for part in batches(in_free_places(moves), ROWS_AT_ONCE):
        steps = [{"the_id": chunk_id, "place": place} for chunk_id, place in part]
        session().connection().execute(change.values(ordinal=bindparam("place")), steps)
    _update(org_id, _PLACE, [chunk for chunk in chunks if _is_elsewhere(chunk, stored)])


def _is_elsewhere(chunk: NewChunk, stored: StoredChunks) -> bool:
    """Whether more than its number has changed."""
    return _place(chunk)[1:] != _place(stored[chunk.id])[1:]


def in_free_places(moves: Sequence[tuple[int, int, UUID]]) -> Iterator[tuple[UUID, int]]:
    """Put moves (from, to, who) into an order in which each goes to a free place.

    Each row is written once, which matters where its vector's index is written with it. Only
    where passages change places in a circle, one of them steps aside first.
    """
    waiting = {old: (new, who) for old, new, who in moves if old != new}
    wanted_by = {new: old for old, (new, _) in waiting.items()}
    free = [new for new in wanted_by if new not in waiting]
    while waiting:
        if not free:
            old, (new, who) = next(iter(waiting.items()))
            aside = -1 - old
            yield who, aside
            del waiting[old]
            waiting[aside], wanted_by[new] = (new, who), aside
            free.append(old)
        place: int | None = free.pop()
        while place in wanted_by:
            old = wanted_by.pop(place)
            yield waiting.pop(old)[1], place
            place = old


def _embed_anew(org_id: UUID, chunks: Sequence[NewChunk]) -> None:
    _update(org_id, ("embedding", "embedding_model"), chunks)


def _update(org_id: UUID, columns: Sequence[str], chunks: Sequence[NewChunk]) -> None:
    change = (
        update(Chunk)
        .where(Chunk.org_id == org_id, Chunk.id == bindparam("the_id"))
        .values({name: bindparam(f"new_{name}") for name in columns})
    )
    for part in batches(chunks, ROWS_AT_ONCE):
        rows = [{"the_id": chunk.id} | {f"new_{name}": getattr(chunk, name) for name in columns} for chunk in part]
        session().connection().execute(change, rows)


def _add(org_id: UUID, document_id: UUID, chunks: Sequence[NewChunk]) -> None:
    for part in batches(chunks, ROWS_AT_ONCE):
        rows = [{name: getattr(chunk, name) for name in NewChunk.__slots__} for chunk in part]
        own = {"org_id": org_id, "document_id": document_id}
        session().execute(_ADD, [own | row for row in rows])


# Nothing of what is changed here in bulk is held as an object.
_UNWATCHED: dict[str, Any] = {"execution_options": {"synchronize_session": False}}
