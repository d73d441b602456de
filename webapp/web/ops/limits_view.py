"""What an org stores and spends, against its limits: for the account page, ops, and monitors."""

from dataclasses import dataclass
from uuid import UUID

from webapp.library.usage import stored_bytes
from webapp.pipeline.paid_calls.gates import spent_today
from webapp.provider_errors import ProviderError
from webapp.web.access import services


@dataclass(frozen=True)
class OrgLimits:
    """Limits of 0 are none."""

    stored_bytes: int
    stored_bytes_max: int
    spent_today: float
    spend_per_day: float
    currency: str


def has_space() -> bool:
    """Whether the file store takes what comes in, and answers of paid calls."""
    try:
        services().providers.blobs.check_space()
    except ProviderError:
        return False
    return True


def org_limits(org_id: UUID) -> OrgLimits:
    """Inside of a transaction about this org."""
    settings = services().settings
    return OrgLimits(
        stored_bytes=stored_bytes(org_id),
        stored_bytes_max=settings.limits.org_bytes_max,
        spent_today=spent_today(org_id),
        spend_per_day=settings.limits.spend_per_day,
        currency=settings.prices.currency,
    )
