"""The passages of one document, as its page lists them; those without letters or digits are left out."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import defer

from webapp.batches import batches
from webapp.db import session
from webapp.search.model import Chunk
from webapp.search.places import words_of

_IDS_PER_STATEMENT = 500
# Fewer words or letters say too little of what a passage is about.
SCRAP_WORDS = 5
SCRAP_LETTERS = 20


def says_something(text: str) -> bool:
    """Whether a text has a letter or a digit, of any script. Rulers, bullets and dots alone are no passage."""
    return any(map(str.isalnum, text))


def is_scrap(text: str) -> bool:
    """Whether a text is too short to be worth a connection: a number of a page, a row of a table, a heading."""
    words = [word for word in words_of(text) if not word.isdigit()]
    return len(words) < SCRAP_WORDS or sum(map(len, words)) < SCRAP_LETTERS


def scraps(org_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Which of these passages are scraps."""
    found: set[UUID] = set()
    for part in batches(ids, _IDS_PER_STATEMENT):
        rows = select(Chunk.id, Chunk.text).where(Chunk.org_id == org_id, Chunk.id.in_(part))
        found.update(chunk_id for chunk_id, text in session().execute(rows) if is_scrap(text))
    return found


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


def on_page(org_id: UUID, document_id: UUID, number: int, *, limit: int) -> Sequence[Chunk]:
    """The passages that have text of a page, in the order of the document."""
    found = select(Chunk).where(Chunk.org_id == org_id, Chunk.document_id == document_id)
    found = found.where(Chunk.page_from <= number, Chunk.page_to >= number)
    return session().scalars(found.order_by(Chunk.ordinal).limit(limit).options(defer(Chunk.embedding))).all()
