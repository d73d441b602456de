"""The guarded door: who asks, what they may do, and which rows they may see.

Every route asks for somebody who is signed in, unless it says otherwise with one of the
decorators here. Fetching a row and checking that it is theirs is one call, and another org's row
answers exactly as one that does not exist.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID

from flask import Flask, current_app, g, request

from webapp.accounts import sessions, tokens
from webapp.accounts.roles import Principal
from webapp.db import reading, transaction
from webapp.documents import library
from webapp.documents.model import Document
from webapp.jobs.queue import Job
from webapp.web import cookies, csrf
from webapp.web.errors import Problem
from webapp.wiring import Services

View = TypeVar("View", bound=Callable[..., Any])


class Access(Enum):
    """Who may call a route."""

    PUBLIC = "public"
    """Anybody: signing in, and what monitors ask."""
    SIGNED_IN = "signed in"
    """A person or a program of any role: what a route is when it says nothing."""
    PERSON = "person"
    """A person alone: a program's token must not make more tokens."""
    OPS = "ops"
    """The role ops, person or program."""


def public(view: View) -> View:
    """Anybody may call this route."""
    return _ruled(view, Access.PUBLIC)


def people_only(view: View) -> View:
    """Only a person may call this route, no program."""
    return _ruled(view, Access.PERSON)


def ops_only(view: View) -> View:
    """Only the role ops may call this route."""
    return _ruled(view, Access.OPS)


def access_of(app: Flask, endpoint: str) -> Access:
    """Who may call the route with this endpoint."""
    if endpoint == "static":
        return Access.PUBLIC
    rule: Access = app.view_functions[endpoint].__dict__.get("docmill_access", Access.SIGNED_IN)
    return rule


def init_access(app: Flask) -> None:
    """Put the guard in front of every route."""
    app.before_request(_guard)


def services() -> Services:
    """What the rooms below work with."""
    found: Services = current_app.extensions["docmill"]
    return found


def current_user() -> Principal | None:
    """Who asks: a person by the cookie, a program by its bearer token, or nobody."""
    if "principal" not in g:
        g.principal = _identify()
    found: Principal | None = g.principal
    return found


def principal() -> Principal:
    """Who asks; without credentials that hold the request ends here, with 401."""
    found = current_user()
    if found is None:
        raise Problem(401, "token" if _brings_token() else "signed_out")
    return found


def org_id() -> UUID:
    """The org of whoever asks."""
    return principal().org_id


def get_document(document_id: UUID) -> Document:
    """The document, if the org of whoever asks has it; else 404."""
    org = org_id()
    with reading(org):
        found = library.get(org, document_id)
    if found is None:
        raise Problem(404)
    return found


def get_job(job_id: UUID) -> Job:
    """The job, if it is one of their org's; else 404."""
    org = org_id()
    with reading(org):
        found = services().queue.get(job_id)
    # Where no row-level security stands behind it, the queue would find any org's job.
    if found is None or found.org_id != org:
        raise Problem(404)
    return found


def _ruled(view: View, rule: Access) -> View:
    view.__dict__["docmill_access"] = rule
    return view


def _guard() -> None:
    # No route matched: the answer is 404 or 405, whoever asks.
    if request.endpoint is None:
        return
    rule = access_of(current_app, request.endpoint)
    if rule is not Access.PUBLIC:
        _admit(principal(), rule)
    if csrf.is_unsafe() and not _brings_token():
        csrf.check()


def _admit(who: Principal, rule: Access) -> None:
    if rule is Access.OPS and not who.is_ops:
        raise Problem(403, "ops_only")
    if rule is Access.PERSON and not who.is_person:
        raise Problem(403, "people_only")


def _brings_token() -> bool:
    return request.authorization is not None and request.authorization.type == "bearer"


def _identify() -> Principal | None:
    # Whoever brings a token is that token and nothing else: no cookie steps in when it is bad.
    if _brings_token():
        return _program()
    token = cookies.session_token()
    if token is None:
        return None
    with reading(everywhere=True):
        return sessions.find(token)


def _program() -> Principal | None:
    text = request.authorization.token if request.authorization else None
    if not text:
        return None
    with reading(everywhere=True):
        found = tokens.find(text)
    if found is None:
        return None
    if found.is_use_due and found.principal.token_id:
        with transaction(found.principal.org_id):
            tokens.record_use(found.principal.org_id, found.principal.token_id)
    return found.principal
