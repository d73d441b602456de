"""Who gets in, who doesn't, and what they are told."""

import io
from uuid import uuid4

import pytest
from flask import Flask, request
from flask.testing import FlaskClient

from tests.web.databases import both_databases
from tests.web.people import HTML, HX, Browser, People, Program
from tests.web.shelves import counted_queries
from webapp.accounts import tokens
from webapp.db import db, transaction


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def test_a_browser_that_is_not_signed_in_is_sent_to_sign_in_and_back(client: FlaskClient) -> None:
    answer = client.get("/documents?status=failed", headers={"Accept": HTML})
    assert (answer.status_code, answer.location) == (303, "/sign-in?next=/documents?status%3Dfailed")


@pytest.mark.parametrize("accept", ["application/json", "application/problem+json", "*/*", ""])
def test_a_program_without_a_token_is_told_what_it_lacks(client: FlaskClient, accept: str) -> None:
    answer = client.get("/documents", headers={"Accept": accept})
    assert answer.status_code == 401
    assert answer.mimetype == "application/problem+json"
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="docmill"'
    assert answer.json is not None
    assert answer.json["status"] == 401
    assert "Authorization: Bearer" in answer.json["detail"]


def test_a_fragment_without_signing_in_makes_the_page_leave_for_it(client: FlaskClient) -> None:
    current = {"HX-Current-URL": "http://localhost/search?q=x"}
    answer = client.get("/documents", headers={**HX, **current})
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/sign-in?next=/search?q%3Dx"


@pytest.mark.parametrize(
    "credentials", ["Bearer nonsense", "Bearer ", "Bearer dm_00000000_x", "Bearer \udcff", "Bearer a b"]
)
def test_a_bad_token_opens_nothing_even_beside_a_good_cookie(browser: Browser, credentials: str) -> None:
    value = credentials.encode("utf-8", "surrogateescape").decode("latin-1")
    answer = browser.client.get("/documents", headers={"Authorization": value, "Accept": "application/json"})
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_other_ways_to_authorise_are_ignored(client: FlaskClient) -> None:
    assert client.get("/documents", auth=("ana", "secret")).status_code == 401


@both_databases
def test_a_cookie_and_a_token_let_in(browser: Browser, program: Program) -> None:
    assert browser.get("/account").status_code == 200
    assert program.get("/documents").status_code == 200


def test_a_revoked_token_is_unknown(app: Flask, program: Program) -> None:
    with app.app_context(), transaction(program.org_id):
        [token] = tokens.of_org(program.org_id)
        tokens.revoke(program.org_id, token.id)
    assert program.get("/documents").status_code == 401


@both_databases
def test_the_use_of_a_token_is_written_once(app: Flask, program: Program) -> None:
    with counted_queries(app) as statements:
        for _ in range(3):
            assert program.get("/documents").status_code == 200
    assert len([statement for statement in statements if "last_used_at=" in statement.replace(" = ", "=")]) == 1


@pytest.mark.parametrize("path", ["/ops", "/ops/jobs", "/metrics"])
def test_the_ops_pages_are_for_ops(people: People, path: str) -> None:
    assert people.program("member").get(path).status_code == 403
    assert people.browser("member").get(path).status_code == 403
    assert people.program("ops").get(path).status_code == 200
    assert people.browser("ops", email="op@example.org").get(path).status_code == 200


def test_a_token_makes_no_tokens(people: People) -> None:
    program = people.program("ops")
    assert program.get("/account").status_code == 403
    assert program.post("/account/tokens", data={"name": "more", "role": "ops"}).status_code == 403


class Body(io.BytesIO):
    """An upload that notes whether anybody reads it."""

    reads = 0

    def read(self, *size: int | None) -> bytes:
        Body.reads += 1
        return super().read(*size)


@pytest.fixture
def body() -> Body:
    Body.reads = 0
    return Body(b"--x\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\nhello\r\n--x--\r\n")


def _send(client: FlaskClient, body: Body, **headers: str) -> int:
    sized = {"Content-Length": str(len(body.getvalue())), "Accept": "application/json", **headers}
    answer = client.post("/documents", input_stream=body, content_type="multipart/form-data; boundary=x", headers=sized)
    return answer.status_code


def test_an_upload_without_signing_in_is_never_read(client: FlaskClient, body: Body) -> None:
    assert _send(client, body) == 401
    assert Body.reads == 0


def test_a_token_in_the_header_is_checked_before_the_body_is_read(browser: Browser, body: Body) -> None:
    assert _send(browser.client, body, **{"X-CSRFToken": "wrong"}) == 400
    assert Body.reads == 0
    assert _send(browser.client, body, **{"X-CSRFToken": browser.csrf()}) == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path", ["/documents/{}", "/documents/{}/status", "/documents/{}/reprocess", "/documents/{}/delete"]
)
def test_unknown_documents_are_404_in_every_form(browser: Browser, path: str, method: str) -> None:
    for headers in ({}, HX, {"Accept": "application/json"}):
        answer = browser.client.open(
            path.format(uuid4()), method=method, headers={**headers, "X-CSRFToken": browser.csrf()}
        )
        assert answer.status_code in {404, 405}


@both_databases
def test_no_transaction_is_open_while_a_body_arrives(own_app: Flask) -> None:
    """The guard looks somebody up and lets go of the connection; the view starts with none."""
    open_then: list[object] = []

    @own_app.before_request
    def look() -> None:
        if request.path == "/account":
            open_then.append(db.session().in_transaction())

    People(own_app).browser().get("/account")
    assert open_then == [False]
