"""The cookies: one for the session of somebody who is signed in, one that CSRF tokens are bound to, and one
that tells a browser that somebody signed in with before from one that guesses.

Over https both carry the `__Host-` prefix, which a browser accepts from this very host alone, so
no neighbour on another subdomain can plant one.
"""

import hmac
import secrets
from contextlib import suppress

from flask import Flask, Request, Response, current_app, request
from flask import session as form_session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface

from webapp.accounts.secret_key import secret_key
from webapp.config import Settings
from webapp.db.errors import DATABASE_ERRORS

_SESSION = "docmill_session"
_FORMS = "docmill_forms"
_DEVICE = "docmill_device"
_DEVICE_DAYS = 365
_SECONDS_PER_DAY = 86_400
PROBE_PATHS = frozenset({"/healthz", "/readyz"})


class _FormSessions(SecureCookieSessionInterface):
    """Flask's own signed cookie, which holds nothing but the CSRF secret and flashed messages."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        # Monitors need no session, and must be answered while the database is away.
        if request.path not in PROBE_PATHS:
            with suppress(*DATABASE_ERRORS):
                _agree_on_key(app)
        return super().open_session(app, request)

    def get_cookie_name(self, app: Flask) -> str:
        return _named(_FORMS)

    def get_cookie_secure(self, app: Flask) -> bool:
        return is_https()


def init_cookies(app: Flask, settings: Settings) -> None:
    """Decide cookies' names and flags: by PUBLIC_URL where it says https, else by each request's own scheme."""
    app.config["SESSION_COOKIE_SECURE"] = settings.server.is_public_https
    app.config["SESSION_COOKIE_SAMESITE"] = "Lax"
    app.session_interface = _FormSessions()


def _agree_on_key(app: Flask) -> str:
    """The key that signs: SECRET_KEY, or the one that all web processes have in the database."""
    if not app.secret_key:
        app.secret_key = secret_key(app.config["DOCMILL_SETTINGS"])
    return str(app.secret_key)


def is_https() -> bool:
    """Whether the browser came over https: a proxy may speak http to us without saying what it spoke itself."""
    return request.is_secure or bool(current_app.config["SESSION_COOKIE_SECURE"])


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
        secure=is_https(),
        httponly=True,
        samesite="Lax",
        path="/",
    )


def drop_session(response: Response) -> None:
    """Take the session from the browser."""
    form_session.clear()
    response.delete_cookie(_named(_SESSION), secure=is_https(), httponly=True, samesite="Lax", path="/")


def keep_device(response: Response, email: str) -> None:
    """Let this browser be known as one that this e-mail signed in with. It opens nothing by itself."""
    device = secrets.token_urlsafe(16)
    response.set_cookie(
        _named(_DEVICE),
        f"{device}.{_signature(device, email)}",
        max_age=_DEVICE_DAYS * _SECONDS_PER_DAY,
        secure=is_https(),
        httponly=True,
        samesite="Lax",
        path="/",
    )


def known_device(email: str) -> str | None:
    """The id of this browser, if this e-mail signed in with it before."""
    device, _, signature = request.cookies.get(_named(_DEVICE), "").partition(".")
    known = _signature(device, email).encode()
    return device if device and hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), known) else None


def _signature(device: str, email: str) -> str:
    text = f"device\0{device}\0{email}".encode("utf-8", "surrogatepass")
    return hmac.new(_agree_on_key(current_app).encode(), text, "sha256").hexdigest()


def _named(name: str) -> str:
    return f"__Host-{name}" if is_https() else name
