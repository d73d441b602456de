"""GET /sources: folders and mailboxes that are polled for new documents; each with what it saw, took and skipped."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts.audit import Action
from webapp.db import reading, transaction
from webapp.db.bounded import Count
from webapp.documents.source_model import Source, SourceItem
from webapp.library.sources import ledger, registry
from webapp.library.sources.ledger import FOLDER_VERSION, STATES
from webapp.library.sources.polling import SourceTrial, try_out
from webapp.library.sources.registry import SOURCES_MAX, TooManySources
from webapp.web import fragments
from webapp.web.access import ops_only, org_id, principal, services
from webapp.web.errors import Problem
from webapp.web.security_log import note
from webapp.web.sources.mailbox_requests import SECURITIES
from webapp.web.sources.mistakes import MistakenField
from webapp.web.sources.source_requests import AFTER_TAKING, asked, changed_values, new_values
from webapp.web.sources.source_sentences import reason_sentence, trouble_sentence

pages = Blueprint("sources", __name__, url_prefix="/sources")

PAGE_ROWS = 50
# Why something was skipped that a person may know better.
_WORTH_A_TRY = ("too_large", "mismatch", "temporary", "hidden")
# What the security log is told of a source.
_NOTED = ("name", "kind", "after_taking", "interval_seconds", "is_on")


@dataclass(frozen=True)
class SourceView:
    """A source as pages and programs are shown it, with how many of its items are in which state."""

    source: Source
    counts: dict[str, Count]

    @property
    def error(self) -> str | None:
        """Why its last poll ended early, or that nobody polls it, in a sentence."""
        return trouble_sentence(registry.trouble(self.source))

    def json(self) -> dict[str, Any]:
        """The source for programs; no secret is in it."""
        source = self.source
        return {
            "id": source.id,
            "name": source.name,
            "kind": source.kind,
            **source.place,
            "after_taking": source.after_taking,
            "interval_seconds": source.interval_seconds,
            "on": source.is_on,
            "last_poll_at": source.last_poll_at,
            "next_poll_at": source.next_poll_at if source.is_on else None,
            "error": registry.trouble(source),
            "error_detail": self.error,
            "counts": {name: count.number for name, count in self.counts.items()},
            "counts_more": [name for name, count in self.counts.items() if count.more],
        }


@dataclass(frozen=True)
class ItemView:
    """An item of a source as pages and programs are shown it."""

    item: SourceItem

    @property
    def why(self) -> str | None:
        """Its reason, in a sentence."""
        return reason_sentence(self.item.reason)

    @property
    def can_take(self) -> bool:
        """Whether a person is offered to try it again: where that may change something."""
        item = self.item
        if item.state == "failed":
            return True
        return item.state == "skipped" and item.reason in _WORTH_A_TRY and item.version != FOLDER_VERSION

    def json(self) -> dict[str, Any]:
        """The item for programs."""
        item = self.item
        return {
            "id": item.id,
            "name": item.name,
            "size_bytes": item.size_bytes,
            "state": item.state,
            "reason": item.reason,
            "reason_detail": self.why,
            "document_id": item.document_id,
            "tries": item.tries,
            "seen_at": item.seen_at,
            "ended_at": item.ended_at,
            "next_try_at": item.next_try_at if item.state == "waiting" else None,
        }


@pages.get("")
@ops_only
def index() -> Response:
    """The sources, by their names."""
    if fragments.is_for_program():
        return jsonify(sources=[each.json() for each in _views()])
    return _index()


@pages.get("/<uuid:source_id>")
@ops_only
def show(source_id: UUID) -> Response:
    """A source with its ledger, what was seen last first; `state` chooses, `cursor` goes on."""
    return _page(source_id)


@pages.post("")
@ops_only
def create() -> Response:
    """Make a source: 201 with its address. It is polled at once."""
    given = asked()
    try:
        values = new_values(given)
        with transaction(org_id()):
            source_id = registry.add(org_id(), values, principal().ref)
            note(Action.SOURCE_CREATED, f"source:{source_id}", **_noted(values))
    except MistakenField as mistake:
        if fragments.is_for_program():
            raise
        return _index(422, errors=mistake.errors, given=given)
    except TooManySources as error:
        detail = f"Your organisation has {SOURCES_MAX} sources. Delete one that nobody needs."
        raise Problem(409, "too_many", detail=detail) from error
    address = url_for("sources.show", source_id=source_id)
    if fragments.is_for_program():
        return make_response(jsonify(_view(source_id).json()), 201, {"Location": address})
    return make_response(redirect(address, 303))


@pages.patch("/<uuid:source_id>")
@ops_only
def change(source_id: UUID) -> Response:
    """Change what is named of a source."""
    _change(source_id, asked())
    return jsonify(_view(source_id).json())


@pages.post("/<uuid:source_id>")
@ops_only
def edit(source_id: UUID) -> Response:
    """The same from a form of the page."""
    given = asked()
    try:
        _change(source_id, given)
    except MistakenField as mistake:
        return _page(source_id, status=422, errors=mistake.errors, given=given)
    return make_response(redirect(url_for("sources.show", source_id=source_id), 303))


@pages.delete("/<uuid:source_id>")
@ops_only
def remove(source_id: UUID) -> Response:
    """Delete a source with its ledger; what it took stays in the library."""
    _remove(source_id)
    return Response(status=204)


@pages.post("/<uuid:source_id>/delete")
@ops_only
def delete(source_id: UUID) -> Response:
    """Deleting for browsers, whose forms know no DELETE."""
    name = _remove(source_id)
    flash(render_template("sources/_deleted.txt", name=name).strip(), "success")
    return make_response(redirect(url_for("sources.index"), 303))


@pages.post("/<uuid:source_id>/poll")
@ops_only
def poll(source_id: UUID) -> Response:
    """Let a source be polled within seconds: 202."""
    source = _found(source_id)
    if not source.is_on:
        raise Problem(409, "paused", detail="This source is paused. Resume it, and it is polled at once.")
    with transaction(org_id()):
        registry.poll_soon(org_id(), source_id)
    if fragments.is_for_program():
        return make_response(jsonify(_view(source_id).json()), 202)
    flash(render_template("sources/_polled.txt").strip(), "success")
    return make_response(redirect(url_for("sources.show", source_id=source_id), 303))


@pages.post("/<uuid:source_id>/test")
@ops_only
def test(source_id: UUID) -> Response:
    """Look at what a poll would see now. Nothing is taken or written down."""
    trial = try_out(services(), _found(source_id))
    if fragments.is_for_program():
        return jsonify(_trial_json(trial))
    return _page(source_id, trial)


@pages.post("/<uuid:source_id>/items/<uuid:item_id>/retry")
@ops_only
def retry(source_id: UUID, item_id: UUID) -> Response:
    """Try an item that failed or was skipped again, with the next poll, which is soon: 202."""
    _found(source_id)
    with transaction(org_id()):
        found = ledger.find(org_id(), source_id, item_id)
        if found is None:
            raise Problem(404)
        if not ledger.retry(org_id(), source_id, item_id):
            raise Problem(
                409,
                "not_failed",
                detail="It neither failed nor was skipped, or it or a later version of it waits already. "
                "A folder can't be taken.",
            )
        registry.poll_soon(org_id(), source_id)
    if fragments.is_for_program():
        with reading(org_id()):
            again = ledger.find(org_id(), source_id, item_id)
        return make_response(jsonify(ItemView(again or found).json()), 202)
    return make_response(redirect(url_for("sources.show", source_id=source_id, state="waiting"), 303))


def _views() -> list[SourceView]:
    org = org_id()
    with reading(org):
        found = registry.of_org(org)
        counts = ledger.counts(org, [source.id for source in found])
    return [SourceView(source, counts[source.id]) for source in found]


def _index(status: int = 200, **more: Any) -> Response:
    return make_response(render_template("sources/page.html", sources=_views(), **_choices(), **more), status)


def _page(source_id: UUID, trial: SourceTrial | None = None, *, status: int = 200, **more: Any) -> Response:
    state, before = _state(), _cursor()
    shown = _view(source_id)
    with reading(org_id()):
        rows = [ItemView(item) for item in ledger.page(org_id(), source_id, state, before, PAGE_ROWS + 1)]
    cursor = str(rows[PAGE_ROWS - 1].item.id) if len(rows) > PAGE_ROWS else None
    rows = rows[:PAGE_ROWS]
    if fragments.is_for_program():
        return jsonify({**shown.json(), "items": [row.json() for row in rows], "next_cursor": cursor})
    values = {"shown": shown, "items": rows, "state": state, "next_cursor": cursor, "trial": trial}
    return make_response(render_template("sources/source.html", **values, **_choices(), **more), status)


def _choices() -> dict[str, Any]:
    """What a form offers."""
    folders = [str(folder) for folder in services().settings.sources.folders] if principal().is_operator else []
    words = {"reason_sentence": reason_sentence, "trouble_sentence": trouble_sentence}
    choices = {"states": STATES, "after_taking": AFTER_TAKING, "securities": SECURITIES, "folders": folders}
    return {**choices, **words}


def _view(source_id: UUID) -> SourceView:
    source = _found(source_id)
    with reading(org_id()):
        return SourceView(source, ledger.counts(org_id(), [source_id])[source_id])


def _found(source_id: UUID) -> Source:
    with reading(org_id()):
        found = registry.find(org_id(), source_id)
    if found is None:
        raise Problem(404)
    return found


def _change(source_id: UUID, given: Mapping[str, Any]) -> None:
    values = changed_values(_found(source_id), given)
    with transaction(org_id()):
        registry.change(org_id(), source_id, values)
        note(Action.SOURCE_CHANGED, f"source:{source_id}", **_noted(values))


def _remove(source_id: UUID) -> str:
    name = _found(source_id).name
    with transaction(org_id()):
        registry.remove(org_id(), source_id)
        note(Action.SOURCE_DELETED, f"source:{source_id}", name=name)
    return name


def _noted(written: dict[str, Any]) -> dict[str, Any]:
    where = written.get("place", {})
    return {
        **{name: written[name] for name in _NOTED if name in written},
        **{name: where.get(name) for name in ("path", "host", "username", "mailbox")},
    }


def _trial_json(trial: SourceTrial) -> dict[str, Any]:
    examples = [{"name": each.name, "size_bytes": each.size_bytes, "skip": each.skip} for each in trial.examples]
    trouble = {"error": trial.trouble, "error_detail": trouble_sentence(trial.trouble)}
    return {"taken": trial.taken, "skipped": trial.skipped, "more": trial.more, "examples": examples, **trouble}


def _state() -> str | None:
    state = request.args.get("state") or None
    if state is not None and state not in STATES:
        raise Problem(422, detail=f"state must be one of: {', '.join(STATES)}.")
    return state


def _cursor() -> UUID | None:
    given = request.args.get("cursor")
    try:
        return UUID(given) if given else None
    except ValueError as error:
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer.") from error
