"""The outbox of webhooks: events are written with what they are about, and each delivery is a job of the queue.

An event is committed with the change that it tells of, or not at all. A delivery is sent at least once: where a process
is killed between the receiver's answer and the commit, it is sent again with the same id. Its tries are counted here,
not by the queue, whose attempts are lost with processes alone.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, Uuid, bindparam, case, insert, select, type_coerce, update

from webapp.clock import after, new_id, now
from webapp.db import UtcDateTime, session
from webapp.documents.states import DeliveryState, WebhookEvent
from webapp.documents.webhook_model import Webhook, WebhookDelivery
from webapp.jobs.queue import JobQueue, NewJob
from webapp.jobs.states import Priority
from webapp.runs.stages import DELIVER

_webhooks, _deliveries = cast(Table, Webhook.__table__), cast(Table, WebhookDelivery.__table__)

# Seconds between the tries: twelve in a day.
WAITS = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 14_400, 21_600, 21_600)
TRIES_MAX = len(WAITS) + 1
GIVE_UP_SECONDS = 86_400
# For so long at most nothing is sent to an address that did not answer: what waits for it takes no seats.
REST_SECONDS_MAX = 600
_JITTER = 0.1
_ATTEMPTS = 25
# Locked until the event is stored, so that no webhook is deleted under it; by an index that begins with the org.
_WEBHOOKS_OF_ORG = (
    select(_webhooks.c.id, _webhooks.c.is_on, _webhooks.c.events)
    .where(_webhooks.c.org_id == bindparam("org", type_=Uuid()))
    .order_by(_webhooks.c.id)
    .with_for_update(read=True, key_share=True)
)


@dataclass(frozen=True)
class Tried:
    """What a try came to: the status of the answer and how it begins, or the code of why there was none."""

    is_delivered: bool
    status: int | None = None
    answer: str = ""
    error: str | None = None
    retry_after_seconds: float | None = None

    @property
    def should_rest(self) -> bool:
        """Whether the receiver should be left alone for a while, and not only with this event."""
        return not self.is_delivered and (self.status is None or self.status == 429 or self.status >= 500)


def announce(queue: JobQueue, org_id: UUID, event: WebhookEvent, data: Callable[[], Mapping[str, Any]]) -> None:
    """Write an event for the org's webhooks, in the open transaction; `data` is asked where there are some."""
    wanted = [row for row in webhooks_of(org_id) if event in row.events]
    if wanted:
        add(queue, org_id, event, data(), wanted)


def webhooks_of(org_id: UUID) -> Sequence[Any]:
    """The webhooks of an org, which nobody deletes before the open transaction ends."""
    return session().execute(_WEBHOOKS_OF_ORG, {"org": org_id}).all()


def add(queue: JobQueue, org_id: UUID, event: WebhookEvent, data: Mapping[str, Any], webhooks: Sequence[Any]) -> UUID:
    """Write an event for these webhooks, and queue its deliveries; the event's id."""
    event_id, at = new_id(), session().scalar(select(type_coerce(now(), UtcDateTime)))
    created_at = at.isoformat(timespec="milliseconds") if at else ""
    payload = json.dumps(
        {"id": str(event_id), "type": event.value, "created_at": created_at, "data": data}, ensure_ascii=False
    )
    rows, jobs = [], []
    for webhook in webhooks:
        delivery_id = new_id()
        # A test is sent also where the webhook is paused.
        is_sent = webhook.is_on or event is WebhookEvent.TEST
        jobs += [job := _job(org_id, delivery_id)] if is_sent else []
        rows.append(
            {
                "id": delivery_id,
                "org_id": org_id,
                "webhook_id": webhook.id,
                "event_id": event_id,
                "event": event.value,
                "payload": payload,
                "state": DeliveryState.PENDING if is_sent else DeliveryState.HELD,
                "attempts": 0,
                "job_id": job.id if is_sent else None,
            }
        )
    session().execute(insert(_deliveries), rows)
    if jobs:
        queue.enqueue(jobs)
    return event_id


def _job(org_id: UUID, delivery_id: UUID) -> NewJob:
    return NewJob(
        org_id=org_id,
        run=None,
        stage=DELIVER,
        max_attempts=_ATTEMPTS,
        priority=Priority.PERSON,
        operation_id=delivery_id,
    )


def due(org_id: UUID, delivery_id: UUID, job_id: UUID) -> Any:
    """A delivery that this job is to send, with its webhook; None where there is none any more."""
    d, w = _deliveries.c, _webhooks.c
    joined = _deliveries.join(_webhooks, (w.org_id == d.org_id) & (w.id == d.webhook_id))
    of_delivery = (d.id, d.webhook_id, d.event_id, d.event, d.payload, d.attempts)
    of_webhook = (w.url, w.is_on, w.secret, w.earlier_secret, w.failures, w.rests_until)
    # Compared by the database, by whose clock they were written.
    is_earlier_good = case((w.earlier_until > now(), 1), else_=0).label("is_earlier_good")
    is_old = case((d.queued_at < after(-GIVE_UP_SECONDS), 1), else_=0).label("is_old")
    at = type_coerce(now(), UtcDateTime).label("at")
    asked = select(*of_delivery, *of_webhook, is_earlier_good, is_old, at).select_from(joined)
    this = d.org_id == org_id, d.id == delivery_id, d.state == DeliveryState.PENDING, d.job_id == job_id
    return session().execute(asked.where(*this)).one_or_none()


def note_try(org_id: UUID, row: Any, tried: Tried) -> float | None:
    """Store what a try came to; how many seconds to wait for the next one, None where there is none."""
    attempts, failures = row.attempts + 1, 0 if tried.is_delivered else row.failures + 1
    wait = None if tried.is_delivered else _wait(row, attempts, tried)
    rest = min(REST_SECONDS_MAX, WAITS[min(failures, len(WAITS)) - 1]) if tried.should_rest else None
    # The webhook first, as who deletes it locks it first.
    w = update(_webhooks).where(_webhooks.c.org_id == org_id, _webhooks.c.id == row.webhook_id)
    rests_until = None if rest is None else after(rest)
    session().execute(w.values(failures=failures, rests_until=rests_until, updated_at=_webhooks.c.updated_at))
    state = DeliveryState.DELIVERED if tried.is_delivered else DeliveryState.FAILED
    _set(
        org_id,
        row.id,
        state=state if wait is None else DeliveryState.PENDING,
        attempts=attempts,
        tried_at=now(),
        next_try_at=None if wait is None else after(wait),
        status=tried.status,
        answer=tried.answer or None,
        error=tried.error,
        delivered_at=now() if tried.is_delivered else None,
    )
    return wait


def _wait(row: Any, attempts: int, tried: Tried) -> float | None:
    if attempts >= TRIES_MAX or row.is_old:
        return None
    asked = min(tried.retry_after_seconds or 0.0, float(GIVE_UP_SECONDS))
    spread = 1 + _JITTER * random.random()  # noqa: S311 - no secret
    return max(WAITS[attempts - 1] * spread, asked)


def rest_seconds(row: Any) -> float:
    """How long its webhook still rests; 0 where it may be sent now."""
    left = (row.rests_until - row.at).total_seconds() if row.rests_until else 0.0
    return max(0.0, left) * (1 + _JITTER * random.random())  # noqa: S311 - no secret


def wait_for_rest(org_id: UUID, row: Any, seconds: float) -> bool:
    """Let a delivery wait for as long as its webhook rests; False where it has waited for too long."""
    if row.is_old:
        _set(org_id, row.id, state=DeliveryState.FAILED, next_try_at=None, error="waited_too_long")
        return False
    _set(org_id, row.id, next_try_at=after(seconds))
    return True


def hold(org_id: UUID, row: Any) -> None:
    """Keep a delivery until its webhook is resumed."""
    _set(org_id, row.id, state=DeliveryState.HELD, next_try_at=None, job_id=None)


def give_up(org_id: UUID, delivery_id: UUID, error: str) -> None:
    """End a delivery whose job was cancelled, or has failed since its workers died."""
    d = _deliveries.c
    _set(org_id, delivery_id, d.state == DeliveryState.PENDING, state="FAILED", next_try_at=None, error=error)


def send_again(queue: JobQueue, org_id: UUID, ids: Sequence[UUID], state: DeliveryState | None = None) -> int:
    """Queue deliveries anew that are not on their way (are still in this state), as if never tried; how many."""
    d = _deliveries.c
    is_meant = d.state != DeliveryState.PENDING if state is None else d.state == state
    meant = d.org_id == org_id, d.id.in_(ids), is_meant
    found = list(session().scalars(select(d.id).where(*meant).order_by(d.id).with_for_update()))
    return _queue(queue, org_id, found)


def send_now(queue: JobQueue, org_id: UUID, delivery_id: UUID) -> int:
    """Send a delivery now: at once where it waits for its next try, anew where it has ended; 1, or 0 for neither."""
    d = _deliveries.c
    this = d.org_id == org_id, d.id == delivery_id
    row = session().execute(select(d.state, d.job_id).where(*this)).one_or_none()
    if row is None or row.state != DeliveryState.PENDING:
        return 0 if row is None else send_again(queue, org_id, [delivery_id])
    # The job first, as its worker locks them.
    queue.cancel_job(row.job_id)
    still = d.state == DeliveryState.PENDING, d.job_id == row.job_id
    locked = session().scalars(select(d.id).where(*this, *still).with_for_update())
    return _queue(queue, org_id, list(locked))


def _queue(queue: JobQueue, org_id: UUID, ids: Sequence[UUID]) -> int:
    if not ids:
        return 0
    jobs = [_job(org_id, each) for each in ids]
    again = update(_deliveries).where(_deliveries.c.id == bindparam("delivery"), _deliveries.c.org_id == org_id)
    values = {"state": DeliveryState.PENDING, "attempts": 0, "queued_at": now(), "delivered_at": None}
    queued = again.values(**values, next_try_at=None, job_id=bindparam("job"))
    session().connection().execute(queued, [{"delivery": job.operation_id, "job": job.id} for job in jobs])
    queue.enqueue(jobs)
    return len(jobs)


def _set(org_id: UUID, delivery_id: UUID, *conditions: Any, **values: Any) -> None:
    this = _deliveries.c.org_id == org_id, _deliveries.c.id == delivery_id
    session().execute(update(_deliveries).where(*this, *conditions).values(**values))
