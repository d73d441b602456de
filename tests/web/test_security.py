"""What every answer carries, and who may sign in."""

import io
import re
import socket
from pathlib import Path

import pytest
from flask import Flask, request
from flask.testing import FlaskClient

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.web.people import HTML, JSON, Browser, People
from webapp.app import create_app
from webapp.serving.inflow import ENVIRON_KEY, ClientLimits, Inflow
from webapp.web.access import public
from webapp.web.safe_paths import own_path


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.mark.parametrize("path", ["/sign-in", "/healthz", "/static/css/tokens.css", "/nowhere", "/documents"])
def test_every_answer_carries_the_headers(client: FlaskClient, path: str) -> None:
    with client.get(path, headers={"Accept": HTML}) as answer:
        headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Referrer-Policy"] in {"same-origin", "no-referrer"}
    policy = headers["Content-Security-Policy"]
    for part in (
        "default-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert "Strict-Transport-Security" not in headers


def test_https_is_remembered(client: FlaskClient) -> None:
    assert "max-age=" in client.get("https://localhost/healthz").headers["Strict-Transport-Security"]


def test_scripts_run_with_this_answers_nonce_alone(browser: Browser) -> None:
    pages = [browser.get("/account") for _ in range(2)]
    nonces = set()
    for page in pages:
        found = re.search(r"script-src 'nonce-([^']+)'(;|$)", page.headers["Content-Security-Policy"])
        assert found
        nonces.add(found[1])
        scripts = re.findall(r"<script[^>]*>", page.text)
        assert scripts
        assert all(f'nonce="{found[1]}"' in script for script in scripts)
        assert not re.search(r"\son\w+=|javascript:|<style| style=", page.text)
    assert len(nonces) == 2


def test_what_one_person_sees_is_not_kept(browser: Browser) -> None:
    assert browser.get("/account").headers["Cache-Control"] == "no-store"
    with browser.get("/static/css/tokens.css") as answer:
        assert "no-store" not in answer.headers.get("Cache-Control", "")


def test_another_host_is_refused_without_a_page(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=sqlite_database.url))
    client = app.test_client()
    for host in ("evil.example", "localhost.evil.example", "evil.example:8000"):
        answer = client.get("/sign-in", headers={"Host": host, "Accept": HTML})
        assert answer.status_code == 400
        assert "evil" not in answer.text
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    dispose(app)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000", "docmill.localhost:8000"]
)
def test_loopback_has_several_names(client: FlaskClient, host: str) -> None:
    assert client.get("/sign-in", headers={"Host": host, "Accept": HTML}).status_code == 200


def test_a_probe_may_ask_under_any_name(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=sqlite_database.url))
    for path in ("/healthz", "/readyz"):
        assert app.test_client().get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200
    dispose(app)


@pytest.mark.parametrize(
    ("variables", "host", "status"),
    [
        ({"HOST": "0.0.0.0"}, "anything.example", 200),  # noqa: S104 - a setting under test
        ({"HOST": "0.0.0.0", "TRUSTED_HOSTS": "docs.example"}, "docs.example:443", 200),  # noqa: S104 - as above
        ({"HOST": "0.0.0.0", "TRUSTED_HOSTS": "docs.example"}, "anything.example", 400),  # noqa: S104 - as above
        ({"PUBLIC_URL": "https://docs.example/"}, "docs.example", 200),
        ({"PUBLIC_URL": "https://docs.example/"}, "other.example", 400),
        ({"TRUSTED_HOSTS": ".example.org"}, "docs.Example.org", 200),
        ({"TRUSTED_HOSTS": ".example.org"}, "notexample.org", 400),
    ],
)
def test_settings_say_which_hosts_are_served(
    sqlite_database: DatabaseUnderTest, tmp_path: Path, variables: dict[str, str], host: str, status: int
) -> None:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=sqlite_database.url, **variables))
    assert app.test_client().get("/sign-in", headers={"Host": host, "Accept": HTML}).status_code == status
    dispose(app)


FORWARDED = {"X-Forwarded-For": "6.6.6.6, 7.7.7.7", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}


@pytest.mark.parametrize(
    ("hops", "seen"), [("0", ["127.0.0.1", "http", "localhost"]), ("1", ["7.7.7.7", "https", "localhost"])]
)
def test_proxies_are_believed_as_far_as_they_were_named(
    sqlite_database: DatabaseUnderTest, tmp_path: Path, hops: str, seen: list[str]
) -> None:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=sqlite_database.url, PROXY_HOPS=hops))
    app.add_url_rule("/seen", "seen", public(lambda: [request.remote_addr, request.scheme, request.host]))
    assert app.test_client().get("/seen", headers=FORWARDED).json == seen
    dispose(app)


FOLLOWED = {"/": "/", "/a?b=c": "/a?b=c", "/a#b": "/a", "http://localhost/here?x": "/here?x", "//evil/x": "/x"}
NOT_FOLLOWED = (
    *("", "a", "//evil", "https:evil", "/\\evil", "\\\\evil", "\t//evil", "/\t/evil", "/a b", "/a\r\nSet-Cookie: x"),
    *("javascript:alert(1)", "data:/x", "http://evil//evil", "http://["),
)


@pytest.mark.parametrize(("address", "path"), [(None, None), *FOLLOWED.items(), *((bad, None) for bad in NOT_FOLLOWED)])
def test_only_own_paths_are_followed(address: str | None, path: str | None) -> None:
    assert own_path(address) == path


UNSAFE = ["/account/tokens", "/sign-out", "/account/password", "/documents"]


@pytest.mark.parametrize("path", UNSAFE)
def test_a_form_without_its_token_changes_nothing(people: People, browser: Browser, path: str) -> None:
    other = people.browser(email="eve@example.org")
    for given in ({}, {"csrf_token": "wrong"}, {"csrf_token": other.csrf()}):
        answer = browser.client.post(path, data={"name": "x", **given}, headers={"Accept": HTML})
        assert answer.status_code == 400
        assert "open for too long" in answer.text
    assert browser.get("/account").status_code == 200
    assert "No API tokens yet" in browser.get("/account").text


def test_another_sites_form_is_refused_even_with_a_token(browser: Browser) -> None:
    answer = browser.post("/account/tokens", {"name": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert "No API tokens yet" in browser.get("/account").text


def test_signing_in_takes_a_form_of_ours_too(people: People) -> None:
    answer = people.visitor().client.post("/sign-in", data={"email": "a@x", "password": "x"}, headers=JSON)
    assert answer.status_code == 400
    assert answer.json is not None
    assert answer.json["reason"] == "csrf"


class Unread(io.RawIOBase):
    """A body that nobody may wait for."""

    def readinto(self, buffer: object) -> int:
        raise AssertionError("somebody reads the body")


@pytest.mark.parametrize("path", ["/sign-in", "/account/tokens", "/ops/jobs/retry", "/nowhere"])
def test_nobody_waits_for_a_form_that_is_too_large(people: People, path: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        inflow = Inflow(ours, ClientLimits())
        inflow.begin(b"", 60.0, is_whole=False)
        environ = {ENVIRON_KEY: inflow, "wsgi.input": Unread(), "wsgi.input_terminated": True}
        headers = {"Content-Type": "application/x-www-form-urlencoded", **JSON}
        answer = people.browser("ops").client.open(path, method="POST", headers=headers, environ_overrides=environ)
    assert answer.status_code == 413


def test_a_program_needs_no_form(people: People) -> None:
    assert people.program("ops").post("/ops/jobs/retry").status_code == 200
