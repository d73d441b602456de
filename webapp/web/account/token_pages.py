"""API tokens: a person makes them and ends them, each from their account page."""

from uuid import UUID

from flask import Blueprint, Response, make_response, redirect, request, url_for

from webapp.accounts import tokens
from webapp.accounts.audit import Action
from webapp.accounts.roles import Principal, Scope
from webapp.clock import new_id
from webapp.db import transaction
from webapp.library import shares
from webapp.web.access import people_only, principal
from webapp.web.account.account_view import DAYS_CHOICES, DAYS_DEFAULT, account_page
from webapp.web.account.proof import FIELD, error_of_proof
from webapp.web.errors import Problem
from webapp.web.security_log import note

pages = Blueprint("tokens", __name__, url_prefix="/account/tokens")

_NAME = f"Give it a name of up to {tokens.NAME_LENGTH_MAX} characters."
_SCOPE = "You cannot give this scope: it is more than your own role allows."
_DAYS = "Choose one of the end dates."


@pages.post("")
@people_only
def create() -> Response:
    """A new token. It is in this answer and nowhere else, so the answer is the page itself."""
    who = principal()
    name, scope, days = _name(), request.form.get("scope") or _usual_scope(who), request.form.get("days")
    errors = _errors(who, name, scope, days)
    if not errors:
        unproven = error_of_proof(who, is_known=who.is_fresh)
        errors = {FIELD: unproven} if unproven else {}
    if errors:
        return account_page(errors=errors)
    days_left = (int(days) if days else DAYS_DEFAULT) or None
    token_id = new_id()
    with transaction(who.org_id):
        text = tokens.create(who.org_id, name, Scope(scope), owner_id=who.user_id, days=days_left, token_id=token_id)
        note(Action.TOKEN_CREATED, f"token:{token_id}", name=name, scope=scope, days=days_left)
    return account_page(new_token=text)


@pages.post("/<uuid:token_id>/revoke")
@people_only
def revoke(token_id: UUID) -> Response:
    """End a token: one's own, or for ops any of the org."""
    who = principal()
    with transaction(who.org_id):
        token = tokens.get(who.org_id, token_id)
        if token is None or not (who.is_ops or token.user_id == who.user_id):
            raise Problem(404)
        if token.revoked_at is None:
            tokens.revoke(who.org_id, token_id)
            ended = shares.revoke_all_by_token(who.org_id, token_id)
            note(Action.TOKEN_REVOKED, f"token:{token_id}", name=token.name, scope=token.scope, links_ended=ended)
    return make_response(redirect(url_for("account.show"), 303))


def _name() -> str:
    return request.form.get("name", "").strip()


def _usual_scope(who: Principal) -> str:
    """What most tokens are for, where nothing was chosen."""
    return (Scope.WRITE if Scope.WRITE in who.may_give else Scope.READ).value


def _errors(who: Principal, name: str, scope: str, days: str | None) -> dict[str, str]:
    errors = {}
    if not name or len(name) > tokens.NAME_LENGTH_MAX or not name.isprintable():
        errors["name"] = _NAME
    if scope not in who.may_give:
        errors["scope"] = _SCOPE
    if days and days not in {str(choice) for choice in DAYS_CHOICES}:
        errors["days"] = _DAYS
    return errors
