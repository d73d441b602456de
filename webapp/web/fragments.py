"""Page, fragment or JSON: who gets what from one URL. The only module that reads or writes HTMX's headers."""

from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, Response, jsonify, make_response, render_template, request

_VARY = ("HX-Request", "Accept")


def init_fragments(app: Flask) -> None:
    """Caches keep what one URL answers apart, by what it was asked for."""
    app.after_request(_vary)


def wants_fragment() -> bool:
    """HTMX asks, and will swap the answer into a page; a page from the history is wanted whole."""
    return _header("HX-Request") and not _header("HX-History-Restore-Request") and not _header("HX-Boosted")


def is_for_program() -> bool:
    """JSON is liked better than HTML; where both are equal, a request with a token is a program."""
    accepted = request.accept_mimetypes
    html = accepted.quality("text/html")
    json = max(accepted.quality("application/json"), accepted.quality("application/problem+json"))
    if html == json:
        return request.authorization is not None and request.authorization.type == "bearer"
    return bool(json > html)


def current_url() -> str | None:
    """The page that HTMX asks from."""
    return request.headers.get("HX-Current-URL")


def answer(*, page: str, fragment: str, data: Callable[[], Any], **context: Any) -> Response:
    """Answer with the same content: `data` as JSON, or a template with this context."""
    if is_for_program():
        return jsonify(data())
    return make_response(render_template(fragment if wants_fragment() else page, **context))


def trigger(response: Response, event: str) -> Response:
    """Let an event happen in the page when this answer arrives there."""
    response.headers["HX-Trigger"] = event
    return response


def into_messages(response: Response) -> Response:
    """Let this answer take the place of the page's messages, whatever element asked."""
    response.headers.update({"HX-Retarget": "#flashes", "HX-Reswap": "innerHTML", "HX-Reselect": ".flash"})
    return response


def invalid(response: Response, target: str, status: int = 422) -> Response:
    """What was sent can't be used: the answer says so, and takes the place of the element that would have changed."""
    response.status_code = status
    response.headers.update({"HX-Retarget": target, "HX-Reswap": "outerHTML", "HX-Reselect": target})
    return response


def leave_for(response: Response, url: str) -> Response:
    """Let the whole page go to another address."""
    response.headers["HX-Redirect"] = url
    return response


def replacing(template: str, **context: Any) -> Response:
    """A fragment for HTMX alone."""
    return make_response(render_template(template, **context))


def without(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The query of a link: parameters that have no value are left out."""
    return {name: value for name, value in arguments.items() if value not in (None, "")}


def _header(name: str) -> bool:
    return request.headers.get(name) == "true"


def _vary(response: Response) -> Response:
    if request.endpoint != "static":
        response.vary.update(_VARY)
    return response
