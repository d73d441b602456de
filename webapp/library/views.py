"""Saved views: filters of the library with names, of an org or private to a person, and their counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, delete, func, insert, or_, select, update

from webapp.clock import new_id
from webapp.db import session
from webapp.db.bounded import Count
from webapp.documents.view_model import SavedView
from webapp.library import selection
from webapp.library.grid import Sort
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.search.grammar import Mistake, parse

VIEWS_MAX = 100
NAME_CHARACTERS_MAX = 100
# So many documents are looked at for a count: it must not slow down the library that it is shown beside.
LOOKED_AT_MAX = 50_000

_views = cast(Table, SavedView.__table__)


class TooManyViews(ValueError):
    """An org has VIEWS_MAX views."""


@dataclass(frozen=True)
class View:
    """A saved view as it is read and shown."""

    id: UUID
    name: str
    query: str
    folder: str | None
    status: StatusFilter | None
    sort: Sort
    is_private: bool
    created_by: str

    @property
    def matching(self) -> Matching:
        """Which documents it shows."""
        return Matching(self.status, self.query, self.folder)

    @property
    def mistake(self) -> Mistake | None:
        """What is wrong with its query, where the language has changed since it was saved."""
        try:
            parse(self.query)
        except Mistake as mistake:
            return mistake
        return None


def of_reader(org_id: UUID, user_id: UUID | None) -> list[View]:
    """The views that a person sees, or a program, which has none of its own, in their order."""
    rows = select(_views).where(_views.c.org_id == org_id, _is_seen(user_id))
    return [_view(row) for row in session().execute(rows.order_by(_views.c.position, _views.c.id))]


def find(org_id: UUID, view_id: UUID, user_id: UUID | None) -> View | None:
    """A view that this person or program sees."""
    asked = select(_views).where(_views.c.org_id == org_id, _views.c.id == view_id, _is_seen(user_id))
    row = session().execute(asked).one_or_none()
    return _view(row) if row else None


def get(org_id: UUID, view_id: UUID) -> View | None:
    """A view, whoever sees it: for a link that somebody who sees it has made."""
    row = session().execute(select(_views).where(_views.c.org_id == org_id, _views.c.id == view_id)).one_or_none()
    return _view(row) if row else None


def count(org_id: UUID, view: View) -> Count:
    """How many documents it shows: exact up to COUNTED_MAX, and as far as LOOKED_AT_MAX of them are looked at."""
    return selection.count(org_id, view.matching, looked_at=LOOKED_AT_MAX)


def add(org_id: UUID, values: dict[str, Any], by: str) -> UUID:
    """Save a new view behind all others; TooManyViews."""
    number = session().scalar(select(func.count()).select_from(_views).where(_views.c.org_id == org_id)) or 0
    if number >= VIEWS_MAX:
        raise TooManyViews
    last = session().scalar(select(func.max(_views.c.position)).where(_views.c.org_id == org_id))
    view_id = new_id()
    row = {"id": view_id, "org_id": org_id, "position": 0 if last is None else last + 1, "created_by": by}
    session().execute(insert(_views), row | values)
    return view_id


def change(org_id: UUID, view_id: UUID, values: dict[str, Any]) -> None:
    """Let a view be otherwise."""
    if values:
        session().execute(update(_views).where(_views.c.org_id == org_id, _views.c.id == view_id).values(**values))


def move(org_id: UUID, view_id: UUID, user_id: UUID | None, position: int) -> None:
    """Put a view at this place among those that the reader sees, counted from 0."""
    shown: Sequence[UUID] = [view.id for view in of_reader(org_id, user_id) if view.id != view_id]
    ordered = [*shown[:position], view_id, *shown[position:]]
    for place, each in enumerate(ordered):
        change(org_id, each, {"position": place})


def remove(org_id: UUID, view_id: UUID) -> None:
    """Delete a view; the documents stay."""
    session().execute(delete(_views).where(_views.c.org_id == org_id, _views.c.id == view_id))


def _is_seen(user_id: UUID | None) -> ColumnElement[bool]:
    is_shared = _views.c.private_to.is_(None)
    return is_shared if user_id is None else or_(is_shared, _views.c.private_to == user_id)


def _view(row: Any) -> View:
    return View(
        row.id,
        row.name,
        row.query,
        row.folder,
        StatusFilter(row.status) if row.status else None,
        Sort(row.sort),
        row.private_to is not None,
        row.created_by,
    )
