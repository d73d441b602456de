"""GET /webhooks/{id}/deliveries/{id}: what was sent to a webhook and what it answered; it is sent again from here."""

import json
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, url_for

from webapp.accounts.audit import Action
from webapp.db import reading, transaction
from webapp.library import webhooks
from webapp.runs import outbox
from webapp.web import fragments
from webapp.web.access import ops_only, org_id, services
from webapp.web.errors import Problem
from webapp.web.security_log import note
from webapp.web.webhooks.shown import delivery_json, whole_delivery_json
from webapp.web.webhooks.webhook_pages import found, need_on

pages = Blueprint("deliveries", __name__, url_prefix="/webhooks/<uuid:webhook_id>/deliveries")


@pages.get("/<uuid:delivery_id>")
@ops_only
def show(webhook_id: UUID, delivery_id: UUID) -> Response:
    """A delivery with what is sent, and how the last answer begins."""
    webhook, row = found(webhook_id), _found(webhook_id, delivery_id)
    if fragments.is_for_program():
        return jsonify(whole_delivery_json(row))
    payload = json.dumps(json.loads(row.payload), indent=2, ensure_ascii=False)
    return make_response(render_template("webhooks/delivery.html", webhook=webhook, delivery=row, payload=payload))


@pages.post("/<uuid:delivery_id>/replay")
@ops_only
def replay(webhook_id: UUID, delivery_id: UUID) -> Response:
    """Send a delivery again, or now where it waits for its next try: 202."""
    need_on(found(webhook_id))
    _found(webhook_id, delivery_id)
    with transaction(org_id()):
        if not outbox.send_now(services().queue, org_id(), delivery_id):
            raise Problem(409, detail="It is being sent at this moment.")
        note(Action.WEBHOOK_REPLAYED, f"webhook:{webhook_id}", deliveries=1)
    address = url_for(".show", webhook_id=webhook_id, delivery_id=delivery_id)
    if fragments.is_for_program():
        return make_response(jsonify(delivery_json(_found(webhook_id, delivery_id))), 202, {"Location": address})
    return make_response(redirect(address, 303))


def _found(webhook_id: UUID, delivery_id: UUID) -> Any:
    with reading(org_id()):
        row = webhooks.delivery(org_id(), webhook_id, delivery_id)
    if row is None:
        raise Problem(404)
    return row
