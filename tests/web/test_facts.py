"""What people say of a document: title, name, date, kind, note, favourite; they outlast each new result."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, Program
from tests.web.shelves import NOTES, read_json, shelve, use_hashed_words, work_off


@pytest.fixture
def document(app: Flask, program: Program) -> str:
    use_hashed_words(app)
    [found] = shelve(program, ("notes.md", NOTES))
    work_off(app)
    return found


def patch(program: Program, document_id: str, body: object) -> tuple[int, dict[str, object]]:
    answer = program.client.patch(f"/documents/{document_id}", json=body, headers=program.headers)
    return answer.status_code, answer.get_json()


def found_by(program: Program, query: str) -> int:
    return len(read_json(program.get("/documents", query_string={"q": query}))["documents"])


@both_databases
def test_a_person_s_facts_outlast_a_new_result_and_are_found(app: Flask, program: Program, document: str) -> None:
    said = {"title": "Harbour plan", "filename": "plan.txt", "document_date": "2026-03-04", "kind": "contract"}
    status, changed = patch(program, document, {**said, "note": "Ask Ana", "favourite": True})
    assert status == 200, changed
    own = {**said, "filename": "plan.txt.md", "note": "Ask Ana", "favourite": True}
    for _ in range(2):
        shown = read_json(program.get(f"/documents/{document}"))
        assert {name: shown[name] for name in own} == own
        assert {name: each["found"] for name, each in shown["corrected"].items()} == {
            "title": "Milling notes", "filename": "notes.md", "document_date": None, "kind": "text",
        }  # fmt: skip
        assert shown["document_date_from"] == "person"
        queries = ("harbour", "plan.txt", "kind:contract", "is:favourite", "is:corrected", "note:ana", "after:2026-02")
        assert [found_by(program, query) for query in queries] == [1] * len(queries)
        assert [found_by(program, query) for query in ("milling", "kind:text", "-is:favourite")] == [0, 0, 0]
        assert read_json(program.get("/search?q=harbour"))["hits"][0]["title"] == "Harbour plan"
        assert program.post(f"/documents/{document}/reprocess").status_code == 202
        work_off(app)
    back = patch(program, document, dict.fromkeys(said))[1]
    assert (back["title"], back["filename"], back["kind"], back["document_date"], back["corrected"]) == (
        "Milling notes", "notes.md", "text", None, {},
    )  # fmt: skip
    assert found_by(program, "milling") == 1
    assert found_by(program, "is:corrected harbour") == 0


@pytest.mark.parametrize(
    "body",
    [
        {"title": 1}, {"title": "x" * 301}, {"filename": ""}, {"filename": "../.."}, {"document_date": "31.3.2026"},
        {"document_date": "2026-02-30"}, {"kind": "poem"}, {"note": "x" * 10_001}, {"note": 1}, {"favourite": "maybe"},
        {"favourite": None}, {"title": "a\0b"}, {"note": 0}, {"note": False}, {"note": []},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_a_sentence(program: Program, document: str, body: object) -> None:
    status, problem = patch(program, document, body)
    assert status == 422
    assert str(problem["detail"]).startswith(next(iter(body)))  # type: ignore[call-overload] # it is a dict
    assert read_json(program.get(f"/documents/{document}"))["corrected"] == {}


def test_people_do_it_by_forms(browser: Browser, program: Program, document: str) -> None:
    address = f"/documents/{document}/details"
    page = browser.get(address).text
    assert 'placeholder="Milling notes"' in page or 'value="Milling notes"' in page
    shown = {"title": "<b>Mine</b>", "filename": "notes.md", "document_date": "", "kind": "text", "note": "<i>"}
    assert browser.post(address, data=shown).location.endswith("#details")
    page = browser.get(address).text
    assert "&lt;b&gt;Mine&lt;/b&gt;" in page
    assert "given by ana@example.org" in page
    assert page.count("Use what was found") == 1
    starred = browser.post(address, data={"favourite": "1"}, headers=HX).text
    assert 'aria-pressed="true"' in starred
    assert 'id="document-name" hx-swap-oob="true"' in starred
    assert "Use what was found" not in browser.post(address, data={"found": "title"}, headers=HX).text
    assert browser.post(address, data={"kind": "poem"}, headers=HX).status_code == 422
    assert browser.post(address, data={"found": "sha256"}).status_code == 422
    kept = read_json(program.get(f"/documents/{document}"))
    assert (kept["title"], kept["note"], kept["favourite"]) == ("Milling notes", "<i>", True)


def test_a_form_changes_only_what_was_typed_into_it(browser: Browser, program: Program, document: str) -> None:
    address = f"/documents/{document}/details"
    seen = {"title": "", "filename": "notes.md", "document_date": "", "kind": "text", "note": ""}
    form = {**seen, **{f"seen_{name}": value for name, value in seen.items()}}
    other = {"kind": "contract", "note": "Ask\nAna", "title": "Theirs"}
    assert patch(program, document, other)[0] == 200
    assert browser.post(address, data={**form, "document_date": "2026-03-04"}).status_code == 303
    kept = read_json(program.get(f"/documents/{document}"))
    assert {name: kept[name] for name in other} == other
    assert kept["document_date"] == "2026-03-04"
    for headers, status in ((HX, 409), ({}, 409)):
        refused = browser.post(address, data={**form, "title": "<Mine>", "filename": "mine"}, headers=headers)
        assert refused.status_code == status
        assert "Somebody else changed this meanwhile. It is now: “Theirs”." in refused.text
        assert 'value="&lt;Mine&gt;"' in refused.text
        assert 'name="seen_title" value="Theirs"' in refused.text
        assert "Ask\nAna</textarea>" in refused.text
        assert 'value="contract" selected' in refused.text
        assert read_json(program.get(f"/documents/{document}"))["filename"] == "notes.md"
    again = {**form, "title": "Mine", "seen_title": "Theirs", "note": "Ask\r\nAna", "seen_note": "Ask\r\nAna"}
    swapped = browser.post(address, data=again, headers=HX).text
    assert "<title>Mine · Docmill</title>" in swapped
    assert read_json(program.get(f"/documents/{document}"))["note"] == "Ask\nAna"
    renamed = browser.post(address, data={"filename": "<new>", "seen_filename": "notes.md"}, headers=HX).text
    assert "<dd><bdi>&lt;new&gt;.md</bdi></dd>" in renamed
    assert "Delete “<bdi>&lt;new&gt;.md</bdi>”?" in renamed


def test_a_note_keeps_its_lines_and_one_that_is_too_long_comes_back(browser: Browser, document: str) -> None:
    address = f"/documents/{document}/details"
    assert browser.post(address, data={"note": "line\r\n" * 2_000}).status_code == 303
    for headers in (HX, {}):
        long = browser.post(address, data={"note": "x\r\n" * 5_001, "title": "Mine", "seen_title": ""}, headers=headers)
        assert (long.status_code, long.text.count("note must be a text of at most 10,000 characters")) == (422, 1)
        assert long.text.count("x\n" * 5_000) == 1
        assert 'value="Mine"' in long.text
