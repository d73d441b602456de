"""What providers were paid, as far as it can be told from here, and what the caches saved: by day, provider, operation.

Each call keeps the price that the settings of its day gave it. What this machine did itself is free.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, case, func, select

from webapp.clock import after
from webapp.db import session
from webapp.documents.model import ProviderCall

DAYS_SHOWN = 30
ROWS_MAX = 500


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
    """An org's last days, in one query."""
    day = _day().label("day")
    paid = case((ProviderCall.reused, 0), (ProviderCall.outcome == "error", 0), else_=ProviderCall.units)
    columns = (
        func.sum(case((ProviderCall.reused, 0), else_=1)),
        func.sum(case((ProviderCall.outcome != "ok", 1), else_=0)),
        func.sum(paid),
        func.sum(case((ProviderCall.reused, 0.0), else_=ProviderCall.seconds)),
        func.sum(case((ProviderCall.reused, ProviderCall.units), else_=0)),
        func.sum(case((ProviderCall.reused, 0.0), else_=ProviderCall.price)),
        func.sum(case((ProviderCall.reused, ProviderCall.price), else_=0.0)),
    )
    found = session().execute(
        select(day, ProviderCall.provider, ProviderCall.operation, *columns)
        .where(ProviderCall.org_id == org_id, ProviderCall.created_at > after(-days * 86_400))
        .group_by(day, ProviderCall.provider, ProviderCall.operation)
        .order_by(day.desc(), ProviderCall.provider, ProviderCall.operation)
        .limit(ROWS_MAX)
    )
    rows = [_spent(row) for row in found]
    return Spending(rows, currency, sum(row.price for row in rows), sum(row.price_saved for row in rows))


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


def _day() -> ColumnElement[str]:
    """The day in UTC, on both databases."""
    at = ProviderCall.created_at
    if session().get_bind().dialect.name == "postgresql":
        return func.date(func.timezone("UTC", at))
    return func.date(at)
