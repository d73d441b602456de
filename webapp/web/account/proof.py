"""Asks a signed-in person to prove once more who they are, before something that outlasts the session."""

from uuid import UUID

from flask import request

from webapp.accounts import sessions, sign_in, throttle, users
from webapp.accounts.audit import Action
from webapp.accounts.roles import Principal
from webapp.db import reading, transaction
from webapp.web.errors import Problem
from webapp.web.security_log import note

FIELD = "current_password"
_WRONG = "This is not your current password."
_MISSING = "Give your password once more: you signed in a while ago."
_USE_A_LINK = (
    "You signed in a while ago and have no password. Ask for a new sign-in link, sign in with it, and try again."
)


def has_password(org_id: UUID, user_id: UUID) -> bool:
    """Whether this person can prove anything by a password."""
    with reading(org_id):
        user = users.get(org_id, user_id)
    return user is not None and user.password_hash is not None


def error_of_proof(who: Principal, *, is_known: bool) -> str | None:
    """What is wrong with the proof, or nothing. `is_known` says that the session is proof enough."""
    if is_known or who.user_id is None or who.session_id is None:
        return None
    if not has_password(who.org_id, who.user_id):
        return _USE_A_LINK
    given = request.form.get(FIELD, "")
    if not given:
        return _MISSING
    if not _is_password(who, who.user_id, given):
        with transaction(who.org_id):
            note(Action.PASSWORD_WRONG)
        return _WRONG
    with transaction(who.org_id):
        sessions.confirm(who.org_id, who.session_id)
    return None


def _is_password(who: Principal, user_id: UUID, given: str) -> bool:
    """Limit the guesses of somebody who found an open browser."""
    counters = throttle.counters_of_person(who.ref)
    wait_seconds = throttle.admit(counters)
    if wait_seconds is not None:
        raise Problem(429, headers={"Retry-After": str(wait_seconds)})
    is_right = sign_in.is_password_of(who.org_id, user_id, given)
    if is_right:
        throttle.forgive(counters)
    return is_right
