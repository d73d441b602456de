"""How many of the documents that a filter means have each status.

Where an index finds all that a filter can mean, each of these is looked at, and the counts are exact. Else the
documents of each status are looked at, LOOKED_AT_MAX of them at most: also then the counts of all but the largest
statuses are exact, and one that stopped says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, ScalarSelect, Table, case, func, literal_column, select

from webapp.db import session
from webapp.db.bounded import Count, plan_by_indexes, up_to_most
from webapp.documents.model import Document
from webapp.library import filtered, folders, lookup, names, tags
from webapp.library.filtered import Wish
from webapp.library.status_filter import StatusFilter, listed_as

LOOKED_AT_MAX = 20_000
_documents = cast(Table, Document.__table__)
# What is read in part is ready, too: of the two, the one that says more is asked first.
_FIRST = (StatusFilter.PARTLY_READ, StatusFilter.KEPT)
_STATUS = case(*((listed_as(each), literal_column(f"'{each.value}'")) for each in (*_FIRST, *StatusFilter)))


@dataclass(frozen=True)
class StatusCounts:
    """How many documents have each status; those that are read in part are among the ready ones, too."""

    library: Mapping[StatusFilter, Count]
    """In the whole library."""
    filtered: Mapping[StatusFilter, Count]
    """Of those that a filter means."""


def read(org_id: UUID, q: str, folder: str | None) -> StatusCounts:
    """The counts of the library, and those under a query and a folder; Mistake where the query is wrong."""
    plan_by_indexes()
    library = lookup.counts(org_id)
    return StatusCounts(library, _of_filter(org_id, q, folder, library) if q or folder else library)


def _of_filter(
    org_id: UUID, q: str, folder: str | None, library: Mapping[StatusFilter, Count]
) -> dict[StatusFilter, Count]:
    wish = filtered.wish(org_id, q)
    if wish.is_nothing:
        return dict.fromkeys(StatusFilter, Count())
    conditions = [*wish.conditions, *([folders.is_within(folder)] if folder else [])]
    wanted = Wish(wish.words, conditions, wish.tag)
    candidates = _candidates(org_id, wanted, folder)
    some = _among(org_id, candidates.ids, wanted) if candidates else {}
    if candidates and candidates.are_all:
        return some
    walked = _of_each_status(org_id, wanted, library)
    return {status: _surer(walked[status], some.get(status, Count())) for status in StatusFilter}


def _surer(walked: Count, some: Count) -> Count:
    """An exact count where there is one, else the larger of two that stopped."""
    return walked if not walked.more or walked.number >= some.number else Count(some.number, more=True)


@dataclass(frozen=True)
class _Candidates:
    """Documents that an index finds; `are_all` where no others can be meant."""

    ids: ColumnElement[UUID]
    are_all: bool


def _candidates(org_id: UUID, wish: Wish, folder: str | None) -> _Candidates | None:
    """So many of the documents that can be meant as are looked at; None where no index finds them."""
    most = LOOKED_AT_MAX
    rarest = names.rarest(org_id, wish.words, most) if wish.words else None
    if rarest is not None and rarest.is_few:
        return _Candidates(names.having(org_id, rarest.word, most).c.document_id, are_all=True)
    if wish.tag and len(tags.within(org_id, wish.tag)) <= tags.LOOKED_UP_MAX:
        found = tags.having(org_id, wish.tag, most).c.document_id
        return _Candidates(found, tags.are_few(org_id, wish.tag, most))
    if folder:
        return _Candidates(folders.having(org_id, folder, most).c.document_id, folders.are_few(org_id, folder, most))
    if rarest is not None:
        return _Candidates(names.having(org_id, rarest.word, most).c.document_id, are_all=False)
    return None


def _among(org_id: UUID, candidates: ColumnElement[UUID], wish: Wish) -> dict[StatusFilter, Count]:
    given = select(candidates.label("id")).cte("given").prefix_with("MATERIALIZED")
    d = _documents.c
    # A value, not a join: that one a planner may turn around, and read all documents of the org.
    status = select(_STATUS).where(
        d.id == given.c.id, d.org_id == org_id, *wish.conditions, *names.has_all(org_id, given.c.id, wish.words)
    )
    looked_at = select(status.correlate(given).scalar_subquery().label("status")).select_from(given)
    listed = looked_at.cte("listed").prefix_with("MATERIALIZED").c
    rows = session().execute(select(listed.status, func.count()).group_by(listed.status)).all()
    numbers = {row[0]: row[1] for row in rows}
    numbers[StatusFilter.READY] = sum(numbers.get(each, 0) for each in (StatusFilter.READY, StatusFilter.PARTLY_READ))
    return {each: Count.of(numbers.get(each)) for each in StatusFilter}


def _of_each_status(org_id: UUID, wish: Wish, library: Mapping[StatusFilter, Count]) -> dict[StatusFilter, Count]:
    """The counts among the newest documents of each status."""
    asked = [each for each in StatusFilter if library[each]]
    columns = [column for each in asked for column in _walk(org_id, each, wish)]
    numbers = list(session().execute(select(*columns)).one()) if columns else []
    counts = dict.fromkeys(StatusFilter, Count())
    for each, matching, there in zip(asked, numbers[::2], numbers[1::2], strict=True):
        found = Count.of(matching)
        counts[each] = Count(found.number, found.more or there > LOOKED_AT_MAX)
    return counts


def _walk(org_id: UUID, status: StatusFilter, wish: Wish) -> tuple[ScalarSelect[Any], ScalarSelect[Any]]:
    """How many of the newest ones of a status are meant; and how many there are, as far as one more than that."""
    d = _documents.c
    ids = select(d.id).where(d.org_id == org_id, listed_as(status)).order_by(d.created_at.desc(), d.id.desc())
    walked = ids.limit(literal_column(str(LOOKED_AT_MAX))).subquery()
    matching = select(walked.c.id).select_from(walked)
    matching = matching.where(
        *names.has_all(org_id, walked.c.id, wish.words), *filtered.fulfils(walked.c.id, wish.conditions)
    )
    there = ids.limit(literal_column(str(LOOKED_AT_MAX + 1))).subquery()
    return up_to_most(matching), select(func.count()).select_from(there).scalar_subquery()
