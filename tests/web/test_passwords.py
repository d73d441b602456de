"""Locked files as people and programs meet them: the form on the page, its answers, and what is never shown."""

import re

import pytest
from flask import Flask

from tests.locked import PASSWORD, SENTENCE, WRONG, locked_docx, locked_pdf, locked_zip
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import notes, read_json, shelve, use_hashed_words, work_off

FIELD = re.compile(r'<input[^>]+name="password"')


def _locked(app: Flask, program: Program) -> str:
    use_hashed_words(app)
    (document_id,) = shelve(program, ("ledger.docx", locked_docx()))
    work_off(app)
    return document_id


@both_databases
def test_a_person_gives_the_password_and_reads_the_text(app: Flask, browser: Browser, program: Program) -> None:
    document_id = _locked(app, program)
    address = f"/documents/{document_id}"
    page = browser.get(address).text
    assert "The file is protected by a password" in page
    assert FIELD.search(page)

    assert browser.post(f"{address}/password", {"password": WRONG}).status_code == 303
    work_off(app)
    page = browser.get(address).text
    assert "That was not the password" in page
    assert FIELD.search(page)
    assert WRONG not in page

    fragment = browser.post(f"{address}/password", {"password": PASSWORD}, headers=HX)
    assert 'id="live"' in fragment.text
    assert not FIELD.search(fragment.text)
    work_off(app)
    page = browser.get(address).text
    assert SENTENCE in page
    assert not FIELD.search(page)
    runs = browser.get(f"{address}/runs").text
    assert PASSWORD not in page + runs
    assert WRONG not in runs
    assert browser.get(f"{address}/original").data == locked_docx()


@both_databases
def test_a_program_does_the_same_with_json(app: Flask, program: Program) -> None:
    document_id = _locked(app, program)
    address = f"/documents/{document_id}"
    assert read_json(program.get(address))["needs_password"] is True

    answer = program.post(f"{address}/password", json={"password": PASSWORD})
    assert answer.status_code == 202
    assert (answer.json or {})["needs_password"] is False
    work_off(app)
    document = read_json(program.get(address))
    assert (document["status"], document["needs_password"], document["error"]) == ("READY", False, None)
    again = program.post(f"{address}/password", json={"password": PASSWORD})
    assert (again.status_code, read_json(again)["detail"]) == (409, "This document does not need a password.")


@both_databases
def test_an_archive_asks_for_the_password_of_files_in_it(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    data = locked_zip({"a.txt": (b"The keeper sleeps.", PASSWORD), "b.txt": (b"An open note.", None)})
    (container,) = shelve(program, ("notes.zip", data))
    work_off(app)
    address = f"/documents/{container}"
    document = read_json(program.get(address))
    assert (document["status"], document["needs_password"], document["counts"]["parts"]) == ("READY", True, 1)
    page = browser.get(address).text
    assert "A file in it is locked by a password" in page
    assert FIELD.search(page)

    browser.post(f"{address}/password", {"password": PASSWORD})
    work_off(app)
    document = read_json(program.get(address))
    assert (document["needs_password"], document["counts"]["parts"], document["warnings"]) == (False, 2, [])
    assert not FIELD.search(browser.get(address).text)
    assert read_json(program.get("/search?q=sleeps"))["hits"][0]["filename"] == "a.txt"


@pytest.mark.parametrize(
    "body", [{}, {"password": ""}, {"password": 7}, {"password": "x" * 256}, {"password": "a\0b"}, ["password"], "x"]
)
def test_what_is_no_password_is_refused_and_not_quoted(app: Flask, program: Program, body: object) -> None:
    (document_id,) = shelve(program, ("ledger.pdf", locked_pdf()))
    refused = program.post(f"/documents/{document_id}/password", json=body)
    assert refused.status_code == 422
    assert "text of 1 to 255 characters" in read_json(refused)["detail"]


def test_a_large_body_is_refused(app: Flask, program: Program) -> None:
    (document_id,) = shelve(program, ("ledger.pdf", locked_pdf()))
    refused = program.post(f"/documents/{document_id}/password", json={"password": "x" * 20_000})
    assert refused.status_code == 413


def test_readers_and_others_give_none(app: Flask, people: People) -> None:
    document_id = _locked(app, people.program())
    address = f"/documents/{document_id}"
    viewer = people.browser("viewer", email="vi@example.org")
    assert not FIELD.search(viewer.get(address).text)
    assert viewer.post(f"{address}/password", {"password": PASSWORD}).status_code == 403
    outsider = people.program(org="Theirs")
    assert outsider.post(f"{address}/password", json={"password": PASSWORD}).status_code == 404


def test_the_security_log_says_who_gave_one(app: Flask, people: People) -> None:
    document_id = _locked(app, people.program())
    people.browser().post(f"/documents/{document_id}/password", {"password": PASSWORD})
    log = people.browser("ops", email="ops@example.org").get("/ops/security").text
    assert "Gave the password of a file" in log
    assert PASSWORD not in log


def test_a_file_that_is_not_locked_has_no_form(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    (document_id,) = shelve(program, notes(1))
    work_off(app)
    assert not FIELD.search(browser.get(f"/documents/{document_id}").text)
