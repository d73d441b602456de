"""The security log: who, what, from where; on its page, as JSON, and for nobody else's eyes."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import event, func, select, update
from sqlalchemy.exc import OperationalError

from tests import samples
from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import counted_queries, notes, read_json, services_of, shelve
from tests.web.test_accounts import PASSWORD, _link, _register, _sign_in
from webapp.accounts import audit
from webapp.accounts.audit import Action, Actor
from webapp.accounts.model import AuditEntry
from webapp.clock import after, monotonic
from webapp.db import db, later, reading, transaction, write_turn
from webapp.runs.retention import prune
from webapp.web import security_log

JSON = {"Accept": "application/json"}


@pytest.fixture
def ops(people: People) -> Program:
    """The ops of one of two orgs."""
    people.org("Theirs")
    return people.program("ops")


def _entries(who: Program | Browser, query: str = "") -> list[dict[str, Any]]:
    return list(read_json(who.get(f"/ops/security{query}", headers=JSON))["entries"])


def _actions(who: Program | Browser) -> list[str]:
    return [entry["action"] for entry in _entries(who)][::-1]


def _downloaded(browser: Browser, document_id: str, **headers: str) -> int:
    with browser.get(f"/documents/{document_id}/original", headers=headers) as answer:
        return answer.status_code


@both_databases
def test_what_people_do_with_their_account_is_written_down(people: People, ops: Program) -> None:
    _register(people)
    browser = people.visitor()
    assert _sign_in(browser, "wrong").status_code == 422
    assert _sign_in(browser, environ_overrides={"REMOTE_ADDR": "203.0.113.9"}).status_code == 303
    browser.user_id = UUID(int=1)
    assert browser.post("/account/tokens", {"name": "Nightly", "scope": "upload"}).status_code == 200
    token_id = _entries(ops)[0]["target"].removeprefix("token:")
    assert browser.post(f"/account/tokens/{token_id}/revoke").status_code == 303
    new = {"current_password": PASSWORD, "password": "another sentence", "password_again": "another sentence"}
    assert browser.post("/account/password", {**new, "current_password": "wrong"}).status_code == 422
    assert browser.post("/account/password", new).status_code == 303
    assert browser.post("/sign-out").status_code == 303
    assert people.visitor().post(_link(people)).status_code == 303
    assert _actions(ops) == [
        "sign_in_failed",
        "signed_in",
        "token_created",
        "token_revoked",
        "password_wrong",
        "password_set",
        "signed_out",
        "signed_in",
    ]
    by_link, *_, signed_in, failed = _entries(ops)
    assert by_link["details"]["via"] == "link"
    assert (signed_in["address"], signed_in["actor"]["kind"], signed_in["actor"]["name"]) == (
        "203.0.113.9",
        "user",
        "ana@example.org",
    )
    assert (failed["actor"]["kind"], failed["address"]) == ("nobody", "127.0.0.1")
    made = _entries(ops, "?action=token_created")
    assert [line["details"] for line in made] == [{"name": "Nightly", "scope": "upload", "days": 90}]


@both_databases
def test_what_is_done_on_the_command_line_is_written_down(people: People, app: Flask, ops: Program) -> None:
    person = ["--org", "Ours", "--email", "bo@example.org"]
    for command in (
        ["users", "create", *person],
        ["users", "role", *person, "--role", "viewer"],
        ["users", "sign-in-link", *person],
        ["users", "reset", *person],
        ["users", "disable", *person],
        ["users", "enable", *person],
        ["tokens", "create", "--org", "Ours", "--role", "metrics"],
        ["jobs", "pause", "process_document"],
        ["jobs", "resume", "process_document"],
    ):
        assert app.test_cli_runner().invoke(args=command).exit_code == 0, command
    assert _actions(ops) == [
        "user_created",
        "role_changed",
        "link_created",
        "user_reset",
        "user_disabled",
        "user_enabled",
        "token_created",
    ]
    assert {entry["actor"]["kind"] for entry in _entries(ops)} == {"command"}
    changed = _entries(ops, "?action=role_changed")[0]["details"]
    assert changed == {"email": "bo@example.org", "before": "member", "role": "viewer"}
    # A lever is about the installation, which is no business of one org's ops.
    operator = people.program("operator")
    assert [entry["action"] for entry in _entries(operator) if entry["about"] == "installation"] == [
        "stage_resumed",
        "stage_paused",
    ]


@both_databases
def test_no_range_is_downloaded_without_a_line(
    people: People, ops: Program, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = shelve(people.program(), notes(1), notes(2), ("sheet.pdf", samples.report_pdf(1)))
    other = people.browser(email="bo@example.org")
    for part in ("bytes=1-", "bytes=2-", "bytes=-9"):
        assert _downloaded(browser, first, Range=part) == 206
    assert _downloaded(other, first, Range="bytes=1-") == 206
    assert _downloaded(browser, second, Range="bytes=-1") == 206
    shown = browser.get(f"/documents/{third}/original/view", headers={"Range": "bytes=1-"})
    assert shown.status_code == 206, shown.status
    shown.close()
    downloads = [each for each in _entries(ops) if each["action"] == "document_downloaded"]
    lines = [(each["actor"]["name"], each["target"].removeprefix("document:")) for each in reversed(downloads)]
    ana, bo = "ana@example.org", "bo@example.org"
    assert lines == [(ana, first), (bo, first), (ana, second), (ana, third)]
    # Later it is another download.
    monkeypatch.setattr(security_log, "CONTINUED_SECONDS", 0)
    assert _downloaded(browser, first, Range="bytes=1-") == 206
    assert _entries(ops)[0]["target"] == f"document:{first}"
    assert len([each for each in _entries(ops) if each["action"] == "document_downloaded"]) == 5


@both_databases
def test_downloads_and_deletions_are_written_down(people: People, ops: Program, browser: Browser) -> None:
    member = people.program()
    [document_id] = shelve(member, notes(1))
    assert _downloaded(browser, document_id) == 200
    assert browser.client.head(f"/documents/{document_id}/original").status_code == 200
    for part in ("bytes=3-", "bytes=4-5"):
        assert _downloaded(browser, document_id, Range=part) == 206
    with browser.get(f"/documents/{document_id}/original") as answer:
        etag = answer.headers["ETag"]
    assert _downloaded(browser, document_id, **{"If-None-Match": etag}) == 304
    assert member.client.delete(f"/documents/{document_id}", headers=member.headers).status_code == 204
    assert member.client.delete(f"/documents/{document_id}", headers=member.headers).status_code == 404
    assert _actions(ops) == ["signed_in", "document_downloaded", "document_downloaded", "document_deleted"]
    deleted, downloaded, *_ = _entries(ops)
    assert (deleted["actor"]["kind"], deleted["actor"]["name"]) == ("token", "tests")
    assert deleted["target"] == f"document:{document_id}"
    assert deleted["details"]["filename"] == notes(1)[0]
    assert downloaded["actor"]["name"] == "ana@example.org"
    assert downloaded["details"]["what"] == "original"


def test_a_change_that_is_rolled_back_leaves_no_line(people: People, app: Flask, ops: Program) -> None:
    def fail() -> None:
        with transaction(ops.org_id):
            audit.record(ops.org_id, Actor.nobody("x", None), Action.TOKEN_CREATED)
            raise ZeroDivisionError

    with app.app_context(), pytest.raises(ZeroDivisionError):
        fail()
    assert _entries(ops) == []


def test_where_the_log_cannot_be_written_a_download_goes_on_and_the_process_says_so(
    own_app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    """Reading goes on beside a full disk. The database refuses the line as a full disk would."""
    people = People(own_app)
    browser, member = people.browser(), people.program()
    [document_id] = shelve(member, notes(1))
    with own_app.app_context():
        # No page more than there are now, for every connection from here on.
        event.listen(db.engine, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count = 1"))
        db.engine.dispose()
    with caplog.at_level(logging.ERROR, "webapp.audit"):
        for _ in range(400):
            assert _downloaded(browser, document_id) == 200
            if caplog.text:
                break
    assert f"downloaded original of document {document_id}" in caplog.text


@both_databases
def test_failures_under_unknown_names_are_the_installations(people: People, ops: Program) -> None:
    """What is no e-mail is not kept: it may be a password in the wrong field."""
    visitor = people.visitor()
    for email in ("nobody@example.org", "my secret sentence", "a\0b\n@x", "x" * 400):
        visitor.post("/sign-in", {"email": email, "password": "hunter2hunter2"})
    assert _entries(ops) == []
    operator = people.program("operator")
    found = _entries(operator)
    assert [entry["actor"]["name"] for entry in found][::-1] == ["nobody@example.org"] + ["(not an e-mail address)"] * 3
    assert {entry["about"] for entry in found} == {"installation"}
    answer = operator.get("/ops/security", headers=JSON).text
    assert "secret sentence" not in answer
    assert "hunter2" not in answer


@both_databases
def test_nobody_sees_another_orgs_lines(people: People, ops: Program) -> None:
    _register(people, "Theirs", email="their@example.org")
    visitor = people.visitor()
    assert visitor.post("/sign-in", {"email": "their@example.org", "password": "wrong"}).status_code == 422
    assert _entries(ops) == []
    assert _entries(people.program("operator")) == []
    [line] = _entries(people.program("ops", org="Theirs"))
    assert line["actor"]["name"] == "their@example.org"


@both_databases
def test_the_levers_say_who_only_to_their_own_org(people: People) -> None:
    ours = people.browser("operator")
    theirs = people.browser("operator", org="Theirs", email="their@example.org")
    assert ours.post("/ops/stages/process_document/pause").status_code == 303
    assert "by ana@example.org" in ours.get("/ops").text
    page = theirs.get("/ops").text
    assert "Paused" in page
    assert "ana@example.org" not in page
    answer = theirs.get("/ops", headers=JSON)
    assert "ana@example.org" not in answer.text
    [stage] = [one for one in read_json(answer)["stages"] if one["stage"] == "process_document"]
    assert (stage["state"], stage["changed_by"]) == ("paused", None)


def test_the_log_is_read_page_by_page_and_by_action(people: People, app: Flask, ops: Program) -> None:
    with app.app_context(), transaction(ops.org_id):
        for number in range(120):
            action = Action.SIGNED_IN if number % 2 else Action.SIGNED_OUT
            audit.record(ops.org_id, Actor.nobody(f"{number}@x", None), action)
    names: list[str] = []
    query = ""
    while True:
        answer = read_json(ops.get(f"/ops/security{query}"))
        names += [entry["actor"]["name"] for entry in answer["entries"]]
        if not answer["next_cursor"]:
            break
        query = f"?cursor={answer['next_cursor']}"
    assert names == [f"{number}@x" for number in reversed(range(120))]
    assert len(_entries(ops, "?action=signed_in")) == 50
    assert {entry["action"] for entry in _entries(ops, "?action=signed_in")} == {"signed_in"}
    for query in ("?action=everything", "?cursor=x"):
        assert ops.get(f"/ops/security{query}").status_code == 422
    page = people.browser("ops").get("/ops/security").text
    assert page.count('class="entry entry-log') == 50
    assert 'id="older" href="/ops/security?cursor=' in page


def test_the_page_asks_the_same_whatever_is_in_it(people: People, app: Flask) -> None:
    browser = people.browser("ops")

    def queries() -> int:
        with counted_queries(app) as statements:
            assert browser.get("/ops/security").status_code == 200
        return len(statements)

    few = queries()
    with app.app_context(), transaction(browser.org_id):
        for number in range(40):
            audit.record(browser.org_id, Actor.nobody(f"{number}@x", None), Action.SIGNED_IN)
    assert queries() == few


def test_what_anybody_typed_is_shown_as_text_and_cut(people: People, app: Flask) -> None:
    browser = people.browser("ops")
    with app.app_context(), transaction(browser.org_id):
        actor = Actor.nobody("<b>x</b>\n\x1b[31m" + "y" * 1000, "1.2.3.4")
        audit.record(browser.org_id, actor, Action.SIGN_IN_FAILED, "z" * 1000, device="d" * 1000, note="\0\ud800")
    page = browser.get("/ops/security").text
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x" not in page
    [line] = [entry for entry in _entries(browser) if entry["action"] == "sign_in_failed"]
    assert len(line["actor"]["name"]) == 254
    assert "\x1b" not in line["actor"]["name"]
    assert (len(line["target"]), len(line["details"]["device"]), line["details"]["note"]) == (200, 200, "  ")


@both_databases
def test_old_lines_are_forgotten_when_the_setting_says_so(people: People, app: Flask, ops: Program) -> None:
    with app.app_context():
        with transaction(everywhere=True) as database:
            audit.record(ops.org_id, Actor.nobody("old", None), Action.SIGNED_IN)
            audit.record(None, Actor.nobody("old", None), Action.SIGN_IN_FAILED)
            database.flush()
            database.execute(update(AuditEntry).values(created_at=after(-366 * 86_400)))
            audit.record(ops.org_id, Actor.nobody("young", None), Action.SIGNED_IN)
        assert prune(services_of(app))["audit"] == 2
        with reading(everywhere=True) as database:
            assert database.scalar(select(func.count()).select_from(AuditEntry)) == 1
    assert [entry["actor"]["name"] for entry in _entries(ops)] == ["young"]


def test_the_people_of_an_org_are_listed_for_its_ops(people: People, ops: Program) -> None:
    _register(people)
    _register(people, "Theirs", email="their@example.org")
    people.browser(email="ana@example.org")
    found = read_json(ops.get("/people"))["people"]
    assert [(person["email"], person["role"], person["has_password"]) for person in found] == [
        ("ana@example.org", "member", True)
    ]
    assert found[0]["last_signed_in_at"]
    page = people.browser("ops", email="op@example.org").get("/people").text
    assert "ana@example.org" in page
    assert "their@example.org" not in page


def test_a_link_is_never_in_the_log(people: People, own_app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    """The path of a sign-in link is a key that still works when the database was away."""
    own_app.testing = False

    def fail(*_: object) -> None:
        raise OperationalError("SELECT 1", {}, ConnectionRefusedError("the database is away"))

    own_app.before_request_funcs.setdefault(None, []).insert(0, fail)
    broken = own_app.test_client()
    with caplog.at_level(logging.DEBUG):
        assert broken.get("/sign-in/a-key-that-works").status_code == 503
        assert broken.get("/documents/in-the-log").status_code == 503
    own_app.before_request_funcs[None].remove(fail)

    def fault(*_: object) -> None:
        raise ArithmeticError("a fault of ours")

    own_app.before_request_funcs[None].insert(0, fault)
    with caplog.at_level(logging.DEBUG):
        assert broken.post("/sign-in/a-key-that-works").status_code == 500
    assert "a-key-that-works" not in caplog.text
    assert "/sign-in/<token>" in caplog.text
    assert "/documents/in-the-log" in caplog.text


def test_a_downloaded_file_stays_in_no_cache(people: People) -> None:
    member = people.program()
    [document_id] = shelve(member, notes(1))
    with member.get(f"/documents/{document_id}/original") as answer:
        assert answer.headers["Cache-Control"] == "private, no-store"


def test_a_download_waits_for_no_long_write(people: People, app: Flask, ops: Program) -> None:
    """As while a large document is published on SQLite; the line is written when that is done."""
    browser, member = people.browser(), people.program()
    [document_id] = shelve(member, notes(1))
    is_writing, may_end = threading.Event(), threading.Event()

    def write() -> None:
        with app.app_context(), write_turn():
            is_writing.set()
            may_end.wait(20)

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        assert is_writing.wait(20)
        began = monotonic()
        assert _downloaded(browser, document_id) == 200
        seconds = monotonic() - began
        assert "document_downloaded" not in _actions(ops)
        may_end.set()
        writing.result(20)
    later.finish()
    assert _actions(ops).count("document_downloaded") == 1
    # It would be ten, for each of these.
    assert seconds < 5
