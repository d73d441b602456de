"""The passages of one document, as its page lists them; those without letters or digits are left out."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import defer

from webapp.batches import batches
from webapp.db import session
from webapp.search.model import Chunk

_IDS_PER_STATEMENT = 500


def says_something(text: str) -> bool:
    """Whether a text has a letter or a digit, of any script. Rulers, bullets and dots alone are no passage."""
    return any(map(str.isalnum, text))


def without_words(org_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Which of these passages say nothing: earlier versions made passages of rulers and dots."""
    found: set[UUID] = set()
    for part in batches(ids, _IDS_PER_STATEMENT):
        rows = select(Chunk.id, Chunk.text).where(Chunk.org_id == org_id, Chunk.id.in_(part), _may_say_nothing())
        found.update(chunk_id for chunk_id, text in session().execute(rows) if not says_something(text))
    return found


def _may_say_nothing() -> ColumnElement[bool]:
    """No letter or digit of ASCII. What other letters there are differs between databases, so Python decides."""
    return ~Chunk.text.regexp_match("[A-Za-z0-9]")


def page(org_id: UUID, document_id: UUID, *, start: int = 0, limit: int = 50) -> Sequence[Chunk]:
    """The passages from number `start` on, in the order of the document; their vectors are not loaded."""
    found = select(Chunk).where(Chunk.org_id == org_id, Chunk.document_id == document_id, Chunk.ordinal >= start)
    return session().scalars(found.order_by(Chunk.ordinal).limit(limit).options(defer(Chunk.embedding))).all()


def number_of(org_id: UUID, document_id: UUID, chunk_id: UUID) -> int | None:
    """The place of a passage in its document, if it is still there."""
    found = select(Chunk.ordinal).where(Chunk.org_id == org_id, Chunk.document_id == document_id, Chunk.id == chunk_id)
    return session().scalar(found)


def numbers_of(org_id: UUID, ids: Collection[UUID]) -> dict[UUID, int]:
    """The places of some passages in their documents; those that are gone are left out."""
    found: dict[UUID, int] = {}
    for part in batches(ids, _IDS_PER_STATEMENT):
        rows = select(Chunk.id, Chunk.ordinal).where(Chunk.org_id == org_id, Chunk.id.in_(part))
        found.update((row.id, row.ordinal) for row in session().execute(rows))
    return found


def get(org_id: UUID, document_id: UUID, chunk_id: UUID) -> Chunk | None:
    """A passage of a document, without its vector, if it is still there."""
    found = select(Chunk).where(Chunk.org_id == org_id, Chunk.document_id == document_id, Chunk.id == chunk_id)
    return session().scalar(found.options(defer(Chunk.embedding)))


def count(org_id: UUID, document_id: UUID) -> int:
    """How many passages a document has."""
    found = select(func.count()).where(Chunk.org_id == org_id, Chunk.document_id == document_id)
    return session().scalar(found) or 0
