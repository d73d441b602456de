"""Corrections of fields and cells: what people say holds everywhere, outlasts new results, and can be taken back."""

import csv
import io
import json
import re
from uuid import UUID

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import read_json, shelve, use_hashed_words, work_off
from tests.web.test_field_pages import invoice
from webapp.db import transaction
from webapp.documents.model import DocumentField

TABLE = b"Item,Day,Amount\nWheat,2026-03-01,10.00\nRye,2026-03-02,12.00\nRye,2026-03-02,13.00\n"


@pytest.fixture
def document(app: Flask, program: Program) -> str:
    use_hashed_words(app)
    [found] = shelve(program, ("A-1.rtf", invoice("A-1", "2026-03-04", "120.00")))
    work_off(app)
    return found


@pytest.fixture
def priced(app: Flask, program: Program) -> str:
    use_hashed_words(app)
    [found] = shelve(program, ("prices.csv", TABLE))
    work_off(app)
    return found


def put(program: Program, path: str, body: object) -> tuple[int, dict[str, object]]:
    answer = program.client.put(path, json=body, headers=program.headers)
    return answer.status_code, answer.get_json()


def fields(program: Program, document_id: str) -> dict[str, dict[str, object]]:
    shown = read_json(program.get(f"/documents/{document_id}/fields"))["fields"]
    return {each["name"]: each for each in shown}


@both_databases
def test_what_a_person_says_holds_everywhere_and_outlasts_a_new_result(
    app: Flask, program: Program, document: str
) -> None:
    place = f"/documents/{document}/fields"
    found = fields(program, document)
    status, total = put(program, f"{place}/Total", {"value": "1.300,50 €"})
    assert (status, total["value"], total["normalized"], total["found"]) == (200, "1.300,50 €", "1300.50", "120.00 EUR")
    assert (
        put(program, f"{place}/{found['Invoice date']['ordinal']}", {"confirmed": True, "found": "2026-03-04"})[0]
        == 200
    )
    assert put(program, f"{place}/Net amount", {"absent": True})[1]["value"] is None
    for _ in range(2):
        shown = fields(program, document)
        said = {name: each["correction"]["verdict"] for name, each in shown.items() if each["correction"]}  # type: ignore[index] # an object
        assert said == {"Total": "value", "Invoice date": "confirmed", "Net amount": "absent"}
        assert (shown["Total"]["confidence"], shown["Total"]["doubt"]) == (None, None)
        assert shown["Net amount"]["found"] == "100.00 EUR"
        table = read_json(program.get("/fields"))["documents"][0]["fields"]
        assert (table["total"]["normalized"], "net" in table) == ("1300.50", False)
        rows = list(csv.reader(io.StringIO(program.get("/fields.csv?field=total").data.decode("utf-8-sig"))))
        assert rows[1][1] == "1300.50"
        assert program.post(f"/documents/{document}/reprocess").status_code == 202
        work_off(app)
    assert program.client.delete(f"{place}/Total", headers=program.headers).status_code == 204
    back = fields(program, document)["Total"]
    assert (back["value"], back["correction"]) == ("120.00 EUR", None)
    assert back["confidence"] == found["Total"]["confidence"]


def test_the_date_of_a_document_follows_its_field(app: Flask, program: Program, document: str) -> None:
    def day() -> tuple[object, object]:
        shown = read_json(program.get(f"/documents/{document}"))
        return shown["document_date"], shown["document_date_from"]

    place = f"/documents/{document}/fields/Invoice date"
    assert day() == ("2026-03-04", "invoice_date")
    assert put(program, place, {"value": "5 April 2026"})[0] == 200
    for _ in range(2):
        assert day() == ("2026-04-05", "invoice_date")
        assert program.post(f"/documents/{document}/reprocess").status_code == 202
        work_off(app)
    assert put(program, place, {"absent": True})[1]["value"] is None
    assert day() == (None, None)
    assert program.client.delete(place, headers=program.headers).status_code == 204
    assert day() == ("2026-03-04", "invoice_date")
    own = program.client.patch(f"/documents/{document}", json={"document_date": "2025-01-02"}, headers=program.headers)
    assert own.status_code == 200
    assert put(program, place, {"value": "5 April 2026"})[0] == 200
    assert day() == ("2025-01-02", "person")


def test_a_value_that_cannot_be_is_refused_with_a_sentence(program: Program, document: str) -> None:
    place = f"/documents/{document}/fields"
    for name, value, word in (
        ("Total", "much", "amount"), ("Invoice date", "31 Foo 2026", "date"), ("Invoice date", "3/4/2026", "Day"),
        ("Total", " ", "empty"), ("Invoice number", "x" * 5001, "characters"),
    ):  # fmt: skip
        status, problem = put(program, f"{place}/{name}", {"value": value})
        assert (status, problem["reason"]) == (422, "value")
        assert word in str(problem["detail"])
    bodies: list[object] = [
        {},
        [],
        {"value": 1},
        {"absent": False},
        {"value": "a", "absent": True},
        {"value": "a\0"},
        {"x": 1},
    ]
    for body in bodies:
        assert put(program, f"{place}/Total", body)[0] == 422
    assert put(program, f"{place}/Total", {"confirmed": True, "found": "99"})[1]["reason"] == "found_anew"
    assert put(program, f"{place}/Colour", {"value": "red"})[0] == 404
    assert put(program, f"{place}/999999999999999999999", {"value": "red"})[0] == 404
    assert all(each["correction"] is None for each in fields(program, document).values())


def test_a_name_that_occurs_twice_needs_its_number(app: Flask, program: Program, document: str) -> None:
    own = {"org_id": program.org_id, "document_id": UUID(document)}
    with app.app_context(), transaction(program.org_id) as session:
        session.add(DocumentField(name="Total", value="9.00", kind="total", ordinal=77, **own))
    status, problem = put(program, f"/documents/{document}/fields/Total", {"confirmed": True})
    assert (status, problem["reason"]) == (409, "name_occurs_twice")
    assert problem["ordinals"] == [4, 77]
    assert put(program, f"/documents/{document}/fields/77", {"value": "2.00"})[0] == 200
    shown = read_json(program.get(f"/documents/{document}/fields"))["fields"]
    assert [(each["nth"], each["value"]) for each in shown if each["name"] == "Total"] == [
        (0, "120.00 EUR"),
        (1, "2.00"),
    ]
    assert program.post(f"/documents/{document}/reprocess").status_code == 202
    work_off(app)
    lost = read_json(program.get(f"/documents/{document}/fields"))["fields"][-1]
    assert (lost["name"], lost["nth"], lost["value"], lost["ordinal"], lost["found"]) == (
        "Total",
        1,
        "2.00",
        None,
        None,
    )
    place = f"/documents/{document}/corrections/{lost['correction']['id']}"
    assert program.client.delete(place, headers=program.headers).status_code == 204
    assert program.client.delete(place, headers=program.headers).status_code == 404


def test_people_do_it_by_forms_with_and_without_a_script(browser: Browser, program: Program, document: str) -> None:
    place = f"/documents/{document}/fields"
    total = {"name": "Total", "nth": "0", "seen": "120.00 EUR"}
    row = browser.post(place, data={**total, "say": "value", "value": "<b>1</b>"}, headers=HX)
    assert row.status_code == 422
    assert "This must be an amount" in row.text
    assert "&lt;b&gt;1&lt;/b&gt;" in row.text
    whole = browser.post(place, data={**total, "say": "value", "value": "x"})
    assert (whole.status_code, whole.text.count("This must be an amount")) == (422, 1)
    row = browser.post(place, data={**total, "say": "value", "value": "130"}, headers=HX)
    assert "Corrected" in row.text
    assert "ana@example.org" in row.text
    assert "120.00 EUR" in row.text
    assert browser.post(place, data={**total, "say": "undo"}).location.split("#")[1].startswith("field-")
    assert browser.post(place, data={**total, "say": "confirmed"}).status_code == 303
    page = browser.get(place).text
    assert page.count('value="undo"') == 1
    assert browser.post(place, data={**total, "seen": "9", "say": "absent"}).status_code == 409
    assert browser.post(place, data={**total, "say": "dance"}).status_code == 422
    assert browser.post(place, data={"say": "absent"}).status_code == 422
    assert fields(program, document)["Total"]["value"] == "120.00 EUR"


def test_a_viewer_corrects_nothing(people: People, document: str, priced: str) -> None:
    viewer = people.program("viewer")
    assert put(viewer, f"/documents/{document}/fields/Total", {"absent": True})[0] == 403
    assert put(viewer, f"/documents/{priced}/tables/1/cells/1/1", {"absent": True})[0] == 403
    page = people.browser("viewer", email="v@example.org").get(f"/documents/{document}/fields").text
    assert "Not there" not in page


@both_databases
def test_cells_are_corrected_and_found_again(app: Flask, program: Program, browser: Browser, priced: str) -> None:
    cells = f"/documents/{priced}/tables/1/cells"
    status, table = put(program, f"{cells}/2/2", {"value": "11.50"})
    assert (status, table["rows"][2]) == (200, ["Rye", "2026-03-02", "11.50"])  # type: ignore[index] # a list
    assert put(program, f"{cells}/1/0", {"confirmed": True})[0] == 200
    for path in ("9/0", "1/9"):
        assert put(program, f"{cells}/{path}", {"value": "1"})[0] == 404
    assert put(program, f"/documents/{priced}/tables/2/cells/1/1", {"value": "1"})[0] == 404
    assert program.post(f"/documents/{priced}/reprocess").status_code == 202
    work_off(app)
    [table] = read_json(program.get(f"/documents/{priced}/tables"))["tables"]
    assert [(each["row"], each["column"], each["verdict"]) for each in table["corrections"]] == [
        (2, 2, "value"), (1, 0, "confirmed"),
    ]  # fmt: skip
    assert "Done" in browser.get(f"/documents/{priced}/tables?edit=1").text
    form = browser.get(f"{cells}/2/2").text
    assert "Found:" in form
    assert browser.post(f"{cells}/2/2", data={"say": "undo"}).status_code == 303
    swapped = browser.post(f"{cells}/3/1", data={"say": "value", "value": "<i>", "seen": "2026-03-02"}, headers=HX)
    assert "&lt;i&gt;" in swapped.text
    assert put(program, f"{cells}/3/1", {"confirmed": True, "found": "other"})[0] == 409
    assert program.client.delete(f"{cells}/3/1", headers=program.headers).status_code == 204
    assert read_json(program.get(f"/documents/{priced}/tables"))["tables"][0]["rows"][3][1] == "2026-03-02"


def test_ops_take_corrections_along_as_a_labelled_set(
    people: People, program: Program, document: str, priced: str
) -> None:
    assert put(program, f"/documents/{document}/fields/Total", {"value": "130"})[0] == 200
    assert put(program, f"/documents/{priced}/tables/1/cells/1/2", {"value": "11"})[0] == 200
    assert (
        program.client.patch(f"/documents/{priced}", json={"title": "Prices"}, headers=program.headers).status_code
        == 200
    )
    answer = people.program("ops").get("/corrections.jsonl")
    lines = [json.loads(each) for each in answer.text.splitlines()]
    assert [(each["target"], each["name"], each["found"], each["value"]) for each in lines] == [
        ("field", "Total", "120.00 EUR", "130"), ("cell", "Amount", "10.00", "11"), ("fact", "title", None, "Prices"),
    ]  # fmt: skip
    assert [each["document_id"] for each in lines] == [document, priced, priced]
    assert lines[0]["sha256"] == read_json(program.get(f"/documents/{document}"))["sha256"]
    assert (lines[1]["table"], lines[1]["row"], lines[1]["column"]) == (1, 1, 2)
    assert "by" not in lines[0]
    assert program.get("/corrections.jsonl").status_code == 403
    assert people.program("ops", org="Theirs").get("/corrections.jsonl").text == ""


def test_a_cell_with_a_line_break_is_corrected_by_a_form(app: Flask, program: Program, browser: Browser) -> None:
    use_hashed_words(app)
    [document] = shelve(program, ("lines.csv", b'Item,Amount\n"Wheat\nand rye",10.00\nOats,12.00\n'))
    work_off(app)
    place = f"/documents/{document}/tables/1/cells/1/0"
    [table] = read_json(program.get(f"/documents/{document}/tables"))["tables"]
    seen = table["rows"][1][0].replace("\n", "\r\n")
    assert "\r\n" in seen
    assert browser.post(place, data={"say": "value", "value": "Spelt", "seen": seen}).status_code == 303
    [table] = read_json(program.get(f"/documents/{document}/tables"))["tables"]
    assert table["rows"][1][0] == "Spelt"


def test_a_heading_is_corrected_and_taken_back(program: Program, browser: Browser, priced: str) -> None:
    place = f"/documents/{priced}/tables/1/cells/0/1"
    assert 'id="cell-1-0-1-edit"' in browser.get(f"/documents/{priced}/tables?edit=1").text
    swapped = browser.post(place, data={"say": "value", "value": "Date", "seen": "Day"}, headers=HX).text
    assert '<th scope="col" id="cell-1-0-1"' in swapped
    assert ", corrected, edit" in swapped
    page = browser.get(f"/documents/{priced}/tables").text
    assert 'id="cell-1-0-1-edit"' in page
    assert "1 corrected" in page
    back = browser.post(place, data={"say": "undo"})
    assert back.location.endswith("?edit=1#cell-1-0-1-edit")
    assert read_json(program.get(f"/documents/{priced}/tables"))["tables"][0]["rows"][0][1] == "Day"


def test_a_cell_says_what_a_person_said_of_it(program: Program, browser: Browser, priced: str) -> None:
    cells = f"/documents/{priced}/tables/1/cells"
    assert put(program, f"{cells}/1/0", {"confirmed": True})[0] == 200
    assert put(program, f"{cells}/1/1", {"absent": True})[0] == 200
    page = browser.get(f"/documents/{priced}/tables").text
    assert "1 corrected · 1 confirmed" in " ".join(page.split())
    assert '<bdi>Wheat</bdi><span class="unseen">, confirmed, edit</span>' in page
    # What is copied is the cell, not the word for an empty one.
    assert '<bdi></bdi><span class="muted">empty</span>' in page
    assert 'aria-label="Table 1"' in page
    assert 'aria-labelledby="table-' not in page


def test_the_focus_returns_to_the_field(browser: Browser, document: str) -> None:
    place = f"/documents/{document}/fields"
    total = {"name": "Total", "nth": "0", "seen": "120.00 EUR"}
    for say in ({"say": "absent"}, {"say": "undo"}, {"say": "value", "value": "130"}):
        row = browser.post(place, data={**total, **say}, headers=HX).text
        assert re.search(r'<button [^>]*id="field-\d+-first" autofocus', row)
        assert row.count("autofocus") == 1
    assert browser.post(place, data={**total, "say": "undo"}).location.endswith("-first")
