"""The grid: an org's documents, one page after the other, filtered and in an order.

A page costs the same however many documents there are. Each order has an index, which begins with the status, and one
of the files that nothing reads; the whole library is all of these, merged. A filter is answered in one of two ways.
Where few documents have the rarest word, or the tag that is asked for, these are fetched and sorted. Where many have
it, the order is walked until the page is full, WALKED_MAX documents at most; a page may then have fewer rows than were
asked for, and a cursor that goes on behind what was looked at.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    Subquery,
    Table,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
)

from webapp.db import session
from webapp.db.bounded import plan_by_indexes
from webapp.documents.model import Document
from webapp.library import filtered, folders, lookup, names, tags
from webapp.library.filtered import Wish
from webapp.library.lookup import DocumentRow
from webapp.library.status_filter import WHOLE_LIBRARY, StatusFilter, listed_as

FEW = 5_000
WALKED_MAX = 6_000
_documents = cast(Table, Document.__table__)


class Sort(StrEnum):
    """The orders in which the grid can be read."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    LARGEST = "largest"


class NoCursor(ValueError):
    """A text that no page of this library ended with."""


@dataclass(frozen=True)
class Cursor:
    """A place between two rows of an order. It holds although the row before it was deleted meanwhile."""

    sort: Sort
    value: str
    id: UUID

    def __str__(self) -> str:
        """As it travels in addresses."""
        return urlsafe_b64encode(json.dumps([self.sort, self.value, self.id.hex]).encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read what `str` wrote; NoCursor for anything else."""
        try:
            sort, value, id_ = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            found = cls(Sort(sort), value, UUID(id_))
            found.position()
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise NoCursor from error
        return found

    @classmethod
    def after(cls, sort: Sort, value: Any, document_id: UUID) -> "Cursor":
        """The place behind a row."""
        return cls(sort, value.isoformat() if isinstance(value, datetime) else str(value), document_id)

    def position(self) -> Any:
        """The row's value in the column that is sorted by; ValueError where no row can have it."""
        return _READ[self.sort](self.value)


@dataclass(frozen=True)
class GridPage:
    """Some rows, and the cursor that asks for those after them; None on the last page."""

    rows: Sequence[DocumentRow]
    next_cursor: Cursor | None


@dataclass(frozen=True)
class _Order:
    """How rows are sorted, from where on, and which statuses they may have."""

    org_id: UUID
    statuses: Sequence[StatusFilter]
    sort: Sort
    cursor: Cursor | None

    @property
    def column(self) -> Column[Any]:
        return _ORDERS[self.sort][0]

    @property
    def falls(self) -> bool:
        return _ORDERS[self.sort][1]

    def sorted(self, value: ColumnElement[Any], id_: ColumnElement[UUID]) -> tuple[ColumnElement[Any], ...]:
        """The id, unique, makes every order total."""
        return (value.desc(), id_.desc()) if self.falls else (value, id_)

    def after_cursor(self, value: ColumnElement[Any], id_: ColumnElement[UUID]) -> list[ColumnElement[bool]]:
        """Only what follows the cursor."""
        if self.cursor is None:
            return []
        position = tuple_(value, id_)
        passed = tuple_(
            literal(self.cursor.position(), self.column.type), literal(self.cursor.id, _documents.c.id.type)
        )
        return [position < passed if self.falls else position > passed]


def page(
    org_id: UUID,
    *,
    status: StatusFilter | None = None,
    q: str = "",
    folder: str | None = None,
    sort: Sort = Sort.NEWEST,
    cursor: Cursor | None = None,
    limit: int = 50,
) -> GridPage:
    """A page of the grid. `cursor` is that of the page before, in the same order.

    With `q`, only documents that it means (webapp/library/filtered.py), Mistake where it is wrong; with `folder`, only
    those of that folder and of folders in it. A page that has a cursor is not the last one, though it may have fewer
    rows than `limit`, or none.
    """
    plan_by_indexes()
    order = _Order(org_id, [status] if status else WHOLE_LIBRARY, sort, cursor)
    wanted = filtered.wish(org_id, q)
    if wanted.is_nothing:
        return GridPage([], None)
    found, next_cursor = _filtered(order, wanted, folder, limit)
    return GridPage(lookup.rows(org_id, found), next_cursor)


_Found = tuple[list[UUID], Cursor | None]


def _first(order: _Order, ids: Select[Any], limit: int) -> _Found:
    rows = session().execute(ids).all()
    last = rows[limit - 1] if len(rows) > limit else None
    return [row.id for row in rows[:limit]], Cursor.after(order.sort, last.value, last.id) if last else None


def _filtered(order: _Order, wanted: Wish, folder: str | None, limit: int) -> _Found:
    if folder and folders.are_few(order.org_id, folder, FEW):
        return _first(order, _few(order, folders.having(order.org_id, folder, FEW), wanted, limit + 1), limit)
    if folder:
        wanted = replace(wanted, conditions=[*wanted.conditions, folders.is_within(folder)])
    if wanted.tag and tags.are_few(order.org_id, wanted.tag, FEW):
        return _first(order, _few(order, tags.having(order.org_id, wanted.tag, FEW), wanted, limit + 1), limit)
    if not wanted.words and not wanted.conditions:
        return _first(order, _walk(order, limit + 1), limit)
    rarest = names.rarest(order.org_id, wanted.words, FEW) if wanted.words else None
    if rarest is not None and rarest.is_few:
        others = replace(wanted, words=[word for word in wanted.words if word != rarest.word])
        having = names.having(order.org_id, rarest.word, FEW)
        return _first(order, _few(order, having, others, limit + 1), limit)
    found, next_cursor = _first(order, _walk_through(order, wanted, limit + 1), limit)
    return found, next_cursor or _end_of_walk(order)


def _walk(order: _Order, limit: int) -> Select[Any]:
    """Ids and values in order: of each status the next from its index, merged."""
    merged = union_all(*(_of_status(order, status, limit) for status in order.statuses)).subquery("merged").c
    return _sorted(order, select(merged.value, merged.id), merged, limit)


def _of_status(order: _Order, status: StatusFilter, limit: int) -> Select[Any]:
    d = _documents.c
    rows = select(order.column.label("value"), d.id.label("id"))
    rows = rows.where(d.org_id == order.org_id, listed_as(status), *order.after_cursor(order.column, d.id))
    # Each is sorted and limited by itself, or PostgreSQL would not merge them but sort them all together.
    next_ones = rows.order_by(*order.sorted(order.column, d.id)).limit(literal_column(str(limit)))
    found = next_ones.subquery().c
    return select(found.value, found.id)


def _sorted(order: _Order, rows: Select[Any], columns: Any, limit: int) -> Select[Any]:
    return rows.order_by(*order.sorted(columns.value, columns.id)).limit(literal_column(str(limit)))


def _walk_through(order: _Order, wanted: Wish, limit: int) -> Select[Any]:
    """Of the next documents in the order those that have all the words, and fulfil all conditions."""
    walked = _walk(order, WALKED_MAX).subquery("walked").c
    rows = select(walked.value, walked.id).where(*names.has_all(order.org_id, walked.id, wanted.words))
    rows = rows.where(*filtered.fulfils(walked.id, wanted.conditions))
    return _sorted(order, rows, walked, limit)


def _few(order: _Order, having: Subquery, wanted: Wish, limit: int) -> Select[Any]:
    """All documents that have a rare word, or are of a small folder, looked up by their ids, and then sorted."""
    d = _documents.c
    # A value, not a join: that one a planner may turn around, and read all documents of a status for each id.
    of_document = select(order.column).where(
        d.id == having.c.document_id,
        d.org_id == order.org_id,
        or_(*map(listed_as, order.statuses)),
        *wanted.conditions,
    )
    found = (
        select(of_document.scalar_subquery().label("value"), having.c.document_id.label("id"))
        .where(*names.has_all(order.org_id, having.c.document_id, wanted.words))
        .cte("found")
        .prefix_with("MATERIALIZED")
        .c
    )
    rows = select(found.value, found.id).where(found.value.is_not(None), *order.after_cursor(found.value, found.id))
    return _sorted(order, rows, found, limit)


def _end_of_walk(order: _Order) -> Cursor | None:
    """Where a walk that did not fill its page has come to; None at the end of the order."""
    walked = _walk(order, WALKED_MAX).subquery("walked").c
    by_value = order.sorted(walked.value, walked.id)
    last = select(walked.value, walked.id).order_by(*by_value).offset(literal_column(str(WALKED_MAX - 1)))
    row = session().execute(last.limit(literal_column("1"))).one_or_none()
    return Cursor.after(order.sort, row.value, row.id) if row else None


_ORDERS: dict[Sort, tuple[Column[Any], bool]] = {
    Sort.NEWEST: (_documents.c.created_at, True),
    Sort.OLDEST: (_documents.c.created_at, False),
    Sort.NAME: (_documents.c.filename, False),
    Sort.LARGEST: (_documents.c.size_bytes, True),
}


def _moment(value: str) -> datetime:
    return datetime.fromisoformat(value).astimezone(UTC)


def _name(value: str) -> str:
    # What cannot be stored cannot be compared with either.
    if "\0" in value or not value.encode():
        raise ValueError("no name of a file")
    return value


def _size(value: str) -> int:
    size = int(value)
    if not 0 <= size < _SIZE_END:
        raise ValueError("no size of a file")
    return size


_SIZE_END = 1 << 63
_READ: dict[Sort, Callable[[str], Any]] = {
    Sort.NEWEST: _moment,
    Sort.OLDEST: _moment,
    Sort.NAME: _name,
    Sort.LARGEST: _size,
}
