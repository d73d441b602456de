"""Workbooks of Excel and OpenDocument: each sheet is a page, its cells are a table, values are as people see them."""

from datetime import datetime, time, timedelta

import pytest

from tests.readers.office.conftest import Read
from tests.readers.office.files import EXCEL, SHEETS, odf, odf_row, relations, row, styles, xlsx
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import DATA_VECTORS_MAX
from webapp.readers.office import sheets
from webapp.readers.office.number_formats import Moment, NumberFormat

MOMENT = datetime(2026, 3, 4, 15, 7, 9)  # noqa: DTZ001 - cells have no time zone
FIRST = row(3, C="Name", D="Amount", E="Since", F="Paid") + row(
    5, C="Anna", D="n:12.0", E="date:46085", F="b:1", G="e:#DIV/0!"
)


def test_a_sheet_of_a_workbook(read: Read) -> None:
    found = read(xlsx(FIRST, row(1, A="Only *words*"), names=("Sums", "Notes"), hidden=(2,)), EXCEL)
    assert [table.rows for table in found.tables] == [
        (("Name", "Amount", "Since", "Paid"), ("Anna", "12", "2026-03-04", "TRUE")),
        (("Only *words*",),),
    ]
    assert [(table.page, table.caption) for table in found.tables] == [(1, "Sums"), (2, "Notes")]
    assert found.markdown == (
        "<!-- page 1 -->\n\n# Sums\n\n| Name | Amount | Since | Paid |\n| --- | --- | --- | --- |\n"
        "| Anna | 12 | 2026-03-04 | TRUE |\n\n<!-- page 2 -->\n\n# Notes\n\nOnly \\*words\\*"
    )
    assert found.page_count == 2
    assert found.vectors_max == DATA_VECTORS_MAX
    assert found.warnings == (
        "Hidden in the workbook, and read all the same: Notes.",
        "Cells with an error such as #DIV/0! are shown empty (1 of them).",
    )
    assert not found.partial


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("n:1", "1"), ("n:1.50", "1.5"), ("n:0.30000000000000004", "0.3"), ("n:-7", "-7"), ("n:1e21", "1e+21"),
        ("b:0", "FALSE"), ("str:cached", "cached"), ("00123", "00123"), ("date:46085.5", "2026-03-04 12:00:00"),
    ],
)  # fmt: skip
def test_values_are_shown_as_people_see_them(read: Read, value: str, expected: str) -> None:
    found = read(xlsx(row(1, A="x", B=value)), EXCEL)
    assert found.tables[0].rows == (("x", expected),)


def test_formats_show_and_values_stay(read: Read) -> None:
    codes = ("0.0%", '#,##0.00\\ "€"', "dd.mm.yyyy", '[Red]-0.0;0.0;"nothing"', "General")
    first = row(3, C="Share", D="Price", E="Day", F="Zero", G="Plain")
    second = row(5, C="style2:0.125", D="style3:1234.5", E="style4:46085", F="style5:0", G="style6:7")
    found = read(xlsx(first + second, more={"xl/styles.xml": styles(*codes)}), EXCEL)
    table = found.tables[0]
    assert table.rows[1] == ("12.5%", "1,234.50 €", "04.03.2026", "nothing", "7")
    assert table.values == ((1, 0, 0.125), (1, 1, 1234.5), (1, 2, "2026-03-04"), (1, 3, 0))
    assert "| 12.5% | 1,234.50 € | 04.03.2026 | nothing | 7 |" in found.markdown


@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        ("0%", 0.125, "13%"), ("0.00 %", 0.125, "12.50 %"), ("#,##0.00_);(#,##0.00)", -1234.5, "(1,234.50)"),
        ('[$$-409]#,##0.00;[Red]-[$$-409]#,##0.00', -3, "-$3.00"), ("#,##0.00 [$€-407]", 1234567.891, "1,234,567.89 €"),
        ("#,##0,", 1234567, "1,235"), ('0.0,,"M"', 1234567, "1.2M"), ("00000", 7, "00007"),
        ("0.00E+00", 12345, "1.23E+04"),
        ('[>=100]"many";"few: "0', 5, "few: 5"), ('[>=100]"many";0', 100, "many"), ("0.00", -0.001, "0.00"),
        ('_-* #,##0.00 "€"_-;-* #,##0.00 "€"_-;_-* "-"?? "€"_-', 0, "- €"), ("#,##0.###", 1.5, "1.5"), ("0", 2.5, "3"),
    ],
)  # fmt: skip
def test_numbers_by_their_format(code: str, value: float, expected: str) -> None:
    assert NumberFormat(code).number(value) == expected


@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        ("d-mmm-yy", MOMENT, "4-Mar-26"), ("dddd, d mmmm yyyy", MOMENT, "Wednesday, 4 March 2026"),
        ("mm/dd/yy", MOMENT, "03/04/26"),
        ("h:mm AM/PM", MOMENT, "3:07 PM"), ("dd.mm.yyyy hh:mm:ss", MOMENT, "04.03.2026 15:07:09"),
        ("mm:ss", MOMENT, "07:09"),
        ("[$-407]dd.mm.yy;@", MOMENT, "04.03.26"), ("[h]:mm:ss", timedelta(hours=30, minutes=15), "30:15:00"),
        ("h:mm", time(7, 5), "7:05"), ("[h]:mm", timedelta(minutes=-90), "-1:30"),
    ],
)  # fmt: skip
def test_moments_by_their_format(code: str, value: Moment, expected: str) -> None:
    assert NumberFormat(code).moment(value) == expected


@pytest.mark.parametrize(
    "code",
    [
        "General", "@", "", "# ?/?", "000-00", "[$-407]d. mmmm yyyy", "[$-F800]dddd, mmmm dd, yyyy", "yyyy",
        "0" * 501, "0." + "0" * 40,
        '"', "[", "[$", "[>", ";;;;;;", "E+", "0E+0E+0", "[h", "\\", "[>=1e99999]0",
    ],
)  # fmt: skip
def test_a_format_that_is_not_known_leaves_the_value_as_it_is(code: str) -> None:
    known = NumberFormat(code)
    assert known.number(12.5) in {None, "12.5"}
    assert known.moment(timedelta(hours=1)) is None


def test_comments_are_below_their_sheet(read: Read) -> None:
    comment = '<comment ref="B2"><text><r><t>Check this</t></r></text></comment>'
    more = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations({"comments": "../comments1.xml"}),
        "xl/comments1.xml": f"<comments><commentList>{comment}</commentList></comments>",
    }
    assert read(xlsx(row(1, A="x"), more=more), EXCEL).markdown.endswith("Comment on B2: Check this")


@pytest.mark.slow
def test_all_rows_of_a_long_sheet_are_text(read: Read) -> None:
    rows = "".join(row(number, A=f"Person {number}", B=f"n:{number}", C="Berlin") for number in range(1, 5001))
    found = read(xlsx(row(1, A="Name", B="Number", C="City") + rows.partition("</row>")[2]), EXCEL)
    assert len(found.tables[0].rows) == 5000
    assert all(f"| Person {number} | {number} | Berlin |" in found.markdown for number in (2, 2500, 5000))
    # Each of its parts says what the columns are.
    assert found.markdown.count("| Name | Number | City |") == found.markdown.count("| --- | --- | --- |") > 10
    assert not found.partial


def test_a_warning_names_the_sheets_that_were_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "CHARACTERS_MAX", 100)
    writer = sheets.SheetWriter()
    writer.add(sheets.Sheet("Long", [["some text", str(number)] for number in range(50)]))
    content = writer.finished()
    assert content.is_partial
    assert content.warnings == ["The workbook holds more text than 100 characters; rows are missing in: Long."]
    assert len(content.tables[0].rows) == 6


def ods(*rows: str, style: str = "s", name: str = "Sums") -> str:
    return f'<table:table table:name="{name}" table:style-name="{style}">{"".join(rows)}</table:table>'


def value(kind: str, content: str, shown: str) -> str:
    attribute = "value" if kind in {"float", "percentage", "currency"} else f"{kind}-value"
    typed = f'office:value-type="{kind}" office:{attribute}="{content}"'
    return f"<table:table-cell {typed}><text:p>{shown}</text:p></table:table-cell>"


HIDDEN = (
    '<style:style style:name="h" style:family="table"><style:table-properties table:display="false"/></style:style>'
)


def test_a_sheet_of_an_open_document(read: Read) -> None:
    empty = '<table:table-cell table:number-columns-repeated="1000"/>'
    cells = (
        value("float", "12.5", "12.50") + value("date", "2026-03-04", "4.3.26") + value("boolean", "true", "WAHR")
        + value("percentage", "0.125", "12.5%") + value("time", "PT30H15M00S", "30:15:00") + empty
    )  # fmt: skip
    first = ods(
        f'<table:table-row table:number-rows-repeated="5">{empty}</table:table-row>',
        odf_row("A", "B", "C", "D", "E"),
        f"<table:table-row>{cells}</table:table-row>",
        f'<table:table-row table:number-rows-repeated="1048000">{empty}</table:table-row>',
    )
    wide = '<table:table-cell table:number-columns-spanned="2"><text:p>a<text:s/>b</text:p></table:table-cell>'
    twice = '<table:table-cell table:number-columns-repeated="2"><text:p>c</text:p></table:table-cell>'
    merged = f"<table:table-row>{wide}<table:covered-table-cell/>{twice}</table:table-row>"
    second = ods(merged, style="h", name="More")
    found = read(odf(SHEETS, first + second, automatic=HIDDEN), SHEETS)
    assert [table.rows for table in found.tables] == [
        (("A", "B", "C", "D", "E"), ("12.50", "2026-03-04", "TRUE", "12.5%", "30:15:00")),
        (("a b", "", "c", "c"),),
    ]
    assert found.warnings == ("Hidden in the workbook, and read all the same: More.",)
    assert (found.title, found.page_count) == ("The Harbour", 2)


@pytest.mark.parametrize("data", [xlsx(""), xlsx('<row r="1"><c r="A1"/></row>'), odf(SHEETS, ods(odf_row("")))])
def test_empty_workbooks_have_no_text(read: Read, data: bytes) -> None:
    with pytest.raises(BadInput) as failure:
        read(data, EXCEL)
    assert failure.value.code is FailureCode.NO_TEXT
