"""Share links: how they are made, who may, and what ends them."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.share_links import PATH, is_nothing, links_of, log_of, share_link, shelve_three
from tests.web.shelves import read_json, services_of
from webapp.accounts import tokens, users
from webapp.accounts.roles import Role, Scope
from webapp.clock import after, new_id, utc_now
from webapp.db import transaction
from webapp.library import shares
from webapp.library.shares import MakerMayNotWrite, ShareTarget


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    return shelve_three(app, program)


@pytest.fixture
def ops(people: People) -> Program:
    return people.program("ops")


def test_the_form_makes_a_link_and_shows_it_once(people: People, browser: Browser, shelf: list[str]) -> None:
    target = f"/documents/{shelf[0]}"
    assert f'href="{target}/shares"' in browser.get(target).text
    page = browser.post(f"{target}/shares", {"days": "30", "name": " For  Bo ", "original": "1", "until": ""})
    assert page.status_code == 200
    [path] = set(PATH.findall(page.text))
    again = browser.get(f"{target}/shares").text
    assert (path not in again, "For Bo" in again, "with downloads" in again) == (True, True, True)
    assert people.visitor().get(path).status_code == 200
    assert "For Bo" in browser.get("/shares").text
    [share_id] = re.findall(r'id="share-([0-9a-f-]{36})"', again)
    assert browser.post(f"/shares/{share_id}/revoke").location == f"{target}/shares"
    assert is_nothing(people.visitor(), path)


def test_a_link_ends_with_the_day_that_was_chosen(program: Program, browser: Browser, shelf: list[str]) -> None:
    target, day = f"/documents/{shelf[0]}", utc_now().date() + timedelta(days=5)
    share_link(program, target, until=day.isoformat())
    assert links_of(program, target)[0]["expires_at"].startswith(f"{day + timedelta(days=1)}T00:00:00")
    assert browser.post(f"{target}/shares", {"days": "until", "until": day.isoformat()}).status_code == 200
    assert len(links_of(program, target)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"days": 0},
        {"days": 367},
        {"days": True},
        {"days": "soon"},
        {"until": "2020-01-01"},
        {"until": "9999-12-31"},
        {"until": "x"},
        {"until": None},
        {"days": 1, "until": "2026-12-31"},
        {"name": "x" * 101},
        {"name": "a\0b"},
        {"name": 5},
        {"original": "perhaps"},
    ],
)
def test_what_cannot_be_shared_like_that_says_why(program: Program, shelf: list[str], wrong: dict[str, Any]) -> None:
    answer = program.post(f"/documents/{shelf[0]}/shares", json=wrong)
    assert answer.status_code == 422
    assert read_json(answer)["detail"]
    assert links_of(program) == []


def test_what_was_typed_stays_where_something_is_wrong(browser: Browser, shelf: list[str]) -> None:
    form = {"days": "until", "until": "2020-01-01", "name": "For Bo", "original": "1"}
    answer = browser.post(f"/documents/{shelf[0]}/shares", form)
    assert answer.status_code == 422
    assert "until must be a day" in answer.text
    assert ('value="For Bo"' in answer.text, 'value="1" checked' in answer.text) == (True, True)


def test_viewers_share_nothing_and_orgs_stay_apart(people: People, program: Program, shelf: list[str]) -> None:
    target = f"/documents/{shelf[0]}"
    share_link(program, target)
    share_id = links_of(program)[0]["id"]
    viewer, other = people.program("viewer"), people.program("ops", org="Theirs")
    for who, status in ((viewer, 403), (other, 404)):
        assert who.post(f"{target}/shares", json={}).status_code == status
        assert who.get(f"{target}/shares").status_code == status
        assert who.send("DELETE", f"/shares/{share_id}").status_code == status
    assert links_of(other) == []
    assert "Share a link" not in people.browser("viewer", email="v@example.org").get(target).text


def test_a_private_view_is_shared_by_its_owner_alone(people: People, browser: Browser, shelf: list[str]) -> None:
    answer = browser.post("/views", {"name": "Mine", "query": "tag:open", "private": "1"})
    view_id = re.findall(r"/views/([0-9a-f-]{36})", browser.get("/views").text)[0]
    assert answer.status_code == 303
    page = browser.post(f"/views/{view_id}/shares", {"days": "1"})
    [path] = set(PATH.findall(page.text))
    assert "first.md" in people.visitor().get(path).text
    colleague = people.browser(email="colleague@example.org")
    assert colleague.get(f"/views/{view_id}/shares").status_code == 404
    assert "Mine" not in colleague.get("/shares").text
    [share_id] = re.findall(r'id="share-([0-9a-f-]{36})"', colleague.get("/shares").text)
    assert colleague.post(f"/shares/{share_id}/revoke").status_code == 404
    ops = people.browser("ops", email="op@example.org")
    assert ops.post(f"/shares/{share_id}/revoke", {"from": "list"}).location == "/shares"
    assert is_nothing(people.visitor(), path)


@both_databases
def test_the_links_of_a_person_end_when_they_are_deactivated(people: People, ops: Program, shelf: list[str]) -> None:
    member = people.browser()
    page = member.post(f"/documents/{shelf[0]}/shares", {"days": "7"})
    [path] = set(PATH.findall(page.text))
    kept = share_link(ops, f"/documents/{shelf[0]}")
    assert ops.send("PATCH", f"/people/{member.user_id}", json={"active": False}).status_code in (200, 409)
    assert is_nothing(people.visitor(), path)
    assert people.visitor().get(kept).status_code == 200
    assert log_of(ops, "user_disabled")[0]["details"]["links_ended"] == 1


def _token(app: Flask, person: Browser) -> tuple[Program, UUID]:
    assert person.org_id
    token_id = new_id()
    with app.app_context(), transaction(person.org_id):
        text = tokens.create(person.org_id, "theirs", Scope.WRITE, owner_id=person.user_id, token_id=token_id)
    return Program(app.test_client(), text, person.org_id), token_id


@both_databases
def test_links_end_with_the_token_that_made_them(
    app: Flask, people: People, program: Program, shelf: list[str]
) -> None:
    member = people.browser()
    token, token_id = _token(app, member)
    target, visitor = f"/documents/{shelf[0]}", people.visitor()
    path, kept = share_link(token, target), share_link(program, target)
    assert visitor.get(path).status_code == 200
    assert member.post(f"/account/tokens/{token_id}/revoke").status_code == 303
    assert is_nothing(visitor, path)
    assert visitor.get(kept).status_code == 200


@both_databases
def test_links_end_where_somebody_else_may_have_made_them(
    app: Flask, people: People, program: Program, shelf: list[str]
) -> None:
    people.org("Theirs")
    member, ops = people.browser(), people.browser("ops", email="op@example.org")
    target, visitor = f"/documents/{shelf[0]}", people.visitor()
    form = {"password": "a sentence is good", "password_again": "a sentence is good"}
    ends: list[Callable[[], Any]] = [
        lambda: member.post("/account/password", form | {"end_tokens": "on"}),
        lambda: app.test_cli_runner().invoke(args=["users", "reset", "--org", "Ours", "--email", "ana@example.org"]),
        lambda: ops.post(f"/people/{member.user_id}/link", {"end_all": "1"}),
        lambda: ops.post(f"/people/{member.user_id}/role", {"role": "viewer"}),
    ]
    kept = share_link(program, target)
    for end in ends:
        member = people.browser()
        path = share_link(_token(app, member)[0], target)
        assert visitor.get(path).status_code == 200
        end()
        assert is_nothing(visitor, path)
    assert visitor.get(kept).status_code == 200


@both_databases
@pytest.mark.parametrize("what", ["disabled", "viewer", "revoked"])
def test_no_link_is_made_by_who_may_not_write_any_more(
    app: Flask, people: People, program: Program, shelf: list[str], what: str
) -> None:
    """As where they were deactivated while their request was under way."""
    member = people.browser()
    _, token_id = _token(app, member)
    org_id, user_id = program.org_id, member.user_id
    assert user_id
    makers = [f"token:{token_id}"] if what == "revoked" else [f"token:{token_id}", f"user:{user_id}"]
    target = ShareTarget(document_id=UUID(shelf[0]))
    with app.app_context():
        with transaction(org_id):
            for maker in makers:
                shares.add(org_id, target, expires_at=after(60), by=maker)
            user = users.get(org_id, user_id)
            assert user
            if what == "disabled":
                users.disable(user)
            elif what == "viewer":
                users.set_role(user, Role.VIEWER)
            else:
                tokens.revoke(org_id, token_id)
        for maker in makers:
            with pytest.raises(MakerMayNotWrite), transaction(org_id):
                shares.add(org_id, target, expires_at=after(60), by=maker)


def test_with_sharing_off_links_show_nothing_and_none_is_made(
    app: Flask, people: People, program: Program, browser: Browser, shelf: list[str]
) -> None:
    link, target = share_link(program, f"/documents/{shelf[0]}"), f"/documents/{shelf[0]}"
    found = services_of(app)
    settings = replace(found.settings, access=replace(found.settings.access, sharing="off"))
    app.extensions["docmill"] = replace(found, settings=settings)
    assert is_nothing(people.visitor(), link)
    answer = program.post(f"{target}/shares", json={})
    assert (answer.status_code, read_json(answer)["reason"]) == (403, "sharing_off")
    assert browser.get("/shares").status_code == 403
