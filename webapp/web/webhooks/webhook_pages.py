"""GET /webhooks: the addresses that are told what happens in an org, each with its deliveries; for ops."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for
from httpx2 import URL

from webapp.accounts.audit import Action
from webapp.db import reading, transaction
from webapp.documents.states import DeliveryState
from webapp.library import webhooks
from webapp.library.webhooks import EVENTS, WEBHOOKS_MAX, NewSecret, ShownWebhook, TooManyWebhooks
from webapp.web import fragments
from webapp.web.access import ops_only, org_id, principal, services
from webapp.web.errors import Problem
from webapp.web.idempotency import answer_once
from webapp.web.security_log import note
from webapp.web.webhooks import requests
from webapp.web.webhooks.requests import Mistaken
from webapp.web.webhooks.shown import delivery_json, webhook_json

pages = Blueprint("webhooks", __name__, url_prefix="/webhooks")

PAGE_ROWS = 50


@pages.get("")
@ops_only
def index() -> Response:
    """The webhooks, the oldest first."""
    if fragments.is_for_program():
        with reading(org_id()):
            return jsonify(webhooks=[webhook_json(each) for each in webhooks.of_org(org_id())])
    return _index()


@pages.get("/<uuid:webhook_id>")
@ops_only
def show(webhook_id: UUID) -> Response:
    """A webhook and its deliveries, the newest first; `state` chooses some, `cursor` goes on."""
    webhook, state, before = found(webhook_id), _state(), _cursor()
    if fragments.is_for_program():
        rows, next_cursor = _deliveries(webhook_id, state, before)
        listed = [delivery_json(row) for row in rows]
        return jsonify({**webhook_json(webhook), "deliveries": listed, "next_cursor": next_cursor})
    return _page(webhook)


@pages.post("")
@ops_only
def create() -> Response:
    """Add a webhook: 201 with its address. Its secret is in this answer and nowhere else."""
    given, who = requests.asked("url", "events"), principal()
    try:
        wanted = requests.values({"url": None, "events": None, **given})
        secret = webhooks.make_secret(services().webhook_seal)
        with transaction(who.org_id):
            webhooks.add(who.org_id, secret, wanted["url"], wanted["events"], who.ref)
            note(Action.WEBHOOK_ADDED, f"webhook:{secret.webhook_id}", name=_host(wanted["url"]))
    except Mistaken as mistake:
        if fragments.is_for_program():
            raise Problem(422, detail=mistake.sentence) from mistake
        return _index(422, errors={mistake.field: mistake.sentence}, given=given)
    except TooManyWebhooks as error:
        detail = f"Your organisation has {WEBHOOKS_MAX} webhooks. Delete one that nobody needs."
        raise Problem(409, "too_many", detail=detail) from error
    return _with_secret(secret, 201)


@pages.patch("/<uuid:webhook_id>")
@ops_only
def change(webhook_id: UUID) -> Response:
    """Change what is named of a webhook, pause it or resume it: then what was held is sent."""
    try:
        _change(found(webhook_id), requests.asked())
    except Mistaken as mistake:
        raise Problem(422, detail=mistake.sentence) from mistake
    return jsonify(webhook_json(found(webhook_id)))


@pages.post("/<uuid:webhook_id>")
@ops_only
def edit(webhook_id: UUID) -> Response:
    """The same from a form of the page."""
    webhook, given = found(webhook_id), requests.asked()
    # A form without any tick sends no events at all.
    whole = {"events": [], **given} if "url" in given else given
    try:
        _change(webhook, whole)
    except Mistaken as mistake:
        return _page(webhook, 422, errors={mistake.field: mistake.sentence}, given=given)
    return make_response(redirect(url_for(".show", webhook_id=webhook_id), 303))


@pages.delete("/<uuid:webhook_id>")
@ops_only
def remove(webhook_id: UUID) -> Response:
    """Delete a webhook with its deliveries."""
    _remove(webhook_id)
    return Response(status=204)


@pages.post("/<uuid:webhook_id>/delete")
@ops_only
def delete(webhook_id: UUID) -> Response:
    """Deleting for browsers, whose forms know no DELETE."""
    _remove(webhook_id)
    flash(render_template("webhooks/_deleted.txt").strip(), "success")
    return make_response(redirect(url_for(".index"), 303))


@pages.post("/<uuid:webhook_id>/secret")
@ops_only
def renew(webhook_id: UUID) -> Response:
    """Give a webhook a new secret, which is in this answer and nowhere else; for a day the earlier one signs, too."""
    webhook = found(webhook_id)
    secret = webhooks.make_secret(services().webhook_seal, webhook_id)
    with transaction(org_id()):
        webhooks.renew_secret(org_id(), secret)
        note(Action.WEBHOOK_SECRET_RENEWED, f"webhook:{webhook_id}", name=_host(webhook.url))
    return _with_secret(secret, 200)


@pages.post("/<uuid:webhook_id>/test")
@ops_only
def test(webhook_id: UUID) -> Response:
    """Send a test: 202 with the address of its delivery."""
    found(webhook_id)
    with transaction(org_id()):
        delivery_id = webhooks.send_test(services().queue, org_id(), webhook_id)
        row = webhooks.delivery(org_id(), webhook_id, delivery_id) if delivery_id else None
    if row is None:
        raise Problem(404)
    address = url_for("deliveries.show", webhook_id=webhook_id, delivery_id=row.id)
    if fragments.is_for_program():
        return make_response(jsonify(delivery_json(row)), 202, {"Location": address})
    return make_response(redirect(address, 303))


@pages.post("/<uuid:webhook_id>/replay")
@ops_only
def replay(webhook_id: UUID) -> Response:
    """Send again what was given up, all of it or since a time."""
    webhook = found(webhook_id)
    need_on(webhook)
    # The form first: once it has been read, a form's body is no longer there as data.
    is_narrowed = bool(request.form) or bool(request.get_data())
    since = requests.since(requests.asked("since") if is_narrowed else {})
    queued = webhooks.replay(services().queue, org_id(), webhook_id, DeliveryState.FAILED, since)
    with transaction(org_id()):
        note(Action.WEBHOOK_REPLAYED, f"webhook:{webhook_id}", name=_host(webhook.url), deliveries=queued)
    address = url_for(".show", webhook_id=webhook_id)
    if fragments.is_for_program():
        return make_response(jsonify(queued=queued), 202, {"Location": address})
    flash(render_template("webhooks/_replayed.txt", number=queued).strip(), "success")
    return make_response(redirect(address, 303))


def found(webhook_id: UUID) -> ShownWebhook:
    """The webhook, if it is the asking org's; else 404."""
    with reading(org_id()):
        webhook = webhooks.find(org_id(), webhook_id)
    if webhook is None:
        raise Problem(404)
    return webhook


def need_on(webhook: ShownWebhook) -> None:
    """Refuse to send something to a webhook that is paused."""
    if not webhook.is_on:
        raise Problem(409, "paused", detail="This webhook is paused. Resume it first.")


def _change(webhook: ShownWebhook, given: Mapping[str, Any]) -> None:
    if not given:
        raise Problem(422, detail="Name what is to be changed: url, events or on.")
    wanted, org = requests.values(given), org_id()
    with transaction(org):
        webhooks.change(org, webhook.id, wanted)
        name = _host(wanted.get("url") or webhook.url)
        note(Action.WEBHOOK_CHANGED, f"webhook:{webhook.id}", name=name, on=wanted.get("is_on"))
    if wanted.get("is_on"):
        webhooks.replay(services().queue, org, webhook.id, DeliveryState.HELD)


def _remove(webhook_id: UUID) -> None:
    webhook = found(webhook_id)
    with transaction(org_id()):
        webhooks.remove(org_id(), webhook_id)
        note(Action.WEBHOOK_DELETED, f"webhook:{webhook_id}", name=_host(webhook.url))


def _with_secret(secret: NewSecret, status: int) -> Response:
    webhook = found(secret.webhook_id)
    if fragments.is_for_program():
        answer_once("secret")
        address = url_for(".show", webhook_id=webhook.id)
        return make_response(jsonify({**webhook_json(webhook), "secret": secret.text}), status, {"Location": address})
    return _page(webhook, secret=secret.text)


def _index(status: int = 200, **more: Any) -> Response:
    with reading(org_id()):
        listed = webhooks.of_org(org_id())
    return make_response(render_template("webhooks/page.html", webhooks=listed, events=EVENTS, **more), status)


def _page(webhook: ShownWebhook, status: int = 200, **more: Any) -> Response:
    state, before = _state(), _cursor()
    rows, next_cursor = _deliveries(webhook.id, state, before)
    next_url = None
    if next_cursor:
        chosen = fragments.without({"state": state.value if state else None, "cursor": next_cursor})
        next_url = url_for(".show", webhook_id=webhook.id, **chosen)
    shown = {"webhook": webhook, "deliveries": rows, "state": state, "states": list(DeliveryState), "events": EVENTS}
    page = render_template("webhooks/webhook.html", **shown, next_url=next_url, is_continued=bool(before), **more)
    return make_response(page, status)


def _deliveries(webhook_id: UUID, state: DeliveryState | None, before: UUID | None) -> tuple[Any, str | None]:
    with reading(org_id()):
        rows = webhooks.deliveries(org_id(), webhook_id, state, before, PAGE_ROWS + 1)
    return rows[:PAGE_ROWS], str(rows[PAGE_ROWS - 1].id) if len(rows) > PAGE_ROWS else None


def _state() -> DeliveryState | None:
    word = request.args.get("state", "")
    try:
        return DeliveryState(word) if word else None
    except ValueError as error:
        raise Problem(422, detail=f"state must be one of: {', '.join(DeliveryState)}.") from error


def _cursor() -> UUID | None:
    text = request.args.get("cursor")
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer.") from error


def _host(url: str) -> str:
    """What the security log names: an address may hold a secret in its path."""
    return URL(url).host
