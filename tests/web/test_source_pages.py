"""Sources: made, tested, polled, paused, changed and deleted, by people and by programs; and what each has seen."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from tests.bare import changed
from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import read_json
from webapp.clock import after
from webapp.db import transaction
from webapp.documents.source_model import Source, SourceItem
from webapp.library.sources import lease
from webapp.library.sources.polling import poll_due
from webapp.services import Services


@pytest.fixture
def folder(app: Flask, tmp_path: Path) -> Path:
    """A folder that may be watched, and whose files are still at once."""
    services: Services = app.extensions["docmill"]
    services.settings = changed(services.settings, "sources", folders=(tmp_path,), still_seconds=0.0)
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def ops(app: Flask) -> Program:
    return People(app).program("ops")


@pytest.fixture
def browser(app: Flask) -> Browser:
    return People(app).browser("ops")


def _make(ops: Program, folder: Path, **more: Any) -> dict[str, Any]:
    answer = ops.post("/sources", json={"kind": "folder", "name": "Scanner", "path": str(folder), **more})
    assert answer.status_code == 201, answer.text
    found = read_json(answer)
    assert answer.headers["Location"] == f"/sources/{found['id']}"
    return found


def _poll(app: Flask, times: int = 1) -> None:
    services: Services = app.extensions["docmill"]
    with app.app_context():
        for _ in range(times):
            with transaction(everywhere=True) as session:
                session.query(Source).update({"next_poll_at": Source.created_at})
            poll_due(services)


@both_databases
def test_a_program_watches_a_folder(app: Flask, ops: Program, folder: Path) -> None:
    made = _make(ops, folder, interval_seconds=30)
    assert (made["path"], made["after_taking"], made["interval_seconds"], made["on"]) == (
        str(folder), "leave", 30, True,
    )  # fmt: skip
    (folder / "Tax").mkdir()
    (folder / "Tax" / "a.txt").write_text("Some words.")
    (folder / ".hidden").write_text("Some words.")
    _poll(app, 2)

    seen = read_json(ops.get(f"/sources/{made['id']}"))
    assert seen["counts"] == {"waiting": 0, "taken": 1, "skipped": 1, "failed": 0, "today": 1}
    assert seen["error"] is None
    items = {item["name"]: item for item in seen["items"]}
    assert items[".hidden"]["reason_detail"] == "Its name begins with a dot, as those of hidden files do."
    document = read_json(ops.get(f"/documents/{items['Tax/a.txt']['document_id']}"))
    assert (document["filename"], document["folder"]) == ("a.txt", "Tax")
    only = read_json(ops.get(f"/sources/{made['id']}?state=skipped"))["items"]
    assert [item["name"] for item in only] == [".hidden"]
    assert [each["id"] for each in read_json(ops.get("/sources"))["sources"]] == [made["id"]]


def test_what_cannot_be_watched_is_refused_with_a_sentence(app: Flask, ops: Program, folder: Path) -> None:
    good = {"kind": "folder", "name": "Scanner", "path": str(folder)}
    for bad, words in (
        ({"path": "/etc"}, "SOURCE_FOLDERS"),
        ({"path": f"{folder}/../../etc"}, "SOURCE_FOLDERS"),
        ({"path": "scans"}, "whole path"),
        ({"path": 7}, "whole path"),
        ({"path": None}, "whole path"),
        ({"name": " "}, "name must be"),
        ({"kind": "ftp"}, "kind must be"),
        ({"after_taking": "burn"}, "after_taking must be"),
        ({"interval_seconds": 1}, "interval_seconds must be"),
        ({"interval_seconds": "soon"}, "interval_seconds must be"),
        ({"on": "maybe"}, "on must be"),
    ):
        answer = ops.client.post("/sources", json={**good, **bad}, headers=ops.headers)
        assert (answer.status_code, words in answer.text) == (422, True), answer.text
    assert ops.client.post("/sources", json={**good, "color": "red"}, headers=ops.headers).status_code == 400
    nowhere = {"kind": "folder", "name": "Scanner"}
    assert ops.client.post("/sources", json=nowhere, headers=ops.headers).status_code == 422
    assert ops.client.post("/sources", json=[], headers=ops.headers).status_code == 422
    assert read_json(ops.get("/sources"))["sources"] == []


def test_folders_are_for_operators_where_there_are_several_organisations(app: Flask, folder: Path) -> None:
    people = People(app)
    people.program("ops", org="Theirs")
    good = {"kind": "folder", "name": "Scanner", "path": str(folder)}
    answer = people.program("ops").post("/sources", json=good)
    assert (answer.status_code, read_json(answer)["reason"]) == (403, "operator_only")
    assert people.program("operator").post("/sources", json=good).status_code == 201
    assert str(folder) not in people.browser("ops").get("/sources").text.partition('id="source-')[0]


def test_it_is_changed_paused_polled_and_deleted(app: Flask, ops: Program, folder: Path) -> None:
    made = _make(ops, folder)
    address = f"/sources/{made['id']}"
    changed_to = read_json(ops.send("PATCH", address, json={"name": "Copier", "after_taking": "move", "on": False}))
    assert (changed_to["name"], changed_to["after_taking"], changed_to["on"]) == ("Copier", "move", False)
    assert changed_to["next_poll_at"] is None
    assert ops.post(f"{address}/poll").status_code == 409
    assert ops.client.patch(address, json={}, headers=ops.headers).status_code == 422
    assert ops.client.patch(address, json={"kind": "imap"}, headers=ops.headers).status_code == 422
    ops.send("PATCH", address, json={"on": True})
    assert ops.post(f"{address}/poll").status_code == 202
    assert ops.send("DELETE", address).status_code == 204
    assert ops.get(address).status_code == 404
    log = [line["action"] for line in read_json(ops.get("/ops/security"))["entries"]]
    assert log == ["source_deleted", "source_changed", "source_changed", "source_created"]


def test_a_trial_says_what_would_be_seen(app: Flask, ops: Program, folder: Path) -> None:
    address = f"/sources/{_make(ops, folder)['id']}"
    (folder / "a.txt").write_text("Some words.")
    (folder / "b.part").write_text("Some words.")
    trial = read_json(ops.post(f"{address}/test"))
    assert (trial["taken"], trial["skipped"], trial["error"]) == (1, 1, None)
    assert read_json(ops.get(address))["items"] == []
    (folder / "a.txt").unlink()
    (folder / "b.part").unlink()
    folder.rmdir()
    assert read_json(ops.post(f"{address}/test"))["error"] == "folder_missing"


def test_what_failed_is_tried_again(app: Flask, ops: Program, folder: Path) -> None:
    made = _make(ops, folder)
    (folder / "page.pdf").write_bytes(b"<!doctype html><html>Sign in")
    _poll(app, 2)
    address = f"/sources/{made['id']}"
    [item] = read_json(ops.get(f"{address}?state=skipped"))["items"]
    answer = ops.post(f"{address}/items/{item['id']}/retry")
    assert (answer.status_code, read_json(answer)["state"]) == (202, "waiting")
    assert ops.post(f"{address}/items/{item['id']}/retry").status_code == 409
    _poll(app)
    assert [each["state"] for each in read_json(ops.get(address))["items"]] == ["skipped"]


def test_a_person_does_the_same_without_javascript(app: Flask, browser: Browser, folder: Path) -> None:
    page = browser.get("/sources").text
    assert "Watch a folder" in page
    form = {"kind": "folder", "name": "Scanner", "path": str(folder), "after_taking": "leave", "interval_seconds": "60"}
    made = browser.post("/sources", form)
    assert made.status_code == 303
    (folder / "<b>a.txt").write_text("Some words.")
    (folder / "empty.txt").write_text("")
    _poll(app, 2)
    page = browser.get(made.location).text
    assert "&lt;b&gt;a.txt" in page
    assert "It is empty." in page
    assert "What a poll would see now" in browser.post(f"{made.location}/test").text
    assert browser.post(f"{made.location}/poll").status_code == 303
    assert browser.post(made.location, {"on": "0"}).status_code == 303
    assert "It is paused." in browser.get(made.location).text
    page = browser.post(f"{made.location}/delete", follow_redirects=True).text
    assert "The source “Scanner” was deleted." in page


def test_pages_and_lists_do_not_ask_more_with_more_rows(app: Flask, ops: Program, folder: Path) -> None:
    made = _make(ops, folder)
    with app.app_context(), transaction(ops.org_id) as session:
        for number in range(60):
            own = {"org_id": ops.org_id, "source_id": UUID(made["id"]), "key": str(number), "version": "1"}
            session.add(SourceItem(**own, name=f"{number}.txt", state="waiting"))
    first = read_json(ops.get(f"/sources/{made['id']}"))
    assert len(first["items"]) == 50
    rest = read_json(ops.get(f"/sources/{made['id']}?cursor={first['next_cursor']}"))
    assert (len(rest["items"]), rest["next_cursor"]) == (10, None)
    assert ops.get(f"/sources/{made['id']}?cursor=x").status_code == 422
    assert ops.get(f"/sources/{made['id']}?state=x").status_code == 422


def test_ops_and_doctor_show_the_last_poll(app: Flask, ops: Program, browser: Browser, folder: Path) -> None:
    doctor = app.test_cli_runner(catch_exceptions=False).invoke(args=["doctor"]).output
    assert "sources: none" in doctor
    made = _make(ops, folder)
    folder.rmdir()
    _poll(app)
    assert read_json(ops.get(f"/sources/{made['id']}"))["error_detail"].startswith("The folder is not there")
    found = read_json(ops.get("/ops"))["sources"]
    assert (found["on"], found["in_trouble"]) == (1, ["Scanner"])
    assert "In trouble: <bdi>Scanner</bdi>" in browser.get("/ops").text
    doctor = app.test_cli_runner(catch_exceptions=False).invoke(args=["doctor"]).output
    assert "sources: 1 on, 0 paused; last polled" in doctor
    assert "in trouble: Scanner" in doctor


_MAIL = {"kind": "imap", "name": "Mail", "host": "IMAP.example.com", "username": "ana", "password": "the secret words"}


@both_databases
def test_a_mailbox_keeps_its_password_to_itself(app: Flask, ops: Program, browser: Browser) -> None:
    answer = ops.post("/sources", json=_MAIL)
    made = read_json(answer)
    address = f"/sources/{made['id']}"
    assert (made["host"], made["port"], made["security"], made["mailbox"]) == ("imap.example.com", 993, "tls", "INBOX")
    page = browser.get(address).text
    assert "INBOX of ana on imap.example.com" in page
    told = [answer.text, page, browser.get("/sources").text, ops.get(address).text, ops.get("/ops/security").text]
    assert not any("secret words" in each or "sealed" in each for each in told)
    with app.app_context(), transaction(ops.org_id) as session:
        row = session.get_one(Source, UUID(made["id"]))
        assert b"secret words" not in (row.sealed_secret or b"")
        sealed = row.sealed_secret

    for elsewhere in ({"host": "imap.example.net"}, {"port": 1993}, {"username": "bo"}, {"security": "starttls"}):
        refused = ops.client.patch(address, json=elsewhere, headers=ops.headers)
        assert (refused.status_code, "Give the password again" in refused.text) == (422, True)
    found = read_json(ops.send("PATCH", address, json={"mailbox": "Bills", "after_taking": "move", "move_to": "Done"}))
    assert (found["mailbox"], found["move_to"], found["after_taking"]) == ("Bills", "Done", "move")
    ops.send("PATCH", address, json={"host": "imap.example.net", "password": "another one"})
    with app.app_context(), transaction(ops.org_id) as session:
        assert session.get_one(Source, UUID(made["id"])).sealed_secret != sealed


def test_a_mailbox_that_cannot_be_is_refused(ops: Program) -> None:
    for bad, words in (
        ({"host": "imap example"}, "host must be"),
        ({"host": 7}, "host must be"),
        ({"port": 0}, "port must be"),
        ({"port": "x"}, "port must be"),
        ({"security": "none"}, "security must be"),
        ({"username": ""}, "username must be"),
        ({"username": "a\r\nb"}, "username must be"),
        ({"password": ""}, "password must be"),
        ({"password": "a\r\nb"}, "password must be"),
        ({"mailbox": "a\nb"}, "mailbox must be"),
        ({"after_taking": "move"}, "move_to"),
        ({"after_taking": "move", "move_to": "INBOX"}, "move_to"),
        ({"after_taking": "delete"}, "after_taking must be"),
        ({"path": "/srv"}, "has no path"),
    ):
        answer = ops.client.post("/sources", json={**_MAIL, **bad}, headers=ops.headers)
        assert (answer.status_code, words in answer.text) == (422, True), answer.text
        assert "secret words" not in answer.text


def test_a_person_fetches_a_mailbox_without_javascript(app: Flask, browser: Browser) -> None:
    page = browser.get("/sources").text
    assert "Fetch messages of a mailbox" in page
    assert 'id="no-folders"' in page
    form = {**_MAIL, "port": "993", "security": "tls", "mailbox": "INBOX", "after_taking": "seen", "move_to": ""}
    made = browser.post("/sources", {**form, "interval_seconds": "60", "host": "127.0.0.1"})
    assert made.status_code == 303
    # As the form sends it back, with no password in it.
    again = browser.post(made.location, {**form, "host": "127.0.0.1", "password": "", "name": "Post", "kind": "imap"})
    assert again.status_code == 303
    assert "allows such servers by the setting SOURCE_PRIVATE_HOSTS" in browser.post(f"{made.location}/test").text


def test_where_messages_are_moved_to_says_nothing_of_which_are_new(app: Flask, ops: Program) -> None:
    address = f"/sources/{read_json(ops.post('/sources', json=_MAIL))['id']}"
    mark = {"ids": "0123.1", "uid": 7}
    with app.app_context(), transaction(ops.org_id) as session:
        session.query(Source).update({"mark": mark})
    ops.send("PATCH", address, json={"after_taking": "move", "move_to": "Done"})
    with app.app_context(), transaction(ops.org_id) as session:
        assert session.query(Source).one().mark == mark


def test_a_hidden_folder_is_not_offered_to_be_taken(app: Flask, ops: Program, browser: Browser, folder: Path) -> None:
    made = _make(ops, folder)
    (folder / ".config").mkdir()
    (folder / ".profile").write_text("Some words.")
    _poll(app)
    address = f"/sources/{made['id']}"
    page = browser.get(address).text
    assert "Take all the same: .profile" in page
    assert "Take all the same: .config" not in page
    items = {item["name"]: item["id"] for item in read_json(ops.get(address))["items"]}
    refused = ops.post(f"{address}/items/{items['.config/']}/retry")
    assert (refused.status_code, "A folder can" in refused.text) == (409, True), refused.text


@both_databases
def test_sources_that_no_process_may_poll_say_so_and_keep_no_other_from_it(
    app: Flask, ops: Program, browser: Browser, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_CANDIDATES", 2)
    services: Services = app.extensions["docmill"]
    for number in range(5):
        _make(ops, folder, name=f"Gone {number}")
    with app.app_context(), transaction(ops.org_id) as session:
        session.query(Source).update({"place": {"path": "/no/longer/allowed"}, "next_poll_at": after(-3600.0)})
    last = _make(ops, folder, name="Good")
    with app.app_context():
        assert poll_due(services) == 1
    seen = {each["name"]: each for each in read_json(ops.get("/sources"))["sources"]}
    assert (seen["Good"]["id"], seen["Good"]["error"], seen["Gone 0"]["error"]) == (last["id"], None, "not_polled")
    assert seen["Good"]["last_poll_at"]
    assert "It is due, but no process polls it" in browser.get("/sources").text
    assert read_json(ops.get("/ops"))["sources"]["in_trouble"] == [f"Gone {number}" for number in range(5)]


def test_a_mistake_in_a_form_is_shown_beside_its_field_and_loses_nothing(
    app: Flask, browser: Browser, folder: Path
) -> None:
    form = {"kind": "folder", "name": "Scanner", "path": "/etc", "after_taking": "move", "interval_seconds": "77"}
    answer = browser.post("/sources", form)
    assert answer.status_code == 422
    panel = answer.text.partition('id="new-folder"')[2].partition("</details>")[0]
    others = answer.text.partition('id="new-imap"')[2]
    for words in ('id="path-error"', "SOURCE_FOLDERS", 'value="Scanner"', 'value="/etc"', 'value="77"'):
        assert words in panel
    assert 'value="move" selected' in panel
    assert "-error" not in others
    assert "77" not in others
    assert ' open id="new-folder"' in answer.text

    mail = {**_MAIL, "port": "", "security": "starttls", "mailbox": "INBOX", "after_taking": "move", "move_to": ""}
    answer = browser.post("/sources", {**mail, "interval_seconds": "60"})
    assert (answer.status_code, 'id="move_to-error"' in answer.text) == (422, True)
    assert "Write to which folder of the mailbox" in answer.text
    assert "secret words" not in answer.text
    made = browser.post("/sources", {**mail, "interval_seconds": "60", "move_to": "Done"})
    assert made.status_code == 303
    assert 'value="143"' in browser.get(made.location).text, "the usual port"

    answer = browser.post(made.location, {**mail, "move_to": "Done", "host": "imap.example.net", "password": ""})
    assert (answer.status_code, 'id="password-error"' in answer.text) == (422, True)
    assert 'value="imap.example.net"' in answer.text
    assert '<details class="panel" open>' in answer.text
