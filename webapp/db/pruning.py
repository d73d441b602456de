"""Deletes old rows, a page at a time, without getting in the way of other transactions.

Ids sort by time, so a pass walks the primary key from the oldest row to those that are too young; it needs no further
index, which would make each insert dearer. A page is read without locks and deleted in a short transaction that skips
locked rows. Of several processes that prune a table at the same time, one goes on.

Ids are made by clocks that may be wrong. So a pass does not end at young rows among old ones; and from the first page
that is all young, it jumps to the ids that are dated in the future.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Integer,
    Row,
    Table,
    Text,
    Uuid,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    select,
    text,
    true,
)

from webapp.clock import after, first_id_at, utc_now
from webapp.db import is_postgresql, reading, transaction

_FIRST = UUID(int=0)
# Ids dated further ahead than this come from a wrong clock.
_TOMORROW = timedelta(days=1)
_long_ago = after(-bindparam("seconds", type_=Float()))
_after = bindparam("after", type_=Uuid())
_last = bindparam("last", type_=Uuid())
_limit = bindparam("limit", type_=Integer(), literal_execute=True)
# Held until the end of the transaction that deletes a page; it needs no session of its own behind a pooler.
_TAKE_TURN = text("SELECT pg_try_advisory_xact_lock(hashtext('docmill prunes ' || :table))").bindparams(
    bindparam("table", type_=Text())
)

Deleted = Sequence[Row[*tuple[Any, ...]]]


@dataclass(frozen=True)
class Pruned:
    """How many rows were deleted, and the id after which the pass goes on; None at its end."""

    number: int
    next_after: UUID | None


class Prunable:
    """A table whose rows may be deleted some time after `ended` (a column) if they meet `condition`.

    `keep` gets the `kept` columns of the rows that were deleted, in the transaction that deletes them.
    """

    def __init__(
        self,
        table: Table,
        ended: ColumnElement[Any],
        condition: ColumnElement[bool] | None = None,
        *,
        kept: Sequence[ColumnElement[Any]] = (),
        keep: Callable[[Deleted], None] = lambda deleted: None,
    ) -> None:
        may_go = (true() if condition is None else condition) & (ended < _long_ago)
        self._name = table.name
        self._keep = keep
        page = (
            select(
                table.c.id,
                case((table.c.created_at < _long_ago, 1), else_=0).label("is_old"),
                case((may_go, 1), else_=0).label("may_go"),
            )
            .where(table.c.id > _after)
            .order_by(table.c.id)
            .limit(_limit)
            .cte("page")
        )
        # One row, whatever the page's length: to read the ids takes longer than to delete the rows.
        self._look = select(
            func.count().label("number"),
            func.max(page.c.is_old).label("some_are_old"),
            func.max(page.c.may_go).label("some_may_go"),
            select(page.c.id).order_by(page.c.id.desc()).limit(literal_column("1")).scalar_subquery().label("last"),
        ).select_from(page)
        chosen = select(table.c.id).where(table.c.id > _after, table.c.id <= _last, may_go)
        locked = chosen.with_for_update(skip_locked=True, of=table).cte("chosen").prefix_with("MATERIALIZED")
        gone = delete(table).where(table.c.id.in_(select(locked.c.id)))
        self._delete = gone.returning(*(kept or (literal_column("1"),)))

    def prune_page(self, older_than_seconds: float, after: UUID | None, limit: int) -> Pruned:
        """Look at one page of rows, delete what may go, and say where the next page begins."""
        values: dict[str, Any] = {"seconds": older_than_seconds, "after": after or _FIRST}
        with reading(everywhere=True) as session:
            page = session.connection().execute(self._look, {**values, "limit": limit}).one()
        next_after = _goes_on_after(page, older_than_seconds) if page.number == limit else None
        if not page.some_may_go:
            return Pruned(0, next_after)
        deleted = self._remove({**values, "last": page.last})
        return Pruned(0, None) if deleted is None else Pruned(deleted, next_after)

    def _remove(self, values: dict[str, Any]) -> int | None:
        """How many rows were deleted; None where another process is pruning this table."""
        with transaction(everywhere=True) as session:
            connection = session.connection()
            if not self._is_our_turn(connection):
                return None
            deleted = connection.execute(self._delete, values).all()
            self._keep(deleted)
            return len(deleted)

    def _is_our_turn(self, connection: Connection) -> bool:
        # SQLite has one process that prunes.
        return not is_postgresql() or bool(connection.scalar(_TAKE_TURN, {"table": self._name}))


def _goes_on_after(page: Row[*tuple[Any, ...]], older_than_seconds: float) -> UUID:
    """Where to go on: after the page; where all of it is young, at the ids dated in the future."""
    present, last = utc_now(), cast(UUID, page.last)
    is_young = last > first_id_at(present - timedelta(seconds=older_than_seconds))
    if is_young and not page.some_are_old:
        return max(last, first_id_at(present + _TOMORROW))
    return last
