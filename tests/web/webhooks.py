"""What the tests of webhooks share."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from flask import Flask
from sqlalchemy import select, update

from tests.receiver import Receiver
from tests.web.people import People, Program
from tests.web.shelves import read_json, services_of, use_hashed_words
from webapp.db import session, transaction
from webapp.documents.webhook_model import Webhook, WebhookDelivery
from webapp.jobs.model import Job
from webapp.providers.checked_post import CheckedPoster

ALL = ["document.ready", "document.failed", "import.done"]


def sends_webhooks(app: Flask, people: People) -> Program:
    """A program of the ops of an app that sends webhooks to this machine as well."""
    use_hashed_words(app)
    found = services_of(app)
    app.extensions["docmill"] = replace(found, poster=CheckedPoster(allows_private=True, seconds_max=2.0))
    return people.program("ops")


def hook(ops: Program, receiver: Receiver, events: list[str] = ALL) -> dict[str, Any]:
    """A webhook for these events, with its secret."""
    answer = ops.post("/webhooks", json={"url": receiver.url, "events": events})
    assert answer.status_code == 201, answer.text
    made = read_json(answer)
    assert answer.headers["Location"] == f"/webhooks/{made['id']}"
    return made


def deliveries(ops: Program, webhook: dict[str, Any], state: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_json(ops.get(f"/webhooks/{webhook['id']}?state={state}"))["deliveries"]
    return found


def pass_time(app: Flask, seconds: float) -> None:
    """Let this much time pass for deliveries, and wake what waits for it."""
    with app.app_context():
        with transaction(everywhere=True):
            for column in (WebhookDelivery.queued_at, Webhook.rests_until, Webhook.earlier_until, Job.wakes_at):
                table = column.class_
                for id_, moment in session().execute(select(table.id, column).where(column.is_not(None))).all():
                    if moment.year < 9000:
                        earlier = (
                            update(table)
                            .where(table.id == id_)
                            .values({column.key: moment - timedelta(seconds=seconds)})
                        )
                        session().execute(earlier)
        services_of(app).queue.wake_delayed()
