"""Webhooks: addresses of an org that are told what happens in it, and the deliveries of these events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, delete, func, insert, select, true, type_coerce, update

from webapp.accounts.seal import Seal
from webapp.clock import after, new_id, now
from webapp.db import UtcDateTime, session, transaction
from webapp.db.bounded import Count, up_to_most
from webapp.documents.states import DeliveryState, WebhookEvent
from webapp.documents.webhook_model import Webhook, WebhookDelivery
from webapp.jobs.queue import JobQueue
from webapp.library.webhook_secrets import new_secret
from webapp.runs import outbox

WEBHOOKS_MAX = 20
EVENTS = tuple(each for each in WebhookEvent if each is not WebhookEvent.TEST)
"""What a webhook can be for."""
# Both secrets sign for so long after a new one was made, so that receivers can take their time.
EARLIER_SECRET_SECONDS = 86_400
COUNTED_MAX = 10_000
_AT_ONCE = 500
_webhooks, _deliveries = cast(Table, Webhook.__table__), cast(Table, WebhookDelivery.__table__)
_SHOWN = [column for column in _webhooks.c if column.name not in {"secret", "earlier_secret"}]
# Lists leave out what is long.
_LISTED = [column for column in _deliveries.c if column.name not in {"payload", "answer"}]
_COUNTED = (DeliveryState.PENDING, DeliveryState.FAILED, DeliveryState.HELD)


class TooManyWebhooks(ValueError):
    """An org has WEBHOOKS_MAX webhooks."""


@dataclass(frozen=True)
class ShownWebhook:
    """A webhook without its secret; with how many of its deliveries are in which state, up to COUNTED_MAX of an org."""

    id: UUID
    url: str
    events: tuple[str, ...]
    is_on: bool
    created_at: datetime
    failures: int
    rests_until: datetime | None
    """Until then nothing is sent, since it did not answer; None where that time is over."""
    earlier_until: datetime | None
    """Until then the secret before this one signs as well; None where that time is over."""
    counts: Mapping[str, int]


def of_org(org_id: UUID) -> list[ShownWebhook]:
    """The webhooks of an org, the oldest first."""
    at = type_coerce(now(), UtcDateTime).label("at")
    rows = session().execute(select(*_SHOWN, at).where(_webhooks.c.org_id == org_id).order_by(_webhooks.c.id)).all()
    counts = _counts(org_id) if rows else {}
    return [_shown(row, counts.get(row.id, {})) for row in rows]


def find(org_id: UUID, webhook_id: UUID) -> ShownWebhook | None:
    """A webhook; None where there is none."""
    return next((each for each in of_org(org_id) if each.id == webhook_id), None)


def numbers(org_id: UUID) -> dict[str, int]:
    """How many deliveries of an org are pending, held and failed, up to COUNTED_MAX."""
    found = dict.fromkeys((each.value for each in _COUNTED), 0)
    for counts in _counts(org_id).values():
        for state, number in counts.items():
            found[state] += number
    return found


@dataclass(frozen=True)
class WebhooksSummary:
    """How many webhooks are on, how many are paused, and how many of their deliveries were given up."""

    on: int
    paused: int
    given_up: Count


def summary(org_id: UUID | None = None) -> WebhooksSummary:
    """Of an org, or of all."""
    w, d = _webhooks.c, _deliveries.c
    of_org = true() if org_id is None else w.org_id == org_id
    rows = session().execute(select(w.is_on, func.count()).where(of_org).group_by(w.is_on))
    counts = {bool(row[0]): int(row[1]) for row in rows}
    # Webhook by webhook: there is no index of deliveries that begins with their state.
    of_webhook = (d.org_id == w.org_id) & (d.state == DeliveryState.FAILED) & (d.webhook_id == w.id)
    failed = select(d.id).select_from(_webhooks.join(_deliveries, of_webhook)).where(of_org)
    given_up = Count.of(session().scalar(select(up_to_most(failed))))
    return WebhooksSummary(counts.get(True, 0), counts.get(False, 0), given_up)


@dataclass(frozen=True)
class NewSecret:
    """A fresh secret of a webhook, as people are shown it once, and as it is stored."""

    webhook_id: UUID
    text: str = field(repr=False)
    sealed: bytes = field(repr=False)


def make_secret(seal: Seal, webhook_id: UUID | None = None) -> NewSecret:
    """A fresh secret for a webhook, or for a new one. Outside of transactions: the key may lie in the database."""
    owner, text = webhook_id or new_id(), new_secret()
    return NewSecret(owner, text, seal.seal(text, owner))


def add(org_id: UUID, secret: NewSecret, url: str, events: Sequence[str], by: str) -> None:
    """Make the webhook of this secret; TooManyWebhooks."""
    number = session().scalar(select(func.count()).select_from(_webhooks).where(_webhooks.c.org_id == org_id)) or 0
    if number >= WEBHOOKS_MAX:
        raise TooManyWebhooks
    row = {"id": secret.webhook_id, "org_id": org_id, "url": url, "events": list(events), "is_on": True, "failures": 0}
    session().execute(insert(_webhooks), {**row, "secret": secret.sealed, "created_by": by})


def change(org_id: UUID, webhook_id: UUID, values: Mapping[str, Any]) -> None:
    """Let a webhook be otherwise. What has not answered at another address says nothing about this one."""
    fresh = {"failures": 0, "rests_until": None} if values.keys() & {"url", "is_on"} else {}
    session().execute(_this(update(_webhooks), org_id, webhook_id).values(**values, **fresh))


def renew_secret(org_id: UUID, secret: NewSecret) -> None:
    """Give a webhook this secret; the one before it signs as well for a day."""
    values = {"earlier_secret": _webhooks.c.secret, "earlier_until": after(EARLIER_SECRET_SECONDS)}
    session().execute(_this(update(_webhooks), org_id, secret.webhook_id).values(**values, secret=secret.sealed))


def remove(org_id: UUID, webhook_id: UUID) -> None:
    """Delete a webhook, and what was not sent to it yet."""
    session().execute(_this(delete(_webhooks), org_id, webhook_id))


def send_test(queue: JobQueue, org_id: UUID, webhook_id: UUID) -> UUID | None:
    """Queue a test for a webhook; the id of its delivery, None where there is no such webhook."""
    meant = [row for row in outbox.webhooks_of(org_id) if row.id == webhook_id]
    if not meant:
        return None
    event_id = outbox.add(queue, org_id, WebhookEvent.TEST, {"webhook": {"id": str(webhook_id)}}, meant)
    d = _deliveries.c
    return session().scalar(select(d.id).where(d.webhook_id == webhook_id, d.event_id == event_id))


def deliveries(
    org_id: UUID, webhook_id: UUID, state: DeliveryState | None, before: UUID | None, limit: int
) -> Sequence[Any]:
    """The deliveries of a webhook (in a state), the newest first; `before` is the last id of the page before."""
    d = _deliveries.c
    found = select(*_LISTED).where(d.org_id == org_id, d.webhook_id == webhook_id)
    if state is not None:
        found = found.where(d.state == state)
    if before is not None:
        found = found.where(d.id < before)
    return session().execute(found.order_by(d.id.desc()).limit(limit)).all()


def delivery(org_id: UUID, webhook_id: UUID, delivery_id: UUID) -> Any:
    """A delivery with its payload and the answer; None where there is none."""
    d = _deliveries.c
    this = d.org_id == org_id, d.webhook_id == webhook_id, d.id == delivery_id
    return session().execute(select(_deliveries).where(*this)).one_or_none()


def replay(queue: JobQueue, org_id: UUID, webhook_id: UUID, state: DeliveryState, since: datetime | None = None) -> int:
    """Send the deliveries in this state again (written since then), COUNTED_MAX of them at most; how many.

    Each batch is a transaction, so that publishing does not wait for thousands of rows.
    """
    d, total = _deliveries.c, 0
    wanted = select(d.id).where(d.org_id == org_id, d.webhook_id == webhook_id, d.state == state)
    if since is not None:
        wanted = wanted.where(d.created_at >= since)
    while total < COUNTED_MAX:
        with transaction(org_id):
            ids = list(session().scalars(wanted.order_by(d.id).limit(_AT_ONCE)))
            total += outbox.send_again(queue, org_id, ids, state)
        if len(ids) < _AT_ONCE:
            break
    return total


def with_held() -> list[tuple[UUID, UUID]]:
    """The webhooks of all orgs that are on and have held deliveries: the org and the id of each.

    One is left where a process was killed, or an event was written, while its webhook was being resumed.
    """
    w, d = _webhooks.c, _deliveries.c
    held = select(d.id).where(d.org_id == w.org_id, d.state == DeliveryState.HELD, d.webhook_id == w.id).exists()
    rows = session().execute(select(w.org_id, w.id).where(w.is_on, held).order_by(w.id))
    return [(row.org_id, row.id) for row in rows]


def _counts(org_id: UUID) -> dict[UUID, dict[str, int]]:
    d = _deliveries.c
    some = select(d.webhook_id, d.state).where(d.org_id == org_id, d.state.in_(_COUNTED)).limit(COUNTED_MAX).subquery()
    grouped = select(some.c.webhook_id, some.c.state, func.count()).group_by(some.c.webhook_id, some.c.state)
    found: dict[UUID, dict[str, int]] = {}
    for webhook_id, state, number in session().execute(grouped):
        found.setdefault(webhook_id, {})[state] = number
    return found


def _shown(row: Any, counts: Mapping[str, int]) -> ShownWebhook:
    def still(until: datetime | None) -> datetime | None:
        return until if until is not None and until > row.at else None

    return ShownWebhook(
        row.id,
        row.url,
        tuple(row.events),
        row.is_on,
        row.created_at,
        row.failures,
        still(row.rests_until),
        still(row.earlier_until),
        {each.value: counts.get(each.value, 0) for each in _COUNTED},
    )


def _this(statement: Any, org_id: UUID, webhook_id: UUID) -> Any:
    return statement.where(_webhooks.c.org_id == org_id, _webhooks.c.id == webhook_id)
