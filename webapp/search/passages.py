"""The passages of one document, as its page lists them."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import defer

from webapp.db import session
from webapp.search.model import Chunk


def page(org_id: UUID, document_id: UUID, *, start: int = 0, limit: int = 50) -> Sequence[Chunk]:
    """The passages from number `start` on, in the order of the document; their vectors are not loaded."""
    found = select(Chunk).where(Chunk.org_id == org_id, Chunk.document_id == document_id, Chunk.ordinal >= start)
    return session().scalars(found.order_by(Chunk.ordinal).limit(limit).options(defer(Chunk.embedding))).all()


def number_of(org_id: UUID, document_id: UUID, chunk_id: UUID) -> int | None:
    """The place of a passage in its document, if it is still there."""
    found = select(Chunk.ordinal).where(Chunk.org_id == org_id, Chunk.document_id == document_id, Chunk.id == chunk_id)
    return session().scalar(found)


def count(org_id: UUID, document_id: UUID) -> int:
    """How many passages a document has."""
    found = select(func.count()).where(Chunk.org_id == org_id, Chunk.document_id == document_id)
    return session().scalar(found) or 0
