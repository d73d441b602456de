"""People: invited, given roles, deactivated, helped with a link; by their ops, and by nobody else."""

import re
import threading
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import update
from werkzeug.test import TestResponse

from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import read_json
from tests.web.test_limits import limit
from webapp.accounts import tokens, users
from webapp.accounts.model import SignInLink, UserSession
from webapp.accounts.roles import Scope
from webapp.clock import after
from webapp.db import transaction

_SECRET = re.compile(r'<code class="secret"[^>]*>(.*?)</code>', re.DOTALL)
PASSWORD = "a sentence is good"
TWICE = {"password": PASSWORD, "password_again": PASSWORD}


@pytest.fixture
def ops(people: People) -> Browser:
    """One of the ops of an org among two."""
    people.org("Theirs")
    return people.browser("ops", email="op@example.org")


@pytest.fixture
def operator(people: People) -> Browser:
    people.org("Theirs")
    return people.browser("operator", email="operator@example.org")


def _path(page: TestResponse) -> str:
    """The path of the link that a page shows once."""
    found = _SECRET.search(page.text)
    assert found, page.text
    assert found[1].startswith("http://localhost/sign-in/")
    return found[1].removeprefix("http://localhost")


def _invite(ops: Browser, email: str = "bo@example.org", role: str = "member") -> str:
    answer = ops.post("/people", {"email": email, "role": role})
    assert answer.status_code == 200, answer.text
    return _path(answer)


def _people(who: Browser | Program) -> dict[str, dict[str, Any]]:
    found = read_json(who.get("/people", headers={"Accept": "application/json"}))["people"]
    return {person["email"]: person for person in found}


def _log(who: Browser, query: str = "") -> list[str]:
    found = read_json(who.get(f"/ops/security{query}", headers={"Accept": "application/json"}))
    return [entry["action"] for entry in found["entries"]][::-1]


@both_databases
def test_who_is_invited_sets_a_password_and_is_in(people: People, ops: Browser) -> None:
    link = _invite(ops, " Bo@Example.org ", "viewer")
    [bo] = [person for email, person in _people(ops).items() if email == "bo@example.org"]
    assert (bo["state"], bo["role"], bo["has_password"]) == ("invited", "viewer", False)
    assert bo["link_expires_at"]
    assert link.rpartition("/")[2] not in ops.get("/people").text
    visitor = people.visitor()
    page = visitor.get(link)
    assert (page.status_code, page.headers["Referrer-Policy"]) == (200, "no-referrer")
    assert "bo@example.org" in page.text
    assert visitor.post(link, TWICE).location == "/"
    assert "bo@example.org" in visitor.get("/account").text
    assert visitor.post("/sign-out").status_code == 303
    assert visitor.post("/sign-in", {"email": "bo@example.org", "password": PASSWORD}).status_code == 303
    assert _people(ops)["bo@example.org"]["state"] == "active"
    assert _log(ops, f"?person={bo['id']}") == [
        "user_invited",
        "password_set",
        "signed_in",
        "signed_out",
        "signed_in",
    ]


@both_databases
def test_an_invitation_works_once(people: People, ops: Browser) -> None:
    link = _invite(ops)
    assert people.visitor().post(link, TWICE).status_code == 303
    second = people.visitor()
    assert second.get(link).status_code == 410
    again = second.post(link, {"password": "of somebody else", "password_again": "of somebody else"})
    assert again.status_code == 410
    assert "docmill_session" not in str(again.headers)
    assert second.post("/sign-in", {"email": "bo@example.org", "password": "of somebody else"}).status_code == 422


@pytest.mark.parametrize("given", [{}, {"password": "short"}, {"password": PASSWORD, "password_again": "another one"}])
def test_a_password_that_cannot_be_used_leaves_the_link_as_it_is(
    people: People, ops: Browser, given: dict[str, str]
) -> None:
    link, visitor = _invite(ops), people.visitor()
    assert visitor.post(link, given).status_code == 422
    assert visitor.post(link, TWICE).status_code == 303


def test_a_link_that_has_run_out_or_was_guessed_opens_nothing(people: People, ops: Browser, app: Flask) -> None:
    link = _invite(ops)
    with app.app_context(), transaction(everywhere=True) as opened:
        opened.execute(update(SignInLink).values(expires_at=after(-1)))
    visitor = people.visitor()
    for path in (link, "/sign-in/guessed", f"{link}x"):
        assert visitor.get(path).status_code == 410
        assert visitor.post(path, TWICE).status_code == 410
    assert "the invitation has expired" in ops.get("/people").text
    user_id = _people(ops)["bo@example.org"]["id"]
    renewed = _path(ops.post(f"/people/{user_id}/link"))
    assert visitor.post(renewed, TWICE).status_code == 303


def test_a_renewed_link_replaces_the_earlier_one(people: People, ops: Browser) -> None:
    link = _invite(ops)
    renewed = _path(ops.post(f"/people/{_people(ops)['bo@example.org']['id']}/link"))
    assert people.visitor().get(link).status_code == 410
    assert people.visitor().get(renewed).status_code == 200


@both_databases
def test_an_invitation_is_withdrawn_until_it_was_accepted(people: People, ops: Browser) -> None:
    link = _invite(ops)
    user_id = _people(ops)["bo@example.org"]["id"]
    assert ops.post(f"/people/{user_id}/withdraw").status_code == 303
    assert "bo@example.org" not in _people(ops)
    assert people.visitor().post(link, TWICE).status_code == 410
    assert _log(ops)[-1] == "invitation_withdrawn"
    assert people.visitor().post(_invite(ops), TWICE).status_code == 303
    user_id = _people(ops)["bo@example.org"]["id"]
    answer = ops.post(f"/people/{user_id}/withdraw")
    assert (answer.status_code, "has accepted the invitation" in answer.text) == (409, True)
    program = people.program("ops")
    assert program.send("DELETE", f"/people/{user_id}").status_code == 409
    assert _people(ops)["bo@example.org"]["state"] == "active"


@pytest.mark.parametrize(
    ("email", "role", "says"),
    [
        ("no address", "member", "Give an e-mail address"),
        ("", "member", "Give an e-mail address"),
        ("a@b\0", "member", "Give an e-mail address"),
        ("OP@example.org", "member", "has this e-mail already"),
        ("bo@example.org", "operator", "Only a person with the role Operator"),
        ("bo@example.org", "metrics", "role must be one of"),
        ("bo@example.org", "", "role must be one of"),
    ],
)
def test_what_cannot_be_invited_says_why_and_keeps_what_was_typed(
    ops: Browser, email: str, role: str, says: str
) -> None:
    answer = ops.post("/people", {"email": email, "role": role})
    assert answer.status_code == 422
    assert says in answer.text
    assert [*_people(ops)] == ["op@example.org"]


@both_databases
def test_a_reset_link_ends_every_session_when_it_is_used(people: People, ops: Browser) -> None:
    member = people.browser()
    link = _path(ops.post(f"/people/{member.user_id}/link"))
    assert member.get("/account").status_code == 200
    assert people.visitor().post(link, TWICE).status_code == 303
    assert member.get("/account").status_code == 303
    assert _log(ops, f"?person={member.user_id}")[-3:] == ["password_link_created", "password_set", "signed_in"]


@both_databases
def test_where_others_may_know_the_password_all_ends_at_once(people: People, ops: Browser, app: Flask) -> None:
    member = people.browser()
    token = _token_of(app, member)
    link = _path(ops.post(f"/people/{member.user_id}/link", {"end_all": "1"}))
    assert member.get("/account").status_code == 303
    assert token.get("/documents").status_code == 401
    assert people.visitor().post(link, TWICE).status_code == 303


def _token_of(app: Flask, person: Browser) -> Program:
    assert person.org_id
    with app.app_context(), transaction(person.org_id):
        text = tokens.create(person.org_id, "theirs", Scope.WRITE, owner_id=person.user_id)
    token = Program(app.test_client(), text, person.org_id)
    assert token.get("/documents").status_code == 200
    return token


@both_databases
def test_a_person_who_is_deactivated_is_out_with_their_next_request(people: People, ops: Browser, app: Flask) -> None:
    member = people.browser()
    token = _token_of(app, member)
    link = _path(ops.post(f"/people/{member.user_id}/link"))
    assert ops.post(f"/people/{member.user_id}/deactivate").status_code == 303
    assert member.get("/").status_code == 303
    assert token.get("/documents").status_code == 401
    assert people.visitor().post(link, TWICE).status_code == 410
    refused = ops.post(f"/people/{member.user_id}/link")
    assert (refused.status_code, "Reactivate them first" in refused.text) == (409, True)
    assert ops.post(f"/people/{member.user_id}/reactivate").status_code == 303
    assert token.get("/documents").status_code == 401
    assert member.get("/").status_code == 303
    link = _path(ops.post(f"/people/{member.user_id}/link"))
    assert people.visitor().post(link, TWICE).status_code == 303
    assert _log(ops, "?action=user_disabled") == ["user_disabled"]


@both_databases
def test_a_role_holds_from_the_next_request_on(people: People, ops: Browser) -> None:
    member = people.browser()
    assert ops.post(f"/people/{member.user_id}/role", {"role": "ops"}).status_code == 303
    assert member.get("/people").status_code == 200
    assert ops.post(f"/people/{member.user_id}/role", {"role": "viewer"}).status_code == 303
    assert member.get("/people").status_code == 403
    assert member.post("/documents").status_code == 403
    # Saying once more what holds already is no change.
    assert ops.post(f"/people/{member.user_id}/role", {"role": "viewer"}).status_code == 303
    assert _log(ops, "?action=role_changed") == ["role_changed"] * 2


def test_ops_have_no_power_over_operators(people: People, ops: Browser, operator: Browser) -> None:
    link = f"/people/{operator.user_id}/link"
    for path, form in (
        (link, {}),
        (link, {"end_all": "1"}),
        (f"/people/{operator.user_id}/role", {"role": "viewer"}),
        (f"/people/{operator.user_id}/deactivate", {}),
    ):
        answer = ops.post(path, form)
        assert (answer.status_code, "Only a person with the role Operator" in answer.text) == (409, True), path
    member = people.browser()
    assert ops.post(f"/people/{member.user_id}/role", {"role": "operator"}).status_code == 409
    program = people.program("operator")
    for change in ({"role": "operator"}, {"active": False}):
        target = member if "role" in change else operator
        answer = program.send("PATCH", f"/people/{target.user_id}", json=change)
        assert (answer.status_code, read_problem(answer)) == (403, "above_your_role")
    assert operator.post(f"/people/{member.user_id}/role", {"role": "operator"}).status_code == 303
    assert _people(ops)["ana@example.org"]["role"] == "operator"
    assert operator.get("/").status_code == 200


def read_problem(answer: TestResponse) -> str:
    assert answer.mimetype == "application/problem+json"
    return str((answer.json or {})["reason"])


def test_the_ops_of_the_only_org_still_make_no_operator(people: People) -> None:
    """They are operators as long as there is one org; the role would outlast that."""
    ops = people.browser("ops", email="op@example.org")
    assert ops.post("/people", {"email": "bo@example.org", "role": "operator"}).status_code == 422
    assert 'value="operator"' not in ops.get("/people").text


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_others_see_and_change_nobody(people: People, ops: Browser, role: str) -> None:
    person, program = people.browser(role, email="x@example.org"), people.program(role)
    target = f"/people/{ops.user_id}"
    for path in ("/people", f"{target}/role", f"{target}/link", f"{target}/deactivate", f"{target}/withdraw"):
        assert person.post(path, {"role": "viewer", "email": "y@example.org"}).status_code == 403
    for who in (person, program):
        assert who.get("/people").status_code == 403
    assert program.send("PATCH", target, json={"active": False}).status_code == 403
    assert program.send("DELETE", target).status_code == 403


def test_programs_change_people_but_make_no_link(people: People, ops: Browser) -> None:
    program, member = people.program("ops"), people.browser()
    assert program.post("/people", data={"email": "bo@example.org", "role": "viewer"}).status_code == 403
    assert program.post(f"/people/{member.user_id}/link").status_code == 403
    answer = program.send("PATCH", f"/people/{member.user_id}", json={"role": "viewer", "active": False})
    assert (read_json(answer)["role"], read_json(answer)["state"]) == ("viewer", "deactivated")
    answer = program.send("PATCH", f"/people/{member.user_id}", json={"active": True})
    assert read_json(answer)["state"] == "active"
    for wrong, status in (({}, 422), ({"role": "king"}, 422), ({"active": "no"}, 422), ({"email": "x"}, 400)):
        assert program.send("PATCH", f"/people/{member.user_id}", json=wrong).status_code == status
    _invite(ops)
    user_id = _people(ops)["bo@example.org"]["id"]
    assert program.send("DELETE", f"/people/{user_id}").status_code == 204


def test_nobody_changes_their_own_role(ops: Browser) -> None:
    for path in ("role", "deactivate"):
        answer = ops.post(f"/people/{ops.user_id}/{path}", {"role": "viewer"})
        assert (answer.status_code, "Somebody else has to do this" in answer.text) == (409, True)


@both_databases
def test_the_last_ops_of_an_org_stay(people: People, ops: Browser) -> None:
    # Somebody who was only invited may never come, so they don't count.
    _invite(ops, role="ops")
    program = people.program("ops")
    for change in ({"active": False}, {"role": "member"}):
        answer = program.send("PATCH", f"/people/{ops.user_id}", json=change)
        assert (answer.status_code, read_problem(answer)) == (409, "last_ops")
    other = people.browser("ops", email="other@example.org")
    assert ops.post(f"/people/{other.user_id}/deactivate").status_code == 303
    assert ops.get("/people").status_code == 200


@both_databases
def test_of_two_ops_who_deactivate_each_other_one_stays(people: People, app: Flask) -> None:
    people.org("Theirs")
    both = [people.browser("ops", email=f"{name}@example.org") for name in ("ada", "bob")]
    forms = [{"csrf_token": each.csrf()} for each in both]
    ready, answers = threading.Barrier(2), dict[int, int]()

    def deactivate(mine: int) -> None:
        ready.wait()
        path = f"/people/{both[1 - mine].user_id}/deactivate"
        answers[mine] = both[mine].client.post(path, data=forms[mine]).status_code

    threads = [threading.Thread(target=deactivate, args=(mine,)) for mine in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    org_id = both[0].org_id
    assert org_id
    with app.app_context(), transaction(org_id):
        left = [user.email for user in users.of_org(org_id) if user.disabled_at is None]
    assert len(left) == 1
    assert sorted(answers.values()) in ([303, 303], [303, 401], [303, 409])


def test_who_signed_in_a_while_ago_gives_the_password_once_more(people: People, ops: Browser, app: Flask) -> None:
    assert ops.post("/account/password", TWICE).status_code == 303
    member = people.browser()
    with app.app_context(), transaction(everywhere=True) as opened:
        opened.execute(update(UserSession).values(authenticated_at=after(-3600)))
    asked = {"email": "bo@example.org", "role": "viewer"}
    answer = ops.post("/people", asked)
    assert (answer.status_code, "you signed in a while ago" in answer.text) == (422, True)
    assert 'value="bo@example.org"' in answer.text
    assert ops.post(f"/people/{member.user_id}/link").status_code == 422
    assert ops.post(f"/people/{member.user_id}/role", {"role": "ops"}).status_code == 422
    assert ops.post("/people", {**asked, "current_password": "wrong"}).status_code == 422
    assert "bo@example.org" not in _people(ops)
    assert ops.post("/people", {**asked, "current_password": PASSWORD}).status_code == 200
    assert ops.post(f"/people/{member.user_id}/role", {"role": "ops"}).status_code == 303


@both_databases
def test_a_cookie_alone_gives_nobody_a_role(people: People, ops: Browser, app: Flask) -> None:
    """As by a program in the browser of somebody who has left it open."""
    member = people.browser()
    assert ops.post("/account/password", TWICE).status_code == 303
    headers = {"Accept": "application/json", "X-CSRFToken": ops.csrf()}
    target = f"/people/{member.user_id}"
    answer = ops.client.patch(target, json={"role": "ops"}, headers=headers)
    assert answer.status_code == 200
    with app.app_context(), transaction(everywhere=True) as opened:
        opened.execute(update(UserSession).values(authenticated_at=after(-3600)))
    answer = ops.client.patch(target, json={"role": "viewer", "active": False}, headers=headers)
    assert (answer.status_code, read_problem(answer)) == (403, "stale_sign_in")
    assert "Give your password once more" in answer.text
    assert (_people(ops)["ana@example.org"]["role"], _people(ops)["ana@example.org"]["state"]) == ("ops", "active")


@both_databases
def test_an_invitation_of_the_ops_makes_nobody_operator(people: People, ops: Browser, operator: Browser) -> None:
    link = _invite(ops)
    user_id = _people(ops)["bo@example.org"]["id"]
    assert operator.post(f"/people/{user_id}/role", {"role": "operator"}).status_code == 303
    assert people.visitor().post(link, TWICE).status_code == 410
    assert _people(operator)["bo@example.org"]["link_expires_at"] is None
    renewed = _path(operator.post(f"/people/{user_id}/link"))
    assert people.visitor().post(renewed, TWICE).status_code == 303


def test_the_log_of_a_person_has_what_concerns_them_alone(people: People, ops: Browser) -> None:
    member = people.browser()
    assert ops.post(f"/people/{member.user_id}/role", {"role": "viewer"}).status_code == 303
    _invite(ops)
    assert _log(ops, f"?person={member.user_id}") == ["signed_in", "role_changed"]
    assert _log(ops, f"?person={member.user_id}&action=role_changed") == ["role_changed"]
    assert _log(ops, f"?person={UUID(int=1)}") == []
    assert ops.get("/ops/security?person=x").status_code == 422
    page = ops.get(f"/ops/security?person={member.user_id}").text
    assert f'<option value="{member.user_id}" selected>ana@example.org' in page


def test_links_are_opened_so_often_and_no_more(own_app: Flask) -> None:
    limit(own_app, rate_links=0.2)
    visitor = People(own_app).visitor()
    statuses = [visitor.get("/sign-in/guessed").status_code for _ in range(4)]
    assert statuses == [410, 410, 429, 429]
