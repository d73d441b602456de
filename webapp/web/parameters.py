"""The parameters of the addresses that programs ask; an unknown one is refused with its name, never ignored."""

from flask import Flask, request

from webapp.web import fragments
from webapp.web.errors import Problem

_LIBRARY = ("q", "folder", "status", "sort", "cursor", "limit")
_LIST = ("cursor", "start", "run")
KNOWN: dict[str, tuple[str, ...]] = {
    "library.index": _LIBRARY,
    "library.listing": _LIBRARY,
    "library.counts": ("q", "folder", "status", "sort"),
    "doubts.show": ("behind", "decided"),
    "fields.show": ("q", "folder", "status", "field", "sort"),
    "fields.download": ("q", "folder", "status", "field", "sort"),
    "fields.workbook": ("q", "folder", "status", "field", "sort"),
    "fields.lines": ("q", "folder", "status", "field", "sort"),
    "answers.show": ("q", "document"),
    "search.show": ("q", "document", "filters", "cursor", "limit"),
    "suggestions.show": ("q",),
    "upload.create": ("language", "bulk"),
    "reprocess.confirm": ("q", "folder", "status"),
    "reprocess.matching": ("q", "folder", "status"),
    "tags.index": ("q",),
    "tags.names": ("add", "tags"),
    "bin.show": ("cursor",),
    "deletion.remove": ("purge",),
    "document.show": ("part", "page", "view", "run", "passage", "words", "q"),
    "document.status": ("view", "wait"),
    "document.chunks": (*_LIST, "passage"),
    "document.parts": _LIST,
    "document.tables": ("edit",),
    "document.reprocess": ("language",),
    "readings.show": _LIST,
    "connections.show": (*_LIST, "kind", "other"),
    "mcp.serve": ("write",),
    "page_view.show": ("passage", "words", "q"),
    "page_view.show_marks": ("of",),
    "picture.page": ("size",),
    "jobs.index": ("q", "status", "stage", "code", "resolution", "cursor"),
    "security.show": ("action", "person", "cursor"),
    "shared.show": ("list", "show", "page", "part"),
    "shared.document": ("show", "page", "part"),
    "sources.show": ("state", "cursor"),
    "throughput.show": ("window",),
    "webhooks.show": ("state", "cursor"),
    "account.sign_in": ("next",),
}
"""By endpoint; all others take none. Browsers are not checked: others add what they like to links to pages."""


def init_parameters(app: Flask) -> None:
    """Check each request of a program before it is answered."""
    app.before_request(_check)


def _check() -> None:
    endpoint = request.endpoint
    if not request.args or endpoint is None or endpoint == "static" or not fragments.is_for_program():
        return
    known = KNOWN.get(endpoint, ())
    for name in request.args:
        if name not in known:
            takes = f"It takes: {', '.join(known)}." if known else "It takes none."
            detail = f"This address has no parameter “{name[:100]}”. {takes}"
            raise Problem(400, "unknown_parameter", detail=detail)
