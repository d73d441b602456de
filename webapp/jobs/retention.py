"""Forgets jobs that were done long ago, a few at a time, in nobody's way.

Ids sort by time, so a pass walks along the primary key from the oldest row to the first that is
too young: no index stands for it, which each finished job would have to pay for. Rows that stay
(what failed) are looked at once in a pass. A page is read without a lock, and deleted in a short
transaction that passes by what others hold.
"""

from typing import Any, cast
from uuid import UUID

from sqlalchemy import Float, Integer, Table, Uuid, bindparam, delete, select

from webapp.clock import after as after_now
from webapp.db import reading, transaction
from webapp.jobs import model
from webapp.jobs.queue import Pruned
from webapp.jobs.states import JobStatus

_jobs = cast(Table, model.Job.__table__)
_FIRST = UUID(int=0)

_is_old = _jobs.c.created_at < after_now(-bindparam("seconds", type_=Float()))
_has_ended = (_jobs.c.status == JobStatus.COMPLETED) & (
    _jobs.c.completed_at < after_now(-bindparam("seconds", type_=Float()))
)
_PAGE = (
    select(_jobs.c.id, _is_old.label("is_old"), _has_ended.label("may_go"))
    .where(_jobs.c.id > bindparam("after", type_=Uuid()))
    .order_by(_jobs.c.id)
    .limit(bindparam("limit", type_=Integer(), literal_execute=True))
)
_DELETE = (
    delete(_jobs)
    .where(
        _jobs.c.id.in_(
            select(
                select(_jobs.c.id)
                .where(_jobs.c.id.in_(bindparam("ids", expanding=True)), _jobs.c.status == JobStatus.COMPLETED)
                .with_for_update(skip_locked=True)
                .cte("chosen")
                .prefix_with("MATERIALIZED")
                .c.id
            )
        )
    )
    .returning(_jobs.c.id)
)


def prune_page(older_than_seconds: float, after: UUID | None, limit: int) -> Pruned:
    """Look at one page of jobs, delete what may go, and say where the next page begins."""
    values: dict[str, Any] = {"seconds": older_than_seconds, "after": after or _FIRST, "limit": limit}
    with reading(everywhere=True) as session:
        page = session.connection().execute(_PAGE, values).all()
    ids = [row.id for row in page if row.may_go]
    is_through = len(page) < limit or not page[-1].is_old
    return Pruned(_delete(ids), None if is_through else page[-1].id)


def _delete(ids: list[UUID]) -> int:
    if not ids:
        return 0
    with transaction(everywhere=True) as session:
        return len(session.connection().execute(_DELETE, {"ids": ids}).all())
