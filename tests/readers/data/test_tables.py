"""CSV and TSV: the dialect is found, columns are described, and rows are lines of a table."""

# ruff: noqa: RUF001 - letters of other alphabets are the point here

from collections.abc import Callable

import pytest

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.data.columns import as_number, look_at
from webapp.readers.data.dialect import find_dialect
from webapp.readers.data.read import BROKEN_QUOTES
from webapp.readers.extraction import DATA_VECTORS_MAX, Extraction
from webapp.readers.filetypes import CSV, TSV

Extract = Callable[[bytes, str], Extraction]

SALES = '''order;customer;amount;paid;on
1001;"Müller; Söhne";12,50;yes;2026-01-31
1002;Brown | Co;3.100,00;no;2026-02-01
1003;"said ""no""";;yes;2026-02-03
'''


def test_a_table_is_described_and_kept(extract: Extract) -> None:
    found = extract(SALES.encode(), CSV)

    assert found.markdown == (
        "# Table: order, customer, amount, paid, on\n\n3 rows of 5 columns, separated by semicolons.\n\n## Columns\n\n"
        "- order: whole numbers, 1001 to 1003\n"
        '- customer: text, 3 different, such as Müller; Söhne, Brown | Co, said "no"\n'
        "- amount: numbers, 12,50 to 3.100,00; empty in 33 %\n"
        "- paid: yes or no, such as yes, no\n"
        "- on: dates, 2026-01-31 to 2026-02-03\n\n"
        "## Rows 1 to 3\n\n"
        "| order | customer | amount | paid | on |\n| --- | --- | --- | --- | --- |\n"
        "| 1001 | Müller; Söhne | 12,50 | yes | 2026-01-31 |\n"
        "| 1002 | Brown \\| Co | 3.100,00 | no | 2026-02-01 |\n"
        '| 1003 | said "no" |  | yes | 2026-02-03 |'
    )
    (table,) = found.tables
    assert table.rows[0] == ("order", "customer", "amount", "paid", "on")
    assert table.rows[1] == ("1001", "Müller; Söhne", "12,50", "yes", "2026-01-31")
    assert (found.title, found.vectors_max) == ("", DATA_VECTORS_MAX)
    assert (found.partial, found.warnings) == (False, ())


def test_long_tables_are_split_into_blocks(extract: Extract) -> None:
    found = extract(b"n,word\n" + b"".join(b"%d,lamp%d\n" % (n, n) for n in range(250)), CSV)
    assert [line for line in found.markdown.split("\n") if line.startswith("## ")] == [
        "## Columns",
        "## Rows 1 to 100",
        "## Rows 101 to 200",
        "## Rows 201 to 250",
    ]
    assert found.markdown.count("| n | word |") == 3


CASES = {
    "commas": ("a,b\n1,2\n3,4\n", ",", [["1", "2"], ["3", "4"]]),
    "semicolons with decimal commas": ("a;b\n1,5;2,5\n3,5;4,5\n", ";", [["1,5", "2,5"], ["3,5", "4,5"]]),
    "tabs with commas in them": ("a\tb\nx, y\t1\nz, w\t2\n", "\t", [["x, y", "1"], ["z, w", "2"]]),
    "bars": ("a|b\n1|2\n3|4\n", "|", [["1", "2"], ["3", "4"]]),
    "quoted line ends": ('a,b\n"x\ny",1\n"z",2\n', ",", [["x\ny", "1"], ["z", "2"]]),
    "quoted delimiters": ('a,b\n"x, y",1\n"z, w",2\n', ",", [["x, y", "1"], ["z, w", "2"]]),
    "apostrophes as quotes": ("a,b\n'x, y',1\n'z, w',2\n", ",", [["x, y", "1"], ["z, w", "2"]]),
    "escaped quotes": ('a,b\n"x \\"y\\", z",1\n"w",2\n', ",", [['x "y", z', "1"], ["w", "2"]]),
    "dates with times": ("when,n\n2026-01-01 12:00:00,1\n2026-01-02 13:30:00,2\n", ",",
                         [["2026-01-01 12:00:00", "1"], ["2026-01-02 13:30:00", "2"]]),
    "a said separator": ("sep=;\na;b\n1;2\n", ";", [["1", "2"]]),
    "one column": ("word\nlamp\nhorn\n", "", [["lamp"], ["horn"]]),
    "one column of some words": ("Names\nAnna Bell\nBen Case\n", "", [["Anna Bell"], ["Ben Case"]]),
    "old line ends": ("a,b\r1,2\r3,4\r", ",", [["1", "2"], ["3", "4"]]),
    "ragged rows": ("a,b,c\n1,2\n1,2,3\n4,5,6\n", ",", [["1", "2", ""], ["1", "2", "3"], ["4", "5", "6"]]),
    "lines above it": ("Report of May\n\na,b\n1,2\n3,4\n", ",", [["1", "2"], ["3", "4"]]),
    "empty lines": ("a,b\n\n1,2\n,\n3,4\n", ",", [["1", "2"], ["3", "4"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_dialect_is_found(extract: Extract, name: str) -> None:
    text, delimiter, rows = CASES[name]
    found = extract(text.encode(), CSV)
    assert [list(row) for row in found.tables[0].rows[1:]] == rows
    if not text.startswith("sep="):
        assert find_dialect(text.replace("\r", "\n")).delimiter == delimiter


def test_lines_above_a_table_are_kept(extract: Extract) -> None:
    assert "\n\nReport of May\n\n" in extract(b"Report of May\na,b\n1,2\n3,4\n", CSV).markdown


def test_tabs_are_meant_where_the_name_says_so(extract: Extract) -> None:
    assert extract(b"a b,c\td\ne f,g\th\n", TSV).tables[0].rows[0] == ("a b,c", "d")


def test_columns_without_names_are_numbered(extract: Extract) -> None:
    assert extract(b"1,2026-01-01\n2,2026-01-02\n", CSV).tables[0].rows == (
        ("Column 1", "Column 2"),
        ("1", "2026-01-01"),
        ("2", "2026-01-02"),
    )


def test_quotes_that_never_close_are_letters(extract: Extract) -> None:
    rows = b"".join(b"%d,lamp\n" % n for n in range(300))
    found = extract(b'n,word\n0,"open\n' + rows, CSV)
    assert len(found.tables[0].rows) == 302
    assert found.warnings == (BROKEN_QUOTES,)
    assert not found.partial


@pytest.mark.parametrize("encoding", ["cp1251", "koi8-r", "utf-16", "utf-16-le"])
def test_any_encoding_is_read(extract: Extract, encoding: str) -> None:
    text = "город;число\nМосква;1\nСанкт-Петербург;2\nЕкатеринбург;3\n"
    assert ("Москва", "1") in extract(text.encode(encoding), CSV).tables[0].rows


@pytest.mark.parametrize(
    ("cells", "about"),
    [
        (["1", "2", "30"], "whole numbers, 1 to 30"),
        (["00123", "00124", "abc"], "text, 3 different, such as 00123, 00124, abc"),
        (["1.5", "2", "-3"], "numbers, -3 to 2"),
        (["12 %", "7 %"], "numbers, 7 % to 12 %"),
        (["31.12.2025", "01.01.2026"], "dates, such as 31.12.2025"),
        (["12:30", "13:00"], "times, such as 12:30, 13:00"),
        (["", " "], "empty"),
        (["x", "x"], "text, such as x"),
    ],
)
def test_columns_are_described(cells: list[str], about: str) -> None:
    assert look_at("name", cells).about == about


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("1,234.50", 1234.5),
        ("1.234,50", 1234.5),
        ("12,5", 12.5),
        ("1,234", 1234),
        ("€ 7", 7),
        ("1.2.3", 123),
        ("-", None),
    ],
)
def test_numbers_are_compared_as_what_they_count(cell: str, number: float | None) -> None:
    assert as_number(cell) == number


def test_nothing_is_no_table(extract: Extract) -> None:
    with pytest.raises(BadInput) as failure:
        extract(b" \n \n", CSV)
    assert failure.value.code is FailureCode.EMPTY
