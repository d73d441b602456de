"""Deletes what the settings say is old enough: page by page, with pauses in between."""

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import cast
from uuid import UUID

from sqlalchemy import Table, select

from webapp.accounts import audit, idempotency, rate_buckets
from webapp.clock import monotonic
from webapp.db import transaction
from webapp.db.pruning import Prunable, Pruned
from webapp.documents import model, spending
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.operation_model import BulkOperation
from webapp.documents.share_model import ShareLink
from webapp.documents.source_model import SourceItem
from webapp.documents.states import DeliveryState
from webapp.documents.tag_model import TagChange
from webapp.documents.webhook_model import Webhook, WebhookDelivery
from webapp.services import Services

_log = logging.getLogger(__name__)

ROWS_AT_ONCE = 500
# Pauses, in multiples of a page's time: on SQLite only one writes at a time, and claims must not wait long.
_PAUSES_FOR_EACH_PAGE = 3.0
_DAY = 24 * 3600.0

_events = cast(Table, model.RunEvent.__table__)
_calls = cast(Table, ProviderCall.__table__)
_operations = cast(Table, BulkOperation.__table__)
_tag_changes = cast(Table, TagChange.__table__)
_share_links = cast(Table, ShareLink.__table__)
_source_items = cast(Table, SourceItem.__table__)
_webhooks, _deliveries = cast(Table, Webhook.__table__), cast(Table, WebhookDelivery.__table__)
# Runs themselves are never deleted.
EVENTS = Prunable(_events, _events.c.created_at)
# What was spent on a day stays known.
CALLS = Prunable(_calls, _calls.c.created_at, kept=spending.LINE, keep=spending.keep_sums)
# With what became of each document, so an operation can't be undone any more.
OPERATIONS = Prunable(_operations, _operations.c.finished_at)
TAG_CHANGES = Prunable(_tag_changes, _tag_changes.c.created_at)
SHARE_LINKS = Prunable(_share_links, _share_links.c.expires_at)
# So long ago they have expired.
_SHARE_LINK_DAYS = 90.0
# What a source has shown, and nothing is compared with any more.
SOURCE_ITEMS = Prunable(_source_items, _source_items.c.unneeded_at)
_paused = select(_webhooks.c.id).where(~_webhooks.c.is_on)
# Also those that a paused webhook holds, which nobody seems to want; not those that one holds which is on: a chore is
# about to send them.
DELIVERIES = Prunable(
    _deliveries,
    _deliveries.c.queued_at,
    _deliveries.c.state.in_([DeliveryState.DELIVERED, DeliveryState.FAILED])
    | ((_deliveries.c.state == DeliveryState.HELD) & _deliveries.c.webhook_id.in_(_paused)),
)
# Of today and yesterday no line is deleted, whatever the settings say: what may still be spent follows from them.
_CALL_DAYS_LEAST = 2.0

Page = Callable[..., Pruned]


def prune(services: Services, ending: threading.Event | None = None) -> dict[str, int]:
    """Delete old jobs, events and calls; returns how many of each. A setting of 0 keeps them for ever."""
    settings, ending = services.settings, ending or threading.Event()
    pages: dict[str, tuple[float, Page]] = {
        "jobs": (settings.queue.job_retention_days, services.queue.prune),
        "operations": (settings.queue.job_retention_days, OPERATIONS.prune_page),
        "tag changes": (settings.queue.job_retention_days, TAG_CHANGES.prune_page),
        "source items": (settings.queue.job_retention_days, SOURCE_ITEMS.prune_page),
        "deliveries": (settings.webhooks.webhook_days, DELIVERIES.prune_page),
        "events": (settings.queue.event_retention_days, EVENTS.prune_page),
        "calls": (_call_days(settings.queue.call_retention_days), CALLS.prune_page),
        "keys": (idempotency.KEPT_DAYS, idempotency.PRUNABLE.prune_page),
        "audit": (settings.access.audit_retention_days, audit.PRUNABLE.prune_page),
        "share links": (_SHARE_LINK_DAYS, SHARE_LINKS.prune_page),
    }
    done = {what: prune_all(partial(page, days * _DAY), ending) for what, (days, page) in pages.items() if days > 0}
    with transaction(everywhere=True):
        rate_buckets.forget_full()
    if any(done.values()):
        _log.info("old rows were removed: %s", ", ".join(f"{number} {what}" for what, number in done.items()))
    return done


def _call_days(days: float) -> float:
    return max(days, _CALL_DAYS_LEAST) if days else 0.0


def prune_all(page: Page, ending: threading.Event) -> int:
    """Make one pass over a table, from the oldest row on; stops when the process ends."""
    total = 0
    after: UUID | None = None
    while True:
        start = monotonic()
        pruned = page(after=after, limit=ROWS_AT_ONCE)
        total, after = total + pruned.number, pruned.next_after
        pause = _PAUSES_FOR_EACH_PAGE * (monotonic() - start) if pruned.number else 0.0
        if after is None or ending.wait(pause):
            return total
