"""Deletes old rows, a page at a time, without getting in the way of other transactions.

Ids sort by time, so a pass walks the primary key from the oldest row to those that are too young; it needs no further
index, which would make each insert dearer. A page is read without locks and deleted in a short transaction that skips
locked rows.

Ids are made by clocks that may be wrong. So a pass does not end at young rows among old ones; and from the first page
that is all young, it jumps to the ids that are dated in the future.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Float, Integer, Row, Table, Uuid, bindparam, delete, select, true

from webapp.clock import after, first_id_at, utc_now
from webapp.db import reading, transaction

_FIRST = UUID(int=0)
# Ids dated further ahead than this come from a wrong clock.
_TOMORROW = timedelta(days=1)
_long_ago = after(-bindparam("seconds", type_=Float()))


@dataclass(frozen=True)
class Pruned:
    """How many rows were deleted, and the id after which the pass goes on; None at its end."""

    number: int
    next_after: UUID | None


class Prunable:
    """A table whose rows may be deleted some time after `ended` (a column) if they meet `condition`."""

    def __init__(self, table: Table, ended: ColumnElement[Any], condition: ColumnElement[bool] | None = None) -> None:
        may_go = true() if condition is None else condition
        self._page = (
            select(
                table.c.id,
                (table.c.created_at < _long_ago).label("is_old"),
                (may_go & (ended < _long_ago)).label("may_go"),
            )
            .where(table.c.id > bindparam("after", type_=Uuid()))
            .order_by(table.c.id)
            .limit(bindparam("limit", type_=Integer(), literal_execute=True))
        )
        chosen = select(table.c.id).where(table.c.id.in_(bindparam("ids", expanding=True)), may_go)
        locked = chosen.with_for_update(skip_locked=True).cte("chosen").prefix_with("MATERIALIZED")
        self._delete = delete(table).where(table.c.id.in_(select(locked.c.id))).returning(table.c.id)

    def prune_page(self, older_than_seconds: float, after: UUID | None, limit: int) -> Pruned:
        """Look at one page of rows, delete what may go, and say where the next page begins."""
        values: dict[str, Any] = {"seconds": older_than_seconds, "after": after or _FIRST, "limit": limit}
        with reading(everywhere=True) as session:
            page = session.connection().execute(self._page, values).all()
        next_after = _goes_on_after(page, older_than_seconds) if len(page) == limit else None
        return Pruned(self._remove([row.id for row in page if row.may_go]), next_after)

    def _remove(self, ids: list[UUID]) -> int:
        if not ids:
            return 0
        with transaction(everywhere=True) as session:
            return len(session.connection().execute(self._delete, {"ids": ids}).all())


def _goes_on_after(page: Sequence[Row[Any]], older_than_seconds: float) -> UUID:
    """Where to go on: after the page; where all of it is young, at the ids dated in the future."""
    present, last = utc_now(), cast(UUID, page[-1].id)
    is_young = last > first_id_at(present - timedelta(seconds=older_than_seconds))
    if is_young and not any(row.is_old for row in page):
        return max(last, first_id_at(present + _TOMORROW))
    return last
