"""Access: who sends a request, what they may do, and which rows they may see.

A route that says nothing asks for the permission to read, and for that to write where its method may
change something; the decorators here say otherwise. Fetching a row and checking that it is theirs is
one call, and another org's row answers exactly as one that does not exist.
"""

import logging
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from flask import Flask, current_app, g, request

from webapp.accounts import sessions, tokens
from webapp.accounts.roles import Permission, Principal
from webapp.db import reading, transaction
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.documents.model import Document
from webapp.jobs.queue import JobSnapshot
from webapp.library import lookup
from webapp.services import Services
from webapp.web import cookies, csrf
from webapp.web.errors import Problem

_log = logging.getLogger(__name__)
# A later request does it, so none waits for a long write.
_TURN_SECONDS = 0.02

View = TypeVar("View", bound=Callable[..., Any])


class Access(Enum):
    """Who may call a route."""

    PUBLIC = "public"
    """Anybody: signing in, and what monitors ask."""
    READ_OR_WRITE = "read or write"
    """Those who may read; with a method that may change something, those who may write. The default."""
    READ = "read"
    """Those who may read, whatever the method: a question that is sent by POST."""
    WRITE = "write"
    """Those who may write, even for GET: the page that asks before a change."""
    UPLOAD = "upload"
    """Those who may add documents."""
    PERSON = "person"
    """A person of any role: a program's token must not make more tokens."""
    OPS = "ops"
    """The ops of the org, person or program."""
    OPS_PEOPLE = "people of the role ops"
    """A person who is of the ops: no program may make a link that lets somebody in."""
    OPERATOR = "operator"
    """The operators of the installation."""
    METRICS = "metrics"
    """Monitors, and ops."""
    WORKER = "worker"
    """Programs that work off a stage."""


# Why it is refused, by what was asked for. What is not listed says that the role does not include it.
_REASONS = {
    Permission.OPS: "ops_only",
    Permission.OPERATE: "operator_only",
    Permission.WRITE: "read_only",
    Permission.UPLOAD: "no_uploads",
    Permission.WORK: "workers_only",
}
_PERMISSIONS = {
    Access.READ: Permission.READ,
    Access.WRITE: Permission.WRITE,
    Access.UPLOAD: Permission.UPLOAD,
    Access.OPS: Permission.OPS,
    Access.OPS_PEOPLE: Permission.OPS,
    Access.OPERATOR: Permission.OPERATE,
    Access.METRICS: Permission.METRICS,
    Access.WORKER: Permission.WORK,
}


def public(view: View) -> View:
    """Anybody may call this route."""
    return _ruled(view, Access.PUBLIC)


def people_only(view: View) -> View:
    """Only a person may call this route, no program."""
    return _ruled(view, Access.PERSON)


def readers_only(view: View) -> View:
    """Only who may read may call this route, whatever its method."""
    return _ruled(view, Access.READ)


def writers_only(view: View) -> View:
    """Only who may change documents may call this route, even to look."""
    return _ruled(view, Access.WRITE)


def uploaders_only(view: View) -> View:
    """Only who may add documents may call this route."""
    return _ruled(view, Access.UPLOAD)


def ops_only(view: View) -> View:
    """Only the ops of an org may call this route."""
    return _ruled(view, Access.OPS)


def ops_people_only(view: View) -> View:
    """Only a person who is of an org's ops may call this route, no program."""
    return _ruled(view, Access.OPS_PEOPLE)


def operators_only(view: View) -> View:
    """Only the operators of the installation may call this route."""
    return _ruled(view, Access.OPERATOR)


def monitors_only(view: View) -> View:
    """Only monitors and ops may call this route."""
    return _ruled(view, Access.METRICS)


def workers_only(view: View) -> View:
    """Only a program with a token of the role "worker" may call this route."""
    return _ruled(view, Access.WORKER)


def access_of(app: Flask, endpoint: str) -> Access:
    """Who may call the route with this endpoint."""
    if endpoint == "static":
        return Access.PUBLIC
    rule: Access = app.view_functions[endpoint].__dict__.get("docmill_access", Access.READ_OR_WRITE)
    return rule


def init_access(app: Flask) -> None:
    """Put the guard in front of every route."""
    app.before_request(_guard)


def services() -> Services:
    """The settings, the queue and the providers of this application."""
    found: Services = current_app.extensions["docmill"]
    return found


def current_user() -> Principal | None:
    """Who asks: a person by the cookie, a program by its bearer token, or nobody."""
    if "principal" not in g:
        g.principal = _identify()
    found: Principal | None = g.principal
    return found


def principal() -> Principal:
    """Who asks; 401 without valid credentials."""
    found = current_user()
    if found is None:
        raise Problem(401, "token" if _brings_token() else "signed_out")
    return found


def org_id() -> UUID:
    """The org of the person or program that asks."""
    return principal().org_id


def get_document(document_id: UUID) -> Document:
    """The document, if it is the asking org's; else 404."""
    org = org_id()
    with reading(org):
        found = lookup.get(org, document_id)
    if found is None:
        raise Problem(404)
    return found


def get_job(job_id: UUID) -> JobSnapshot:
    """The job, if it is the asking org's; else 404."""
    org = org_id()
    with reading(org):
        found = services().queue.get(job_id)
    # Without row-level security (SQLite) the queue would find any org's job.
    if found is None or found.org_id != org:
        raise Problem(404)
    return found


def _ruled(view: View, rule: Access) -> View:
    view.__dict__["docmill_access"] = rule
    return view


def _guard() -> None:
    # No route matched: the answer is 404 or 405 for everybody.
    if request.endpoint is None:
        return
    rule = access_of(current_app, request.endpoint)
    if rule is not Access.PUBLIC:
        _admit(principal(), rule)
    if csrf.is_unsafe() and not _brings_token():
        csrf.check()


def _admit(who: Principal, rule: Access) -> None:
    if rule in (Access.PERSON, Access.OPS_PEOPLE) and not who.is_person:
        raise Problem(403, "people_only")
    if rule is Access.PERSON:
        return
    needed = _PERMISSIONS.get(rule) or (Permission.WRITE if csrf.is_unsafe() else Permission.READ)
    if not who.may(needed):
        raise Problem(403, _REASONS.get(needed))


def _brings_token() -> bool:
    return request.authorization is not None and request.authorization.type == "bearer"


def _identify() -> Principal | None:
    # With a bearer token only that counts: no cookie is used when it is bad.
    return _program() if _brings_token() else _person()


def _person() -> Principal | None:
    token, settings = cookies.session_token(), services().settings
    if token is None:
        return None
    with reading(everywhere=True):
        found = sessions.find(token, settings.access.session_idle_days, settings.read_lag_seconds)
    if found is None:
        return None
    who = found.principal
    if found.is_use_due and who.session_id:
        _record_use(partial(sessions.record_use, who.org_id, who.session_id, request.remote_addr), who)
    return who


def _program() -> Principal | None:
    text = request.authorization.token if request.authorization else None
    if not text:
        return None
    with reading(everywhere=True):
        found = tokens.find(text, services().settings.read_lag_seconds)
    if found is None:
        return None
    who = found.principal
    if found.is_use_due and who.token_id:
        _record_use(partial(tokens.record_use, who.org_id, who.token_id), who)
    return who


def _record_use(record: Callable[[], None], who: Principal) -> None:
    """Note that it is in use. Where the database can't be written to right now, reading goes on without."""
    try:
        with transaction(who.org_id, turn_seconds=_TURN_SECONDS):
            record()
    except DATABASE_ERRORS as error:
        if trouble_of(error) is None:
            raise
        _log.warning("the use of %s was not recorded: %s", who.ref, type(error).__name__)
