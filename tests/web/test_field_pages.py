"""GET /fields: the fields of many documents as one table."""

import csv
import io

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import JSON, Browser, Program
from tests.web.shelves import NOTES, read_json, shelve, use_hashed_words, work_off


def invoice(number: str, day: str, total: str) -> bytes:
    net = f"{float(total) / 1.2:.2f}"
    lines = ("Invoice", f"Invoice number: {number}", f"Invoice date: {day}", f"Net amount: {net} EUR",
             f"VAT 20 %: {float(total) - float(net):.2f} EUR", f"Total: {total} EUR")  # fmt: skip
    return b"{\\rtf1\\ansi " + "\\par\n".join(lines).encode() + b"\\par}"


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    use_hashed_words(app)
    files = [
        ("A-1.rtf", invoice("A-1", "2026-03-04", "120.00")),
        ("A-2.rtf", invoice("A-2", "2026-02-01", "1200.00")),
        ("=A3.rtf", invoice("A-3", "2026-05-30", "36.00")),
    ]
    ids = shelve(program, *files, ("notes.md", NOTES))
    work_off(app)
    return ids


@both_databases
def test_programs_read_the_fields_of_many(program: Program, shelf: list[str]) -> None:
    found = read_json(program.get("/fields?sort=-total"))
    assert [each["filename"] for each in found["documents"]] == ["A-2.rtf", "A-1.rtf", "=A3.rtf"]
    first = found["documents"][0]["fields"]
    assert (first["total"]["normalized"], first["invoice_date"]["normalized"]) == ("1200.00", "2026-02-01")
    assert {"key": "total", "name": "Total", "documents": 3} in found["columns"]
    assert found["is_cut"] is False
    assert [each["filename"] for each in read_json(program.get("/fields?q=in:A-1"))["documents"]] == ["A-1.rtf"]


def test_people_see_columns_sums_and_a_way_to_the_document(browser: Browser, shelf: list[str]) -> None:
    page = browser.get("/fields?field=invoice_number&field=total&sort=total").text
    assert page.index("=A3.rtf") < page.index("A-1.rtf") < page.index("A-2.rtf")
    assert "1,356.00 EUR" in page
    assert 'aria-sort="ascending"' in page
    assert f"/documents/{shelf[0]}/fields" in page
    assert "1 more has no fields" in page
    assert "Columns (2 of " in page
    assert browser.get("/fields?q=kind:").status_code == 422
    assert "No document that matches has fields." in browser.get("/fields?q=kind:pdf").text


def test_a_file_for_spreadsheets_computes_nothing(program: Program, shelf: list[str]) -> None:
    answer = program.client.get(
        "/fields.csv?field=invoice_number&field=total&sort=total", headers={**program.headers, "Accept": JSON}
    )
    rows = list(csv.reader(io.StringIO(answer.data.decode("utf-8-sig"))))
    assert rows[0] == ["File", "Invoice number", "Total", "Link"]
    assert rows[1][0] == "'=A3.rtf"
    assert [row[2] for row in rows[1:]] == ["36.00", "120.00", "1200.00"]
    assert answer.headers["Content-Disposition"] == 'attachment; filename="fields.csv"'
