"""GET /people: the people of an org, for its ops: invited, given roles, deactivated, and links for their passwords.

A link that lets somebody in is made by a person alone, who has just proved who they are, and is in one answer only.
Programs list people, change their roles and deactivate them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts import people
from webapp.accounts.audit import Action
from webapp.accounts.model import User
from webapp.accounts.people import Listed, PersonRefused, Refusal
from webapp.accounts.roles import PEOPLE_ROLES, Role
from webapp.accounts.users import BadEmail, EmailTaken
from webapp.db import reading, transaction
from webapp.library import shares
from webapp.web import fragments
from webapp.web.access import ops_only, ops_people_only, org_id, principal, services
from webapp.web.account import proof
from webapp.web.errors import Problem
from webapp.web.exposure import is_loopback
from webapp.web.own_address import own_address
from webapp.web.security_log import note

pages = Blueprint("people", __name__, url_prefix="/people")

_SECONDS_PER_DAY = 86_400
_EMAIL_LENGTH_MAX = 254
_EMAIL = "Give an e-mail address, such as name@example.org."
_TAKEN = "Somebody of your organisation has this e-mail already: find them in the list."
_ROLE = f"role must be one of: {', '.join(role.value for role in PEOPLE_ROLES)}."
_BODY = 'Send a JSON object with role or active, as in {"role": "viewer"} or {"active": false}.'
_SENTENCES = {
    Refusal.ABOVE: "Only a person with the role Operator gives that role, or changes those who have it.",
    Refusal.SELF: "Somebody else has to do this: nobody changes their own role or deactivates themselves.",
    Refusal.LAST_OPS: "Nobody else could look after the organisation. Give another person the role Operations first.",
    Refusal.DISABLED: "This person is deactivated. Reactivate them first.",
    Refusal.HAS_SIGNED_IN: "This person has accepted the invitation. Deactivate them instead.",
}


@dataclass(frozen=True)
class _Shown:
    """What the page shows beside the list."""

    new_link: str | None = None
    link_for: Listed | None = None
    refusal: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    open_id: UUID | None = None
    """The person whose form is open."""


@pages.get("")
@ops_only
def index() -> Response:
    """Everybody in the org, with role, state and last sign-in."""
    if not fragments.is_for_program():
        return _page(_Shown())
    with reading(org_id()):
        found = people.of_org(org_id())
    return jsonify(people=[_json(each) for each in found])


@pages.post("")
@ops_people_only
def invite() -> Response:
    """Invite somebody: the link is in this answer and nowhere else, so the answer is the page itself."""
    who = principal()
    email, role = request.form.get("email", "").strip()[:_EMAIL_LENGTH_MAX], _role(request.form.get("role"))
    if unproven := _unproven():
        return _page(_Shown(errors={proof.FIELD: unproven}), 422)
    try:
        with transaction(who.org_id):
            user, token = people.invite(who, email, role, _invitation_seconds())
            note(Action.USER_INVITED, f"user:{user.id}", email=user.email, role=role.value)
    except (BadEmail, EmailTaken) as error:
        return _page(_Shown(errors={"email": _TAKEN if isinstance(error, EmailTaken) else _EMAIL}), 422)
    except PersonRefused as refused:
        return _page(_Shown(errors={"role": _SENTENCES[refused.why]}), 422)
    return _page_with_link(user.id, token)


@pages.post("/<uuid:user_id>/link")
@ops_people_only
def make_link(user_id: UUID) -> Response:
    """A new link for an invitation, or for a forgotten password; an earlier one ends."""
    who, ends_all = principal(), "end_all" in request.form
    _found(user_id)
    if unproven := _unproven():
        return _page(_Shown(errors={f"link-proof-{user_id}": unproven}, open_id=user_id), 422)
    try:
        with transaction(who.org_id):
            user = _locked(user_id).user
            token = people.make_link(who, user, _invitation_seconds(), ends_all=ends_all)
            if ends_all:
                ended = shares.revoke_all_by(who.org_id, user_id)
                note(Action.USER_RESET, f"user:{user_id}", email=user.email, links_ended=ended)
            note(Action.PASSWORD_LINK_CREATED, f"user:{user_id}", email=user.email)
    except PersonRefused as refused:
        return _page(_Shown(refusal=_SENTENCES[refused.why]), 409)
    return _page_with_link(user_id, token)


@pages.patch("/<uuid:user_id>")
@ops_only
def change(user_id: UUID) -> Response:
    """Another role, or the end of somebody's access, for programs."""
    _found(user_id)
    given: object = request.get_json(silent=True) if request.is_json else None
    if not isinstance(given, dict) or not given:
        raise Problem(422, detail=_BODY)
    if unknown := sorted(str(name) for name in given.keys() - {"role", "active"}):
        raise Problem(400, "unknown_parameter", detail=f"There is no member “{unknown[0][:100]}”. Known: active, role.")
    if not isinstance(given.get("active", True), bool):
        raise Problem(422, detail="active must be true or false.")
    role = _role(given["role"]) if "role" in given else None
    if role is not None and (unproven := _unproven()):
        raise Problem(403, "stale_sign_in", title="This was not changed", detail=unproven)
    try:
        with transaction(org_id()):
            user = _locked(user_id).user
            if role is not None:
                _change_role(user, role)
            if "active" in given:
                _set_active(user, is_active=given["active"])
    except PersonRefused as refused:
        raise _problem(refused) from refused
    return jsonify(_json(_found(user_id)))


@pages.post("/<uuid:user_id>/role")
@ops_people_only
def give_role(user_id: UUID) -> Response:
    """Another role, from a form."""
    _found(user_id)
    role = _role(request.form.get("role"))
    if unproven := _unproven():
        return _page(_Shown(errors={f"role-proof-{user_id}": unproven}, open_id=user_id), 422)
    return _done(user_id, lambda user: _change_role(user, role))


@pages.post("/<uuid:user_id>/deactivate")
@ops_people_only
def deactivate(user_id: UUID) -> Response:
    """The end of somebody's access, from a form."""
    return _done(user_id, lambda user: _set_active(user, is_active=False))


@pages.post("/<uuid:user_id>/reactivate")
@ops_people_only
def reactivate(user_id: UUID) -> Response:
    """Access again, from a form."""
    return _done(user_id, lambda user: _set_active(user, is_active=True))


@pages.delete("/<uuid:user_id>")
@ops_only
def remove(user_id: UUID) -> Response:
    """Withdraw an invitation that nobody has accepted."""
    try:
        with transaction(org_id()):
            _withdraw(_locked(user_id).user)
    except PersonRefused as refused:
        raise _problem(refused) from refused
    return Response(status=204)


@pages.post("/<uuid:user_id>/withdraw")
@ops_people_only
def withdraw(user_id: UUID) -> Response:
    """The same for browsers, whose forms know no DELETE."""
    return _done(user_id, _withdraw)


def _change_role(user: User, role: Role) -> None:
    if user.role == role:
        return
    before = user.role
    people.change_role(principal(), user, role)
    ended = shares.revoke_all_by(user.org_id, user.id) if role is Role.VIEWER else None
    note(Action.ROLE_CHANGED, f"user:{user.id}", email=user.email, before=before, role=role.value, links_ended=ended)


def _set_active(user: User, *, is_active: bool) -> None:
    if is_active == (user.disabled_at is None):
        return
    act, action = (people.reactivate, Action.USER_ENABLED) if is_active else (people.deactivate, Action.USER_DISABLED)
    act(principal(), user)
    ended = None if is_active else shares.revoke_all_by(user.org_id, user.id)
    note(action, f"user:{user.id}", email=user.email, links_ended=ended)


def _withdraw(user: User) -> None:
    people.withdraw(principal(), user)
    note(Action.INVITATION_WITHDRAWN, f"user:{user.id}", email=user.email)


def _done(user_id: UUID, act: Callable[[User], None]) -> Response:
    """Do it and go back to the page; what is refused is said there."""
    try:
        with transaction(org_id()):
            user = _locked(user_id).user
            act(user)
    except PersonRefused as refused:
        return _page(_Shown(refusal=_SENTENCES[refused.why]), 409)
    flash(render_template("people/_changed.txt", email=user.email).strip(), "success")
    return make_response(redirect(url_for("people.index"), 303))


def _locked(user_id: UUID) -> Listed:
    """The person, inside of a transaction that no other change of the org's people comes between."""
    people.one_at_a_time(org_id())
    found = people.get(org_id(), user_id)
    if found is None:
        raise Problem(404)
    return found


def _found(user_id: UUID) -> Listed:
    with reading(org_id()):
        found = people.get(org_id(), user_id)
    if found is None:
        raise Problem(404)
    return found


def _unproven() -> str | None:
    who = principal()
    return proof.error_of_proof(who, is_known=who.is_fresh)


def _role(word: object) -> Role:
    if word not in {role.value for role in PEOPLE_ROLES}:
        raise Problem(422, detail=_ROLE)
    return Role(str(word))


def _invitation_seconds() -> float:
    return services().settings.access.invitation_days * _SECONDS_PER_DAY


def _problem(refused: PersonRefused) -> Problem:
    status = 403 if refused.why is Refusal.ABOVE else 409
    return Problem(status, refused.why.value, title="This was not changed", detail=_SENTENCES[refused.why])


def _page_with_link(user_id: UUID, token: str) -> Response:
    link = own_address(url_for("account.sign_in_link", token=token))
    return _page(_Shown(new_link=link, link_for=_found(user_id)))


def _page(shown: _Shown, status: int = 200) -> Response:
    who, server = principal(), services().settings.server
    with reading(who.org_id):
        found = people.of_org(who.org_id)
    has_password = who.user_id is not None and proof.has_password(who.org_id, who.user_id)
    page = render_template(
        "people/page.html",
        people=found,
        shown=shown,
        errors=shown.errors,
        given=request.form,
        roles=people.may_give(who),
        is_operator=who.role is Role.OPERATOR,
        own_id=who.user_id,
        asks_password=has_password and not who.is_fresh,
        asks_link=not has_password and not who.is_fresh,
        is_alone=is_loopback(server.host) and not server.public_url,
        invitation_days=services().settings.access.invitation_days,
    )
    answer = make_response(page, status)
    # A link on the page goes nowhere but to who made it.
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def _json(each: Listed) -> dict[str, Any]:
    user = each.user
    return {
        "id": user.id,
        "email": user.email,
        "role": user.role,
        "state": each.state.value,
        "has_password": user.password_hash is not None,
        "created_at": user.created_at,
        "disabled_at": user.disabled_at,
        "last_signed_in_at": user.last_signed_in_at,
        "link_expires_at": each.link_until,
    }
