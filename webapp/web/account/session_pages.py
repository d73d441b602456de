"""Ending one's own sessions: one of them, or all."""

from uuid import UUID

from flask import Blueprint, Response, make_response, redirect, url_for

from webapp.accounts import sessions, users
from webapp.accounts.audit import Action
from webapp.db import transaction
from webapp.web import cookies
from webapp.web.access import people_only, principal
from webapp.web.account.account_view import own_id
from webapp.web.errors import Problem
from webapp.web.security_log import note

pages = Blueprint("sessions", __name__, url_prefix="/account/sessions")


@pages.post("/<uuid:session_id>/end")
@people_only
def end(session_id: UUID) -> Response:
    """End one session of one's own."""
    who = principal()
    with transaction(who.org_id):
        if not sessions.close(who.org_id, session_id, own_id()):
            raise Problem(404)
        note(Action.SESSION_ENDED, f"session:{session_id}")
    return _signed_out() if session_id == who.session_id else make_response(redirect(url_for("account.show"), 303))


@pages.post("/end")
@people_only
def end_all() -> Response:
    """Sign out everywhere: every session ends, this one too, and so does a sign-in link that is still open."""
    who = principal()
    with transaction(who.org_id):
        user = users.get(who.org_id, own_id())
        if user is not None:
            users.end_sessions(user)
        note(Action.SESSIONS_ENDED)
    return _signed_out()


def _signed_out() -> Response:
    response = make_response(redirect(url_for("account.sign_in"), 303))
    cookies.drop_session(response)
    return response
