"""OpenDocument text: everything that a reader sees, once, in reading order."""

import pytest

from tests.readers.office.conftest import Read
from tests.readers.office.files import TEXT, odf, odf_row

STYLES = (
    '<style:style style:name="Gone"><style:text-properties text:display="none"/></style:style>'
    '<style:style style:name="Heir" style:parent-style-name="Gone"/>'
    '<style:style style:name="Big" style:parent-style-name="Title"/><style:style style:name="Title"/>'
    '<text:list-style style:name="L">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:start-value="3"/>'
    '<text:list-level-style-bullet text:level="3"/></text:list-style>'
)


def item(inner: str) -> str:
    return f"<text:list-item>{inner}</text:list-item>"


def line(text: str) -> str:
    return f"<text:p>{text}</text:p>"


def listed(*items: str, attributes: str = 'text:style-name="L"') -> str:
    return f"<text:list {attributes}>{''.join(items)}</text:list>"


DEEP = listed(item(line("c")), item(line("d")), attributes="")
CONTINUED = 'text:style-name="L" text:continue-numbering="true"'
DELETED = (
    "<text:tracked-changes><text:changed-region><text:deletion><text:p>old</text:p></text:deletion>"
    "</text:changed-region></text:tracked-changes>"
)
NOTE = (
    "<text:note><text:note-citation>1</text:note-citation>"
    "<text:note-body><text:p>Said below.</text:p></text:note-body></text:note>"
)
COMMENT = "<office:annotation><dc:creator>Bea</dc:creator><text:p>Is it so?</text:p></office:annotation>"
BOX = "<draw:frame><draw:text-box><text:p>in the box</text:p></draw:text-box></draw:frame>"
UNSEEN = '<text:section text:display="none"><text:p>unseen</text:p></text:section>'
BODIES = [
    ('<text:h text:outline-level="2">A heading</text:h>' + line("text"), "## A heading\n\ntext"),
    ('<text:p text:style-name="Big">The name</text:p>', "# The name"),
    (
        listed(item(line("a")), item(line("b") + listed(item(line("x") + DEEP), item(line("y")), attributes=""))),
        "1. a\n2. b\n   - c) x\n     - c\n     - d\n   - d) y",
    ),
    (
        listed(item(line("a"))) + line("between") + listed(item(line("b")), attributes=CONTINUED),
        "1. a\n\nbetween\n\n2. b",
    ),
    (DELETED + "<text:p>new<text:change text:change-id='1'/></text:p>", "new"),
    ('<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d\n   e</text:p>', "a b c  \nd e"),
    (
        line('seen<text:span text:style-name="Heir"> unseen</text:span>') + '<text:p text:style-name="Gone">x</text:p>',
        "seen",
    ),
    ('<text:p><text:a xlink:href="https://example.org/">here</text:a></text:p>', "[here](https://example.org/)"),
    (line(f"word{NOTE} goes on"), "word[^1] goes on\n\n[^1]: Said below."),
    (line(f"word{COMMENT}"), "word\n\nComment by Bea: Is it so?"),
    (line(f"before{BOX} after"), "before after\n\nin the box"),
    ("<text:p><draw:frame><draw:image/><svg:desc>A red boat</svg:desc></draw:frame></text:p>", "A red boat"),
    (UNSEEN + "<text:section><text:p>seen</text:p></text:section>", "seen"),
    (f"<table:table>{odf_row('A', 'B')}{odf_row('1', '2')}</table:table>", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
]


@pytest.mark.parametrize(("body", "expected"), BODIES, ids=range(len(BODIES)))
def test_the_text_of_a_document(read: Read, body: str, expected: str) -> None:
    found = read(odf(TEXT, body, automatic=STYLES), TEXT)
    assert found.markdown == expected
    assert (found.page_count, found.partial, found.warnings) == (None, False, ())


def test_headers_and_footers_come_once(read: Read) -> None:
    margins = (
        "<office:master-styles><style:master-page><style:header><text:p>Letterhead</text:p></style:header>"
        "<style:footer><text:p>Imprint</text:p><text:p><text:page-number>3</text:page-number></text:p></style:footer>"
        "</style:master-page><style:master-page><style:header><text:p>Letterhead</text:p></style:header>"
        "</style:master-page></office:master-styles>"
    )
    found = read(odf(TEXT, line("Text"), styles=margins), TEXT)
    assert found.markdown == "Letterhead\n\nText\n\nImprint"
    assert found.title == "The Harbour"
    assert [(field.name, field.value) for field in found.fields] == [("Author", "Ann Writer")]


def test_merged_and_repeated_cells(read: Read) -> None:
    wide = '<table:table-cell table:number-columns-spanned="2"><text:p>wide</text:p></table:table-cell>'
    again = '<table:table-cell table:number-columns-repeated="3"><text:p>x</text:p></table:table-cell>'
    far = '<table:covered-table-cell/><table:table-cell table:number-columns-repeated="16000"/>'
    rows = "".join(f"<table:table-row>{cells}</table:table-row>" for cells in (wide + far, again))
    table = f"<table:table>{rows}</table:table>"
    (found,) = read(odf(TEXT, table), TEXT).tables
    assert found.rows == (("wide", "", ""), ("x", "x", "x"))
    assert found.spans == ((0, 0, 1, 2),)
