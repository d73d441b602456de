"""Signing in and out, passwords and tokens, as a browser sees them."""

import re
from http.cookies import SimpleCookie
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from tests.web.databases import both_databases
from tests.web.people import Browser, People
from webapp.accounts import links, passwords, sign_in, users
from webapp.accounts.model import ApiToken, User
from webapp.accounts.roles import Role, Scope
from webapp.db import transaction

PASSWORD = "a sentence is good"


@pytest.fixture
def visitor(people: People) -> Browser:
    return people.visitor()


def _register(people: People, org: str = "Ours", password: str = PASSWORD, email: str = "ana@example.org") -> None:
    org_id = people.org(org)
    with people.app.app_context(), transaction(org_id):
        users.create(org_id, email, Role.MEMBER, passwords.hash_password(password))


def _link(people: People) -> str:
    org_id = people.org()
    with people.app.app_context(), transaction(org_id):
        user = users.find(org_id, "ana@example.org") or users.create(org_id, "ana@example.org", Role.MEMBER)
        return f"/sign-in/{links.create(user)}"


def _cookies(answer: TestResponse) -> SimpleCookie:
    cookies = SimpleCookie()
    for header in answer.headers.getlist("Set-Cookie"):
        cookies.load(header)
    return cookies


def _sign_in(
    browser: Browser, password: str = PASSWORD, form: dict[str, str] | None = None, **more: Any
) -> TestResponse:
    given = {"email": "ana@example.org", "password": password, **(form or {})}
    return browser.post("/sign-in", given, **more)


@both_databases
def test_a_password_lets_in_and_leads_to_where_one_wanted_to_be(people: People, visitor: Browser) -> None:
    _register(people)
    answer = _sign_in(visitor, form={"next": "/search?q=x"})
    assert (answer.status_code, answer.location) == (303, "/search?q=x")
    assert "ana@example.org" in visitor.get("/account").text


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(people: People, visitor: Browser) -> None:
    _register(people)
    cookie = _cookies(_sign_in(visitor))["docmill_session"]
    assert cookie["httponly"]
    assert (cookie["samesite"], cookie["path"], cookie["secure"], cookie["domain"]) == ("Lax", "/", "", "")
    assert int(cookie["max-age"]) == 30 * 86_400


def test_over_https_cookies_are_bound_to_this_host(people: People, visitor: Browser) -> None:
    _register(people)
    page = visitor.client.get("https://localhost/sign-in")
    form = _cookies(page)["__Host-docmill_forms"]
    assert form["secure"]
    assert form["httponly"]
    token = page.text.split('name="csrf-token" content="')[1].split('"')[0]
    data = {"email": "ana@example.org", "password": PASSWORD, "csrf_token": token}
    cookie = _cookies(visitor.client.post("https://localhost/sign-in", data=data))["__Host-docmill_session"]
    assert cookie["secure"]
    assert (cookie["path"], cookie["domain"]) == ("/", "")


@pytest.mark.parametrize(
    "wanted",
    ["//evil.example", "https:evil", "/\\evil.example", "\t//evil", "https://evil.example/x", "javascript:alert(1)"],
)
def test_nobody_is_led_to_another_site(people: People, visitor: Browser, wanted: str) -> None:
    _register(people)
    location = _sign_in(visitor, form={"next": wanted}).location
    assert location in {"/", "/x"}
    assert visitor.get("/sign-in", query_string={"next": wanted}).location in {"/", "/x"}


@pytest.mark.parametrize(
    ("email", "password"), [("ana@example.org", "wrong"), ("nobody@x.org", PASSWORD), ("", ""), ("a\0b@x", "\0")]
)
def test_wrong_credentials_say_so_and_nothing_more(people: People, visitor: Browser, email: str, password: str) -> None:
    _register(people)
    answer = visitor.post("/sign-in", {"email": email, "password": password})
    assert answer.status_code == 422
    assert "is wrong. Check both" in answer.text
    assert "docmill_session" not in _cookies(answer)


def test_guessing_is_answered_with_a_wait(people: People, visitor: Browser) -> None:
    _register(people)
    answers = [_sign_in(visitor, "wrong") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [422] * 5 + [429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 900
    assert _sign_in(visitor).status_code == 429


def test_failures_count_against_the_callers_own_address(people: People, visitor: Browser) -> None:
    _register(people)
    wrong = {"email": "ana@example.org", "password": "wrong"}
    forged = [{"X-Forwarded-For": f"9.9.9.{n}"} for n in range(6)]
    assert [visitor.post("/sign-in", wrong, headers=header).status_code for header in forged][-1] == 429
    elsewhere = visitor.post(
        "/sign-in",
        {"email": "ana@example.org", "password": PASSWORD},
        headers=forged[0],
        environ_overrides={"REMOTE_ADDR": "10.0.0.7"},
    )
    assert elsewhere.status_code == 303


@both_databases
def test_the_same_email_and_password_in_two_orgs_asks_which(people: People, visitor: Browser) -> None:
    _register(people)
    _register(people, "Theirs")
    answer = _sign_in(visitor)
    assert answer.status_code == 422
    assert "<option>Ours</option><option>Theirs</option>" in answer.text
    assert _sign_in(visitor, form={"org": "Theirs"}).status_code == 303
    assert "Theirs" in visitor.get("/account").text


def test_signing_in_makes_a_new_session_and_ends_the_one_before(people: People, visitor: Browser) -> None:
    _register(people)
    first = _cookies(_sign_in(visitor))["docmill_session"].value
    planted = people.visitor()
    planted.client.set_cookie("docmill_session", "planted")
    second = _cookies(_sign_in(planted))["docmill_session"].value
    assert len({first, second, "planted"}) == 3
    again = _cookies(_sign_in(visitor))["docmill_session"].value
    thief = people.visitor()
    thief.client.set_cookie("docmill_session", first)
    assert thief.get("/account").status_code == 303
    thief.client.set_cookie("docmill_session", again)
    assert thief.get("/account").status_code == 200


def test_signing_out_ends_the_session_on_the_server(people: People, browser: Browser) -> None:
    cookie = browser.client.get_cookie("docmill_session")
    assert cookie is not None
    answer = browser.post("/sign-out")
    assert (answer.status_code, answer.location) == (303, "/sign-in")
    assert browser.client.get_cookie("docmill_session") is None
    thief = people.visitor()
    thief.client.set_cookie("docmill_session", cookie.value)
    assert thief.get("/account").status_code == 303


def test_signing_out_takes_a_form(browser: Browser) -> None:
    assert browser.get("/sign-out").status_code == 405
    assert browser.client.post("/sign-out").status_code == 400
    assert browser.get("/account").status_code == 200


def test_who_is_signed_in_does_not_see_the_form_again(browser: Browser) -> None:
    answer = browser.get("/sign-in?next=/search")
    assert (answer.status_code, answer.location) == (303, "/search")


def test_looking_at_a_link_does_not_use_it_up(people: People, visitor: Browser) -> None:
    link = _link(people)
    for _ in range(3):
        page = visitor.get(link)
        assert page.status_code == 200
        assert page.headers["Referrer-Policy"] == "no-referrer"
    assert visitor.post(link).status_code == 303
    assert visitor.get("/account").status_code == 200


@both_databases
def test_a_link_works_once(people: People, visitor: Browser) -> None:
    link = _link(people)
    assert visitor.post(link).status_code == 303
    other = people.visitor()
    assert other.post(link).status_code == 410
    assert "no longer works" in other.get(link).text
    assert other.get("/account").status_code == 303


@pytest.mark.parametrize("token", ["x", "%00", "%ED%B3%BF", "..%2f..", "x" * 5000])
def test_an_invented_link_is_a_used_one(visitor: Browser, token: str) -> None:
    assert visitor.get(f"/sign-in/{token}").status_code in {404, 410}


def test_a_reset_between_the_check_of_a_password_and_the_session_keeps_everybody_out(
    people: People, visitor: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    _register(people)
    authenticate = sign_in.authenticate

    def overtaken(email: str, password: str) -> list[User]:
        matching = authenticate(email, password)
        for user in matching:
            with transaction(user.org_id):
                users.reset(user)
        return matching

    monkeypatch.setattr(sign_in, "authenticate", overtaken)
    answer = _sign_in(visitor)
    assert (answer.status_code, "The e-mail or the password is wrong" in answer.text) == (422, True)
    assert "docmill_session" not in str(answer.headers)


def test_a_first_password_needs_no_other(browser: Browser) -> None:
    answer = browser.post("/account/password", {"password": PASSWORD, "password_again": PASSWORD})
    assert (answer.status_code, answer.location) == (303, "/account")
    assert "Change password" in browser.get("/account").text


def test_a_new_password_ends_the_sessions_elsewhere(people: People) -> None:
    _register(people)
    here, elsewhere = people.browser(), people.browser()
    before = here.client.get_cookie("docmill_session")
    new = {"current_password": PASSWORD, "password": "another sentence", "password_again": "another sentence"}
    assert here.post("/account/password", new).status_code == 303
    after = here.client.get_cookie("docmill_session")
    assert before is not None
    assert after is not None
    assert before.value != after.value
    assert here.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 303
    assert _sign_in(people.visitor(), "another sentence").status_code == 303


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"password": PASSWORD, "password_again": PASSWORD}, "Give your password once more"),
        (
            {"current_password": "wrong", "password": PASSWORD, "password_again": PASSWORD},
            "not your current password",
        ),
        ({"current_password": PASSWORD, "password": "short", "password_again": "short"}, "Use 10 characters"),
        ({"current_password": PASSWORD, "password": "one sentence", "password_again": "another"}, "not the same"),
    ],
)
def test_a_password_that_cannot_be_set_says_why(people: People, form: dict[str, str], sentence: str) -> None:
    _register(people)
    answer = people.browser().post("/account/password", form)
    assert answer.status_code == 422
    assert sentence in answer.text


def test_an_open_browser_does_not_allow_guessing_the_password(people: People) -> None:
    _register(people)
    browser = people.browser()
    form = {"current_password": "wrong", "password": "another sentence", "password_again": "another sentence"}
    answers = [browser.post("/account/password", form) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [422] * 5 + [429]
    assert answers[-1].headers["Retry-After"]


@both_databases
def test_a_token_is_shown_once_and_works(people: People, browser: Browser) -> None:
    page = browser.post("/account/tokens", {"name": "Nightly <b>import</b>", "scope": "write"})
    assert page.status_code == 200
    token = page.text.split('<code class="secret" tabindex="0">')[1].split("</code>")[0]
    assert page.headers["Cache-Control"] == "no-store"
    later = browser.get("/account").text
    assert token not in later
    assert "Nightly &lt;b&gt;import&lt;/b&gt;" in later
    assert token[:11] in later
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    assert people.app.test_client().get("/documents", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "form",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"name": "a\0b"},
        {"name": "x", "scope": "ops"},
        {"name": "x", "scope": "king"},
        {"name": "x", "days": "7"},
    ],
)
def test_a_token_that_cannot_be_made_says_why(browser: Browser, form: dict[str, str]) -> None:
    answer = browser.post("/account/tokens", form)
    assert answer.status_code == 422
    assert "field-error" in answer.text


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        ("viewer", {"read"}),
        ("member", {"read", "upload", "write"}),
        ("ops", {"read", "upload", "write", "metrics", "ops"}),
        ("operator", {"read", "upload", "write", "metrics", "ops", "operator"}),
    ],
)
def test_a_person_gives_no_scope_beyond_their_role(people: People, role: str, scopes: set[str]) -> None:
    people.org("Theirs")
    browser = people.browser(role)
    offered = set(re.findall(r'<option value="([a-z]+)"', browser.get("/account").text))
    assert offered == scopes
    for scope in Scope:
        status = browser.post("/account/tokens", {"name": scope.value, "scope": scope.value}).status_code
        assert status == (200 if scope in scopes else 422), scope


def test_a_token_is_revoked_by_its_owner_and_by_ops(people: People, app: Flask) -> None:
    member, other = people.browser("member"), people.browser("member", email="bo@example.org")
    ops = people.browser("ops", email="op@example.org")
    assert member.post("/account/tokens", {"name": "mine"}).status_code == 200
    assert member.post("/account/tokens", {"name": "also mine"}).status_code == 200
    assert member.org_id
    mine, also_mine = (_token_id(app, member.org_id, name) for name in ("mine", "also mine"))
    assert "mine" not in other.get("/account").text
    assert other.post(f"/account/tokens/{mine}/revoke").status_code == 404
    assert member.post(f"/account/tokens/{mine}/revoke").status_code == 303
    assert "ana@example.org" in ops.get("/account").text
    assert ops.post(f"/account/tokens/{also_mine}/revoke").status_code == 303
    assert "also mine" not in member.get("/account").text


def test_another_orgs_token_is_not_there(people: People, app: Flask) -> None:
    theirs = people.program(org="Theirs")
    answer = people.browser("ops").post(f"/account/tokens/{_token_id(app, theirs.org_id, 'tests')}/revoke")
    assert answer.status_code == 404
    assert theirs.get("/documents").status_code == 200


def _token_id(app: Flask, org_id: UUID, name: str) -> UUID:
    with app.app_context(), transaction(everywhere=True) as database:
        return database.scalars(select(ApiToken.id).where(ApiToken.org_id == org_id, ApiToken.name == name)).one()
