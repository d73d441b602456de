"""The statuses by which the library can be filtered; files that nothing reads are not among the ready ones.

To people a document is never Ready that was not read; to the tables it is, since nothing is left to do.
"""

from enum import StrEnum
from typing import cast

from sqlalchemy import ColumnElement, Table, Text, and_, literal_column, or_

from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.states import DocumentStatus

_documents = cast(Table, Document.__table__)


class StatusFilter(StrEnum):
    """What a document is counted and listed as. Their order is that of the tabs."""

    PROCESSING = DocumentStatus.PROCESSING
    READY = DocumentStatus.READY
    """Ready, and read, be it in part."""
    PARTLY_READ = "partly_read"
    """Ready, and some of its text is missing or may be wrong."""
    KEPT = "kept"
    """Ready, and nothing here reads it."""
    FAILED = DocumentStatus.FAILED
    TIMED_OUT = DocumentStatus.TIMED_OUT

    @classmethod
    def _missing_(cls, value: object) -> "StatusFilter | None":
        """Names may be in upper or lower case."""
        return next((each for each in cls if each.lower() == str(value).lower()), None)


# Each document is exactly one of these; what is read in part is a part of what is ready.
WHOLE_LIBRARY = tuple(each for each in StatusFilter if each is not StatusFilter.PARTLY_READ)


def listed_as(wanted: StatusFilter) -> ColumnElement[bool]:
    """The documents that are counted and listed as this."""
    if wanted is StatusFilter.PARTLY_READ:
        return and_(_IS_PARTLY_READ, in_library)
    return and_(_IS_KEPT if wanted is StatusFilter.KEPT else _is_unkept(wanted), in_library)


def _is_unkept(wanted: StatusFilter) -> ColumnElement[bool]:
    return and_(_documents.c.status == wanted.value, _NOT_KEPT)


# Literals, in the words of the model's KEPT, NOT_KEPT and PARTLY_READ: an index is used where its condition is a part
# of the question, and what a parameter holds is not known when that is decided.
_READY: ColumnElement[str] = literal_column("'READY'", Text)
_NONE: ColumnElement[int] = literal_column("0")
_IN_PART: ColumnElement[str] = literal_column("'in_part'", Text)
_IS_PARTLY_READ = and_(_documents.c.status == _READY, _documents.c.reading == _IN_PART)
_IS_KEPT = and_(_documents.c.status == _READY, _documents.c.pages_read == _NONE)
_NOT_KEPT = or_(_documents.c.status != _READY, _documents.c.pages_read.is_(None), _documents.c.pages_read != _NONE)
