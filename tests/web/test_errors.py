"""Every error: a sentence for a person, a message for HTMX, problem+json for a program, secrets for nobody."""

import logging
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.exc import OperationalError
from werkzeug.exceptions import TooManyRequests

from tests.web.people import HTML, HX, JSON, Browser, People, Program
from webapp.provider_errors import Busy, ProviderUnavailable
from webapp.web.access import public
from webapp.web.errors import Problem
from webapp.web.security import FORM_BYTES_MAX

SECRET = "postgresql://app:hunter2@db/docmill"


@pytest.fixture
def faulty(own_app: Flask) -> Flask:
    """The application with some routes that fail, as it answers outside of tests."""
    own_app.testing = False
    for name, error in {
        "crash": ValueError(SECRET),
        "database": OperationalError("SELECT 1", {}, Exception(SECRET)),
        "provider": ProviderUnavailable(SECRET),
        "busy": Busy(SECRET),
        "wait": TooManyRequests(retry_after=7),
        "words": Problem(409, "own", title="Own title", detail="Own <b>detail</b>", members={"more": [1]}),
    }.items():
        own_app.add_url_rule(f"/faulty/{name}", name, public(_raising(error)))
    return own_app


def _raising(error: Exception) -> Callable[[], str]:
    def view() -> str:
        raise error

    return view


@pytest.fixture
def client(faulty: Flask) -> FlaskClient:
    return faulty.test_client()


@pytest.mark.parametrize(("name", "status"), [("crash", 500), ("database", 503), ("provider", 503)])
@pytest.mark.parametrize("headers", [{"Accept": HTML}, HX, JSON])
def test_what_nobody_foresaw_has_a_reference_and_no_secret(
    client: FlaskClient, caplog: pytest.LogCaptureFixture, name: str, status: int, headers: dict[str, str]
) -> None:
    with caplog.at_level(logging.WARNING):
        answer = client.get(f"/faulty/{name}", headers=headers)
    assert answer.status_code == status
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    [record] = caplog.records
    reference = record.getMessage().split()[1].rstrip(":")
    assert len(reference) == 12
    assert reference in answer.text
    # What passes by itself is one line; a fault of ours tells where it is.
    assert bool(record.exc_info) == (name != "database")


def test_a_missing_part_says_when_to_come_back(client: FlaskClient) -> None:
    assert client.get("/faulty/database").headers["Retry-After"] == "5"
    assert client.get("/faulty/wait").headers["Retry-After"] == "7"


def test_that_many_pages_are_drawn_is_no_error(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer = client.get("/faulty/busy")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert caplog.records == []


def test_nobody_writes_lines_into_the_log(client: FlaskClient, faulty: Flask, caplog: pytest.LogCaptureFixture) -> None:
    faulty.add_url_rule("/faulty/named/<name>", "named", public(lambda name: str(1 / 0)))
    client.get("/faulty/named/a%0aERROR%20forged%1b[31m")
    assert "\n" not in caplog.records[-1].getMessage()
    assert "\x1b" not in caplog.records[-1].getMessage()


def test_a_program_reads_a_problem(program: Program) -> None:
    answer = program.get("/nowhere")
    assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")
    assert answer.json == {
        "type": "about:blank",
        "status": 404,
        "title": "Not found",
        "detail": "There is nothing under this address, or it was deleted.",
    }


def test_a_problem_may_have_its_own_words_and_members(client: FlaskClient) -> None:
    answer = client.get("/faulty/words", headers=JSON)
    assert answer.status_code == 409
    assert answer.json is not None
    assert (answer.json["reason"], answer.json["more"], answer.json["title"]) == ("own", [1], "Own title")
    page = client.get("/faulty/words", headers={"Accept": HTML})
    assert "Own &lt;b&gt;detail&lt;/b&gt;" in page.text


def test_a_person_reads_a_page(browser: Browser, people: People) -> None:
    page = browser.get("/nowhere")
    assert (page.status_code, page.mimetype) == (404, "text/html")
    assert "<h1>Not found</h1>" in page.text
    assert "Go to the library" in page.text
    assert "Go to the library" not in people.visitor().get("/nowhere").text


def test_htmx_reads_a_message_for_the_page(browser: Browser) -> None:
    answer = browser.client.get("/nowhere", headers=HX)
    assert answer.status_code == 404
    assert answer.headers["HX-Retarget"] == "#flashes"
    assert "<html" not in answer.text
    assert "Not found" in answer.text


def test_a_wrong_method_says_which_are_right(program: Program) -> None:
    answer = program.post("/documents/0198a3f0-0000-7000-8000-000000000000/status")
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]
    assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize("method", ["TRACE", "FOO"])
def test_unheard_of_methods_are_refused(program: Program, method: str) -> None:
    assert program.client.open("/documents", method=method, headers=program.headers).status_code == 405


def test_a_form_that_is_too_large_is_413(people: People) -> None:
    browser = people.browser()
    for more in (
        {"data": {"name": "x" * (FORM_BYTES_MAX + 1)}},
        {"data": "x" * (FORM_BYTES_MAX + 1), "content_type": "text/plain"},
    ):
        answer = browser.client.post("/account/tokens", headers={"X-CSRFToken": browser.csrf(), **JSON}, **more)
        assert answer.status_code == 413
        assert answer.mimetype == "application/problem+json"


class Endless:
    """A body that goes on and on."""

    def read(self, size: int = -1) -> bytes:
        """More; reading all of it would take for ever."""
        assert size > 0
        return b"x" * size


@pytest.mark.parametrize(
    ("kind", "status"),
    # The rest of the first is never looked at, and what there is of it has no token.
    [("application/x-www-form-urlencoded", 400), ("multipart/form-data; boundary=x", 413)],
)
def test_a_body_without_end_is_not_waited_for(browser: Browser, kind: str, status: int) -> None:
    environ = {"wsgi.input": Endless(), "wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = browser.client.post("/account/tokens", content_type=kind, environ_overrides=environ)
    assert answer.status_code == status


def test_five_thousand_fields_are_too_many(browser: Browser) -> None:
    parts = "".join(f"--x\r\nContent-Disposition: form-data; name=f{n}\r\n\r\n\r\n" for n in range(5000))
    answer = browser.client.post(
        "/documents",
        data=f"{parts}--x--\r\n",
        content_type="multipart/form-data; boundary=x",
        headers={"X-CSRFToken": browser.csrf(), **JSON},
    )
    assert answer.status_code == 413


def test_bad_json_is_the_senders_fault(people: People) -> None:
    program = people.program("ops")
    assert program.post("/ops/jobs/retry", json={"ids": "all"}).status_code == 422
    assert program.post("/ops/jobs/retry", json={"ids": ["x"]}).status_code == 422
    assert program.post("/ops/jobs/retry", json={"ids": [7]}).status_code == 422
