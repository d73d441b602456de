"""Tables and fields to take along: typed, corrected, and nothing in them is computed."""

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import date
from zipfile import ZipFile

import pytest
from flask import Flask
from python_calamine import CalamineWorkbook

from tests.web.people import People, Program
from tests.web.shelves import shelve, use_hashed_words, work_off
from tests.web.test_field_pages import invoice
from webapp.readers.markup.spans import Span, apart
from webapp.web import sheets

TABLE = b"Item,Day,Amount,Code\nWheat,2026-03-01,10.00,007\n=1+1,2026-03-02,-12.5,12345678901234567890\n@x,,1.234,\n"


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    use_hashed_words(app)
    ids = shelve(program, ("prices.csv", TABLE), ("=A.rtf", invoice("A-1", "2026-03-04", "120.00")))
    work_off(app)
    return ids


def sheet(content: bytes) -> Sequence[Sequence[object]]:
    return CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_index(0).to_python()


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


def test_a_table_is_taken_along_with_its_corrections(program: Program, people: People, shelf: list[str]) -> None:
    table = f"/documents/{shelf[0]}/tables/1"
    answer = program.client.put(f"{table}/cells/1/0", json={"value": "Spelt"}, headers=program.headers)
    assert answer.status_code == 200
    assert rows_of(program.get(f"{table}.csv").data) == [
        ["Item", "Day", "Amount", "Code"],
        ["Spelt", "2026-03-01", "10.00", "007"],
        ["'=1+1", "2026-03-02", "-12.5", "12345678901234567890"],
        ["'@x", "", "1.234", ""],
    ]
    made = program.get(f"{table}.xlsx")
    assert made.headers["Content-Disposition"].endswith("filename=prices.csv-table-1.xlsx")
    found = sheet(made.data)
    assert found[1:3] == [
        ["Spelt", date(2026, 3, 1), 10.0, "007"],
        ["=1+1", date(2026, 3, 2), -12.5, "12345678901234567890"],
    ]
    for path in (f"/documents/{shelf[0]}/tables/2.csv", f"/documents/{shelf[0]}/tables/0.xlsx"):
        assert program.get(path).status_code == 404
    assert people.program(org="Theirs").get(f"{table}.xlsx").status_code == 404


def test_merged_cells_are_merged_in_a_workbook(app: Flask, program: Program) -> None:
    use_hashed_words(app)
    rows = (
        "<tr><th rowspan='2'>Month</th><th colspan='2'>Litres</th></tr><tr><th>a</th><th>b</th></tr>"
        "<tr></tr><tr><td>May</td><td>1</td><td>2</td></tr><tr><td colspan='3'>=1+1</td></tr>"
    )
    [page] = shelve(
        program, ("oil.html", f"<html><body><h1>Oil</h1><p>Text.</p><table>{rows}</table></body></html>".encode())
    )
    work_off(app)
    made = program.get(f"/documents/{page}/tables/1.xlsx").data
    assert sheet(made)[0] == ["Month", "Litres", ""]
    with ZipFile(io.BytesIO(made)) as parts:
        inside = parts.read("xl/worksheets/sheet1.xml").decode()
    assert re.findall(r'<mergeCell ref="([^"]+)"', inside) == ["A1:A2", "B1:C1", "A4:C4"]
    assert "<f>" not in inside
    # A cell that a person filled is not covered by another.
    place = f"/documents/{page}/tables/1/cells/0/2"
    assert program.client.put(place, json={"value": "Gallons"}, headers=program.headers).status_code == 200
    assert sheet(program.get(f"/documents/{page}/tables/1.xlsx").data)[0] == ["Month", "Litres", "Gallons"]


def test_spans_that_cannot_be_are_left_out() -> None:
    rows = [["a", "", "c"], ["", "", ""], ["d", "", ""]]
    good: list[Span] = [(0, 0, 2, 2), (2, 0, 1, 3)]
    hostile: list[Span] = [(0, 1, 1, 2), (1, 1, 1, 2), (-1, 0, 2, 1), (0, 0, 10**9, 10**9), (1, 2, 1, 1), (2, 2, 1, 2)]
    assert apart([*good, *hostile], rows) == tuple(good)


def test_days_that_no_spreadsheet_counts_are_written_as_text() -> None:
    days = [[date(1875, 6, 1)], [date(1900, 2, 28)], [date(1900, 3, 1)]]
    assert sheet(sheets.as_xlsx(["Born"], days))[1:] == [["1875-06-01"], ["1900-02-28"], [date(1900, 3, 1)]]


def test_fields_of_many_are_taken_along(program: Program, shelf: list[str]) -> None:
    program.client.put(f"/documents/{shelf[1]}/fields/Total", json={"value": "130"}, headers=program.headers)
    found = sheet(program.get("/fields.xlsx?field=invoice_date&field=total").data)
    assert found[0] == ["File", "Invoice date", "Total", "Link"]
    assert found[1][:3] == ["=A.rtf", date(2026, 3, 4), 130.0]
    lines = program.get("/fields.jsonl?field=total&field=invoice_number")
    assert lines.mimetype == "application/jsonl"
    [line] = [json.loads(each) for each in lines.text.splitlines()]
    assert sorted(line["fields"]) == ["invoice_number", "total"]
    total = line["fields"]["total"]
    assert (total["value"], total["normalized"], total["confidence"], total["verdict"]) == (
        "130",
        "130.00",
        None,
        "value",
    )
    assert line["fields"]["invoice_number"]["confidence"]
    assert line["link"].endswith(f"/documents/{shelf[1]}/fields")
    assert program.get("/fields.jsonl?fields=total").status_code == 400
