"""Presentations of PowerPoint and OpenDocument: a slide is a page, its title first, then from the top left on."""

import io
import zipfile

from tests.readers.office.conftest import Read
from tests.readers.office.files import SHOW, SLIDES, notes, odf, odf_row, pptx, relations, shape
from webapp.readers.filetypes import OPEN

CHART_KIND = f"{OPEN}chart"


def points(name: str, *values: str) -> str:
    """What a chart keeps of its values."""
    inner = "".join(f'<c:pt idx="{place}"><c:v>{value}</c:v></c:pt>' for place, value in enumerate(values))
    return f"<c:{name}>{inner}</c:{name}>"


SERIES = f"<c:ser>{points('tx', 'Ships')}{points('cat', '2025', '2026')}{points('val', '12', '15')}</c:ser>"
CHART = f'<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart">{SERIES}</c:chartSpace>'


def framed(inner: str, top: int = 50) -> str:
    return (
        f'<p:graphicFrame><p:xfrm><a:off x="0" y="{top * 68580}"/><a:ext cx="1" cy="1"/></p:xfrm>'
        f"<a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic></p:graphicFrame>"
    )


def cell(text: str, attributes: str = "") -> str:
    return f"<a:tc {attributes}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"


def test_the_order_of_reading(read: Read) -> None:
    group = (
        '<p:grpSp><p:grpSpPr><a:xfrm><a:off x="0" y="5486400"/><a:ext cx="2" cy="2"/><a:chOff x="0" y="0"/>'
        f'<a:chExt cx="2" cy="2"/></a:xfrm></p:grpSpPr>{shape("in a group")}</p:grpSp>'
    )
    first = group + shape("right", top=31, left=60) + shape("left", top=30) + shape("foot", top=95, role="ftr")
    found = read(pptx(first + shape("The title", top=40, role="title")), SLIDES)
    assert found.markdown == "<!-- page 1 -->\n\n# The title\n\nleft\n\nright\n\nin a group"
    assert (found.title, found.page_count) == ("The title", 1)


def test_what_is_on_slides(read: Read) -> None:
    merged = cell("A", 'gridSpan="2"') + cell("", 'hMerge="1"') + cell("C")
    table = framed(f"<a:tbl><a:tr>{merged}</a:tr><a:tr>{cell('1')}{cell('2')}{cell('3')}</a:tr></a:tbl>")
    chart = framed('<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="c1"/>', top=80)
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="4" descr="A red boat"/></p:nvPicPr></p:pic>'
    more = {"ppt/notesSlides/n1.xml": notes("Speak slowly."), "ppt/charts/chart1.xml": CHART}
    also = {1: {"notesSlide:n1": "../notesSlides/n1.xml", "chart:c1": "../charts/chart1.xml"}}
    found = read(pptx(table + chart + picture, shape("two"), also=also, hidden=(2,), more=more), SLIDES)
    assert found.markdown == (
        "<!-- page 1 -->\n\nA red boat\n\n| A |  | C |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n\n"
        "|  | Ships |\n| --- | --- |\n| 2025 | 12 |\n| 2026 | 15 |\n\nNotes:\n\nSpeak slowly.\n\n<!-- page 2 -->\n\ntwo"
    )
    assert [(table.page, table.spans) for table in found.tables] == [(1, ((0, 0, 1, 2),)), (1, ())]
    assert found.warnings == ("Hidden in the show, and read all the same: slide 2.",)


def test_the_text_of_a_slide_is_a_list(read: Read) -> None:
    link = '<a:r><a:rPr><a:hlinkClick r:id="w"/></a:rPr><a:t>web</a:t></a:r>'
    lines = (
        '<a:p><a:r><a:t>one</a:t></a:r></a:p><a:p><a:pPr lvl="1"/><a:r><a:t>deeper</a:t></a:r></a:p>'
        f'<a:p><a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>{link}</a:p>'
        "<a:p><a:pPr><a:buNone/></a:pPr><a:r><a:t>no item</a:t></a:r></a:p>"
    )
    body = f'<p:sp><p:nvSpPr><p:nvPr><p:ph idx="1"/></p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>'
    found = read(pptx(body, also={1: {"hyperlink:w": "https://example.org/"}}), SLIDES)
    assert found.pages[0].text == "- one\n  - deeper\n1. [web](https://example.org/)\n\nno item"


def test_a_placeholder_is_where_the_layout_puts_it(read: Read) -> None:
    space = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    holder = '<p:sp><p:nvSpPr><p:nvPr><p:ph type="body" idx="7"/></p:nvPr></p:nvSpPr>{}</p:sp>'
    text = "<p:txBody><a:p><a:r><a:t>low</a:t></a:r></a:p></p:txBody>"
    layout = shape("x", top=90, role="body").replace("<p:sp>", f"<p:sp {space}>", 1)
    more = {
        "ppt/slideLayouts/l1.xml": (
            f'<p:sldLayout {space} xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">{layout}</p:sldLayout>'
        ),
        "ppt/slideLayouts/_rels/l1.xml.rels": relations({}),
    }
    slide = holder.format(text) + shape("high", top=10)
    found = read(pptx(slide, also={1: {"slideLayout": "../slideLayouts/l1.xml"}}, more=more), SLIDES)
    assert found.pages[0].text == "high\n\nlow"


def drawn(text: str, y: str, name: str = "") -> str:
    role = f'presentation:class="{name}"' if name else ""
    inner = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
    return f'<draw:frame svg:x="1cm" svg:y="{y}" {role}>{inner}</draw:frame>'


def test_the_slides_of_an_open_document(read: Read) -> None:
    hidden = (
        '<style:style style:name="dp2"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    said = f"<presentation:notes>{drawn('Say hello.', '1cm', name='notes')}</presentation:notes>"
    table = f'<draw:frame svg:y="9cm"><table:table>{odf_row("A", "B")}{odf_row("1", "2")}</table:table></draw:frame>'
    first = (
        table
        + drawn("below", "5cm")
        + drawn("The title", "8cm", name="title")
        + f"<draw:g>{drawn('above', '1in')}</draw:g>"
        '<draw:frame svg:y="17cm"><draw:image/><svg:desc>A red boat</svg:desc></draw:frame>'
        f'<draw:custom-shape svg:y="16cm"><text:p>in a shape</text:p></draw:custom-shape>{said}'
    )
    body = f'<draw:page>{first}</draw:page><draw:page draw:style-name="dp2">{drawn("two", "1cm")}</draw:page>'
    found = read(odf(SHOW, body, automatic=hidden), SHOW)
    assert found.markdown == (
        "<!-- page 1 -->\n\n# The title\n\nabove\n\nbelow\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\n"
        "in a shape\n\nA red boat\n\nNotes:\n\nSay hello.\n\n<!-- page 2 -->\n\ntwo"
    )
    assert found.tables[0].page == 1
    assert found.warnings == ("Hidden in the show, and read all the same: slide 2.",)


def test_a_recording_in_an_open_document_is_no_powerpoint_part(read: Read) -> None:
    body = f"<draw:page>{drawn('one', '1cm')}</draw:page>"
    assert read(odf(SHOW, body, more={"ppt/media/media1.mp3": b"x"}), SHOW).pages[0].text == "one"


def test_the_values_of_a_chart_in_an_open_document(read: Read) -> None:
    table = f"<table:table>{odf_row('', 'Ships')}{odf_row('2025', '12')}</table:table>"
    with zipfile.ZipFile(io.BytesIO(odf(CHART_KIND, f"<chart>{table}</chart>"))) as archive:
        chart = archive.read("content.xml")
    body = '<draw:page><draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></draw:page>'
    found = read(odf(SHOW, body, more={"Object 1/content.xml": chart}), SHOW)
    assert found.tables[0].rows == (("", "Ships"), ("2025", "12"))
