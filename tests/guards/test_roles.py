"""What each role and each scope may do, walked over every route and method."""

import re
from uuid import uuid4

import pytest
from flask import Flask
from werkzeug.routing import Rule

from tests.bare import DatabaseUnderTest
from tests.guards.test_routes import (
    FOR_MONITORS,
    FOR_OPERATORS,
    FOR_OPS,
    FOR_OPS_PEOPLE,
    FOR_PEOPLE,
    FOR_READERS,
    FOR_UPLOADERS,
    FOR_WORKERS,
    FOR_WRITERS,
    PUBLIC,
)
from tests.web.people import Browser, People, Program
from webapp.accounts import tokens
from webapp.accounts.roles import PEOPLE_ROLES, Role, Scope
from webapp.db import transaction

# What a caller of each kind may do; a route asks for one of these.
MAY: dict[str, set[str]] = {
    "viewer": {"read"},
    "member": {"read", "upload", "write"},
    "ops": {"read", "upload", "write", "ops", "metrics"},
    "operator": {"read", "upload", "write", "ops", "metrics", "operate"},
    "scope read": {"read"},
    "scope upload": {"upload"},
    "scope write": {"read", "upload", "write"},
    "scope metrics": {"metrics"},
    "scope ops": {"read", "upload", "write", "ops", "metrics"},
    "scope operator": {"read", "upload", "write", "ops", "metrics", "operate"},
    "scope worker": {"work"},
}


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> DatabaseUnderTest:
    """Who may do what is decided before any database is asked."""
    found: DatabaseUnderTest = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
def people(app: Flask) -> People:
    """In an installation of two orgs: in the only org ops would be operators as well."""
    people = People(app)
    people.org("Theirs")
    return people


def _needed(rule: Rule, method: str) -> str:
    """What this route asks for, by the lists that people keep, not by what the route says."""
    lists = {
        "ops": FOR_OPS,
        "operate": FOR_OPERATORS,
        "metrics": FOR_MONITORS,
        "upload": FOR_UPLOADERS,
        "read": FOR_READERS,
        "work": FOR_WORKERS,
        "write": FOR_WRITERS,
        "person": FOR_PEOPLE,
        "ops person": FOR_OPS_PEOPLE,
    }
    for needed, endpoints in lists.items():
        if rule.endpoint in endpoints:
            return needed
    return "read" if method == "GET" else "write"


def _requests(app: Flask) -> list[tuple[Rule, str, str]]:
    found: list[tuple[Rule, str, str]] = []
    for rule in app.url_map.iter_rules():
        if rule.endpoint in PUBLIC:
            continue
        path = re.sub(r"<int:\w+>", "1", re.sub(r"<uuid:\w+>", lambda _: str(uuid4()), rule.rule))
        path = path.replace("<stage>", "process_document").replace("<kind>", "analysis")
        found.extend((rule, method, path) for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}))
    return found


def _caller(people: People, who: str) -> Browser | Program:
    if not who.startswith("scope "):
        return people.browser(who, email=f"{who}@example.org")
    org_id = people.org()
    with people.app.app_context(), transaction(org_id):
        text = tokens.create(org_id, "tests", Scope(who.removeprefix("scope ")))
    return Program(people.app.test_client(), text, org_id)


def _may(caller: Browser | Program, who: str, needed: str) -> bool:
    if needed == "person":
        return isinstance(caller, Browser)
    if needed == "ops person":
        return isinstance(caller, Browser) and "ops" in MAY[who]
    return needed in MAY[who]


def test_every_role_and_every_scope_is_walked_here() -> None:
    assert set(MAY) == {role.value for role in PEOPLE_ROLES} | {f"scope {scope.value}" for scope in Scope}
    assert {role.value for role in Role} - {role.value for role in PEOPLE_ROLES} == {"metrics", "worker"}


@pytest.mark.slow
@pytest.mark.parametrize("who", MAY)
def test_a_caller_gets_into_what_is_theirs_and_nowhere_else(app: Flask, people: People, who: str) -> None:
    allowed = refused = 0
    for rule, method, path in _requests(app):
        caller, needed = _caller(people, who), _needed(rule, method)
        headers = dict(caller.headers)
        if isinstance(caller, Browser) and method != "GET":
            headers["X-CSRFToken"] = caller.csrf()
        answer = caller.client.open(path, method=method, headers=headers)
        may = _may(caller, who, needed)
        assert (answer.status_code != 403) is may, f"{who}: {method} {rule} needs {needed}, {answer.status_code}"
        assert answer.status_code != 401, f"{who}: {method} {rule}"
        allowed, refused = allowed + may, refused + (not may)
    assert allowed >= 1
    assert refused >= 1 or who == "operator"


@pytest.mark.parametrize("who", ["scope metrics", "scope upload", "scope worker"])
def test_a_probe_answers_everybody(people: People, who: str) -> None:
    caller = _caller(people, who)
    assert [caller.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


def test_an_org_that_gets_company_loses_the_levers(app: Flask) -> None:
    """Where there is but one org its ops run the installation; from the second org on it takes operators."""
    people = People(app)
    browser, program = people.browser("ops"), people.program("ops")
    assert program.post("/ops/pause").status_code == 200
    assert browser.post("/ops/resume").status_code == 303
    assert 'id="drain"' in browser.get("/ops").text
    people.org("Theirs")
    assert program.post("/ops/pause").status_code == 403
    assert browser.post("/ops/resume").status_code == 403
    page = browser.get("/ops").text
    assert 'id="drain"' not in page
    assert "/ops/stages/" not in page
    assert people.program("operator").post("/ops/pause").status_code == 200
