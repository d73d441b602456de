"""A token does no more than its owner may at that moment, and ends with its owner or at its end date."""

import re
from io import BytesIO
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import update

from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import notes, shelve
from webapp.accounts import users
from webapp.accounts.model import ApiToken
from webapp.accounts.roles import Role
from webapp.clock import after
from webapp.db import transaction


def _made(people: People, browser: Browser, **form: str) -> Program:
    page = browser.post("/account/tokens", {"name": "mine", **form})
    assert page.status_code == 200, page.text
    text = page.text.split('<code class="secret" tabindex="0">')[1].split("</code>")[0]
    assert browser.org_id
    return Program(people.app.test_client(), text, browser.org_id)


def _run(app: Flask, *arguments: str) -> str:
    result = app.test_cli_runner().invoke(args=list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


OURS = ("--org", "Ours", "--email", "ana@example.org")


@both_databases
def test_a_persons_tokens_end_when_the_person_is_disabled(people: People, app: Flask) -> None:
    browser, other = people.browser("ops"), people.program()
    program = _made(people, browser, scope="ops")
    assert program.get("/ops").status_code == 200
    _run(app, "users", "disable", *OURS)
    assert program.get("/ops").status_code == 401
    assert browser.get("/account").status_code == 303
    assert other.get("/documents").status_code == 200
    _run(app, "users", "enable", *OURS)
    assert program.get("/ops").status_code == 401


@both_databases
def test_a_token_of_somebody_disabled_is_refused_even_where_nobody_revoked_it(people: People, app: Flask) -> None:
    browser = people.browser()
    program = _made(people, browser)
    assert browser.org_id
    with app.app_context(), transaction(browser.org_id) as database:
        user = users.find(browser.org_id, "ana@example.org")
        assert user
        users.disable(user)
        database.execute(update(ApiToken).values(revoked_at=None))
    assert program.get("/documents").status_code == 401


@pytest.mark.parametrize("ends_tokens", [True, False])
def test_a_new_password_revokes_ones_tokens_where_that_is_asked_for(people: People, ends_tokens: bool) -> None:
    browser = people.browser()
    first = {"password": "a first sentence", "password_again": "a first sentence"}
    assert browser.post("/account/password", first).status_code == 303
    program = _made(people, browser)
    again = {"current_password": "a first sentence", "password": "a second one", "password_again": "a second one"}
    assert browser.post("/account/password", again | ({"end_tokens": "on"} if ends_tokens else {})).status_code == 303
    assert program.get("/documents").status_code == (401 if ends_tokens else 200)


@both_databases
def test_a_token_may_never_do_more_than_its_owner_may_now(people: People, app: Flask) -> None:
    people.org("Theirs")
    program = _made(people, people.browser("ops"), scope="ops")
    assert program.get("/ops").status_code == 200
    _run(app, "users", "role", *OURS, "--role", "viewer")
    assert program.get("/ops").status_code == 403
    assert program.get("/documents").status_code == 200
    assert program.post("/documents/reprocess").status_code == 403
    _run(app, "users", "role", *OURS, "--role", "operator")
    assert program.get("/ops").status_code == 200
    assert program.post("/ops/pause").status_code == 403


@both_databases
def test_a_token_runs_out(people: People, app: Flask) -> None:
    browser = people.browser()
    program = _made(people, browser, days="30")
    assert program.get("/documents").status_code == 200
    _let_run_out(app, program.org_id)
    answer = program.get("/documents")
    assert answer.status_code == 401
    assert "has expired" in answer.text
    page = browser.get("/account").text
    assert "Expired" in page


def _let_run_out(app: Flask, org_id: UUID) -> None:
    with app.app_context(), transaction(org_id) as database:
        database.execute(update(ApiToken).values(expires_at=after(-1)))


def test_a_token_ends_in_ninety_days_unless_its_owner_says_otherwise(people: People, app: Flask) -> None:
    browser = people.browser()
    _made(people, browser)
    assert len(re.findall(r"ends on \d{4}-\d\d-\d\d", browser.get("/account").text)) == 1
    _made(people, browser, days="0")
    assert "no end date" in browser.get("/account").text


@both_databases
def test_a_scanner_uploads_and_sees_nothing(people: People) -> None:
    program = _made(people, people.browser(), scope="upload")
    sent = program.post("/documents", data={"file": (BytesIO(b"# Scan"), "scan.md")})
    assert sent.status_code == 200
    assert sent.json
    document_id = sent.json["documents"][0]["id"]
    for path in ("/documents", f"/documents/{document_id}", f"/documents/{document_id}/original", "/search?q=scan"):
        assert program.get(path).status_code == 403, path
    assert program.client.delete(f"/documents/{document_id}", headers=program.headers).status_code == 403


@pytest.mark.parametrize(
    ("arguments", "allowed", "refused"),
    [
        (("--role", "viewer"), "/documents", "/ops"),
        (("--role", "ops"), "/ops", None),
        (("--role", "operator"), "/ops", None),
        (("--role", "metrics"), "/metrics", "/documents"),
        (("--scope", "upload"), None, "/documents"),
        (("--days", "3"), "/documents", "/ops"),
    ],
)
def test_the_command_line_makes_tokens_of_each_kind(
    app: Flask, arguments: tuple[str, ...], allowed: str | None, refused: str | None
) -> None:
    text = _run(app, "tokens", "create", "--org", "Acme", *arguments)
    assert re.fullmatch(r"dm_\S+\n", text)
    headers = {"Authorization": f"Bearer {text.strip()}", "Accept": "application/json"}
    client = app.test_client()
    assert allowed is None or client.get(allowed, headers=headers).status_code == 200
    assert refused is None or client.get(refused, headers=headers).status_code == 403


def test_a_role_and_a_scope_are_not_given_together(app: Flask) -> None:
    arguments = ["tokens", "create", "--org", "Acme", "--role", "member", "--scope", "upload"]
    result = app.test_cli_runner().invoke(args=arguments)
    assert result.exit_code != 0
    assert "not both" in result.stderr


def test_no_person_is_a_monitor(app: Flask) -> None:
    arguments = ["users", "create", "--org", "Acme", "--email", "a@example.org", "--role", Role.METRICS.value]
    assert app.test_cli_runner().invoke(args=arguments).exit_code != 0


def test_a_token_that_is_named_like_a_person_is_shown_as_a_token(people: People) -> None:
    boss = people.browser("ops", email="boss@example.org")
    page = people.browser().post("/account/tokens", {"name": "boss@example.org"})
    text = page.text.split('<code class="secret" tabindex="0">')[1].split("</code>")[0]
    assert boss.org_id
    program = Program(people.app.test_client(), text, boss.org_id)
    assert program.get("/documents").status_code == 200
    made = boss.get("/ops/security", headers={"Accept": "application/json"}).json
    assert made
    assert [line["actor"]["name"] for line in made["entries"] if line["action"] == "token_created"] == [
        "ana@example.org"
    ]


def test_a_viewer_is_offered_nothing_that_would_be_refused(people: People) -> None:
    [document_id] = shelve(people.program(), notes(1))
    viewer, member = people.browser("viewer", email="view@example.org"), people.browser()
    for path, offered in (
        ("/", 'id="upload-form"'),
        ("/", 'id="reprocess-all"'),
        (f"/documents/{document_id}", 'id="reprocess"'),
        (f"/documents/{document_id}", 'id="delete"'),
        (f"/documents/{document_id}", 'id="cancel-run"'),
        (f"/documents/{document_id}/runs", "Cancel run"),
    ):
        assert offered in member.get(path).text, (path, offered)
        assert offered not in viewer.get(path).text, (path, offered)
    page = viewer.get(f"/documents/{document_id}").text
    assert 'id="download"' in page
    assert not re.search(r'action="/documents', page)
