"""The HTTP room: pages for people, JSON for programs, and who may see what."""

from datetime import datetime
from typing import Any

from flask import Flask
from flask.json.provider import DefaultJSONProvider

from webapp.accounts.throttle import SignInThrottle
from webapp.config import Settings
from webapp.web import (
    account_pages,
    audio_pages,
    commands,
    connection_pages,
    document_pages,
    formatting,
    health,
    library_pages,
    ops_pages,
    picture_pages,
    reprocess_pages,
    search_pages,
    stage_pages,
    upload_pages,
)
from webapp.web.access import init_access
from webapp.web.assets import init_assets
from webapp.web.cookies import init_cookies
from webapp.web.csrf import init_csrf
from webapp.web.errors import init_errors
from webapp.web.fragments import init_fragments
from webapp.web.metrics import init_metrics
from webapp.web.security import init_security
from webapp.web.uploads import init_uploads

_PAGES = (
    account_pages,
    audio_pages,
    connection_pages,
    document_pages,
    health,
    library_pages,
    ops_pages,
    picture_pages,
    reprocess_pages,
    search_pages,
    stage_pages,
    upload_pages,
)


def register_pages(app: Flask, settings: Settings) -> None:
    """Everything that answers HTTP, and the commands. What comes first sees a request first."""
    app.json = _Json(app)
    app.extensions["docmill_sign_in_throttle"] = SignInThrottle()
    init_errors(app)
    init_cookies(app)
    init_csrf(app)
    init_metrics(app)
    init_security(app, settings)
    init_access(app)
    init_uploads(app)
    init_fragments(app)
    init_assets(app)
    formatting.register(app)
    for module in _PAGES:
        app.register_blueprint(module.pages)
    commands.register(app)


class _Json(DefaultJSONProvider):
    """Times as RFC 3339 in UTC, which every language reads; texts as they are."""

    ensure_ascii = False
    sort_keys = False

    @staticmethod
    def default(value: Any) -> Any:
        """What JSON has no type for."""
        if isinstance(value, datetime):
            return value.isoformat()
        return DefaultJSONProvider.default(value)
