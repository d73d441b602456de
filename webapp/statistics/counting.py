"""Counts the jobs that ended, by minute, hour and day.

Nothing is written when a job ends. A chore reads the jobs that ended since it last looked, by the index of their ends,
and writes the counts of whole minutes; hours are sums of minutes, days of hours. Each step replaces what it counted
before, so it may be repeated, be killed at any statement, or be made by another process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    and_,
    case,
    delete,
    func,
    literal,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.dialects import postgresql

from webapp.clock import now
from webapp.db import UtcDateTime, session, transaction
from webapp.documents.model import Document
from webapp.jobs import model
from webapp.jobs.statements import jobs
from webapp.statistics import incidents
from webapp.statistics.model import LATENCY_SECONDS, SIZE_BYTES, StatsDay, StatsHour, StatsMinute, StatsProgress
from webapp.statistics.sql_time import beginning_of_day, beginning_of_hour, beginning_of_minute, seconds_between

_documents = cast(Table, Document.__table__)
_minutes, _hours, _days, _progress = (
    cast(Table, each.__table__) for each in (StatsMinute, StatsHour, StatsDay, StatsProgress)
)
# A job's end is committed some seconds after the time that it names; its minute is counted again meanwhile.
LATE = timedelta(minutes=5)
MINUTES_KEPT, HOURS_KEPT, DAYS_KEPT = timedelta(days=2), timedelta(days=35), timedelta(days=800)
_PORTION = timedelta(hours=1)
# Of one call: jobs of weeks, as after an upgrade, are counted in several.
_PORTIONS_MAX = 100
_AGAIN_AFTER = timedelta(seconds=45)
TOOK = (*(f"took_{seconds}" for seconds in LATENCY_SECONDS), "took_more")
_SUMS = ("completed", "failed", "seconds", "latency", *TOOK)
_MAXIMA = ("seconds_max", "latency_max")
_KEY = ("org_id", "at", "stage", "size")


@dataclass(frozen=True)
class _Step:
    """The time that one transaction counts."""

    begin: datetime
    end: datetime


def count_ended() -> int:
    """Count the jobs that ended in whole minutes since the last time; returns how many transactions it took."""
    for portion in range(_PORTIONS_MAX):
        with transaction(everywhere=True):
            if not _count_portion(is_first=portion == 0):
                return portion
    return _PORTIONS_MAX


def _count_portion(*, is_first: bool) -> bool:
    """Count one portion under the lock of the one row; False where nothing is left, or another process counts."""
    connection = session().connection()
    connection.execute(_MAKE_ROW)
    row = connection.execute(_LOCK).one_or_none()
    if row is None:
        return False
    present: datetime = row.present
    if is_first and row.counted_at is not None and timedelta() <= present - row.counted_at < _AGAIN_AFTER:
        return False
    end = present.replace(second=0, microsecond=0)
    step = _next_step(row.counted_until, end)
    if step is not None:
        _count(step)
    counted_until = end if step is None or step.end >= end else step.end
    connection.execute(update(_progress).values(counted_until=counted_until, counted_at=now()))
    if counted_until == end:
        _forget_old(present)
    return counted_until < end


def _next_step(counted_until: datetime | None, end: datetime) -> _Step | None:
    """From the last step's end on, or from the first job that ended after it: hours without any are left out."""
    ended = jobs.c.completed_at
    after_it = [ended >= counted_until - LATE] if counted_until else []
    first = session().scalar(select(func.min(ended)).where(text(model.ENDED), ended < end, *after_it))
    if first is None:
        return None
    begin = first.replace(second=0, microsecond=0)
    beyond = begin.replace(minute=0) + _PORTION
    if counted_until is not None:
        # The minutes that are counted again must not keep it from going on.
        beyond = max(beyond, counted_until.replace(minute=0, second=0, microsecond=0) + _PORTION)
    return _Step(begin, min(end, beyond))


def _count(step: _Step) -> None:
    """The minutes of a step, then the whole hours and days that they are in."""
    begin, end = step.begin.replace(minute=0), step.end.replace(minute=0)
    _put(_minutes, _ended_by_minute(step), grows=True)
    _put(_hours, _sums(_minutes, beginning_of_hour(_minutes.c.at), begin, end + timedelta(hours=1)))
    begin, end = begin.replace(hour=0), end.replace(hour=0)
    _put(_days, _sums(_hours, beginning_of_day(_hours.c.at), begin, end + timedelta(days=1)))


def _put(table: Table, rows: Select[Any], *, grows: bool = False) -> None:
    """Write the counts in place of those that were there.

    Minutes never shrink (`grows`): a document that was deleted takes its jobs along, which ended all the same.
    """
    row = postgresql.insert(table).from_select([*_KEY, *_SUMS, *_MAXIMA], rows)
    known, new = table.c, row.excluded
    values = {
        name: case((known[name] > new[name], known[name]), else_=new[name]) if grows else new[name]
        for name in (*_SUMS, *_MAXIMA)
    }
    session().connection().execute(row.on_conflict_do_update(index_elements=list(_KEY), set_=values))


def _ended_by_minute(step: _Step) -> Select[Any]:
    at = beginning_of_minute(jobs.c.completed_at)
    size = _size_class(func.coalesce(_documents.c.size_bytes, 0))
    key = (jobs.c.org_id, at, jobs.c.stage, size)
    took = case((jobs.c.started_at.is_(None), 0.0), else_=_span(jobs.c.started_at))
    latency = _span(jobs.c.created_at)
    return (
        select(
            *key,
            _number(jobs.c.status == "COMPLETED"),
            _number(jobs.c.status == "FAILED"),
            func.sum(took),
            func.sum(latency),
            *(_number(condition) for condition in _latency_classes(latency)),
            func.max(took),
            func.max(latency),
        )
        .select_from(jobs.outerjoin(_documents, _documents.c.id == jobs.c.document_id))
        .where(
            text(f"document_processing_jobs.{model.ENDED}"),
            jobs.c.completed_at >= step.begin,
            jobs.c.completed_at < step.end,
            jobs.c.status.in_(("COMPLETED", "FAILED")),
        )
        .group_by(*key)
    )


def _span(since: ColumnElement[Any]) -> ColumnElement[float]:
    """Seconds to the job's end; clocks of a restored database may have gone back."""
    span = seconds_between(since, jobs.c.completed_at)
    return case((span > 0, span), else_=0.0)


def _size_class(size_bytes: ColumnElement[Any]) -> ColumnElement[int]:
    classes = [(size_bytes <= most, place) for place, most in enumerate(SIZE_BYTES)]
    return case(*classes, else_=len(SIZE_BYTES))


def _latency_classes(latency: ColumnElement[float]) -> Sequence[ColumnElement[bool]]:
    bounds = [literal(float(seconds)) for seconds in LATENCY_SECONDS]
    between = [and_(latency > low, latency <= high) for low, high in pairwise(bounds)]
    return [latency <= bounds[0], *between, latency > bounds[-1]]


def _number(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((condition, 1), else_=0))


def _sums(of: Table, at: ColumnElement[datetime], begin: datetime, end: datetime) -> Select[Any]:
    key = (of.c.org_id, at, of.c.stage, of.c.size)
    columns = (*(func.sum(of.c[name]) for name in _SUMS), *(func.max(of.c[name]) for name in _MAXIMA))
    return select(*key, *columns).where(of.c.at >= begin, of.c.at < end).group_by(*key)


def _forget_old(present: datetime) -> None:
    for table, kept in ((_minutes, MINUTES_KEPT), (_hours, HOURS_KEPT), (_days, DAYS_KEPT)):
        session().connection().execute(delete(table).where(table.c.at < present - kept))
    incidents.forget_old()


_MAKE_ROW = postgresql.insert(_progress).values(id=1).on_conflict_do_nothing(index_elements=["id"])
_LOCK = select(_progress, type_coerce(now(), UtcDateTime).label("present")).with_for_update(skip_locked=True)
