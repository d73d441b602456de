"""Forms and HTMX requests prove that they come from our own pages.

Every unsafe request that is not authenticated by a bearer token brings the page's token in the
header X-CSRFToken or in the field `csrf_token`. The header is looked at first: then a body need
not be read to find out. This runs after access was checked, so that what an unknown sender sends is
never parsed.
"""

from flask import Flask, request
from flask_wtf.csrf import ValidationError, generate_csrf, validate_csrf

from webapp.web.errors import Problem

FIELD = "csrf_token"
HEADER = "X-CSRFToken"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def init_csrf(app: Flask) -> None:
    """Make `csrf_token()` known to the templates; a token lasts as long as its session."""
    app.config["WTF_CSRF_TIME_LIMIT"] = None
    app.jinja_env.globals["csrf_token"] = generate_csrf


def is_unsafe() -> bool:
    """Whether this request may change something."""
    return request.method not in _SAFE


def check() -> None:
    """Refuse the request unless it comes from a page of ours."""
    # Browsers say where a request comes from, and no page can make them lie.
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise Problem(403, "cross_site")
    try:
        validate_csrf(request.headers.get(HEADER) or request.form.get(FIELD))
    except ValidationError as error:
        raise Problem(400, "csrf") from error
