"""The pages of documents: how well each was read, for one document and counted for an org."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, func, select

from webapp.db import session
from webapp.db.bounded import Count, up_to_most
from webapp.documents.page_model import DocumentPage
from webapp.readers.page_reading import Reading, ReadingReason

_pages = cast(Table, DocumentPage.__table__)
# All that a page can be, as the table's CHECK has it.
_READINGS: tuple[tuple[Reading, ReadingReason | None], ...] = (
    (Reading.WELL, None),
    (Reading.WELL, ReadingReason.BLANK),
    *((Reading.NOT_READ, each) for each in (ReadingReason.NO_TEXT, ReadingReason.NOT_ANSWERED)),
    *((Reading.IN_PART, each) for each in (ReadingReason.LOW_CONFIDENCE, ReadingReason.DAMAGED_TEXT)),
    *(
        (reading, reason)
        for reading in (Reading.IN_PART, Reading.NOT_READ)
        for reason in (
            ReadingReason.OCR_OFF,
            ReadingReason.UNKNOWN_SCRIPT,
            ReadingReason.PAGE_FAILED,
            ReadingReason.OCR_ENDED,
            ReadingReason.TIME_LIMIT,
        )
    ),
)


def page_readings(
    org_id: UUID, document_id: UUID, *, start: int = 1, limit: int | None = None, not_well: bool = False
) -> Sequence[DocumentPage]:
    """How a document's pages were read, from a number on; with `not_well` those alone that were not read well."""
    found = select(DocumentPage).where(*_of(org_id, document_id), _pages.c.number >= start)
    if not_well:
        found = found.where(_pages.c.reading != Reading.WELL.value)
    return session().scalars(found.order_by(_pages.c.number).limit(limit)).all()


def reasons(org_id: UUID, document_id: UUID) -> set[str]:
    """What was in the way of a document's pages that were not read well."""
    found = select(_pages.c.reason).where(*_of(org_id, document_id), _pages.c.reading != Reading.WELL.value)
    return {reason for reason in session().scalars(found.distinct()) if reason}


def pages_in_part(org_id: UUID, document_id: UUID) -> Any:
    """A value for a query: how many of a document's pages were read in part."""
    in_part = select(func.count()).where(*_of(org_id, document_id), _pages.c.reading == Reading.IN_PART.value)
    return in_part.scalar_subquery()


def counts_by_reading(org_id: UUID) -> dict[tuple[str, str], Count]:
    """How many of an org's pages were read how, and why; the reason is empty where nothing was in the way."""
    counted = [
        up_to_most(
            select(_pages.c.number).where(
                _pages.c.org_id == org_id,
                _pages.c.reading == reading.value,
                _pages.c.reason == reason.value if reason else _pages.c.reason.is_(None),
            )
        )
        for reading, reason in _READINGS
    ]
    numbers = session().execute(select(*counted)).one()
    return {
        (reading.value, reason.value if reason else ""): Count.of(number)
        for (reading, reason), number in zip(_READINGS, numbers, strict=True)
    }


def _of(org_id: UUID, document_id: UUID) -> tuple[Any, Any]:
    return _pages.c.org_id == org_id, _pages.c.document_id == document_id
