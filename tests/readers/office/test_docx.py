"""Word documents: everything that a reader sees, once, in reading order."""

import pytest

from tests.readers.office.conftest import Read
from tests.readers.office.files import CORE, WORD, cells, docx, p, r

STYLES = (
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Own"><w:basedOn w:val="H1"/></w:style>'
    '<w:style w:styleId="Deep"><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>'
    '<w:style w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:styleId="B"><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>'
    '<w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
)

SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def level(number: int, style: str, text: str, start: int = 1) -> str:
    counts = f'<w:start w:val="{start}"/><w:numFmt w:val="{style}"/><w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{number}">{counts}</w:lvl>'


NUMBERING = (
    f'<w:abstractNum w:abstractNumId="7">{level(0, "decimal", "%1.")}{level(1, "decimal", "%1.%2.")}'
    f"{level(2, 'lowerLetter', '%3)')}</w:abstractNum>"
    f'<w:abstractNum w:abstractNumId="8">{level(0, "bullet", "•")}{level(1, "bullet", "o")}</w:abstractNum>'
    f'<w:abstractNum w:abstractNumId="9">{level(0, "upperRoman", "§ %1", start=4)}</w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="9"/></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="7"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="9"/></w:lvlOverride></w:num>'
)


def item(text: str, depth: int, list_id: int = 1) -> str:
    return p(text, f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>')


def styled(text: str, style: str) -> str:
    return p(text, f'<w:pStyle w:val="{style}"/>')


def box(text: str) -> str:
    """A text box as Word writes it: once for new versions, and once again for old ones."""
    content = f"<w:txbxContent>{p(text)}</w:txbxContent>"
    return (
        f"<mc:AlternateContent><mc:Choice><w:drawing><wps:txbx>{content}</wps:txbx></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{content}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent>"
    )


DELETED = "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
MOVED = f"<w:moveFrom>{p('moved')}</w:moveFrom>{p('between')}<w:moveTo>{p('moved')}</w:moveTo>"
BODIES = [
    (
        styled("One", "H1") + styled("Two", "Own") + styled("Three", "Deep") + styled("No", "Loop"),
        "# One\n\n# Two\n\n### Three\n\nNo",
    ),
    (p("Own level", '<w:outlineLvl w:val="1"/>') + p("Not # one"), "## Own level\n\nNot # one"),
    (p("# no heading") + p("1. no list") + p("a*b_c"), "\\# no heading\n\n1\\. no list\n\na\\*b_c"),
    (
        item("a", 0) + item("b", 1) + item("c", 1) + item("d", 2) + item("e", 0) + item("f", 1),
        "1. a\n   - 1.1. b\n   - 1.2. c\n     - a) d\n2. e\n   - 2.1. f",
    ),
    (item("a", 0) + p("between") + item("b", 0) + item("c", 0, 4), "1. a\n\nbetween\n\n2. b\n9. c"),
    (item("x", 0, 3) + item("y", 0, 3), "- § IV x\n- § V y"),
    (styled("one", "B") + item("two", 1, 2), "- one\n  - two"),
    (item("not in a list", 0, 0), "not in a list"),
    (p("a") + "<w:sdt><w:sdtContent>" + p("held") + "</w:sdtContent></w:sdt>", "a\n\nheld"),
    (
        f"<w:p>{r('kept ')}<w:ins>{r('new ')}</w:ins>{DELETED}{r('end')}</w:p>",
        "kept new end",
    ),
    (
        MOVED + f"<w:p><w:moveFrom>{r('x')}</w:moveFrom>{r('y')}</w:p>",
        "between\n\nmoved\n\ny",
    ),
    (f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{r('joined ')}</w:p>{p('text')}", "joined text"),
    (
        p("seen")
        + p("unseen", run="<w:vanish/>")
        + styled("unseen", "Secret")
        + p("shown", run='<w:vanish w:val="0"/>'),
        "seen\n\nshown",
    ),
    (f"<w:p>{r('before')}{box('in the box')}{r(' after')}</w:p>", "before after\n\nin the box"),
    ('<w:p><w:r><w:drawing><wp:docPr id="1" name="x" descr="A red boat"/></w:drawing></w:r></w:p>', "A red boat"),
    (
        "<w:p><w:r><w:instrText>PAGE</w:instrText><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>",
        "a b  \nc",
    ),
    ("<w:p>" + "".join(f"<w:r><w:t>{letter}</w:t></w:r>" for letter in "word") + "</w:p>", "word"),
    (p("&lt;!-- page 7 --&gt;"), "\\&lt;!-- page 7 -->"),
    (p("first body") + "</w:body><w:body>" + p("second body"), "first body\n\nsecond body"),
]


@pytest.mark.parametrize(("body", "expected"), BODIES, ids=range(len(BODIES)))
def test_the_text_of_a_document(read: Read, body: str, expected: str) -> None:
    found = read(docx(body, also={"styles": STYLES, "numbering": NUMBERING}), WORD)
    assert found.markdown == expected
    assert (found.page_count, found.pages, found.partial, found.warnings) == (None, (), False, ())


def test_merged_cells_keep_their_columns(read: Read) -> None:
    wide = f'<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{p("wide")}</w:tc>'
    inner = f"<w:tc><w:tbl>{cells('in', 'side')}</w:tbl></w:tc>"
    tall, more = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = [
        f"<w:tr>{wide}<w:tc>{p('c')}</w:tc></w:tr>",
        f"<w:tr><w:tc><w:tcPr>{tall}</w:tcPr>{p('tall')}</w:tc><w:tc>{p('x|y')}</w:tc><w:tc>{p('z')}</w:tc></w:tr>",
        f"<w:tr><w:tc><w:tcPr>{more}</w:tcPr>{p('unseen')}</w:tc><w:tc>{p('1')}</w:tc>{inner}</w:tr>",
        f"<w:tr><w:trPr><w:del/></w:trPr><w:tc>{p('deleted')}</w:tc></w:tr>",
    ]
    found = read(docx(f"<w:tbl>{''.join(rows)}</w:tbl>"), WORD)
    (table,) = found.tables
    assert table.rows == (("wide", "", "c"), ("tall", "x|y", "z"), ("", "1", "in, side"))
    assert table.spans == ((0, 0, 1, 2), (1, 0, 2, 1))
    assert found.markdown == "| wide |  | c |\n| --- | --- | --- |\n| tall | x\\|y | z |\n|  | 1 | in, side |"


def test_a_frame_of_one_cell_is_no_table(read: Read) -> None:
    found = read(docx(f"<w:tbl>{cells('framed')}</w:tbl>{p('after')}"), WORD)
    assert (found.markdown, found.tables) == ("framed\n\nafter", ())


def test_what_is_beside_the_text_comes_once(read: Read) -> None:
    section = '<w:sectPr><w:headerReference r:id="h1"/><w:footerReference r:id="f1"/></w:sectPr>'
    body = (
        f'<w:p>{r("Text")}<w:r><w:footnoteReference w:id="5"/></w:r><w:r><w:endnoteReference w:id="5"/></w:r>'
        '<w:r><w:commentReference w:id="0"/></w:r></w:p>'
        f"<w:p><w:pPr>{section}</w:pPr></w:p>{section}"
    )
    also = {
        "footnotes": f'<w:footnote w:id="0">{p("-")}</w:footnote><w:footnote w:id="5">{p("Said below.")}</w:footnote>',
        "endnotes": f'<w:endnote w:id="5">{p("Said last.")}</w:endnote>',
        "comments": f'<w:comment w:id="0" w:author="Bea">{p("Is it so?")}</w:comment>',
    }
    margins = {
        "word/header1.xml": f"<w:hdr {SPACE}>{p('Letterhead')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr {SPACE}>{p('Imprint')}{p('7')}</w:ftr>",
    }
    links = {"header:h1": "header1.xml", "footer:f1": "footer1.xml"}
    found = read(docx(body, also=also, links=links, more=margins), WORD)
    assert found.markdown == (
        "Letterhead\n\nText[^1][^e1]\n\nImprint\n\n[^1]: Said below.\n\n[^e1]: Said last.\n\nComment by Bea: Is it so?"
    )


def test_links_lead_to_the_web_only(read: Read) -> None:
    body = "".join(
        f'<w:p><w:hyperlink r:id="{name}">{r(name)}</w:hyperlink></w:p>' for name in ("web", "script", "none")
    )
    links = {"hyperlink:web": "https://example.org/a", "hyperlink:script": "javascript://alert"}
    assert read(docx(body, links=links), WORD).markdown == "[web](https://example.org/a)\n\nscript\n\nnone"


def test_it_says_who_wrote_it(read: Read) -> None:
    found = read(docx(p("x"), more={"docProps/core.xml": CORE}), WORD)
    assert (found.title, found.language) == ("The Harbour", "en")
    assert [(field.name, field.value) for field in found.fields] == [("Author", "Ann Writer")]
    titled = read(docx(styled("Named in the text", "T"), also={"styles": STYLES}), WORD)
    assert (titled.title, titled.markdown) == ("Named in the text", "# Named in the text")


def test_the_file_is_what_its_parts_say(read: Read) -> None:
    """The upload saw only the first bytes, and believed the name."""
    found = read(docx(p("a letter")), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")
    assert found.markdown == "a letter"


@pytest.mark.slow
def test_three_hundred_pages_take_little_time(read: Read) -> None:
    body = "".join(p(f"Paragraph {number} says that the harbour was quiet. " * 6) for number in range(3000))
    assert len(read(docx(body), WORD).markdown) > 800_000
