"""Sessions: seen and ended by their person, idle ones end, and proof before what outlasts them."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import select, update

from tests.bare import changed
from tests.web.databases import both_databases
from tests.web.people import HTML, Browser, People
from tests.web.test_accounts import PASSWORD, _link, _register, _sign_in
from webapp.accounts import links
from webapp.accounts.model import SignInLink, UserSession
from webapp.clock import after
from webapp.db import reading, transaction
from webapp.web.visitors import device_of

LINUX = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Mobile/15E148 Safari/604.1"
)


def _age(app: Flask, org_id: UUID | None, **values: float) -> None:
    """Make every session of the org so many seconds old."""
    assert org_id
    with app.app_context(), transaction(org_id) as database:
        database.execute(update(UserSession).values({name: after(-seconds) for name, seconds in values.items()}))


def _ids(app: Flask, org_id: UUID | None) -> list[UUID]:
    assert org_id
    with app.app_context(), reading(org_id) as database:
        return list(database.scalars(select(UserSession.id).order_by(UserSession.created_at, UserSession.id)))


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (LINUX, "Firefox on Linux"),
        (IPHONE, "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit Chrome/130.0 Safari/537.36 Edg/130.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.5", "curl"),
        ("<script>alert(1)</script>", None),
        ("", None),
    ],
)
def test_a_browser_is_named_and_nothing_it_sends_is_kept(user_agent: str, words: str | None) -> None:
    assert device_of(user_agent) == words


@both_databases
def test_a_person_sees_where_they_are_signed_in_and_ends_one(people: People, app: Flask) -> None:
    _register(people)
    here, phone = people.visitor(), people.visitor()
    assert _sign_in(here, headers={"User-Agent": LINUX}).status_code == 303
    elsewhere = {"REMOTE_ADDR": "203.0.113.9"}
    assert _sign_in(phone, headers={"User-Agent": IPHONE}, environ_overrides=elsewhere).status_code == 303
    here.user_id = phone.user_id = UUID(int=1)  # any: the page with the token is /account
    page = here.get("/account").text
    assert "Firefox on Linux" in page
    assert "Safari on iPhone" in page
    assert "From 203.0.113.9" in page
    assert page.count("This one") == 1
    of_here, of_phone = _ids(app, people.org())
    assert here.post(f"/account/sessions/{of_phone}/end").location == "/account"
    assert phone.get("/account").status_code == 303
    assert here.get("/account").status_code == 200
    answer = here.post(f"/account/sessions/{of_here}/end")
    assert answer.location == "/sign-in"
    assert here.client.get_cookie("docmill_session") is None


@both_databases
def test_nobody_ends_anothers_session(people: People, app: Flask) -> None:
    other = people.browser(email="bo@example.org")
    [theirs] = _ids(app, other.org_id)
    assert people.browser("ops").post(f"/account/sessions/{theirs}/end").status_code == 404
    assert other.get("/account").status_code == 200


@both_databases
def test_signing_out_everywhere_ends_each_session_and_an_open_link(people: People) -> None:
    here, elsewhere, other = people.browser(), people.browser(), people.browser(email="bo@example.org")
    link = _link(people)
    assert here.post("/account/sessions/end").location == "/sign-in"
    assert here.get("/account").status_code == 303
    assert elsewhere.get("/account").status_code == 303
    assert people.visitor().post(link).status_code == 410
    assert other.get("/account").status_code == 200


@both_databases
def test_a_session_that_nobody_uses_ends(people: People, app: Flask) -> None:
    browser = people.browser()
    _age(app, browser.org_id, last_seen_at=6 * 86_400)
    assert browser.get("/account").status_code == 200
    _age(app, browser.org_id, last_seen_at=7 * 86_400 + 1)
    assert browser.get("/account").status_code == 303


def test_the_idle_time_is_a_setting_and_use_begins_it_anew(people: People, app: Flask) -> None:
    services = app.extensions["docmill"]
    settings = changed(services.settings, "access", session_idle_days=1 / 1440)
    app.extensions["docmill"] = replace(services, settings=settings)
    browser = people.browser()
    _age(app, browser.org_id, last_seen_at=50)
    assert browser.get("/account").status_code == 200
    assert browser.org_id
    with app.app_context(), reading(browser.org_id) as database:
        [seen] = database.scalars(select(UserSession))
    assert seen.last_seen_at - seen.created_at < timedelta(seconds=40)
    _age(app, browser.org_id, last_seen_at=61)
    assert browser.get("/account").status_code == 303


def _stale(people: People, app: Flask) -> Browser:
    browser = people.browser()
    _age(app, browser.org_id, authenticated_at=601, created_at=601)
    return browser


@both_databases
def test_an_old_session_makes_no_token_without_the_password(people: People, app: Flask) -> None:
    _register(people)
    browser = _stale(people, app)
    assert 'name="current_password"' in browser.get("/account").text
    refused = browser.post("/account/tokens", {"name": "x"})
    assert refused.status_code == 422
    assert "Give your password once more" in refused.text
    wrong = browser.post("/account/tokens", {"name": "x", "current_password": "wrong"})
    assert wrong.status_code == 422
    assert "not your current password" in wrong.text
    assert 'class="secret"' not in wrong.text
    assert browser.post("/account/tokens", {"name": "x", "current_password": PASSWORD}).status_code == 200
    # For some minutes that is proof enough.
    assert browser.post("/account/tokens", {"name": "y"}).status_code == 200
    _age(app, browser.org_id, authenticated_at=601)
    assert browser.post("/account/tokens", {"name": "z"}).status_code == 422


def test_guessing_at_the_proof_is_answered_with_a_wait(people: People, app: Flask) -> None:
    _register(people)
    browser = _stale(people, app)
    wrong = {"name": "x", "current_password": "wrong"}
    answers = [browser.post("/account/tokens", wrong) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [422] * 5 + [429]


@both_databases
def test_without_a_password_an_old_session_takes_a_new_link(people: People, app: Flask) -> None:
    browser = _stale(people, app)
    assert "ask for a new sign-in link" in browser.get("/account").text
    assert browser.post("/account/tokens", {"name": "x"}).status_code == 422
    new = {"password": PASSWORD, "password_again": PASSWORD}
    assert browser.post("/account/password", new).status_code == 422
    link = _link(people)
    again = people.visitor()
    assert again.post(link).status_code == 303
    again.user_id = browser.user_id
    assert again.post("/account/tokens", {"name": "x"}).status_code == 200
    assert again.post("/account/password", new).status_code == 303


@both_databases
def test_a_forgotten_password_is_replaced_after_a_link(people: People, app: Flask) -> None:
    _register(people)
    browser = people.visitor()
    assert browser.post(_link(people)).status_code == 303
    browser.user_id = UUID(int=1)
    new = {"password": "another sentence", "password_again": "another sentence"}
    assert 'name="current_password"' not in browser.get("/account/password").text
    assert browser.post("/account/password", new).status_code == 303
    assert _sign_in(people.visitor(), "another sentence").status_code == 303
    assert _sign_in(people.visitor()).status_code == 422


def test_some_minutes_after_a_link_the_old_password_is_asked_for(people: People, app: Flask) -> None:
    _register(people)
    browser = people.visitor()
    assert browser.post(_link(people)).status_code == 303
    browser.user_id = UUID(int=1)
    _age(app, people.org(), created_at=601)
    new = {"password": "another sentence", "password_again": "another sentence"}
    answer = browser.post("/account/password", new)
    assert answer.status_code == 422
    assert 'name="current_password"' in answer.text


@both_databases
def test_a_reset_forgets_the_password_and_ends_everything(people: People, app: Flask) -> None:
    _register(people)
    browser = people.browser()
    page = browser.post("/account/tokens", {"name": "mine"}).text
    token = page.split('<code class="secret" tabindex="0">')[1].split("</code>")[0]
    old_link = _link(people)
    result = app.test_cli_runner().invoke(args=["users", "reset", "--org", "Ours", "--email", "ana@example.org"])
    assert result.exit_code == 0
    assert browser.get("/account").status_code == 303
    assert people.visitor().post(old_link).status_code == 410
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    assert app.test_client().get("/documents", headers=headers).status_code == 401
    assert _sign_in(people.visitor()).status_code == 422
    new_link = "/" + result.stdout.strip().split("/", 3)[3]
    assert people.visitor().post(new_link).status_code == 303


@both_databases
def test_a_newer_link_voids_the_one_before(people: People) -> None:
    first, second = _link(people), _link(people)
    assert people.visitor().post(first).status_code == 410
    assert people.visitor().post(second).status_code == 303


def test_a_link_lasts_a_day_and_a_printed_one_an_hour(people: People, app: Flask) -> None:
    assert (links.LIFE_SECONDS, links.PRINTED_LIFE_SECONDS) == (86_400, 3_600)
    _link(people)
    with app.app_context(), reading(people.org()) as database:
        [link] = database.scalars(select(SignInLink))
    assert link.expires_at - link.created_at == pytest.approx(timedelta(days=1), abs=timedelta(seconds=5))


def test_a_browser_that_signed_in_before_passes_a_lock_out_by_others(people: People) -> None:
    _register(people)
    known, guesser, other = people.visitor(), people.visitor(), people.visitor()
    assert _sign_in(known).status_code == 303
    known.client.delete_cookie("docmill_session")
    assert [_sign_in(guesser, "wrong").status_code for _ in range(6)] == [422] * 5 + [429]
    # One office is one address: the right password is refused there, but not in a browser that is known.
    assert _sign_in(other).status_code == 429
    assert _sign_in(known).status_code == 303


def test_a_known_browser_has_a_count_of_its_own_and_only_for_its_person(people: People) -> None:
    _register(people)
    _register(people, email="bo@example.org")
    known = people.visitor()
    assert _sign_in(known).status_code == 303
    known.client.delete_cookie("docmill_session")
    assert [_sign_in(known, "wrong").status_code for _ in range(6)] == [422] * 5 + [429]
    other = {"email": "bo@example.org", "password": "wrong"}
    assert [known.post("/sign-in", other).status_code for _ in range(6)] == [422] * 5 + [429]


@pytest.mark.parametrize("forged", ["x", "x.y", ".", "", "\u00e9.\u00e9", "a" * 3000])
def test_a_forged_device_is_nobodys(people: People, forged: str) -> None:
    _register(people)
    guesser = people.visitor()
    assert [_sign_in(guesser, "wrong").status_code for _ in range(5)] == [422] * 5
    guesser.client.set_cookie("docmill_device", forged)
    assert _sign_in(guesser).status_code == 429


def test_the_device_cookie_opens_nothing_and_is_kept_from_scripts(people: People) -> None:
    _register(people)
    browser = people.visitor()
    header = next(line for line in _sign_in(browser).headers.getlist("Set-Cookie") if "docmill_device" in line)
    assert "HttpOnly" in header
    assert "SameSite=Lax" in header
    assert "ana@example.org" not in header
    browser.client.delete_cookie("docmill_session")
    assert browser.client.get("/account", headers={"Accept": HTML}).status_code == 303
