"""The ledger: what was paid for, and what a cache saved. Written in the transaction of the result."""

from webapp.db import session
from webapp.documents.model import ProviderCall
from webapp.pipeline.steps import StageContext


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
    """Add one line: `units` are pages or texts, whatever the provider counts.

    The outcome is "ok", "error", or "unknown" where no answer came and it may be on the provider's
    bill all the same. The price is an estimate by today's settings: of what a cache saved where
    something was reused, and nothing where an operation failed.
    """
    price = 0.0 if outcome == "error" else context.prices.of_units(provider, operation, units)
    session().add(
        ProviderCall(
            org_id=context.org_id,
            run_id=context.run_id,
            provider=provider,
            operation=operation,
            units=units,
            seconds=round(seconds, 4),
            outcome=outcome,
            reused=reused,
            price=price,
        )
    )
