"""Broken and hostile Office documents: each ends in a clear error or in a document, within the limits."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.readers.office import files
from tests.readers.office.conftest import Read
from tests.readers.office.damage import bomb, locked_member, many_members, nested, swapped, with_false_sizes
from tests.readers.office.files import (
    EXCEL,
    SHEETS,
    SHOW,
    SLIDES,
    TEXT,
    WORD,
    cells,
    docx,
    odf,
    p,
    pptx,
    row,
    rtf,
    xlsx,
)
from webapp.provider_errors import BadInput, FailureCode, ParserCrashed
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.filetypes import RTF

CORRUPT, LARGE, LOCKED = FailureCode.CORRUPT, FailureCode.TOO_LARGE, FailureCode.ENCRYPTED
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
DOCTYPE = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'


GOOD_WORD, GOOD_TEXT = docx(p("x")), odf(TEXT, "<text:p>x</text:p>")
GOOD_BOOK, GOOD_SHOW = xlsx(row(1, A="x", B="y")), pptx(files.shape("x"))
XML = "<?xml version='1.0'?>"
MANIFEST = '<manifest><file-entry><encryption-data checksum="x"/></file-entry></manifest>'

WORKBOOK = '<workbook xmlns:r="x"><sheets><sheet name="S" r:id="s1"/></sheets></workbook>'
LINKED = {
    "xl/_rels/workbook.xml.rels": files.relations(
        {"worksheet:s1": "worksheets/sheet1.xml", "sharedStrings:t": "sharedStrings.xml"}
    )
}

REFUSED: dict[str, tuple[Callable[[], bytes], str, FailureCode]] = {
    "no zip": (lambda: b"PK\x03\x04 and nothing more", WORD, CORRUPT),
    "no bytes of a zip": (lambda: b"just words", WORD, CORRUPT),
    "truncated word": (lambda: GOOD_WORD[:-60], WORD, CORRUPT),
    "truncated book": (lambda: GOOD_BOOK[: len(GOOD_BOOK) // 2], EXCEL, CORRUPT),
    "false sizes": (lambda: with_false_sizes(GOOD_WORD), WORD, CORRUPT),
    "encrypted members": (lambda: locked_member(GOOD_WORD), WORD, LOCKED),
    "damaged encrypted package": (lambda: OLE + bytes(600) + "EncryptedPackage".encode("utf-16-le"), WORD, CORRUPT),
    "damaged encrypted book": (lambda: OLE + bytes(9000) + "EncryptedPackage".encode("utf-16-le"), EXCEL, CORRUPT),
    "damaged old file": (lambda: OLE + bytes(600), SLIDES, CORRUPT),
    "encrypted open document": (lambda: swapped(GOOD_TEXT, "META-INF/manifest.xml", MANIFEST), TEXT, LOCKED),
    "encrypted open sheets": (lambda: swapped(odf(SHEETS, ""), "META-INF/manifest.xml", MANIFEST), SHEETS, LOCKED),
    "too many members": (lambda: many_members(GOOD_WORD, 10_001), WORD, LARGE),
    "bomb of spaces": (lambda: bomb("word/document.xml", {}, 100), WORD, LARGE),
    "bomb of paragraphs": (lambda: bomb("word/document.xml", {}, 70, b"<w:p/>" * 100 + bytes(24)), WORD, LARGE),
    "bomb in a sheet": (
        lambda: bomb("xl/worksheets/sheet1.xml", {"xl/workbook.xml": WORKBOOK, **LINKED}, 70),
        EXCEL,
        LARGE,
    ),
    "bomb in shared strings": (
        lambda: bomb("xl/sharedStrings.xml", {"xl/workbook.xml": WORKBOOK, **LINKED}, 70),
        EXCEL,
        LARGE,
    ),
    "bomb in an open document": (lambda: bomb("content.xml", {"mimetype": TEXT}, 100), TEXT, LARGE),
    "bomb in open sheets": (lambda: bomb("content.xml", {"mimetype": SHEETS}, 100), SHEETS, LARGE),
    "bomb in properties": (
        lambda: bomb("docProps/core.xml", {"word/document.xml": "<d><body><p><r><t>x</t></r></p></body></d>"}, 70),
        WORD,
        LARGE,
    ),
    "document type": (lambda: swapped(GOOD_WORD, "word/document.xml", f"{XML}{DOCTYPE}<x>&f;&b;</x>"), WORD, CORRUPT),
    "document type in UTF-16": (
        lambda: swapped(
            GOOD_WORD,
            "word/document.xml",
            f"<?xml version='1.0' encoding='utf-16'?>{DOCTYPE}<x>&f;</x>".encode("utf-16"),
        ),
        WORD,
        CORRUPT,
    ),
    "document type in a sheet": (
        lambda: swapped(GOOD_BOOK, "xl/worksheets/sheet1.xml", f"{DOCTYPE}<x/>"),
        EXCEL,
        CORRUPT,
    ),
    "document type in open sheets": (
        lambda: swapped(odf(SHEETS, ""), "content.xml", f"{DOCTYPE}<x>&f;</x>"),
        SHEETS,
        CORRUPT,
    ),
    "document type on a slide": (
        lambda: swapped(GOOD_SHOW, "ppt/slides/slide1.xml", f"{DOCTYPE}<x>&f;</x>"),
        SLIDES,
        CORRUPT,
    ),
    "broken XML": (lambda: swapped(GOOD_WORD, "word/document.xml", "<w:document><w:body>"), WORD, CORRUPT),
    "broken XML in open text": (lambda: swapped(GOOD_TEXT, "content.xml", "<office:x"), TEXT, CORRUPT),
    "broken XML in open sheets": (
        lambda: swapped(odf(SHEETS, ""), "content.xml", "<a><table name='x'><b>"),
        SHEETS,
        CORRUPT,
    ),
    "broken XML in a workbook": (lambda: swapped(GOOD_BOOK, "xl/workbook.xml", "<workbook"), EXCEL, CORRUPT),
    "no XML at all": (lambda: swapped(GOOD_SHOW, "ppt/slides/slide1.xml", bytes(range(256))), SLIDES, CORRUPT),
    "no main part": (lambda: files.zipped({"word/styles.xml": "<x/>"}), WORD, CORRUPT),
    "no kind": (lambda: files.zipped({"a.txt": "words"}), WORD, CORRUPT),
    "no workbook": (lambda: files.zipped({"xl/styles.xml": "<x/>"}), EXCEL, CORRUPT),
    "deep nesting": (lambda: docx(nested("<w:sdt>", "</w:sdt>", 5000, p("deep"))), WORD, CORRUPT),
    "deep open lists": (
        lambda: odf(TEXT, nested("<text:list><text:list-item>", "</text:list-item></text:list>", 3000, "")),
        TEXT,
        CORRUPT,
    ),
    "deep groups": (lambda: pptx(nested("<p:grpSp>", "</p:grpSp>", 3000, files.shape("x"))), SLIDES, CORRUPT),
    "one far cell": (
        lambda: xlsx(row(1, A="x") + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
        EXCEL,
        LARGE,
    ),
    "one far cell, written oddly": (
        lambda: xlsx(row(1, A="x") + '<row r="7"><c s=">" r = "XFD1048576"><v>1</v></c></row>'),
        EXCEL,
        LARGE,
    ),
    "a cell nowhere": (lambda: xlsx('<row r="1"><c r="FXSHRXX1"><v>1</v></c></row>'), EXCEL, CORRUPT),
    "far cells without places": (
        lambda: xlsx(f"<row>{'<c><v>1</v></c>' * 30000}</row>" + "<row><c><v>1</v></c></row>" * 1000),
        EXCEL,
        LARGE,
    ),
    "far open cell": (
        lambda: odf(SHEETS, sheet(files.odf_row("x") + repeated(columns=2_000_000_000, text="far"))),
        SHEETS,
        LARGE,
    ),
    "far open row": (lambda: odf(SHEETS, sheet(repeated(rows=2_000_000_000, columns=20, text="x"))), SHEETS, LARGE),
    "empty word": (lambda: docx("<w:p/>"), WORD, FailureCode.NO_TEXT),
    "empty show": (lambda: pptx("", ""), SLIDES, FailureCode.NO_TEXT),
    "empty open text": (lambda: odf(TEXT, ""), TEXT, FailureCode.NO_TEXT),
    "empty RTF": (lambda: rtf(""), RTF, FailureCode.NO_TEXT),
    "RTF of groups alone": (lambda: b"{" * 1_100_000, RTF, LARGE),
}


def sheet(rows: str) -> str:
    return f'<table:table table:name="S">{rows}</table:table>'


def repeated(*, rows: int = 1, columns: int = 1, text: str = "") -> str:
    cell = f'<table:table-cell table:number-columns-repeated="{columns}"><text:p>{text}</text:p></table:table-cell>'
    return f'<table:table-row table:number-rows-repeated="{rows}">{cell}</table:table-row>'


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_says_why(read: Read, name: str) -> None:
    make, content_type, code = REFUSED[name]
    with pytest.raises(BadInput) as failure:
        read(make(), content_type)
    assert failure.value.code is code
    assert failure.value.permanent


HUGE = 2_000_000_000
READ: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "wide span": (
        lambda: docx(
            f'<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="{HUGE}"/></w:tcPr>{p("a")}</w:tc>'
            f"<w:tc>{p('b')}</w:tc></w:tr></w:tbl>"
        ),
        WORD,
        "| a |",
    ),
    "wide gap": (
        lambda: docx(
            f'<w:tbl><w:tr><w:trPr><w:gridBefore w:val="{HUGE}"/></w:trPr><w:tc>{p("a")}</w:tc></w:tr>'
            f"{cells('x', 'y')}</w:tbl>"
        ),
        WORD,
        "| x | y |",
    ),
    "too many cells in a row": (lambda: docx(f"<w:tbl>{cells(*['c'] * 3000)}{cells('x')}</w:tbl>"), WORD, "| c c c"),
    "a list that begins far away": (
        lambda: docx(
            p("x", '<w:numPr><w:ilvl w:val="99"/><w:numId w:val="1"/></w:numPr>'), also={"numbering": FAR_LIST}
        ),
        WORD,
        "1000000) x",
    ),
    "a style based on itself": (
        lambda: docx(
            p("x", '<w:pStyle w:val="A"/>'), also={"styles": '<w:style w:styleId="A"><w:basedOn w:val="A"/></w:style>'}
        ),
        WORD,
        "x",
    ),
    "notes that refer to themselves": (
        lambda: docx(NOTE_MARK, also={"footnotes": f'<w:footnote w:id="1">{NOTE_MARK}{p("said")}</w:footnote>'}),
        WORD,
        "said",
    ),
    "a picture from outside": (
        lambda: docx(
            '<w:p><w:r><w:drawing r:link="p"/></w:r></w:p>' + p("x"), links={"image:p": "http://127.0.0.1:9/x.png"}
        ),
        WORD,
        "x",
    ),
    "a part that leads out": (
        lambda: docx(
            p("x") + '<w:sectPr><w:headerReference r:id="h"/></w:sectPr>', links={"header:h": "../../../etc/passwd"}
        ),
        WORD,
        "x",
    ),
    "values of the wrong type": (
        lambda: docx(p("x", '<w:outlineLvl w:val="-9e9"/><w:numPr><w:ilvl w:val="x"/><w:numId w:val=""/></w:numPr>')),
        WORD,
        "x",
    ),
    "tables within tables": (
        lambda: docx(nested("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 60, p("deep"))),
        WORD,
        "deep",
    ),
    "names with control characters": (lambda: xlsx(row(1, A="x", B="_x0000_y"), names=("A&#9;B",)), EXCEL, "# A B"),
    "a false dimension": (
        lambda: swapped(
            GOOD_BOOK,
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{MAIN}"><dimension ref="A1:XFD1048576"/>'
            f"<sheetData>{row(1, A='x', B='y')}</sheetData></worksheet>",
        ),
        EXCEL,
        "| x | y |",
    ),
    "rows in no order": (
        lambda: xlsx('<row r="5"><c r="C5"><v>1</v></c></row><row r="1"><c r="A1"><v>2</v></c></row>'),
        EXCEL,
        "| 2 |  |  |",
    ),
    "cells in no order": (lambda: xlsx(row(1, B="b", A="a")), EXCEL, "a"),
    "far cells that hold nothing": (
        lambda: odf(SHEETS, sheet(files.odf_row("x", "y") + repeated(rows=HUGE, columns=HUGE))),
        SHEETS,
        "| x | y |",
    ),
    "repeated cells in a text": (
        lambda: odf(TEXT, f"<table:table>{repeated(rows=HUGE, columns=HUGE, text='x')}</table:table>"),
        TEXT,
        "| x | x |",
    ),
    "spaces without end": (lambda: odf(TEXT, f'<text:p>a<text:s text:c="{HUGE}"/>b</text:p>'), TEXT, "a b"),
    "lengths that are none": (
        lambda: odf(
            SHOW,
            '<draw:page><draw:custom-shape svg:y="1e999cm" svg:x="nanin"><text:p>x</text:p></draw:custom-shape>'
            '<draw:custom-shape svg:y="nancm"><text:p>y</text:p></draw:custom-shape></draw:page>',
        ),
        SHOW,
        "x",
    ),
    "shapes far away": (
        lambda: pptx(files.shape("far", top=10**30) + files.shape("near", left=-(10**30))),
        SLIDES,
        "near\n\nfar",
    ),
    "a group without a size": (
        lambda: pptx(
            f'<p:grpSp><p:grpSpPr><a:xfrm><a:off x="1" y="1"/><a:ext cx="{HUGE}" cy="1"/><a:chOff x="0" y="0"/>'
            f'<a:chExt cx="0" cy="0"/></a:xfrm></p:grpSpPr>{files.shape("x")}</p:grpSp>'
        ),
        SLIDES,
        "x",
    ),
    "a slide that is gone": (
        lambda: swapped(
            pptx(files.shape("one"), files.shape("two")),
            "ppt/_rels/presentation.xml.rels",
            files.relations({"slide:s1": "slides/slide1.xml", "slide:s2": "slides/gone.xml"}),
        ),
        SLIDES,
        "one",
    ),
    "broken surrogates in RTF": (lambda: rtf("a\\u-10179?b\\u99999999?\\u-99999999?c"), RTF, "c"),
    "unknown code page in RTF": (lambda: b"{\\rtf1\\ansicpg99999\\uc-5 a\\'e9}", RTF, "aé"),
    "RTF without an end": (lambda: rtf("{" * 200_000 + "deep"), RTF, "deep"),
    "RTF with braces too many": (lambda: rtf("a}}}}b"), RTF, "a"),
    "RTF after something else": (lambda: b"{\\rtf1 a\\" + b"x" * 100_000 + b" b}", RTF, "a"),
}
FAR_LIST = (
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="8"><w:start w:val="2000000000"/><w:numFmt w:val="lowerLetter"/>'
    '<w:lvlText w:val="%9)"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
)
NOTE_MARK = '<w:p><w:r><w:footnoteReference w:id="1"/></w:r></w:p>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


@pytest.mark.parametrize("name", READ)
def test_it_is_read_all_the_same(read: Read, name: str) -> None:
    make, content_type, expected = READ[name]
    found = read(make(), content_type)
    assert expected in found.markdown
    assert "root:" not in found.markdown
    assert len(found.markdown) < 200_000


@pytest.mark.slow
def test_many_notes_and_long_lists_take_little_time(read: Read) -> None:
    """Work that grows with the square of their number would run into the time limit."""
    count = 40_000
    marks = "".join(f'<w:r><w:footnoteReference w:id="{number}"/></w:r>' for number in range(count))
    said = "".join(f'<w:footnote w:id="{number}">{p("said")}</w:footnote>' for number in range(count))
    found = read(docx(f"<w:p>{marks}</w:p>", also={"footnotes": said}), WORD)
    assert found.markdown.endswith(f"\\[^{count}]: said")
    items = "".join(f"<text:list-item><text:p>item {number}</text:p></text:list-item>" for number in range(count))
    assert read(odf(TEXT, f"<text:list>{items}</text:list>"), TEXT).markdown.endswith(f"- item {count - 1}")


@pytest.mark.slow
@pytest.mark.parametrize("content_type", [WORD, EXCEL, SLIDES, TEXT, SHEETS, SHOW, RTF])
def test_damage_ends_in_an_error_or_a_document(read: Read, content_type: str) -> None:
    good = {
        WORD: docx(p("x") + f"<w:tbl>{cells('a', 'b')}</w:tbl>", also={"footnotes": "", "styles": ""}),
        EXCEL: GOOD_BOOK,
        SLIDES: GOOD_SHOW,
        TEXT: GOOD_TEXT,
        SHEETS: odf(SHEETS, sheet(files.odf_row("x", "y"))),
        SHOW: odf(
            SHOW, "<draw:page><draw:frame><draw:text-box><text:p>x</text:p></draw:text-box></draw:frame></draw:page>"
        ),
        RTF: rtf("Text \\b more {\\footnote a} \\'e9 \\u233?"),
    }[content_type]
    chance = random.Random(7)
    for _ in range(30):
        data = bytearray(good)
        for _ in range(chance.randint(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with suppress(BadInput, ParserCrashed):
            read(bytes(data[: chance.choice([len(data), chance.randrange(len(data))])]), content_type)


def test_a_library_that_aborts_is_a_crash(read: Read) -> None:
    """Cells outside of any row are not seen by us, and calamine makes a table of all between them."""
    with pytest.raises(ParserCrashed) as crash:
        read(xlsx('<c r="A1"><v>1</v></c><c r="XFD1048576"><v>1</v></c>'), EXCEL)
    assert crash.value.code is FailureCode.PARSER_MEMORY


def test_little_memory_is_said(tmp_path: Path) -> None:
    extractor = LocalExtractor(memory_mb=64)
    path = tmp_path / "document"
    rows = "".join(f'<row r="{number}">{"<c><v>1</v></c>" * 100}</row>' for number in range(1, 20_000))
    path.write_bytes(xlsx(rows))
    try:
        with pytest.raises(ParserCrashed) as crash:
            extractor.extract(path, EXCEL, timeout_seconds=30, progress=lambda _: None)
    finally:
        extractor.close()
    assert crash.value.code is FailureCode.PARSER_MEMORY
