"""What providers were paid, as far as it can be told from here, and what caches saved: by day, provider, operation.

Each call keeps the price that the settings of its day gave it. What this machine did itself is free.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from webapp.clock import utc_now
from webapp.documents.spending import sums

DAYS_SHOWN = 30
ROWS_MAX = 500
# Of so many days of orgs the sums are kept in a process.
_FINISHED_MAX = 20_000


@dataclass(frozen=True)
class Spent:
    """A day's calls of one operation. Those without an answer may be on the bill, and are counted as if they were."""

    day: str
    provider: str
    operation: str
    calls: int
    failed: int
    units: int
    seconds: float
    units_saved: int
    price: float
    price_saved: float


@dataclass(frozen=True)
class Spending:
    """The days, the newest first, and all of them together."""

    rows: Sequence[Spent]
    currency: str
    price: float
    price_saved: float


def spending(org_id: UUID, currency: str, days: int = DAYS_SHOWN) -> Spending:
    """An org's last days: those that are over are added up once in each process, so a page reads two days' calls."""
    today = utc_now().date()
    # Yesterday may still get a line, from a transaction that began before midnight or by another machine's clock.
    finished = [today - timedelta(days=ago) for ago in range(2, days + 1)]
    rows = [*_sums(org_id, today - timedelta(days=1), None), *_of_finished(org_id, finished)][:ROWS_MAX]
    return Spending(rows, currency, sum(row.price for row in rows), sum(row.price_saved for row in rows))


_finished: dict[tuple[UUID, date], list[Spent]] = {}


def _of_finished(org_id: UUID, days: Sequence[date]) -> list[Spent]:
    missing = [day for day in days if (org_id, day) not in _finished]
    if missing:
        if len(_finished) > _FINISHED_MAX:
            _finished.clear()
        found = _sums(org_id, min(missing), max(missing) + timedelta(days=1))
        for day in missing:
            _finished[org_id, day] = [row for row in found if row.day == day.isoformat()]
    return [row for day in days for row in _finished.get((org_id, day), ())]


def _sums(org_id: UUID, first: date, until: date | None) -> list[Spent]:
    return [_spent(row) for row in sums(org_id, first, until)]


def _spent(row: Any) -> Spent:
    day, provider, operation, calls, failed, units, seconds, units_saved, price, price_saved = row
    return Spent(
        day=str(day),
        provider=provider,
        operation=operation,
        calls=int(calls),
        failed=int(failed),
        units=int(units),
        seconds=float(seconds),
        units_saved=int(units_saved),
        price=float(price),
        price_saved=float(price_saved),
    )
