"""Every error in one voice: a page for a person, a message for HTMX, RFC 9457 for a program.

A view raises `Problem` (or anything of Werkzeug's) and this module finds the words. What nobody
foresaw is logged under a reference that the answer shows; the answer itself tells nothing else.
"""

import logging
import secrets
from collections.abc import Mapping
from typing import Any

from flask import Flask, Response, current_app, g, jsonify, make_response, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException, SecurityError

from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.provider_errors import Busy, FailureCode, ProviderUnavailable
from webapp.web import fragments
from webapp.web.safe_paths import own_path

_log = logging.getLogger(__name__)
_RETRY_AFTER_SECONDS = "5"
# A page is drawn in less.
_FREE_AFTER_SECONDS = "1"

_NO_SPACE = ("There is no room left", "Nothing can be stored until the person who runs Docmill makes some room.")
# Title and detail by reason, else by status.
_SENTENCES: Mapping[str | int, tuple[str, str]] = {
    400: ("That request could not be understood", "Something in it is missing or malformed."),
    "csrf": ("This page was open for too long", "Nothing was changed. Go back, reload the page and try again."),
    "host": ("Nothing is served under this address", "Its host is not among the TRUSTED_HOSTS of this installation."),
    401: ("Please sign in", "You need to be signed in to see this."),
    "signed_out": ("Please sign in", "Sign in, or send an API token as “Authorization: Bearer …”."),
    "token": ("This token is not valid", "It is unknown, was revoked or has expired. Create a new one."),
    403: ("Not allowed", "Your role does not include this."),
    "cross_site": ("Not allowed", "The request came from another site, so nothing was changed."),
    "ops_only": ("Only for operations", "This page is for the role “ops”. Ask the person who runs Docmill for access."),
    "operator_only": (
        "Only for operators",
        "This holds for the whole installation, so it takes the role “operator”. Ask the person who runs Docmill.",
    ),
    "read_only": ("You may only read", "Your role or your token does not allow changes, so nothing was changed."),
    "no_uploads": ("You may not upload", "Your role or your token does not allow uploads, so nothing was stored."),
    "workers_only": (
        "Only for workers",
        "This is for programs that work off a stage: create a token with “flask tokens create --role worker”.",
    ),
    "people_only": ("Only for people", "A program cannot do this with its token: sign in with a browser."),
    "share": (
        "This link does not work",
        "It has expired, was revoked, or what it showed is gone. Ask the person who gave it to you for a new one.",
    ),
    "sharing_off": ("Links are switched off", "On this installation nothing can be shared by a link (SHARING=off)."),
    404: ("Not found", "There is nothing under this address, or it was deleted."),
    "unknown_parameter": (
        "That request could not be understood",
        "It has a parameter that is unknown here.",
    ),
    "query": ("This search could not be understood", "Something in it is not as it should be."),
    "no_words": (
        "There is no searchable PDF of this document",
        "OCR read none of its pages on this machine. If an earlier version did, choose Reprocess first.",
    ),
    "not_searchable": (
        "The searchable PDF could not be made",
        "The file is too large or too damaged for it. Its text and the original can be downloaded.",
    ),
    405: ("Not possible here", "This address does not support that method."),
    "replaced": (
        "This document was processed again meanwhile",
        "The part that you asked for belongs to an earlier result, which is gone. Begin again with the new one.",
    ),
    "found_anew": ("This was read again meanwhile", "Another value was found. Look at it again."),
    "name_occurs_twice": ("The name occurs more than once", "Name the field by its number."),
    409: ("Not possible right now", "The present state of things does not allow it."),
    "lease_lost": (
        "The lease has ended",
        "The job was taken back, ended or claimed by another worker. Nothing was written: drop it.",
    ),
    "cancelled": ("The run was cancelled", "A person ended it. Nothing was written: drop the job."),
    "timed_out": ("The run exceeded its time limit", "It has ended. Nothing was written: drop the job."),
    413: ("That is too large", "The request is larger than this installation accepts."),
    415: ("This kind of content is not accepted", "Send it in another format."),
    422: ("Something needs to be corrected", "Some of the values that were sent cannot be used."),
    "other_request": (
        "This idempotency key was used for another request",
        "Nothing was done. Choose a new key for each request; send the same one only to repeat a request.",
    ),
    "under_way": ("The first request with this idempotency key is still under way", "Ask again in a moment."),
    "cut_off": (
        "The first request with this idempotency key was cut off",
        "It may have been done. Look, and choose a new key if it was not.",
    ),
    "too_many_files": ("Too many files at once", "Nothing was stored. Send fewer files at a time."),
    "rate_requests": (
        "Too many requests",
        "You or your organisation sent more requests than allowed. Wait a moment, then try again.",
    ),
    "rate_polls": ("Too many requests", "Too many pages are open at once. Close some, and reload this one."),
    "rate_links": ("Too many requests", "Too many came from your network. Wait a moment, then try again."),
    "rate_uploads": ("Too many uploads", "Too many were sent in a short time. Wait a moment, then try again."),
    "rate_searches": ("Too many searches", "Too many were made in a short time. Wait a moment, then try again."),
    "rate_reprocess": (
        "Too many documents reprocessed",
        "Your organisation has reached its limit of documents reprocessed in an hour. Try again later.",
    ),
    429: ("Too many attempts", "Wait a little, then try again."),
    "uploads_of_org": (
        "Too many uploads at once",
        "Your organisation is already sending as many uploads as it may at once. Try again in a few seconds.",
    ),
    "uploads_of_all": (
        "Too many uploads at once",
        "The server is receiving as many uploads as it can. Try again in a few seconds.",
    ),
    "downloads_of_org": (
        "Too many downloads at once",
        "Your organisation is already fetching as many large files as it may at once. Try again in a few seconds.",
    ),
    "downloads_of_links": (
        "Too many downloads at once",
        "Other large files are being fetched by links at this moment. Try again in a few seconds.",
    ),
    "downloads_of_all": (
        "Too many downloads at once",
        "The server is sending as many large files as it can. Try again in a few seconds.",
    ),
    500: ("Something went wrong", "The fault is ours. It was recorded under the reference; please try again."),
    "database_away": (
        "The database does not answer right now",
        "What was stored is safe. Try again in a moment: the same file sent twice makes one document.",
    ),
    "database_busy": ("Docmill is very busy right now", "It could not be done in time. Try again in a moment."),
    "drawing": ("Many pages are being drawn", "Each has to wait for its turn. Try again in a moment."),
    "database_full": _NO_SPACE,
    "storage_full": _NO_SPACE,
    "storage_unavailable": _NO_SPACE,
    503: ("Docmill is not available right now", "A part that it needs does not answer. Try again in a moment."),
}


class Problem(HTTPException):
    """An error with a status, perhaps a finer reason, its own words, where to go on, and more members for programs."""

    def __init__(
        self,
        status: int,
        reason: str | None = None,
        *,
        title: str | None = None,
        detail: str | None = None,
        headers: Mapping[str, str] | None = None,
        link: str | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.code = status
        self.reason = reason
        self.title = title
        self.detail = detail
        self.headers = dict(headers or {})
        self.link = link
        self.members = dict(members or {})


def init_errors(app: Flask) -> None:
    """Answer every error from here."""
    app.register_error_handler(HTTPException, _on_http_error)
    app.register_error_handler(ProviderUnavailable, _on_unavailable)
    app.register_error_handler(Busy, _on_busy)
    for kind in DATABASE_ERRORS:
        app.register_error_handler(kind, _on_database_error)
    app.register_error_handler(Exception, _on_unexpected)


def answer_problem(problem: Problem) -> Response:
    """The answer to a problem, in the form that was asked for."""
    return _answer(problem)


def _on_http_error(error: HTTPException) -> Response:
    if isinstance(error, SecurityError):
        return _plain(*_SENTENCES["host"])
    if error.code is None or error.code < 400:
        return _as_response(error)
    problem = error if isinstance(error, Problem) else Problem(error.code)
    if problem.code == 401:
        return _ask_to_sign_in(problem)
    answer = _answer(problem)
    _copy_headers(error, answer)
    return answer


def _on_unavailable(error: Exception) -> Response:
    _log.error("503 %s: %s on %s %r", _reference(), type(error).__name__, request.method, _where(), exc_info=error)
    is_full = isinstance(error, ProviderUnavailable) and error.code is FailureCode.STORAGE_FULL
    return _answer(Problem(503, "storage_full" if is_full else None, headers={"Retry-After": _RETRY_AFTER_SECONDS}))


def _on_busy(_: Exception) -> Response:
    """Nothing is wrong, so nothing is logged."""
    return _answer(Problem(503, "drawing", headers={"Retry-After": _FREE_AFTER_SECONDS}))


def _on_database_error(error: Exception) -> Response:
    """Temporary errors of the database are answered with 503; all others are bugs of ours."""
    trouble = trouble_of(error)
    if trouble is None:
        return _on_unexpected(error)
    _log.warning("503 %s: database %s (%s) on %s %r", _reference(), trouble, _kind(error), request.method, _where())
    return _answer(Problem(503, f"database_{trouble}", headers={"Retry-After": _RETRY_AFTER_SECONDS}))


def _where() -> str:
    """The path for the log, quoted, so that nobody can write a line of their own. A path that is a key is left out."""
    if request.url_rule is not None and "token" in (request.view_args or {}):
        return request.url_rule.rule
    return request.path


def _kind(error: Exception) -> str:
    return type(getattr(error, "orig", None) or error).__name__


def _on_unexpected(error: Exception) -> Response:
    if current_app.testing:
        raise error
    _log.error("500 %s on %s %r", _reference(), request.method, _where(), exc_info=error)
    return _answer(Problem(500))


def _answer(problem: Problem) -> Response:
    status = problem.code or 500
    if status >= 500:
        # Who asks may be what could not be found out: an error page must not stumble over it again.
        g.setdefault("principal", None)
    shown = _shown(problem, status)
    if fragments.wants_fragment():
        answer = fragments.into_messages(make_response(render_template("errors/_message.html", **shown)))
    elif _is_for_program():
        answer = _as_json(problem, shown)
    else:
        answer = make_response(render_template("errors/page.html", **shown))
    answer.status_code = status
    answer.headers.update(problem.headers)
    return answer


def _shown(problem: Problem, status: int) -> dict[str, Any]:
    title, detail = _SENTENCES.get(problem.reason or status) or _SENTENCES.get(status) or _SENTENCES[400]
    return {
        "status": status,
        "title": problem.title or title,
        "detail": problem.detail or detail,
        "reference": _reference() if status >= 500 else None,
        "link": problem.link,
    }


def _as_json(problem: Problem, shown: dict[str, Any]) -> Response:
    body = {"type": "about:blank", **{name: value for name, value in shown.items() if value is not None}}
    if problem.reason:
        body["reason"] = problem.reason
    answer = jsonify({**body, **problem.members})
    answer.mimetype = "application/problem+json"
    return answer


def _ask_to_sign_in(problem: Problem) -> Response:
    """A browser goes to the sign-in page and comes back; a program is told what it lacks."""
    if fragments.wants_fragment():
        sign_in = url_for("account.sign_in", next=own_path(fragments.current_url()))
        return fragments.leave_for(_answer(problem), sign_in)
    if _is_for_program():
        answer = _answer(problem)
        failure = ', error="invalid_token"' if problem.reason == "token" else ""
        answer.headers["WWW-Authenticate"] = f'Bearer realm="docmill"{failure}'
        return answer
    came_from = own_path(request.full_path.removesuffix("?")) if request.method == "GET" else None
    return _as_response(redirect(url_for("account.sign_in", next=came_from), 303))


def _is_for_program() -> bool:
    """Whether a browser asks: every browser names text/html; a program may accept anything."""
    accepted = request.accept_mimetypes
    return fragments.is_for_program() or accepted.quality("text/html") == accepted.quality("application/json")


def _reference() -> str:
    if "reference" not in g:
        g.reference = secrets.token_hex(6)
    found: str = g.reference
    return found


def _copy_headers(error: HTTPException, answer: Response) -> None:
    """Keep what Werkzeug says beside its text: Allow, Retry-After."""
    for name, value in error.get_headers():
        if name.lower() not in {"content-type", "content-length"}:
            answer.headers.setdefault(name, value)


def _plain(title: str, detail: str) -> Response:
    """For requests under a foreign host: no address of ours can be built for a page."""
    return Response(f"{title}. {detail}\n", 400, mimetype="text/plain")


def _as_response(answer: Any) -> Response:
    return make_response(answer)
