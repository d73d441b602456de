"""Share links as their org sees them: made on the page of a document or a view, listed, revoked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts import actors
from webapp.accounts.audit import Action
from webapp.clock import after, utc_now
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.library import lookup, shares, views
from webapp.library.shares import (
    DAYS_MAX,
    LINKS_MAX,
    NAME_CHARACTERS_MAX,
    MakerMayNotWrite,
    Share,
    ShareTarget,
    TooManyLinks,
)
from webapp.library.views import View
from webapp.web import fragments
from webapp.web.access import get_document, org_id, principal, services, writers_only
from webapp.web.csrf import FIELD
from webapp.web.document.changes import is_text
from webapp.web.errors import Problem
from webapp.web.own_address import own_address
from webapp.web.security_log import note

pages = Blueprint("shares", __name__)

DAYS_CHOICES = (1, 7, 30)
_DAYS_DEFAULT = 7
_SECONDS_PER_DAY = 86_400
_KNOWN = ("days", "until", "name", "original")
_DAYS = f"days must be a whole number from 1 to {DAYS_MAX}."
_UNTIL = f"until must be a day such as 2026-12-31, from today on and at most {DAYS_MAX} days ahead."
_EITHER = "Give days or until, not both."
_NAME = f"name must be a text of at most {NAME_CHARACTERS_MAX} characters."
_ORIGINAL = "original must be true or false."
_TOO_MANY = f"There are {LINKS_MAX} links to this already. Revoke one that nobody needs."


@dataclass(frozen=True)
class _Wanted:
    """A link that is to be made."""

    expires_at: Any
    """A time, or an expression of the database's clock."""
    name: str | None
    with_original: bool


@dataclass(frozen=True)
class _Shared:
    """What is shared: a document or a view."""

    target: ShareTarget
    title: str
    url: str
    list_url: str


@pages.get("/shares")
@writers_only
def index() -> Response:
    """All links of the org that work."""
    _check_on()
    org = org_id()
    with reading(org):
        found = shares.of_org(org)
    if fragments.is_for_program():
        return jsonify(shares=[_json(share) for share in found])
    return make_response(render_template("sharing/list.html", shares=found, titles=_titles(found), names=_names(found)))


@pages.get("/documents/<uuid:document_id>/shares")
@writers_only
def of_document(document_id: UUID) -> Response:
    """The links to a document, and the form that makes one."""
    return _show(_document(document_id))


@pages.post("/documents/<uuid:document_id>/shares")
def share_document(document_id: UUID) -> Response:
    """Make a link to a document."""
    return _share(_document(document_id))


@pages.get("/views/<uuid:view_id>/shares")
@writers_only
def of_view(view_id: UUID) -> Response:
    """The links to a view, and the form that makes one."""
    return _show(_view(view_id))


@pages.post("/views/<uuid:view_id>/shares")
def share_view(view_id: UUID) -> Response:
    """Make a link to a view."""
    return _share(_view(view_id))


@pages.delete("/shares/<uuid:share_id>")
def remove(share_id: UUID) -> Response:
    """Revoke a link: it shows nothing from now on."""
    _revoke(share_id)
    return Response(status=204)


@pages.post("/shares/<uuid:share_id>/revoke")
def revoke(share_id: UUID) -> Response:
    """Revoking for browsers, whose forms know no DELETE."""
    target = _revoke(share_id).target
    flash(render_template("sharing/_revoked.txt").strip(), "success")
    if request.form.get("from") == "list":
        return make_response(redirect(url_for("shares.index"), 303))
    where = (
        url_for("shares.of_document", document_id=target.document_id)
        if target.document_id
        else url_for("shares.of_view", view_id=target.view_id)
    )
    return make_response(redirect(where, 303))


def _document(document_id: UUID) -> _Shared:
    document = get_document(document_id)
    _check_on()
    return _Shared(
        ShareTarget(document_id=document_id),
        title_of(document),
        url_for("document.show", document_id=document_id),
        url_for("shares.of_document", document_id=document_id),
    )


def _view(view_id: UUID) -> _Shared:
    who = principal()
    with reading(who.org_id):
        view: View | None = views.find(who.org_id, view_id, who.user_id)
    if view is None:
        raise Problem(404)
    _check_on()
    return _Shared(
        ShareTarget(view_id=view_id),
        view.name,
        url_for("views.show", view_id=view_id),
        url_for("shares.of_view", view_id=view_id),
    )


def title_of(document: Document) -> str:
    """What a document is called."""
    return document.chosen_title or document.filename


def _check_on() -> None:
    if not services().settings.access.is_sharing_on:
        raise Problem(403, "sharing_off")


def _share(shared: _Shared) -> Response:
    who = principal()
    try:
        wanted = _wanted(_given())
    except ValueError as error:
        return _refuse(shared, str(error), 422)
    try:
        with transaction(who.org_id):
            share_id, secret = shares.add(
                who.org_id,
                shared.target,
                expires_at=wanted.expires_at,
                by=who.ref,
                name=wanted.name,
                with_original=wanted.with_original,
            )
            share = shares.get(who.org_id, share_id)
            note(Action.SHARE_CREATED, f"share:{share_id}", filename=shared.title, link=wanted.name)
    except MakerMayNotWrite as error:
        raise Problem(403, "read_only") from error
    except TooManyLinks:
        return _refuse(shared, _TOO_MANY, 409)
    url = own_address(url_for("shared.show", token=secret))
    if fragments.is_for_program():
        # A link that was made and has run out within this request can't be: it lasts for a day at least.
        return make_response(jsonify({**_json(share), "url": url} if share else {"url": url}), 201)
    return _show(shared, new_link=url, new_share=share)


def _refuse(shared: _Shared, sentence: str, status: int) -> Response:
    if fragments.is_for_program():
        raise Problem(status, "too_many" if status == 409 else None, detail=sentence)
    return _show(shared, error=sentence, status=status)


def _show(
    shared: _Shared,
    *,
    new_link: str | None = None,
    new_share: Share | None = None,
    error: str | None = None,
    status: int = 200,
) -> Response:
    org = org_id()
    with reading(org):
        found = shares.of_target(org, shared.target)
    if fragments.is_for_program():
        return jsonify(shares=[_json(share) for share in found])
    page = render_template(
        "sharing/page.html",
        shared=shared,
        shares=found,
        names=_names(found),
        new_link=new_link,
        new_share=new_share,
        error=error,
        given=request.form,
        days_choices=DAYS_CHOICES,
        days_default=_DAYS_DEFAULT,
        today=utc_now().date(),
        last_day=utc_now().date() + timedelta(days=DAYS_MAX - 1),
    )
    answer = make_response(page, status)
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def _revoke(share_id: UUID) -> Share:
    who = principal()
    with reading(who.org_id):
        share = shares.get(who.org_id, share_id)
    if share is None or not _is_seen(share):
        raise Problem(404)
    title = _titles([share]).get(share_id)
    with transaction(who.org_id):
        if shares.revoke(who.org_id, share_id):
            note(Action.SHARE_REVOKED, f"share:{share_id}", filename=title, link=share.name)
    return share


def _is_seen(share: Share) -> bool:
    """A link to a view that is private to somebody else is revoked by that person, and by ops."""
    who = principal()
    if share.target.view_id is None or who.is_ops:
        return True
    with reading(who.org_id):
        return views.find(who.org_id, share.target.view_id, who.user_id) is not None


def _given() -> dict[str, Any]:
    if not request.is_json:
        given = {name: value for name, value in request.form.items() if name != FIELD and value != ""}
        # The list of days has a line that says: the day below.
        if given.get("days") == "until":
            del given["days"]
        else:
            given.pop("until", None)
        return given
    body: object = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise Problem(422, detail=f"Send a JSON object with: {', '.join(_KNOWN)}.")
    if unknown := sorted(str(name) for name in body.keys() - {*_KNOWN}):
        known = ", ".join(_KNOWN)
        raise Problem(400, "unknown_parameter", detail=f"There is no member “{unknown[0][:100]}”. Known: {known}.")
    return dict(body)


def _wanted(given: Mapping[str, Any]) -> _Wanted:
    """What was asked for; ValueError with a sentence."""
    if given.get("original", False) not in (True, False, "1"):
        raise ValueError(_ORIGINAL)
    if "days" in given and "until" in given:
        raise ValueError(_EITHER)
    ends: Callable[[Mapping[str, Any]], Any] = _until if "until" in given else _after_days
    return _Wanted(ends(given), _name(given.get("name")), given.get("original", False) in (True, "1"))


def _after_days(given: Mapping[str, Any]) -> Any:
    days = given.get("days", _DAYS_DEFAULT)
    if isinstance(days, str) and days.isascii() and days.isdigit() and len(days) < 5:
        days = int(days)
    if not isinstance(days, int) or isinstance(days, bool) or not 1 <= days <= DAYS_MAX:
        raise ValueError(_DAYS)
    return after(days * _SECONDS_PER_DAY)


def _until(given: Mapping[str, Any]) -> datetime:
    """The end of that day, in UTC."""
    try:
        day = date.fromisoformat(str(given["until"]))
    except ValueError as error:
        raise ValueError(_UNTIL) from error
    if not 0 <= (day - utc_now().date()).days < DAYS_MAX:
        raise ValueError(_UNTIL)
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def _name(given: object) -> str | None:
    if given is None:
        return None
    name = " ".join(given.split()) if isinstance(given, str) and is_text(given) else ""
    if not isinstance(given, str) or not is_text(given) or len(name) > NAME_CHARACTERS_MAX:
        raise ValueError(_NAME)
    return name or None


def _titles(found: Sequence[Share]) -> dict[UUID, str]:
    """What each link shows, by name; those of views that the reader does not see are left out."""
    who = principal()
    with reading(who.org_id):
        rows = lookup.rows(who.org_id, [id_ for share in found if (id_ := share.target.document_id)])
        names = {view.id: view.name for view in views.of_reader(who.org_id, who.user_id)}
    names |= {row.document.id: title_of(row.document) for row in rows}
    targets = {share.id: share.target.document_id or share.target.view_id for share in found}
    return {share_id: names[target] for share_id, target in targets.items() if target in names}


def _names(found: Sequence[Share]) -> dict[str, str]:
    with reading(org_id()):
        return actors.names(org_id(), [share.created_by for share in found])


def _json(share: Share) -> dict[str, Any]:
    return {
        "id": share.id,
        "document_id": share.target.document_id,
        "view_id": share.target.view_id,
        "name": share.name,
        "original": share.with_original,
        "created_at": share.created_at,
        "expires_at": share.expires_at,
        "openings": share.openings,
        "last_opened_at": share.last_opened_at,
    }
