"""Writing the index: a document's passages, the new ones for the old ones, in the caller's transaction.

A passage whose text did not change keeps its row: its vector, its connections and, in the
databases' own indexes, its place. Only differences are written.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import Row, bindparam, delete, insert, select, update

from webapp.db import session
from webapp.search.model import Chunk

IDS_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A passage as it is to stand in the index."""

    id: UUID
    ordinal: int
    text: str
    text_sha256: str
    heading: str | None
    page_from: int | None
    page_to: int | None
    embedding: Any
    embedding_model: str | None


@dataclass(frozen=True)
class Replaced:
    """How much of the index a new result changed."""

    added: int
    kept: int
    removed: int


def replace(org_id: UUID, document_id: UUID, chunks: Sequence[NewChunk]) -> Replaced:
    """Let the document have these passages and no others."""
    standing = {row.id: row for row in session().execute(_standing(org_id, document_id))}
    coming = {chunk.id: chunk for chunk in chunks}
    gone = [chunk_id for chunk_id in standing if chunk_id not in coming]
    _delete(org_id, gone)
    kept = [chunk for chunk in chunks if chunk.id in standing]
    _move(org_id, [chunk for chunk in kept if _place(chunk) != _place(standing[chunk.id])], standing)
    _embed_anew(org_id, [chunk for chunk in kept if chunk.embedding_model != standing[chunk.id].embedding_model])
    _add(org_id, document_id, [chunk for chunk in chunks if chunk.id not in standing])
    return Replaced(added=len(chunks) - len(kept), kept=len(kept), removed=len(gone))


def _standing(org_id: UUID, document_id: UUID) -> Any:
    columns = select(Chunk.id, Chunk.ordinal, Chunk.heading, Chunk.page_from, Chunk.page_to, Chunk.embedding_model)
    return columns.where(Chunk.org_id == org_id, Chunk.document_id == document_id)


def _place(chunk: NewChunk | Row[Any]) -> tuple[Any, ...]:
    return (chunk.ordinal, chunk.heading, chunk.page_from, chunk.page_to)


def _delete(org_id: UUID, ids: Iterable[UUID]) -> None:
    for part in _parts(ids):
        session().execute(delete(Chunk).where(Chunk.org_id == org_id, Chunk.id.in_(part)), **_UNWATCHED)


def _move(org_id: UUID, chunks: Sequence[NewChunk], standing: dict[UUID, Row[Any]]) -> None:
    """Renumber in two steps: places are unique at every moment, and two passages may change theirs."""
    moving = [chunk.id for chunk in chunks if chunk.ordinal != standing[chunk.id].ordinal]
    for part in _parts(moving):
        aside = update(Chunk).where(Chunk.org_id == org_id, Chunk.id.in_(part)).values(ordinal=-1 - Chunk.ordinal)
        session().execute(aside, **_UNWATCHED)
    columns = ("ordinal", "heading", "page_from", "page_to")
    _update(org_id, columns, chunks)


def _embed_anew(org_id: UUID, chunks: Sequence[NewChunk]) -> None:
    _update(org_id, ("embedding", "embedding_model"), chunks)


def _update(org_id: UUID, columns: Sequence[str], chunks: Sequence[NewChunk]) -> None:
    if not chunks:
        return
    change = (
        update(Chunk)
        .where(Chunk.org_id == org_id, Chunk.id == bindparam("the_id"))
        .values({name: bindparam(f"new_{name}") for name in columns})
    )
    rows = [{"the_id": chunk.id} | {f"new_{name}": getattr(chunk, name) for name in columns} for chunk in chunks]
    session().connection().execute(change, rows)


def _add(org_id: UUID, document_id: UUID, chunks: Sequence[NewChunk]) -> None:
    if not chunks:
        return
    session().execute(
        insert(Chunk),
        [
            {"org_id": org_id, "document_id": document_id} | {name: getattr(chunk, name) for name in NewChunk.__slots__}
            for chunk in chunks
        ],
    )


# Nothing of what is changed here in bulk is held as an object.
_UNWATCHED: dict[str, Any] = {"execution_options": {"synchronize_session": False}}


def _parts(ids: Iterable[UUID]) -> Iterator[list[UUID]]:
    rest = iter(ids)
    while part := list(islice(rest, IDS_PER_STATEMENT)):
        yield part
