"""For the ops of an org: the security log. Operators see the lines of the installation too."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, request, url_for

from webapp.accounts import audit, users
from webapp.accounts.audit import Action
from webapp.accounts.model import AuditEntry
from webapp.db import reading
from webapp.web import fragments
from webapp.web.access import ops_only, org_id, principal
from webapp.web.errors import Problem

pages = Blueprint("security", __name__, url_prefix="/ops")

PAGE_ROWS = 50


@dataclass(frozen=True)
class EntryRow:
    """A line of the security log."""

    id: UUID
    at: datetime
    about: str
    actor_kind: str
    actor_id: UUID | None
    actor_name: str
    action: str
    target: str | None
    address: str | None
    details: dict[str, Any]

    @property
    def subject(self) -> str | None:
        """What it was done to, by name."""
        named = self.details.get("filename") or self.details.get("email") or self.details.get("name")
        return str(named) if named else None

    @property
    def stage(self) -> str | None:
        """The stage that a lever is about."""
        kind, _, name = (self.target or "").partition(":")
        return name if kind == "stage" else None


@pages.get("/security")
@ops_only
def show() -> Response:
    """The log, the newest line first; `action` chooses one kind, `person` what concerns somebody, `cursor` goes on."""
    action, person = _action(), _id("person", "the id of a person")
    before = _id("cursor", "the next_cursor of an earlier answer")
    rows, next_cursor = _page(action, person, before)
    with reading(org_id()):
        known = users.of_org(org_id())
    return fragments.answer(
        page="ops/security.html",
        fragment="ops/security.html",
        data=lambda: {"entries": [_entry_json(row) for row in rows], "next_cursor": next_cursor},
        entries=rows,
        action=action,
        person=person,
        people=known,
        actions=[each.value for each in Action],
        is_continued=before is not None,
        next_url=_url(action, person, next_cursor) if next_cursor else None,
    )


def _page(action: str | None, person: UUID | None, before: UUID | None) -> tuple[list[EntryRow], str | None]:
    who = principal()
    # What is about the installation belongs to no org, so it takes the scope of all.
    with reading(None if who.is_operator else who.org_id, everywhere=who.is_operator):
        found = audit.page(
            who.org_id,
            with_installation=who.is_operator,
            action=action,
            person=person,
            before=before,
            limit=PAGE_ROWS + 1,
        )
    rows = [_row(entry) for entry in found[:PAGE_ROWS]]
    return rows, str(rows[-1].id) if len(found) > PAGE_ROWS else None


def _row(entry: AuditEntry) -> EntryRow:
    return EntryRow(
        id=entry.id,
        at=entry.created_at,
        about="organisation" if entry.org_id else "installation",
        actor_kind=entry.actor_kind,
        actor_id=entry.actor_id,
        actor_name=entry.actor_name,
        action=entry.action,
        target=entry.target,
        address=entry.address,
        details=entry.details or {},
    )


def _action() -> str | None:
    word = request.args.get("action", "")
    try:
        return Action(word).value if word else None
    except ValueError as error:
        raise Problem(422, detail=f"action must be one of: {', '.join(Action)}.") from error


def _id(name: str, what: str) -> UUID | None:
    text = request.args.get(name)
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise Problem(422, detail=f"{name} must be {what}.") from error


def _url(action: str | None, person: UUID | None, cursor: str) -> str:
    return url_for(".show", **fragments.without({"action": action, "person": person, "cursor": cursor}))


def _entry_json(row: EntryRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "at": row.at,
        "about": row.about,
        "actor": {"kind": row.actor_kind, "id": row.actor_id, "name": row.actor_name},
        "action": row.action,
        "target": row.target,
        "address": row.address,
        "details": row.details,
    }
