"""Deliveries of webhooks: sent at least once, tried again for a day, held while the webhook is paused, sent again."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import update

from tests.receiver import Receiver, receiving
from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import notes, read_json, services_of, shelve, work_off
from tests.web.webhooks import deliveries, hook, pass_time, sends_webhooks
from webapp.clock import monotonic, utc_now
from webapp.db import transaction
from webapp.documents.states import DeliveryState, WebhookEvent
from webapp.documents.webhook_model import Webhook, WebhookDelivery
from webapp.jobs.model import Job
from webapp.jobs.queue import LeaseLost
from webapp.library import webhooks
from webapp.pipeline import deliver as stage
from webapp.pipeline.steps import StageContext
from webapp.runs import lifecycle, outbox, retention
from webapp.runs.stages import DELIVER
from webapp.worker import chores


class Crash(BaseException):
    """The process is gone."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def ops(app: Flask, people: People) -> Program:
    return sends_webhooks(app, people)


@both_databases
def test_a_receiver_that_was_down_gets_all_when_it_is_back(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    receiver.status, receiver.answer = 503, b"closed"
    [one] = shelve(ops, notes(1))
    work_off(app)
    [waiting] = deliveries(ops, webhook)
    assert (waiting["state"], waiting["attempts"], waiting["status"]) == ("PENDING", 1, 503)
    assert waiting["next_try_at"]
    assert read_json(ops.get(f"/documents/{one}"))["status"] == "READY", "its document does not wait"
    work_off(app)
    assert len(receiver.received) == 1, "not before its time"
    pass_time(app, 7)
    work_off(app)
    assert deliveries(ops, webhook)[0]["attempts"] == 2

    receiver.status = 200
    pass_time(app, 60)
    work_off(app)
    [sent] = deliveries(ops, webhook)
    assert (sent["state"], sent["attempts"], sent["next_try_at"]) == ("DELIVERED", 3, None)
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    shown = read_json(ops.get(f"/webhooks/{webhook['id']}"))
    assert (shown["failures"], shown["rests_until"], shown["pending"]) == (0, None, 0)


@both_databases
def test_a_dead_receiver_is_given_up_after_a_day_and_replayed(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    receiver.status = 500
    assert ops.post(f"/webhooks/{webhook['id']}/test").status_code == 202
    for wait in (0, *outbox.WAITS):
        pass_time(app, 1.2 * max(wait, outbox.REST_SECONDS_MAX))
        with app.app_context(), transaction(everywhere=True) as opened:
            # The tries alone count here, not the time.
            opened.execute(update(WebhookDelivery).values(queued_at=utc_now()))
        work_off(app)
    [dead] = deliveries(ops, webhook)
    assert (dead["state"], dead["attempts"]) == ("FAILED", outbox.TRIES_MAX)
    assert len(receiver.received) == outbox.TRIES_MAX
    assert read_json(ops.get(f"/webhooks/{webhook['id']}"))["failed"] == 1
    assert read_json(ops.get("/ops/jobs?status=failed"))["jobs"] == [], "it is no failure of a job"

    receiver.status = 200
    pass_time(app, outbox.REST_SECONDS_MAX * 2)
    tomorrow = (utc_now() + timedelta(days=1)).isoformat()
    answer = ops.post(f"/webhooks/{webhook['id']}/replay", json={"since": tomorrow})
    assert (answer.status_code, read_json(answer)) == (202, {"queued": 0})
    assert read_json(ops.post(f"/webhooks/{webhook['id']}/replay", json={})) == {"queued": 1}
    work_off(app)
    [sent] = deliveries(ops, webhook)
    assert (sent["state"], sent["attempts"], sent["id"]) == ("DELIVERED", 1, dead["id"])
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1


@both_databases
def test_what_is_behind_a_dead_receiver_takes_no_seat(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    receiver.status = 500
    for _ in range(5):
        ops.post(f"/webhooks/{webhook['id']}/test")
    work_off(app)
    assert len(receiver.received) == 1, "the others wait for it"
    waiting = deliveries(ops, webhook)
    assert sorted(each["attempts"] for each in waiting) == [0, 0, 0, 0, 1]
    assert {each["state"] for each in waiting} == {"PENDING"}
    pass_time(app, outbox.GIVE_UP_SECONDS + 60)
    with app.app_context(), transaction(everywhere=True) as opened:
        opened.execute(update(Webhook).values(rests_until=utc_now() + timedelta(seconds=60)))
    work_off(app)
    assert {(each["state"], each["error"]) for each in deliveries(ops, webhook)} == {("FAILED", "waited_too_long")}


@both_databases
def test_a_crash_between_answer_and_commit_repeats_the_event_with_its_id(
    app: Flask, ops: Program, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = hook(ops, receiver)
    shelve(ops, notes(1))
    really = outbox.note_try

    def dies(*told: Any) -> None:
        really(*told)
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(outbox, "note_try", dies)
        work_off_until_death(app)
    assert len(receiver.received) == 1
    assert deliveries(ops, webhook)[0]["state"] == "PENDING"
    work_off(app)
    assert len({(each.headers["webhook-id"], each.body) for each in receiver.received}) == 1
    assert len(receiver.received) == 2
    assert deliveries(ops, webhook)[0]["state"] == "DELIVERED"


def work_off_until_death(app: Flask) -> None:
    """Process documents; then a worker claims the delivery and dies, and its job is taken back."""
    found = services_of(app)
    work_off(app, jobs=1)
    with app.app_context():
        [lease] = found.queue.claim("dying", stages=(DELIVER,))
        with pytest.raises(Crash):
            stage.deliver(context_of(app, lease))
        assert lifecycle.reset_worker(found.queue, "dying")
        found.queue.wake_delayed()


def context_of(app: Flask, lease: Any) -> StageContext:
    found = services_of(app)
    tools = {"poster": found.poster, "webhook_seal": found.webhook_seal}
    return StageContext(lease, found.queue, found.providers, 1, monotonic() + 60, threading.Event(), **tools)  # type: ignore[arg-type] # tools of two types


@both_databases
def test_a_worker_without_its_lease_writes_nothing(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    assert ops.post(f"/webhooks/{webhook['id']}/test").status_code == 202
    found = services_of(app)
    with app.app_context():
        [lease] = found.queue.claim("slow", stages=(DELIVER,))
        lifecycle.reset_worker(found.queue, "slow")
        with pytest.raises(LeaseLost):
            stage.deliver(context_of(app, lease))
    assert deliveries(ops, webhook)[0]["attempts"] == 0


@both_databases
def test_a_paused_webhook_holds_events_until_it_is_resumed(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    receiver.status = 500
    shelve(ops, notes(1))
    work_off(app)
    at = f"/webhooks/{webhook['id']}"
    assert read_json(ops.send("PATCH", at, json={"on": False}))["on"] is False
    shelve(ops, notes(2))
    pass_time(app, 60)
    work_off(app)
    assert [each["state"] for each in deliveries(ops, webhook)] == ["HELD", "HELD"]
    assert len(receiver.received) == 1
    assert ops.post(f"{at}/replay", json={}).status_code == 409
    assert ops.post(f"{at}/test").status_code == 202
    receiver.status = 200
    work_off(app)
    assert json.loads(receiver.received[-1].body)["type"] == "webhook.test", "a test is sent all the same"

    assert read_json(ops.send("PATCH", at, json={"on": True}))["held"] == 0
    work_off(app)
    assert {each["state"] for each in deliveries(ops, webhook)} == {"DELIVERED"}
    assert len(receiver.received) == 4


def hold(app: Flask, ops: Program, number: int) -> None:
    """Write events, which paused webhooks hold."""
    with app.app_context(), transaction(ops.org_id):
        for _ in range(number):
            outbox.announce(services_of(app).queue, ops.org_id, WebhookEvent.IMPORT_DONE, dict)


def send_held(app: Flask) -> int:
    with app.app_context():
        return chores.send_held(services_of(app))


@both_databases
def test_what_is_still_held_after_a_webhook_was_resumed_is_sent(
    app: Flask, ops: Program, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = f"/webhooks/{hook(ops, receiver)['id']}"
    ops.send("PATCH", at, json={"on": False})
    hold(app, ops, 5)
    assert send_held(app) == 0, "it is paused"
    with app.app_context(), transaction(everywhere=True) as opened:
        # As it is where the process that resumes it is killed in between.
        opened.execute(update(Webhook).values(is_on=True))
    assert (send_held(app), send_held(app)) == (5, 0)
    work_off(app)
    assert len(receiver.received) == 5

    ops.send("PATCH", at, json={"on": False})
    hold(app, ops, 5)
    with monkeypatch.context() as patched:
        patched.setattr(webhooks, "COUNTED_MAX", 2)
        patched.setattr(webhooks, "_AT_ONCE", 1)
        ops.send("PATCH", at, json={"on": True})
    assert send_held(app) == 3
    work_off(app)
    assert len(receiver.received) == 10


@both_databases
def test_what_was_sent_since_it_was_seen_as_held_is_not_sent_again(
    app: Flask, ops: Program, receiver: Receiver
) -> None:
    webhook = hook(ops, receiver)
    hold(app, ops, 1)
    work_off(app)
    [sent] = deliveries(ops, webhook)
    with app.app_context(), transaction(ops.org_id):
        ids = [UUID(sent["id"])]
        assert outbox.send_again(services_of(app).queue, ops.org_id, ids, DeliveryState.HELD) == 0
    assert deliveries(ops, webhook)[0]["state"] == "DELIVERED"


@both_databases
def test_old_deliveries_that_are_held_are_forgotten_while_their_webhook_is_paused(
    app: Flask, ops: Program, receiver: Receiver
) -> None:
    paused, resumed = hook(ops, receiver), hook(ops, receiver)
    for each in (paused, resumed):
        ops.send("PATCH", f"/webhooks/{each['id']}", json={"on": False})
    hold(app, ops, 1)
    with app.app_context():
        with transaction(everywhere=True) as opened:
            opened.execute(update(Webhook).where(Webhook.id == UUID(resumed["id"])).values(is_on=True))
            long_ago = utc_now() - timedelta(days=40)
            opened.execute(update(WebhookDelivery).values(queued_at=long_ago, created_at=long_ago))
        assert retention.prune(services_of(app))["deliveries"] == 1
    assert [len(deliveries(ops, each)) for each in (paused, resumed)] == [0, 1]
    assert send_held(app) == 1


@both_databases
def test_a_delivery_is_sent_again_or_now(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    receiver.status = 500
    delivery = read_json(ops.post(f"/webhooks/{webhook['id']}/test"))
    at = f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}"
    work_off(app)
    receiver.status = 200
    pass_time(app, 5.9)
    assert ops.post(f"{at}/replay").status_code == 202, "it waits for its next try"
    work_off(app)
    assert read_json(ops.get(at))["state"] == "DELIVERED"
    assert ops.post(f"{at}/replay").status_code == 202, "it was delivered"
    work_off(app)
    assert len(receiver.received) == 3
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1


@both_databases
def test_a_job_that_ops_cancel_ends_its_delivery(app: Flask, ops: Program, people: People, receiver: Receiver) -> None:
    assert "webhooks: none" in app.test_cli_runner().invoke(args=["doctor"]).output
    webhook = hook(ops, receiver)
    delivery = read_json(ops.post(f"/webhooks/{webhook['id']}/test"))
    [job] = read_json(ops.get("/ops/jobs?status=pending"))["jobs"]
    assert job["stage"] == "deliver"
    assert ops.post(f"/ops/jobs/{job['id']}/cancel").status_code == 200
    found = read_json(ops.get(f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}"))
    assert (found["state"], found["error"]) == ("FAILED", "cancelled")
    assert read_json(ops.get("/ops"))["deliveries_given_up"] == 1
    assert "1 delivery of webhooks was given up" in people.browser("ops").get("/ops").text
    assert "webhooks: 1 on, 0 paused; deliveries given up: 1" in app.test_cli_runner().invoke(args=["doctor"]).output


@both_databases
def test_a_delivery_whose_workers_die_again_and_again_is_given_up_and_retried(
    app: Flask, ops: Program, receiver: Receiver
) -> None:
    webhook = hook(ops, receiver)
    delivery = read_json(ops.post(f"/webhooks/{webhook['id']}/test"))
    at = f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}"
    found = services_of(app)
    with app.app_context():
        with transaction(everywhere=True) as opened:
            opened.execute(update(Job).values(attempts=Job.max_attempts - 1))
        assert found.queue.claim("dying", stages=(DELIVER,))
        lifecycle.reset_worker(found.queue, "dying")
    assert (read_json(ops.get(at))["state"], read_json(ops.get(at))["error"]) == ("FAILED", "not_sent")
    [job] = read_json(ops.get("/ops/jobs?status=failed"))["jobs"]
    assert ops.post(f"/ops/jobs/{job['id']}/retry").status_code == 200
    work_off(app)
    assert read_json(ops.get(at))["state"] == "DELIVERED"


@both_databases
def test_old_deliveries_are_forgotten_and_those_on_their_way_are_not(
    app: Flask, ops: Program, receiver: Receiver
) -> None:
    webhook = hook(ops, receiver)
    ops.post(f"/webhooks/{webhook['id']}/test")
    work_off(app)
    receiver.status = 500
    ops.post(f"/webhooks/{webhook['id']}/test")
    work_off(app)
    with app.app_context():
        with transaction(everywhere=True) as opened:
            long_ago = utc_now() - timedelta(days=40)
            opened.execute(update(WebhookDelivery).values(queued_at=long_ago, created_at=long_ago))
        assert retention.prune(services_of(app))["deliveries"] == 1
    assert [each["state"] for each in deliveries(ops, webhook)] == ["PENDING"]
