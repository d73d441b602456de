"""For monitors: is the process alive, can it serve, and in figures how it does."""

import threading
from collections.abc import Callable

from flask import Blueprint, Flask, Response, current_app, jsonify
from sqlalchemy import text

from webapp.clock import monotonic
from webapp.db import reading, schema_is_current
from webapp.db.errors import DATABASE_ERRORS
from webapp.provider_errors import ProviderError
from webapp.web.access import monitors_only, org_id, public, services
from webapp.web.errors import Problem
from webapp.web.ops import metrics

pages = Blueprint("health", __name__)

READY_SECONDS = 2.0


class NotReady(Exception):
    """A part does not serve; the message says what is wrong, without addresses or secrets."""


class Readiness:
    """The parts that do not serve, found out at most every two seconds.

    Anybody may ask, and finding out costs something. One thread finds out; the others answer what was
    found last, however long a database that hangs keeps that one.
    """

    def __init__(self, time: Callable[[], float] = monotonic) -> None:
        self._time = time
        self._looking = threading.Lock()
        self._found: dict[str, str] | None = None
        self._found_at = 0.0

    def failed(self) -> dict[str, str]:
        """Names of parts, and why they don't serve."""
        known, known_at = self._found, self._found_at
        if known is not None and self._time() - known_at < READY_SECONDS:
            return known
        # The first answer is waited for, since there is none before it.
        if not self._looking.acquire(blocking=known is None):
            return known or {}
        try:
            if self._found is None or self._time() - self._found_at >= READY_SECONDS:
                self._found = {name: str(error) for name, error in failures().items()}
                self._found_at = self._time()
            return self._found
        finally:
            self._looking.release()


def init_health(app: Flask) -> None:
    """Give the application its memory of what serves."""
    app.extensions["docmill_readiness"] = Readiness()


@pages.get("/healthz")
@public
def healthz() -> Response:
    """Alive: the process answers."""
    return jsonify(status="ok")


@pages.get("/readyz")
@public
def readyz() -> Response:
    """Ready: the database answers, its tables are today's, and files can be stored; else 503."""
    readiness: Readiness = current_app.extensions["docmill_readiness"]
    failed = readiness.failed()
    if failed:
        raise Problem(503, "not_ready", members={"failed": failed}, headers={"Retry-After": "5"})
    return jsonify(status="ready", checks=dict.fromkeys(CHECKS, "ok"))


@pages.get("/metrics")
@monitors_only
def prometheus() -> Response:
    """Prometheus's text format. Not for everybody: a proxy makes all requests come from loopback."""
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
