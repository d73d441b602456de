"""For monitors: is the process alive, can it serve, and in figures how it does."""

from collections.abc import Callable

from flask import Blueprint, Response, jsonify
from sqlalchemy import text

from webapp.database_errors import DATABASE_ERRORS
from webapp.db import reading, schema_is_current
from webapp.providers.errors import ProviderError
from webapp.web import metrics
from webapp.web.access import ops_only, org_id, public, services
from webapp.web.errors import Problem

pages = Blueprint("health", __name__)


class NotReady(Exception):
    """A part does not serve; the message says what is wrong, without addresses or secrets."""


@pages.get("/healthz")
@public
def healthz() -> Response:
    """Alive: the process answers."""
    return jsonify(status="ok")


@pages.get("/readyz")
@public
def readyz() -> Response:
    """Ready: the database answers, its tables are today's, and files can be stored; else 503."""
    failed = {name: str(error) for name, error in failures().items()}
    if failed:
        raise Problem(503, "not_ready", members={"failed": failed}, headers={"Retry-After": "5"})
    return jsonify(status="ready", checks=dict.fromkeys(CHECKS, "ok"))


@pages.get("/metrics")
@ops_only
def prometheus() -> Response:
    """Prometheus's text format. It asks for an ops token, since a proxy makes everybody come from loopback."""
    return Response(metrics.text_for(org_id()), content_type="text/plain; version=0.0.4; charset=utf-8")


def failures() -> dict[str, NotReady]:
    """The parts that do not serve, and why."""
    found = {}
    for name, check in CHECKS.items():
        try:
            check()
        except NotReady as error:
            found[name] = error
            # Without a database there are no tables to look at, and asking again would only take time.
            if name == "database":
                break
    return found


def check_database() -> None:
    """NotReady unless the database answers."""
    try:
        with reading(everywhere=True) as session:
            session.execute(text("SELECT 1"))
    except DATABASE_ERRORS as error:
        raise NotReady("The database does not answer.") from error


def check_schema() -> None:
    """NotReady unless the tables are those that this version expects."""
    try:
        is_current = schema_is_current()
    except DATABASE_ERRORS as error:
        raise NotReady("The tables cannot be looked at.") from error
    if not is_current:
        raise NotReady("The tables are not this version's: run “flask --app wsgi db upgrade”.")


def check_blobs() -> None:
    """NotReady unless files can be stored."""
    try:
        services().providers.blobs.check()
    except (ProviderError, OSError) as error:
        raise NotReady("Files cannot be stored.") from error


CHECKS: dict[str, Callable[[], None]] = {"database": check_database, "schema": check_schema, "blobs": check_blobs}
