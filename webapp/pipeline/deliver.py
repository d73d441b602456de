"""The stage `deliver`: sends an event of the outbox to a webhook, once, and notes what came of it.

No transaction is open while it is sent. Where the answer was good but could not be stored, it is sent again with the
same id. Between two tries the job is delayed, so it takes no seat.
"""

from typing import Any

from webapp.accounts.seal import CantUnseal
from webapp.clock import utc_now
from webapp.db import reading
from webapp.documents.states import WebhookEvent
from webapp.jobs.interruptions import Snoozed
from webapp.library import webhook_secrets
from webapp.pipeline.steps import StageContext
from webapp.runs import outbox
from webapp.runs.outbox import Tried

_AGENT = "Docmill-Webhooks"


def deliver(context: StageContext) -> None:
    """Send the event, and end the job where it was taken or is given up; else it is due again later."""
    delivery_id = context.lease.operation_id
    if delivery_id is None:
        raise ValueError("the job is of no delivery")
    context.check()
    with reading(context.org_id):
        row = outbox.due(context.org_id, delivery_id, context.lease.job_id)
    if row is None or not (row.is_on or row.event == WebhookEvent.TEST):
        _leave(context, row)
        return
    rest = outbox.rest_seconds(row)
    wait = _wait_for_rest(context, row, rest) if rest else _note(context, row, _send(context, row))
    if wait is not None:
        raise Snoozed(wait)


def _leave(context: StageContext, row: Any) -> None:
    """End the job of a delivery that is gone, was queued anew, or whose webhook is paused."""
    with context.transaction():
        if row is not None:
            outbox.hold(context.org_id, row)
        context.queue.complete(context.lease)


def _wait_for_rest(context: StageContext, row: Any, seconds: float) -> float | None:
    with context.transaction():
        if outbox.wait_for_rest(context.org_id, row, seconds):
            return seconds
        context.queue.complete(context.lease)
        return None


def _note(context: StageContext, row: Any, tried: Tried) -> float | None:
    with context.transaction():
        wait = outbox.note_try(context.org_id, row, tried)
        if wait is None:
            context.queue.complete(context.lease)
        return wait


def _send(context: StageContext, row: Any) -> Tried:
    try:
        keys = _keys(context, row)
    except CantUnseal:
        return Tried(False, error="secret_lost")
    body = row.payload.encode()
    signed = webhook_secrets.headers(keys, str(row.event_id), int(utc_now().timestamp()), body)
    answer = context.poster.post(row.url, {"Content-Type": "application/json", "User-Agent": _AGENT, **signed}, body)
    error = answer.error.value if answer.error else None
    return Tried(answer.is_good, answer.status, answer.text, error, answer.retry_after_seconds)


def _keys(context: StageContext, row: Any) -> list[str]:
    """The secrets that sign: the webhook's own, and the one before it until its time is over."""
    seal = context.webhook_seal
    if seal is None:
        raise CantUnseal("no key is known here")
    sealed = [row.secret, *([row.earlier_secret] if row.is_earlier_good else [])]
    return [seal.unseal(each, row.webhook_id) for each in sealed]
