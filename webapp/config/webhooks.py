"""Webhooks: where they may be sent, and how long what was sent is remembered."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class WebhookSettings(Group):
    """Where webhooks may be sent, and how long what was sent is remembered."""

    webhook_private_addresses: bool
    """Whether addresses of this machine and of private networks are allowed."""
    webhook_days: float
    """How long deliveries are kept after they have ended; 0 keeps them for ever."""


def read(env: Reader) -> WebhookSettings:
    """Read and check this group."""
    return WebhookSettings(
        webhook_private_addresses=env.choice("WEBHOOK_PRIVATE_ADDRESSES", "0", ("0", "1")) == "1",
        webhook_days=env.days("WEBHOOK_DAYS", 30),
    )
