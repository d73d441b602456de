"""Office documents written by hand: with only what a test needs."""

import io
import zipfile
from collections.abc import Mapping
from html import escape

from webapp.readers.filetypes import OFFICE, OPEN

WORD, EXCEL, SLIDES = (
    OFFICE + kind for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
)
TEXT, SHEETS, SHOW = (OPEN + kind for kind in ("text", "spreadsheet", "presentation"))

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_MORE = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
)
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" {_R}'
)
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"), ("draw", "drawing"),
        ("svg", "svg-compatible"), ("presentation", "presentation"), ("meta", "meta"),
    )
) + ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'  # fmt: skip
CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Harbour</dc:title><dc:creator>Ann Writer</dc:creator>'
    "<dc:language>en-GB</dc:language></cp:coreProperties>"
)

Parts = Mapping[str, str | bytes]


def zipped(parts: Parts, level: int = 6) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def relations(targets: Mapping[str, str]) -> str:
    """A part's relations: from "kind" or "kind:id" to the target; those to the web are external."""
    rows = []
    for number, (key, target) in enumerate(targets.items(), 1):
        kind, _, name = key.partition(":")
        mode = ' TargetMode="External"' if "://" in target else ""
        rows.append(f'<Relationship Id="{name or f"r{number}"}" Type="{_TYPES}{kind}" Target="{target}"{mode}/>')
    return f"<Relationships {_RELATIONS}>{''.join(rows)}</Relationships>"


def docx(
    body: str,
    *,
    also: Mapping[str, str] | None = None,
    links: Mapping[str, str] | None = None,
    more: Parts | None = None,
) -> bytes:
    """A Word document; `also` are its styles, notes and so on, by kind."""
    beside = {kind: f"<w:{kind} {_W} {_R} {_MORE}>{inner}</w:{kind}>" for kind, inner in (also or {}).items()}
    known = {f"{kind}:{kind}": f"{kind}.xml" for kind in beside}
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {_W} {_R} {_MORE}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(known | dict(links or {})),
            **{f"word/{kind}.xml": data for kind, data in beside.items()},
            **(more or {}),
        }
    )


def p(text: str, properties: str = "", run: str = "") -> str:
    """A paragraph of a Word document."""
    return f"<w:p><w:pPr>{properties}</w:pPr>{r(text, run)}</w:p>"


def r(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def cells(*texts: str) -> str:
    """A row of a Word table."""
    return f"<w:tr>{''.join(f'<w:tc>{p(text)}</w:tc>' for text in texts)}</w:tr>"


def styles(*codes: str) -> str:
    """The styles of a workbook: the second is that of dates, and those from the third on have these formats."""
    formats = "".join(
        f'<numFmt numFmtId="{number}" formatCode="{escape(code, quote=True)}"/>'
        for number, code in enumerate(codes, 164)
    )
    cells = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, *range(164, 164 + len(codes))))
    return f"<styleSheet {_S}><numFmts>{formats}</numFmts><cellXfs>{cells}</cellXfs></styleSheet>"


def xlsx(*sheets: str, names: tuple[str, ...] = (), hidden: tuple[int, ...] = (), more: Parts | None = None) -> bytes:
    """A workbook of these rows."""
    states = dict.fromkeys(hidden, 'state="hidden"')
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="s{number}" {states.get(number, "")}/>'
        for number, name in zip(range(1, len(sheets) + 1), names or ("Sheet1", "Sheet2", "Sheet3"), strict=False)
    )
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations({"officeDocument": "xl/workbook.xml"}),
            "xl/workbook.xml": f"<workbook {_S} {_R}><sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations(
                {f"worksheet:s{number}": f"worksheets/sheet{number}.xml" for number in range(1, len(sheets) + 1)}
                | {"styles:styles": "styles.xml"}
            ),
            "xl/styles.xml": styles(),
            **{
                f"xl/worksheets/sheet{number}.xml": f"<worksheet {_S}><sheetData>{rows}</sheetData></worksheet>"
                for number, rows in enumerate(sheets, 1)
            },
            **(more or {}),
        }
    )


def row(number: int, **values: str) -> str:
    """A row of a workbook: A="text", or with a type before it, as in B="n:1.0"."""
    return f'<row r="{number}">{"".join(_cell(f"{column}{number}", value) for column, value in values.items())}</row>'


def _cell(place: str, value: str) -> str:
    kind, _, content = value.rpartition(":")
    if not kind:
        return f'<c r="{place}" t="inlineStr"><is><t>{content}</t></is></c>'
    if kind == "date":
        return f'<c r="{place}" s="1"><v>{content}</v></c>'
    if kind.startswith("style"):
        return f'<c r="{place}" s="{kind.removeprefix("style")}"><v>{content}</v></c>'
    return f'<c r="{place}" t="{kind}"><v>{content}</v></c>'


def pptx(
    *slides: str,
    also: Mapping[int, Mapping[str, str]] | None = None,
    hidden: tuple[int, ...] = (),
    more: Parts | None = None,
) -> bytes:
    """A presentation; `also` are the relations of its slides, by number."""
    count = range(1, len(slides) + 1)
    listed = "".join(f'<p:sldId id="{255 + number}" r:id="s{number}"/>' for number in count)
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml": (
            f"<p:presentation {_P}><p:sldIdLst>{listed}</p:sldIdLst>"
            '<p:sldSz cx="9144000" cy="6858000"/></p:presentation>'
        ),
        "ppt/_rels/presentation.xml.rels": relations(
            {f"slide:s{number}": f"slides/slide{number}.xml" for number in count}
        ),
    }
    for number, shapes in enumerate(slides, 1):
        show = ' show="0"' if number in hidden else ""
        parts[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {_P}{show}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
        parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations((also or {}).get(number, {}))
    return zipped(parts | dict(more or {}))


def shape(*paragraphs: str, top: int = 0, left: int = 0, role: str | None = None) -> str:
    """A shape with text; lengths are in hundredths of the slide."""
    lines = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in paragraphs)
    place = f'<p:spPr><a:xfrm><a:off x="{left * 91440}" y="{top * 68580}"/><a:ext cx="1" cy="1"/></a:xfrm></p:spPr>'
    holder = "" if role is None else f'<p:nvPr><p:ph type="{role}"/></p:nvPr>'
    return f"<p:sp><p:nvSpPr>{holder}</p:nvSpPr>{place}<p:txBody>{lines}</p:txBody></p:sp>"


def notes(text: str) -> str:
    """The part that holds a slide's notes."""
    return f"<p:notes {_P}><p:cSld><p:spTree>{shape(text, role='body')}</p:spTree></p:cSld></p:notes>"


def odf(content_type: str, body: str, *, automatic: str = "", styles: str = "", more: Parts | None = None) -> bytes:
    """An OpenDocument file."""
    kind = content_type.removeprefix(OPEN)
    return zipped(
        {
            "mimetype": content_type,
            "content.xml": (
                f"<office:document-content {_ODF}><office:automatic-styles>{automatic}</office:automatic-styles>"
                f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
            ),
            "styles.xml": f"<office:document-styles {_ODF}>{styles}</office:document-styles>",
            "meta.xml": (
                f"<office:document-meta {_ODF}><office:meta><dc:title>The Harbour</dc:title>"
                "<meta:initial-creator>Ann Writer</meta:initial-creator></office:meta></office:document-meta>"
            ),
            **(more or {}),
        }
    )


def odf_row(*values: str, attributes: str = "") -> str:
    """A row of an OpenDocument table."""
    inner = "".join(f"<table:table-cell><text:p>{value}</text:p></table:table-cell>" for value in values)
    return f"<table:table-row {attributes}>{inner}</table:table-row>"


def rtf(text: str) -> bytes:
    """Rich text in the code page of eastern Europe, with a Russian font."""
    fonts = "{\\fonttbl{\\f0\\fcharset238 Arial;}{\\f1\\fcharset204 Arial Cyr;}}"
    return f"{{\\rtf1\\ansi\\ansicpg1250\\deff0{fonts}{text}}}".encode("latin-1")
