"""Reads how many jobs of an org ended in a span of time, how long they took, and how long they had waited for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, func, select

from webapp.clock import after
from webapp.db import session
from webapp.db.bounded import plan_by_indexes
from webapp.statistics.counting import TOOK
from webapp.statistics.model import LATENCY_SECONDS, StatsDay, StatsHour, StatsMinute

_minutes = cast(Table, StatsMinute.__table__)


class StatsWindow(Enum):
    """A span of time that pages show, with the table that has its points, their distance and their number."""

    DAY = ("24h", cast(Table, StatsHour.__table__), timedelta(hours=1), 24)
    MONTH = ("30d", cast(Table, StatsDay.__table__), timedelta(days=1), 30)

    def __init__(self, label: str, table: Table, step: timedelta, points: int) -> None:
        self.label = label
        self.table = table
        self.step = step
        self.points = points

    def first(self, present: datetime) -> datetime:
        """The beginning of the first point; the last one is not over yet."""
        last = present.replace(minute=0, second=0, microsecond=0)
        if self.step == timedelta(days=1):
            last = last.replace(hour=0)
        return last - (self.points - 1) * self.step


@dataclass(frozen=True)
class EndedJobs:
    """Jobs that ended: of one stage, or of one point of time, or all together."""

    completed: int = 0
    failed: int = 0
    seconds: float = 0.0
    """From their last start to their end, all together."""
    seconds_max: float = 0.0
    latency: float = 0.0
    """From their enqueuing to their end, all together."""
    latency_max: float = 0.0
    took: tuple[int, ...] = (0,) * len(TOOK)
    """How many had which latency: the classes of LATENCY_SECONDS, and longer ones."""

    @property
    def number(self) -> int:
        """How many ended."""
        return self.completed + self.failed

    @property
    def seconds_mean(self) -> float | None:
        """How long a job took, on average."""
        return self.seconds / self.number if self.number else None

    @property
    def latency_mean(self) -> float | None:
        """How long it was from a job's enqueuing to its end, on average."""
        return self.latency / self.number if self.number else None

    def most_within(self, share: float) -> float | None:
        """Within how many seconds so many of the jobs had ended, rounded up to a class; None where none ended."""
        wanted, below = share * self.number, 0
        for number, bound in zip(self.took, LATENCY_SECONDS, strict=False):
            below += number
            if self.number and below >= wanted:
                return min(float(bound), self.latency_max)
        return self.latency_max if self.number else None

    def __add__(self, other: "EndedJobs") -> "EndedJobs":
        return EndedJobs(
            self.completed + other.completed,
            self.failed + other.failed,
            self.seconds + other.seconds,
            max(self.seconds_max, other.seconds_max),
            self.latency + other.latency,
            max(self.latency_max, other.latency_max),
            tuple(one + another for one, another in zip(self.took, other.took, strict=True)),
        )


@dataclass(frozen=True)
class Throughput:
    """What ended in a window: by point of time, the oldest first, by stage, and all together."""

    points: Sequence[tuple[datetime, EndedJobs]]
    stages: dict[str, EndedJobs]
    total: EndedJobs


def throughput(org_id: UUID, window: StatsWindow, present: datetime) -> Throughput:
    """What ended of an org's jobs in a window that ends at `present`, by one query."""
    plan_by_indexes()
    first = window.first(present)
    table = window.table
    rows = session().execute(
        select(table.c.at, table.c.stage, *_sums(table))
        .where(table.c.org_id == org_id, table.c.at >= first)
        .group_by(table.c.at, table.c.stage)
    )
    points = {first + place * window.step: EndedJobs() for place in range(window.points)}
    stages: dict[str, EndedJobs] = {}
    for at, stage, *numbers in rows:
        ended = _ended(numbers)
        if at in points:
            points[at] += ended
            stages[stage] = stages.get(stage, EndedJobs()) + ended
    total = sum(stages.values(), EndedJobs())
    return Throughput(list(points.items()), dict(sorted(stages.items())), total)


def last_hour(org_id: UUID) -> dict[tuple[str, int], EndedJobs]:
    """What ended of an org's jobs in the last hour, by stage and class of size (SIZE_BYTES)."""
    plan_by_indexes()
    rows = session().execute(
        select(_minutes.c.stage, _minutes.c.size, *_sums(_minutes))
        .where(_minutes.c.org_id == org_id, _minutes.c.at >= after(-3600))
        .group_by(_minutes.c.stage, _minutes.c.size)
    )
    return {(stage, size): _ended(numbers) for stage, size, *numbers in rows}


def _sums(table: Table) -> list[Any]:
    sums = [func.sum(table.c[name]) for name in ("completed", "failed", "seconds", "latency")]
    maxima = [func.max(table.c[name]) for name in ("seconds_max", "latency_max")]
    return [*sums, *maxima, *(func.sum(table.c[name]) for name in TOOK)]


def _ended(numbers: Sequence[Any]) -> EndedJobs:
    completed, failed, seconds, latency, seconds_max, latency_max, *took = numbers
    return EndedJobs(
        int(completed),
        int(failed),
        float(seconds),
        float(seconds_max),
        float(latency),
        float(latency_max),
        tuple(int(number) for number in took),
    )
