"""What the lines of the ledger add up to, by day: those that are there, and those that were deleted by age.

The transaction that deletes old lines adds their sums to `spending_days`. So what was spent on a day stays the same,
whatever was deleted of it.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Row, Table, case, func, select, union_all
from sqlalchemy.dialects import postgresql

from webapp.clock import utc_day
from webapp.db import session
from webapp.documents.ledger_model import ProviderCall, SpendingDay

AnyRow = Row[*tuple[Any, ...]]

_lines, _days = cast(Table, ProviderCall.__table__), cast(Table, SpendingDay.__table__)
_line = _lines.c
# What a line adds to each sum. Calls without an answer may be on the bill, and are counted as if they were.
_AMOUNTS = (
    case((_line.reused, 0), else_=1).label("calls"),
    case((_line.outcome != "ok", 1), else_=0).label("failed"),
    case((_line.reused, 0), (_line.outcome == "error", 0), else_=_line.units).label("units"),
    case((_line.reused, 0.0), else_=_line.seconds).label("seconds"),
    case((_line.reused, _line.units), else_=0).label("units_saved"),
    case((_line.reused, 0.0), else_=_line.price).label("price"),
    case((_line.reused, _line.price), else_=0.0).label("price_saved"),
)
_NAMES = tuple(amount.name for amount in _AMOUNTS)
_KEY = ("org_id", "day", "provider", "operation")
# A line with what it adds to.
LINE = (_line.org_id, utc_day(_line.created_at).label("day"), _line.provider, _line.operation, *_AMOUNTS)


def sums(org_id: UUID, first: date, until: date | None) -> Sequence[AnyRow]:
    """By day, provider and operation, the newest day first, from the beginning of one day to that of another (UTC)."""
    line, kept = [_line.org_id == org_id, _line.created_at >= _midnight(first)], [_days.c.org_id == org_id]
    kept.append(_days.c.day >= first)
    if until is not None:
        line.append(_line.created_at < _midnight(until))
        kept.append(_days.c.day < until)
    found = union_all(
        select(*LINE).where(*line),
        select(*(_days.c[name] for name in (*_KEY, *_NAMES))).where(*kept),
    ).subquery()
    of_day = (found.c.day, found.c.provider, found.c.operation)
    added = select(*of_day, *(func.sum(found.c[name]).label(name) for name in _NAMES)).group_by(*of_day)
    return session().execute(added.order_by(found.c.day.desc(), found.c.provider, found.c.operation)).all()


def keep_sums(deleted: Sequence[AnyRow]) -> None:
    """Add what deleted lines (rows of LINE) came to, in the transaction that deletes them."""
    total: dict[tuple[Any, ...], list[float]] = defaultdict(lambda: [0] * len(_NAMES))
    for line in deleted:
        key, amounts = tuple(line[: len(_KEY)]), line[len(_KEY) :]
        total[key] = [one + other for one, other in zip(total[key], amounts, strict=True)]
    row = postgresql.insert(_days)
    added = {name: _days.c[name] + row.excluded[name] for name in _NAMES}
    # In one order, so that two transactions never wait for each other.
    for key in sorted(total, key=str):
        values = dict(zip((*_KEY, *_NAMES), (*key, *total[key]), strict=True))
        values["day"] = date.fromisoformat(str(values["day"]))
        session().execute(row.on_conflict_do_update(index_elements=_KEY, set_=added), values)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), tzinfo=UTC)
