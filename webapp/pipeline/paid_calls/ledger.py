"""The ledger: a line for each paid call and for what a cache saved. Lines outlive their runs and documents."""

from dataclasses import asdict, dataclass
from typing import cast
from uuid import UUID

from sqlalchemy import Table, func, insert, select, update

from webapp.clock import new_id
from webapp.db import session
from webapp.documents.ledger_model import ProviderCall
from webapp.pipeline.paid_calls.prices import Prices
from webapp.pipeline.steps import StageContext

_lines = cast(Table, ProviderCall.__table__)
_ADD = insert(_lines)


def record_call(
    context: StageContext,
    provider: str,
    operation: str,
    *,
    units: int,
    seconds: float,
    reused: bool = False,
    outcome: str = "ok",
) -> None:
    """Add a line in the transaction of the result; those of paid calls are written by `kept_answers`."""
    price = price_of(context.prices, provider, operation, units, outcome)
    line = LedgerLine(provider, operation, units, price, seconds, outcome, reused)
    add_line(context.org_id, line, run_id=context.run_id)


def record_saved(context: StageContext, provider: str, operation: str, units: int) -> bool:
    """Add a line for the units that this run needed and did not pay for; returns whether that is all of them."""
    saved = units - paid_units(context, operation)
    if saved > 0:
        record_call(context, provider, operation, units=saved, seconds=0.0, reused=True)
    return 0 < units <= saved


def paid_units(context: StageContext, operation: str) -> int:
    """The units that this run has paid for, in all of its attempts."""
    own = (_lines.c.org_id == context.org_id, _lines.c.run_id == context.run_id, _lines.c.operation == operation)
    paid = select(func.coalesce(func.sum(_lines.c.units), 0)).where(*own, ~_lines.c.reused, _lines.c.outcome == "ok")
    return int(session().scalar(paid) or 0)


@dataclass(frozen=True)
class LedgerLine:
    """A line of the ledger: `units` are pages, texts, seconds of sound or segments.

    The outcome is "ok", "error", or "unknown" where no answer came and the provider may charge all the same. The price
    is an estimate by today's settings: of what was saved where something was reused, 0 where an operation failed.
    """

    provider: str
    operation: str
    units: int
    price: float
    seconds: float = 0.0
    outcome: str = "ok"
    reused: bool = False


def add_line(org_id: UUID, line: LedgerLine, *, run_id: UUID | None = None, line_id: UUID | None = None) -> None:
    """Add one line."""
    values = {**asdict(line), "seconds": round(line.seconds, 4)}
    session().execute(_ADD, {"id": line_id or new_id(), "org_id": org_id, "run_id": run_id, **values})


def amend_line(
    line_id: UUID,
    context: StageContext,
    provider: str,
    operation: str,
    *,
    units: int,
    seconds: float,
    outcome: str = "ok",
) -> None:
    """Correct the line of a call when its operation has ended: the units, or that it failed."""
    values = {
        "units": units,
        "seconds": round(seconds, 4),
        "outcome": outcome,
        "price": price_of(context.prices, provider, operation, units, outcome),
    }
    line = update(_lines).where(_lines.c.org_id == context.org_id, _lines.c.id == line_id, ~_lines.c.reused)
    session().execute(line.values(values))


def price_of(prices: Prices, provider: str, operation: str, units: int, outcome: str = "ok") -> float:
    """The price of these units; an operation that failed costs nothing."""
    return 0.0 if outcome == "error" else prices.of_units(provider, operation, units)
