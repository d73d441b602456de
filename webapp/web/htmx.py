"""HTMX for the pages: from its CDN or another address, and from this server's own copy.

static/js/load_htmx.js runs exactly one of the two: the copy where the address did not deliver in time, or where
HTMX_URL=local names nothing else.
"""

import logging
from dataclasses import dataclass

from flask import Blueprint, Flask, Response, current_app

from webapp.config import Settings
from webapp.config.htmx import HTMX_LOCAL
from webapp.providers.models.htmx import CDN_URL, INTEGRITY, VERSION, local_copy
from webapp.web.access import public
from webapp.web.errors import Problem

pages = Blueprint("htmx", __name__)

_log = logging.getLogger(__name__)
MISSING = "this server has no copy of HTMX: run `make setup`"


@dataclass(frozen=True)
class Htmx:
    """Where the browser finds HTMX."""

    url: str | None
    """The CDN's or another address; None where only this server's copy is used."""
    integrity: str
    """The hash that the file at `url` must have."""
    copy: bytes | None
    """This server's own copy; None where set-up could not fetch it."""


def init_htmx(app: Flask, settings: Settings) -> None:
    """Read the copy, and tell the templates where HTMX is."""
    found = app.extensions["docmill_htmx"] = _find(settings)
    if not (found.url or found.copy):
        _log.warning("HTMX_URL=local, but %s. Until then pages neither refresh nor filter by themselves.", MISSING)
    app.context_processor(lambda: {"htmx": found})


def _find(settings: Settings) -> Htmx:
    htmx = settings.htmx
    url = None if htmx.url == HTMX_LOCAL else htmx.url or CDN_URL
    # A mirror of the same file needs no hash of its own.
    return Htmx(url, htmx.integrity or INTEGRITY, local_copy(settings.models.dir))


def installed() -> Htmx:
    """What this application's pages use."""
    found: Htmx = current_app.extensions["docmill_htmx"]
    return found


@pages.get(f"/static/htmx-{VERSION}.min.js")
@public
def script() -> Response:
    """This server's own copy. Its address names its version, so browsers may keep it."""
    copy = installed().copy
    if copy is None:
        raise Problem(404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(copy, content_type="text/javascript; charset=utf-8", headers=headers)
