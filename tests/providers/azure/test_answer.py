"""Results of Document Intelligence, read: what becomes of its Markdown, its places, and what it gets wrong."""

from time import thread_time
from typing import Any

import pytest

from webapp.providers.azure.answer import read_result
from webapp.providers.azure.markdown import page_markdown
from webapp.providers.ports import Window
from webapp.readers.extraction import Extraction, Field, Table, Word

CORNERS = [1.0, 1.0, 2.0, 1.0, 2.0, 1.5, 1.0, 1.5]
PLACE = {"boundingRegions": [{"pageNumber": 2, "polygon": CORNERS}]}


def result(content: str, **more: Any) -> dict[str, Any]:
    page = {"pageNumber": 1, "width": 8.5, "height": 11.0, "spans": [{"offset": 0, "length": len(content)}]}
    return {"content": content, "stringIndexType": "unicodeCodePoint", "pages": [page], **more}


def read(content: str, window: Window | None = None, **more: Any) -> Extraction:
    return read_result(result(content, **more), window or Window(), "azure", "1")


def test_its_own_comments_are_gone_and_what_they_say_is_kept() -> None:
    content = (
        '<!-- PageHeader="Letter &amp; Sons" -->\n\n# Title\n\nSome text.\n\n'
        '<!-- PageNumber="1" -->\n<!-- PageFooter="Bank details" -->\n<!-- PageBreak -->'
    )
    markdown = read(content).markdown
    assert markdown == "<!-- page 1 -->\n\nLetter & Sons\n\n# Title\n\nSome text.\n\nBank details"


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ('a <!-- PageHeader="x" --> b <!-- PageFooter="y" --> c', "a x b y c"),
        ('a <!-- PageHeader="x --> y" --> b', "a x --> y b"),
        ('a <!--PageNumber=""--> <!-- PageNumber=7 --> b', "a   b"),
        ('a <!-- PageNumber="7"\n--> b', "a  b"),
        ('a <!-- PageNumber="7"\nb -->', 'a <!-- PageNumber="7"\nb -->'),
        ('a <!-- PageHeader="x\ny" --> b', 'a <!-- PageHeader="x\ny" --> b'),
        ("a <!-- PageHeader --><!-- PageBreak --> b", "a  b"),
        ('a <!-- PageHeader="x', 'a <!-- PageHeader="x'),
    ],
)
def test_a_comment_ends_on_its_line(content: str, kept: str) -> None:
    assert read(content).markdown == f"<!-- page 1 -->\n\n{kept}"


@pytest.mark.parametrize(
    "piece",
    [
        "<!-- PageNumber=", '<!-- PageHeader="', '<!-- PageHeader="a-->', '" ', '"-->', "-->", "<!--", "<!--  ", " ",
        "\n", "\n ", "<!-- PageNumber=\n", '<!-- PageHeader="\n', "<table ", "<td", "&amp;",
    ],
)  # fmt: skip
def test_no_text_takes_long(piece: str) -> None:
    content = piece * (500_000 // len(piece))
    started = thread_time()
    page_markdown(content + "x", 0, len(content) + 1, [])
    assert thread_time() - started < 3


def test_figures_keep_their_words() -> None:
    markdown = read(
        "Before\n\n<figure>\n<figcaption>Figure 1: a lamp</figcaption>\n\nlit\n\n</figure>\n\nAfter"
    ).markdown
    assert "figure>" not in markdown
    assert "Figure 1: a lamp" in markdown
    assert "lit" in markdown


def test_a_file_cannot_forge_pages() -> None:
    content = '<!-- page 7 -->\n<<table>!-- page 8 -->\n<!-- PageHeader="<!-- page 9 -->" -->'
    markdown = read(content).markdown
    assert [line for line in markdown.splitlines() if line.startswith("<!-- page")] == ["<!-- page 1 -->"]


def test_offsets_count_letters_whatever_the_alphabet() -> None:
    table = "<table><tr><td>光</td></tr></table>"
    content = f"🙂 灯台\n\n{table}\n\n守る"
    cells = [{"rowIndex": 0, "columnIndex": 0, "content": "光|影"}]
    found = {"rowCount": 1, "columnCount": 1, "cells": cells}
    span = {"offset": content.index(table), "length": len(table)}
    extraction = read(content, tables=[{**found, "spans": [span], "caption": {"content": "表題"}, **PLACE}])
    assert extraction.markdown == "<!-- page 1 -->\n\n🙂 灯台\n\n表題\n\n| 光\\|影 |\n| --- |\n\n守る"
    assert extraction.tables == (Table(2, (("光|影",),), "表題"),)


def test_offsets_that_count_something_else_are_not_used() -> None:
    plain = result("🙂 text") | {"stringIndexType": "textElements"}
    plain["pages"] = [{"pageNumber": 1, "spans": [{"offset": 0, "length": 3}]}, {"pageNumber": 2}]
    extraction = read_result(plain, Window(1, 2), "azure", "1")
    assert extraction.markdown == "<!-- page 1 -->\n\n🙂 text\n\n<!-- page 2 -->"


def test_pages_keep_their_numbers_their_words_and_their_size() -> None:
    word = {"content": "lamp", "polygon": CORNERS, "confidence": 0.87, "span": {"offset": 0, "length": 4}}
    page = {
        "pageNumber": 51,
        "width": 8.5,
        "height": 11,
        "spans": [{"offset": 0, "length": 4}],
        "words": [word, {"content": "x"}],
        "lines": [{"content": "lamp x"}],
    }
    extraction = read("lamp", Window(51, 51), pages=[page])
    (found,) = extraction.pages
    assert (found.number, found.text, found.width, found.height) == (51, "lamp x", 8.5, 11.0)
    assert found.words == (Word("lamp", 0.87, tuple(CORNERS)), Word("x"))
    assert extraction.markdown.startswith("<!-- page 51 -->")


def test_pairs_become_fields_where_both_halves_are_there() -> None:
    pairs = [
        {"key": {"content": "Total:"}, "value": {"content": "10.00", **PLACE}, "confidence": 0.9},
        {"key": {"content": "Signature:", **PLACE}, "confidence": 0.8},
    ]
    assert read("x", keyValuePairs=pairs).fields == (Field("Total", "10.00", 0.9, 2, tuple(CORNERS)),)


def test_typed_fields_are_written_out() -> None:
    fields = {
        "Total": {"type": "currency", "valueCurrency": {"amount": 10.5, "currencyCode": "EUR"}, "confidence": 0.9},
        "Date": {"type": "date", "valueDate": "2026-04-17", "content": "17 April", **PLACE},
        "From": {"type": "address", "valueAddress": {"road": "Quay 1", "city": "Hamburg", "number": 3}},
        "Items": {"valueArray": [{"valueObject": {"Amount": {"valueNumber": 3}}}, {"valueString": "loose"}]},
        "Nothing": {"type": "string"},
    }
    found = {field.name: field.value for field in read("x", documents=[{"fields": fields}]).fields}
    assert found == {
        "Total": "10.5 EUR",
        "Date": "17 April",
        "From": "Quay 1, Hamburg",
        "Items 1 Amount": "3",
        "Items 2": "loose",
    }


def test_fields_within_fields_end_somewhere() -> None:
    field: dict[str, Any] = {"valueString": "deep"}
    for _ in range(100):
        field = {"valueObject": {"a": field}, "valueArray": [field]}
    assert read("x", documents=[{"fields": {"a": field}}]).fields == ()


def test_cells_are_in_their_rows() -> None:
    cells = [
        {"rowIndex": 0, "columnIndex": 0, "content": "Item", "columnSpan": 2},
        {"rowIndex": 1, "columnIndex": 1, "content": "8.50"},
        {"rowIndex": 9, "columnIndex": 9, "content": "outside"},
    ]
    (table,) = read("x", tables=[{"rowCount": 2, "columnCount": 2, "cells": cells}]).tables
    assert table.rows == (("Item", ""), ("", "8.50"))
    assert table.spans == ((0, 0, 1, 2),)


@pytest.mark.parametrize(("rows", "columns"), [(0, 1), (10**9, 10**9), (-1, 5), ("2", 2)])
def test_impossible_tables_are_left_out(rows: Any, columns: Any) -> None:
    assert read("x", tables=[{"rowCount": rows, "columnCount": columns, "cells": []}]).tables == ()


def test_title_and_language_are_found() -> None:
    extraction = read(
        "Bericht",
        paragraphs=[{"content": "Kopf"}, {"role": "title", "content": "Der Bericht"}],
        languages=[
            {"locale": "en", "spans": [{"offset": 0, "length": 2}]},
            {"locale": "de-DE", "spans": [{"offset": 2, "length": 5}]},
        ],
    )
    assert (extraction.title, extraction.language) == ("Der Bericht", "de")


def test_pages_that_are_missing_are_said_to_be_missing() -> None:
    extraction = read("one page", Window(1, 4), warnings=[{"code": "w", "message": "A warning."}])
    assert extraction.partial
    assert extraction.warnings == (
        "A warning.",
        "3 of the 4 pages from page 1 on were not read by the service.",
    )


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"content": None, "pages": None},
        {"content": "x", "pages": [1, "two", {}, {"pageNumber": "3"}]},
        {"content": "x", "pages": [{"pageNumber": 1, "spans": [{"offset": -5, "length": 10**15}], "words": "no"}]},
        {"content": "\ud800\x00", "pages": [{"pageNumber": 1, "spans": [{"offset": 0, "length": 2}]}]},
        {"keyValuePairs": [{"key": "no"}], "documents": [{"fields": []}], "tables": [None], "languages": [{}]},
        {"pages": [{"pageNumber": True, "width": float("nan"), "words": [{"content": 5, "polygon": ["x"]}]}]},
    ],
)
def test_nonsense_is_left_out(nonsense: dict[str, Any]) -> None:
    extraction = read_result({"stringIndexType": "unicodeCodePoint", **nonsense}, Window(), "azure", "1")
    assert Extraction.from_json(extraction.to_json()) == extraction
