"""Webhooks: who makes and changes them, and which events are committed, signed and sent."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import func, select

from tests.receiver import Received, Receiver, receiving
from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import counted_queries, notes, read_json, send, services_of, shelve, work_off
from tests.web.webhooks import ALL, deliveries, hook, pass_time, sends_webhooks
from webapp.clock import utc_now
from webapp.db import reading
from webapp.documents.states import LiveRun
from webapp.documents.webhook_model import Webhook
from webapp.jobs.model import Job
from webapp.runs import announcements, lifecycle
from webapp.runs.stages import DELIVER

LOCKED_PDF = b"%PDF-1.7\n" + b"\x00" * 64


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def ops(app: Flask, people: People) -> Program:
    return sends_webhooks(app, people)


def signatures(secret: str, request: Received) -> str:
    """What Standard Webhooks says, computed by itself."""
    key = base64.b64decode(secret.split("whsec_")[1])
    signed = b".".join(
        [request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode(), request.body]
    )
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


@both_databases
def test_a_ready_document_is_told_once_and_signed(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver, ["document.ready"])
    [one] = shelve(ops, notes(1))
    work_off(app)

    [request] = receiver.received
    told = json.loads(request.body)
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-signature"] == signatures(webhook["secret"], request)
    assert abs(int(request.headers["webhook-timestamp"]) - utc_now().timestamp()) < 60
    assert request.headers["webhook-id"] == told["id"]
    assert (told["type"], told["data"]["failure"]) == ("document.ready", None)
    document = told["data"]["document"]
    assert (document["id"], document["filename"], document["status"]) == (one, "note-001.md", "READY")
    assert document["url"] == f"/documents/{one}"
    assert b"stones" not in request.body, "nothing of its text"
    [sent] = deliveries(ops, webhook)
    assert (sent["state"], sent["status"], sent["attempts"], sent["event"]) == ("DELIVERED", 200, 1, "document.ready")
    whole = read_json(ops.get(f"/webhooks/{webhook['id']}/deliveries/{sent['id']}"))
    assert (whole["payload"], whole["answer"]) == (told, "thanks")

    assert ops.post(f"/documents/{one}/reprocess").status_code == 202
    work_off(app)
    assert len(receiver.received) == 2
    assert receiver.received[1].headers["webhook-id"] != told["id"], "another event"


@both_databases
def test_a_failed_document_is_told_with_the_reason(app: Flask, ops: Program, receiver: Receiver) -> None:
    hook(ops, receiver)
    [one] = shelve(ops, ("broken.pdf", LOCKED_PDF))
    work_off(app)
    [request] = receiver.received
    told = json.loads(request.body)
    assert (told["type"], told["data"]["document"]["id"]) == ("document.failed", one)
    assert told["data"]["document"]["status"] == "FAILED"
    assert told["data"]["failure"] == {"type": "BAD_INPUT", "code": "corrupt"}


@both_databases
def test_a_cancelled_and_an_overdue_document_are_told_and_a_deleted_one_is_not(
    app: Flask, ops: Program, receiver: Receiver
) -> None:
    hook(ops, receiver)
    ids = shelve(ops, notes(1), notes(2), notes(3))
    runs = [UUID(read_json(ops.get(f"/documents/{each}/runs"))["runs"][0]["id"]) for each in ids]
    assert ops.post(f"/documents/{ids[0]}/runs/{runs[0]}/cancel").status_code == 200
    ops.client.delete(f"/documents/{ids[1]}", headers=ops.headers)
    found = services_of(app)
    with app.app_context():
        [lease] = found.queue.claim("tests")
        assert lease.document_id == UUID(ids[2])
        live = LiveRun(runs[2], ops.org_id, UUID(ids[2]))
        assert lifecycle.terminate_run(found.queue, live)
    work_off(app)
    failures = {(told := json.loads(each.body))["data"]["document"]["id"]: told for each in receiver.received}
    assert {each: told["data"]["failure"]["type"] for each, told in failures.items()} == {
        ids[0]: "CANCELLED",
        ids[2]: "PROCESS_TERMINATED",
    }
    assert {told["type"] for told in failures.values()} == {"document.failed"}


@both_databases
def test_a_publish_that_is_rolled_back_leaves_no_event(
    app: Flask, ops: Program, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = hook(ops, receiver)
    really, calls = announcements.document_ended, []

    def dies(*arguments: Any) -> None:
        really(*arguments)
        calls.append(arguments)
        if len(calls) == 1:
            raise ArithmeticError("right before the commit")

    monkeypatch.setattr(announcements, "document_ended", dies)
    shelve(ops, notes(1))
    work_off(app)
    assert calls, "it was about to be published"
    assert "document.ready" not in [each["event"] for each in deliveries(ops, webhook)]
    # With a single attempt it has failed; else it is tried again.
    pass_time(app, 3600)
    work_off(app)
    status = read_json(ops.get("/documents"))["documents"][0]["status"]
    assert [each["event"] for each in deliveries(ops, webhook)] == [f"document.{status.lower()}"]


@both_databases
def test_an_org_without_webhooks_pays_one_statement(app: Flask, ops: Program) -> None:
    shelve(ops, notes(1))
    with counted_queries(app) as statements:
        work_off(app)
    assert sum("webhook" in each for each in statements) == 1
    with app.app_context(), reading(ops.org_id) as opened:
        assert opened.scalar(select(func.count()).select_from(Job).where(Job.stage == DELIVER)) == 0


@both_databases
def test_two_secrets_sign_for_a_day(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    at = f"/webhooks/{webhook['id']}"
    renewed = read_json(ops.post(f"{at}/secret"))
    assert renewed["secret"] != webhook["secret"]
    assert renewed["earlier_secret_until"]
    ops.post(f"{at}/test")
    work_off(app)
    request = receiver.received[-1]
    both = [signatures(renewed["secret"], request), signatures(webhook["secret"], request)]
    assert request.headers["webhook-signature"].split(" ") == both

    pass_time(app, 86_401)
    ops.post(f"{at}/test")
    work_off(app)
    request = receiver.received[-1]
    assert request.headers["webhook-signature"] == signatures(renewed["secret"], request)
    assert read_json(ops.get(at))["earlier_secret_until"] is None
    with app.app_context(), reading(ops.org_id) as opened:
        sealed = opened.scalars(select(Webhook.secret)).one()
    assert renewed["secret"].encode() not in sealed


@both_databases
def test_a_deleted_webhook_is_told_nothing_more(app: Flask, ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    ops.post(f"/webhooks/{webhook['id']}/test")
    assert ops.send("DELETE", f"/webhooks/{webhook['id']}").status_code == 204
    work_off(app)
    assert receiver.received == []
    assert read_json(ops.get("/webhooks")) == {"webhooks": []}
    assert read_json(ops.get("/ops/jobs?status=pending"))["jobs"] == []


@both_databases
def test_orgs_are_kept_apart(app: Flask, ops: Program, people: People, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    theirs = people.program("ops", org="Theirs")
    shelve(theirs, notes(1))
    work_off(app)
    assert receiver.received == []
    assert read_json(theirs.get("/webhooks")) == {"webhooks": []}
    assert theirs.get(f"/webhooks/{webhook['id']}").status_code == 404
    member = people.program("member")
    assert member.get("/webhooks").status_code == 403
    assert send(member, notes(2)).status_code == 200
    with app.app_context(), reading(theirs.org_id) as opened:
        if opened.get_bind().dialect.name == "postgresql":
            assert opened.scalar(select(func.count()).select_from(Webhook)) == 0, "row-level security"


@both_databases
def test_an_import_is_told_when_it_is_done(
    app: Flask, ops: Program, people: People, receiver: Receiver, tmp_path: Path
) -> None:
    shelve(ops, notes(1), notes(2))
    work_off(app)
    run = app.test_cli_runner()
    path = tmp_path / "library.zip"
    assert run.invoke(args=["library", "export", "--org", "Ours", str(path)]).exit_code == 0
    for each in read_json(ops.get("/documents"))["documents"]:
        ops.client.delete(f"/documents/{each['id']}?purge=1", headers=ops.headers)
    other = people.program("ops", org="Other")
    hook(other, receiver)
    assert run.invoke(args=["library", "import", "--org", "Other", str(path)]).exit_code == 0
    work_off(app)
    told = [json.loads(each.body) for each in receiver.received]
    assert [each["type"] for each in told] == ["import.done"]
    assert told[0]["data"]["import"]["documents"] == 2


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "up to 2000 characters"),
        ({"url": "http://169.254.169.254/", "events": ALL}, "not allowed here"),
        ({"url": "https://ana:pw@example.com/", "events": ALL}, "neither a user name nor a password"),
        ({"url": "https://example.com/", "events": []}, "at least one event"),
        ({"url": "https://example.com/", "events": ["webhook.test"]}, "at least one event"),
        ({"url": 7, "events": ALL}, "up to 2000 characters"),
        ({"url": "https://example.com/", "events": ALL, "secret": "mine"}, "no member"),
    ],
)
def test_what_can_not_be_used_is_refused_with_a_sentence(ops: Program, body: dict[str, Any], says: str) -> None:
    answer = ops.post("/webhooks", json=body)
    assert answer.status_code in {400, 422}
    assert says in read_json(answer)["detail"]
    assert read_json(ops.get("/webhooks")) == {"webhooks": []}


def test_private_addresses_take_a_setting(app: Flask, people: People, receiver: Receiver) -> None:
    ops = people.program("ops")
    answer = ops.post("/webhooks", json={"url": receiver.url, "events": ALL})
    assert (answer.status_code, "not allowed" in read_json(answer)["detail"]) == (422, True)
    answer = ops.post("/webhooks", json={"url": f"http://2130706433:{receiver.port}/", "events": ALL})
    webhook = read_json(answer)
    ops.post(f"/webhooks/{webhook['id']}/test")
    work_off(app)
    [refused] = deliveries(ops, webhook)
    assert (refused["error"], refused["status"], receiver.received) == ("address_refused", None, [])


def test_a_request_with_a_key_makes_one_webhook_and_its_secret_is_kept_nowhere(
    ops: Program, receiver: Receiver
) -> None:
    def create() -> dict[str, Any]:
        body = {"url": receiver.url, "events": ALL}
        return read_json(ops.post("/webhooks", json=body, headers={"Idempotency-Key": "one"}))

    first, again = create(), create()
    assert first["secret"].startswith("whsec_")
    assert (again["id"], again["secret"]) == (first["id"], None)
    assert len(read_json(ops.get("/webhooks"))["webhooks"]) == 1


def test_a_webhook_is_changed_and_there_are_not_too_many(ops: Program, receiver: Receiver) -> None:
    webhook = hook(ops, receiver)
    at = f"/webhooks/{webhook['id']}"
    changed = read_json(ops.send("PATCH", at, json={"url": f"{receiver.url}/2", "events": ["import.done"]}))
    assert (changed["url"], changed["events"]) == (f"{receiver.url}/2", ["import.done"])
    assert ops.send("PATCH", at, json={}).status_code == 422
    assert ops.send("PATCH", at, json={"on": "perhaps"}).status_code == 422
    for _ in range(19):
        hook(ops, receiver)
    assert ops.post("/webhooks", json={"url": receiver.url, "events": ALL}).status_code == 409
    actions = [entry["action"] for entry in read_json(ops.get("/ops/security"))["entries"]]
    assert (actions.count("webhook_added"), actions.count("webhook_changed")) == (20, 1)
    assert receiver.url not in ops.get("/ops/security").text


def test_the_pages_work_by_forms_alone(app: Flask, ops: Program, people: People, receiver: Receiver) -> None:
    browser = people.browser("ops")
    assert "No webhooks yet" in browser.get("/webhooks").text
    wrong = browser.post("/webhooks", {"url": "ftp://example.com", "events": ["import.done"]})
    assert wrong.status_code == 422
    assert "ftp://example.com" in wrong.text, "what was typed is still there"
    page = browser.post("/webhooks", {"url": receiver.url, "events": ALL})
    assert "whsec_" in page.text
    [webhook] = read_json(ops.get("/webhooks"))["webhooks"]
    at = f"/webhooks/{webhook['id']}"
    assert "whsec_" not in browser.get(at).text
    sent = browser.post(f"{at}/test", follow_redirects=True)
    assert "On its way" in sent.text
    work_off(app)
    assert "Delivered" in browser.get(at).text
    [delivery] = deliveries(ops, webhook)
    shown = browser.get(f"{at}/deliveries/{delivery['id']}").text
    assert "thanks" in shown
    assert "webhook.test" in shown
    assert browser.post(f"{at}/deliveries/{delivery['id']}/replay").status_code == 303
    assert browser.post(at, {"on": "0"}).status_code == 303
    assert "Resume" in browser.get(at).text
    assert browser.post(at, {"url": receiver.url}).status_code == 422, "no event"
    assert browser.post(f"{at}/secret").status_code == 200
    assert "deleted" in browser.post(f"{at}/delete", follow_redirects=True).text
    assert people.browser(email="bo@example.org").get("/webhooks").status_code == 403


def test_the_form_sends_again_what_was_given_up_since_a_day(
    app: Flask, ops: Program, people: People, receiver: Receiver
) -> None:
    at, browser = f"/webhooks/{hook(ops, receiver)['id']}", people.browser("ops")
    ops.post(f"{at}/test")
    [job] = read_json(ops.get("/ops/jobs?status=pending"))["jobs"]
    ops.post(f"/ops/jobs/{job['id']}/cancel")
    tomorrow = (utc_now() + timedelta(days=1)).date().isoformat()
    assert (
        "0 deliveries are sent again" in browser.post(f"{at}/replay", {"since": tomorrow}, follow_redirects=True).text
    )
    assert browser.post(f"{at}/replay", {"since": "soon"}).status_code == 422
    assert read_json(ops.get(at))["failed"] == 1
    assert "1 delivery is sent again" in browser.post(f"{at}/replay", {"since": ""}, follow_redirects=True).text
