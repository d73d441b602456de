"""The cookies: one for the session of somebody who is signed in, one that CSRF tokens are bound to.

Over https both carry the `__Host-` prefix, which a browser accepts from this very host alone, so
no neighbour on another subdomain can plant one.
"""

from flask import Flask, Response, request
from flask import session as form_session
from flask.sessions import SecureCookieSessionInterface

_SESSION = "docmill_session"
_FORMS = "docmill_forms"
_SECONDS_PER_DAY = 86_400


class _FormSessions(SecureCookieSessionInterface):
    """Flask's own signed cookie, which holds nothing but the CSRF secret and flashed messages."""

    def get_cookie_name(self, app: Flask) -> str:
        return _named(_FORMS)

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure


def init_cookies(app: Flask) -> None:
    """Decide cookies' names and flags by each request's own scheme."""
    app.config["SESSION_COOKIE_SAMESITE"] = "Lax"
    app.session_interface = _FormSessions()


def session_token() -> str | None:
    """The token that the browser brought."""
    return request.cookies.get(_named(_SESSION))


def keep_session(response: Response, token: str, days: int) -> None:
    """Give the browser a new session; whatever a page remembered for the one before is gone."""
    form_session.clear()
    response.set_cookie(
        _named(_SESSION),
        token,
        max_age=days * _SECONDS_PER_DAY,
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
        path="/",
    )


def drop_session(response: Response) -> None:
    """Take the session from the browser."""
    form_session.clear()
    response.delete_cookie(_named(_SESSION), secure=request.is_secure, httponly=True, samesite="Lax", path="/")


def _named(name: str) -> str:
    return f"__Host-{name}" if request.is_secure else name
