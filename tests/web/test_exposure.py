"""People who run an installation that is open to others more than it should be are told so."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.web.people import HTML, People
from webapp.app import create_app
from webapp.web.exposure import Exposure, warn

EVERYWHERE = "0.0.0.0"  # noqa: S104 - a setting under test


@contextmanager
def installed(database: DatabaseUnderTest, folder: Path, **variables: str) -> Iterator[Flask]:
    app = create_app(settings_for(folder / "data", DATABASE_URL=database.url, **variables))
    yield app
    dispose(app)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, None),
        ({"HOST": "::1"}, None),
        ({"HOST": EVERYWHERE}, "neither TRUSTED_HOSTS nor PUBLIC_URL"),
        ({"HOST": EVERYWHERE, "TRUSTED_HOSTS": "docs.example"}, None),
        ({"HOST": EVERYWHERE, "PUBLIC_URL": "http://docs.example"}, None),
        ({"PUBLIC_URL": "https://docs.example"}, "PUBLIC_URL begins with https://, but PROXY_HOPS is 0"),
        ({"PUBLIC_URL": "https://docs.example", "PROXY_HOPS": "1"}, None),
    ],
)
def test_settings_that_expose_the_installation_are_named_at_the_start(
    sqlite_database: DatabaseUnderTest,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    variables: dict[str, str],
    words: str | None,
) -> None:
    with installed(sqlite_database, tmp_path, **variables) as app, caplog.at_level(logging.WARNING):
        warn(app)
    assert [record.getMessage().count(words or "x") > 0 for record in caplog.records] == ([True] if words else [])


@pytest.mark.slow
def test_a_proxy_that_nobody_told_us_about_is_named_once(
    sqlite_database: DatabaseUnderTest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with installed(sqlite_database, tmp_path) as app, caplog.at_level(logging.WARNING):
        client = app.test_client()
        client.get("/healthz")
        assert caplog.records == []
        for _ in range(3):
            client.get("/healthz", headers={"X-Forwarded-For": "203.0.113.7"})
        [record] = caplog.records
        assert "X-Forwarded-For, but PROXY_HOPS is 0" in record.getMessage()
        operator = People(app).browser("ops")
        assert "X-Forwarded-For, but PROXY_HOPS is 0" in operator.get("/ops").text
        # `flask doctor` is another process.
        settings = app.extensions["docmill"].settings
        assert "warning: Requests arrive with X-Forwarded-For" in app.test_cli_runner().invoke(args=["doctor"]).output
        assert len(list(Exposure(settings).warnings())) == 1
        warn(app)
        assert list(Exposure(settings).warnings()) == []


def test_a_proxy_that_is_known_is_no_reason_to_warn(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    with installed(sqlite_database, tmp_path, PROXY_HOPS="1") as app:
        app.test_client().get("/healthz", headers={"X-Forwarded-For": "203.0.113.7"})
        assert list(Exposure(app.extensions["docmill"].settings).warnings()) == []


def test_https_in_the_public_address_makes_cookies_secure(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    with installed(sqlite_database, tmp_path, PUBLIC_URL="https://docs.example", PROXY_HOPS="0") as app:
        # As a proxy asks that says nothing about itself.
        answer = app.test_client().get("/sign-in", headers={"Host": "docs.example", "Accept": HTML})
    [cookie] = answer.headers.getlist("Set-Cookie")
    assert cookie.startswith("__Host-docmill_forms=")
    assert "; Secure" in cookie
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_without_https_cookies_go_over_http(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    with installed(sqlite_database, tmp_path) as app:
        answer = app.test_client().get("/sign-in", headers={"Accept": HTML})
    [cookie] = answer.headers.getlist("Set-Cookie")
    assert cookie.startswith("docmill_forms=")
    assert "Secure" not in cookie
