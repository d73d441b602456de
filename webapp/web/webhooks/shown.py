"""Webhooks and deliveries as programs are shown them."""

import json
from typing import Any

from webapp.documents.states import DeliveryState
from webapp.library.webhooks import ShownWebhook

_OF_DELIVERY = (
    "id",
    "event_id",
    "event",
    "state",
    "attempts",
    "created_at",
    "tried_at",
    "next_try_at",
    "delivered_at",
    "status",
    "error",
)


def webhook_json(webhook: ShownWebhook) -> dict[str, Any]:
    """A webhook."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "events": list(webhook.events),
        "on": webhook.is_on,
        "created_at": webhook.created_at,
        "failures": webhook.failures,
        "rests_until": webhook.rests_until,
        "earlier_secret_until": webhook.earlier_until,
        "pending": webhook.counts[DeliveryState.PENDING],
        "failed": webhook.counts[DeliveryState.FAILED],
        "held": webhook.counts[DeliveryState.HELD],
    }


def delivery_json(row: Any) -> dict[str, Any]:
    """A delivery, as in a list."""
    return {name: getattr(row, name) for name in _OF_DELIVERY}


def whole_delivery_json(row: Any) -> dict[str, Any]:
    """A delivery with what is sent, and how the last answer begins."""
    return {**delivery_json(row), "payload": json.loads(row.payload), "answer": row.answer}
