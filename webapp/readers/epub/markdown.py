"""A chapter's XHTML -> Markdown: headings, paragraphs, nested lists, tables, code, quotations, notes."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.entities import name2codepoint
from typing import Any

from lxml import etree
from lxml import html as lxml_html

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Table
from webapp.readers.page_markdown import without_marks

Element = Any  # lxml's elements are no types of their own

SPAN_MAX = 50
# A repaired file should still have nearly all of its letters.
WHOLE_SHARE = 0.9
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"

_PARAGRAPHS = {"p", "dt", "figcaption", "caption", "address", "summary"}
_BLOCKS = _PARAGRAPHS | {
    "div", "section", "article", "main", "aside", "header", "footer", "nav", "figure", "details", "body", "center",
    "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dd", "table", "pre", "blockquote", "hr",
    "thead", "tbody", "tfoot", "tr", "td", "th", "form", "fieldset",
}  # fmt: skip
_SKIPPED = {"script", "style", "head", "template", "title", "rp", "noscript", "object", "iframe", "svg"}
_STRONG, _EMPHASIS, _CODE = {"b", "strong"}, {"i", "em", "cite", "dfn"}, {"code", "kbd", "samp", "tt", "var"}
_HEADING = re.compile(r"h([1-6])")
_SPACE = re.compile(r"[ \t\r\n\f\v]+")
_SPECIAL = re.compile(r"[\\`*]|<(?=[A-Za-z/!?])")
_LINE_START = re.compile(r"^(#{1,6}(?=\s)|>|[-+](?=\s)|\d{1,9}(?=[.)]\s))", re.MULTILINE)
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = {b"amp", b"lt", b"gt", b"quot", b"apos"}
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
# What is not closed goes on to the end, as in a browser; to look for its end from each beginning would take for ever.
_TAG = re.compile(
    r"<(script|style|head)\b.*?(?:</\1\s*+>|\Z)|<!--.*?(?:-->|\Z)|<[^>]*+(?:>|\Z)", re.DOTALL | re.IGNORECASE
)
_NOTE_NAME = re.compile(r"[^\w-]+")
_IS_ONE_WORD = re.compile(r"\S+(?:\s+[\"'(].*)?")


@dataclass
class Chapter:
    """What was read out of one file of a book."""

    markdown: str
    tables: list[Table] = field(default_factory=list)
    is_whole: bool = True


def read_chapter(data: bytes) -> Chapter:
    """Read one file; what is no XHTML at all is BadInput."""
    body, is_whole = _parse(data)
    writer = _Writer()
    blocks = writer.flow(body)
    return Chapter(without_marks("\n\n".join(blocks)), writer.tables, is_whole)


def parse_xml(data: bytes) -> Element:
    """Parse without entities, without external files, without the network; BadInput where it is no XML."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadInput(f"no XML: {str(error)[:100]}", code=FailureCode.CORRUPT) from error


def local_name(element: Element) -> str:
    """A tag without its namespace; nothing for comments, instructions and entities."""
    return str(element.tag).rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def text_of(element: Element) -> str:
    """All text within, on one line."""
    return _SPACE.sub(" ", "".join(element.itertext())).strip()


def _parse(data: bytes) -> tuple[Element, bool]:
    """The body, and whether nothing is known to be missing: files that are no XML are read as HTML is."""
    data = _numbered_entities(_as_utf8(data))
    try:
        return _body(parse_xml(data)), True
    except BadInput:
        parser = lxml_html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
    try:
        body = _body(lxml_html.document_fromstring(data, parser=parser))
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise BadInput("no XHTML", code=FailureCode.CORRUPT) from error
    return body, _holds_most(body, data)


def _body(root: Element) -> Element:
    return next((each for each in root.iter() if local_name(each) == "body"), root)


def _as_utf8(data: bytes) -> bytes:
    """UTF-16 as UTF-8, without a declaration that says otherwise."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return _XML_DECLARATION.sub("", data[2:].decode(encoding, "replace")).encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def _numbered_entities(data: bytes) -> bytes:
    """HTML's names for characters, which XML does not know, as their numbers. Others stay as they are."""

    def number(found: re.Match[bytes]) -> bytes:
        name = found[1]
        code = None if name in _XML_ENTITIES else name2codepoint.get(name.decode())
        return found[0] if code is None else b"&#%d;" % code

    return _ENTITY.sub(number, data)


def _holds_most(body: Element, data: bytes) -> bool:
    raw = html.unescape(_TAG.sub(" ", data.decode("utf-8", "replace")))
    found = sum(len(part.split()) for part in body.itertext() if isinstance(part, str))
    return found >= WHOLE_SHARE * len(raw.split())


class _Writer:
    """Writes one chapter, and keeps its tables on the way."""

    def __init__(self) -> None:
        self.tables: list[Table] = []

    def flow(self, element: Element) -> list[str]:
        """The blocks within; text between them is paragraphs of its own."""
        blocks: list[str] = []
        run: list[str] = [_escaped(element.text)]
        for child in element:
            name = local_name(child)
            if name in _SKIPPED:
                pass
            elif name in _BLOCKS or _holds_blocks(child, name):
                blocks += _paragraph(run)
                run = []
                blocks += self._block(child, name)
            else:
                run.append(self._inline(child, name))
            run.append(_escaped(child.tail))
        return blocks + _paragraph(run)

    def _block(self, element: Element, name: str) -> list[str]:  # noqa: PLR0911 - one for each kind of block
        if heading := _HEADING.fullmatch(name):
            text = " ".join("".join(self._pieces(element)).split())
            return [f"{'#' * int(heading[1])} {text}"] if text else []
        if _is_note(element):
            return self._note(element)
        match name:
            case "ul" | "ol":
                return self._list(element, name)
            case "pre":
                return _fenced("".join(element.itertext()).strip("\n"))
            case "table":
                return self._table(element)
            case "blockquote":
                quoted = "\n\n".join(self.flow(element))
                return ["\n".join(f"> {line}".rstrip() for line in quoted.split("\n"))] if quoted else []
            case "hr":
                return ["---"]
            case "dt":
                return [f"**{text}**" for text in self.flow(element)]
            case _:
                return self.flow(element)

    def _list(self, element: Element, name: str) -> list[str]:
        items = []
        number = _number(element.get("start"), 1)
        for child in element:
            if local_name(child) not in {"li", "ul", "ol"}:
                continue
            marker = "- " if name == "ul" else f"{number}. "
            # A list right inside a list is a bad habit of some writers; it is an item's like the others.
            blocks = self.flow(child) if local_name(child) == "li" else self._block(child, local_name(child))
            if blocks:
                items.append(_item(marker, blocks))
                number += 1
        return ["\n".join(items)] if items else []

    def _note(self, element: Element) -> list[str]:
        text = "\n\n".join(self.flow(element))
        if not text:
            return []
        mark = f"[^{_note_name(element.get('id') or 'note')}]:"
        # One word would make it a link's address, which readers are not shown.
        mark = f"\\{mark}" if _IS_ONE_WORD.fullmatch(text) else mark
        return [f"{mark} " + text.replace("\n", "\n    ").replace("\n    \n", "\n\n")]

    def _table(self, element: Element) -> list[str]:
        rows = [row for row in (self._cells(each) for each in _rows(element)) if any(row)]
        caption = next((text_of(each) for each in element if local_name(each) == "caption"), None)
        if not rows:
            return []
        width = max(map(len, rows))
        if width == 1:
            # One column is layout, not a table.
            return [cell for (cell,) in rows if cell]
        rows = [[*row, *[""] * (width - len(row))] for row in rows]
        self.tables.append(Table(page=None, rows=tuple(tuple(row) for row in rows), caption=caption))
        escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        lines = [escaped[0], ["---"] * width, *escaped[1:]]
        table = "\n".join(f"| {' | '.join(row)} |" for row in lines)
        return [caption, table] if caption else [table]

    def _cells(self, row: Element) -> list[str]:
        cells: list[str] = []
        for cell in row:
            if local_name(cell) in {"td", "th"}:
                cells.append(" ".join(" ".join(self.flow(cell)).split()))
                cells += [""] * min(_number(cell.get("colspan"), 1) - 1, SPAN_MAX)
        return cells

    def _pieces(self, element: Element) -> Iterator[str]:
        yield _escaped(element.text)
        for child in element:
            name = local_name(child)
            if name not in _SKIPPED:
                yield self._inline(child, name)
            yield _escaped(child.tail)

    def _inline(self, element: Element, name: str) -> str:  # noqa: PLR0911 - one for each kind of mark
        if not name:
            return _entity(element)
        match name:
            case "br":
                return "\n"
            case "img" | "image":
                alt = _SPACE.sub(" ", element.get("alt") or "").strip()
                return f" {_escaped(alt)} " if alt else ""
            case "a" if _is_note_mark(element):
                return f"[^{_note_name((element.get('href') or '').rpartition('#')[2])}]"
            case _ if name in _CODE:
                return _code("".join(element.itertext()))
        text = "".join(self._pieces(element))
        if name in _STRONG:
            return _wrapped(text, "**")
        if name in _EMPHASIS:
            return _wrapped(text, "*")
        return text


def _holds_blocks(element: Element, name: str) -> bool:
    return bool(name) and any(local_name(each) in _BLOCKS for each in element.iterdescendants())


def _paragraph(run: list[str]) -> list[str]:
    lines = (_SPACE.sub(" ", line).strip() for line in "".join(run).split("\n"))
    text = "  \n".join(line for line in lines if line)
    return [_LINE_START.sub(_escape_start, text)] if text else []


def _escape_start(found: re.Match[str]) -> str:
    return f"{found[1]}\\" if found[1].isdigit() else f"\\{found[1]}"


def _item(marker: str, blocks: list[str]) -> str:
    """Indent everything of an item below its first letter; a list in it follows without a gap."""
    text = blocks[0]
    for block in blocks[1:]:
        text += ("\n" if re.match(r"- |\d+\. ", block) else "\n\n") + block
    return marker + text.replace("\n", "\n" + " " * len(marker)).replace("\n" + " " * len(marker) + "\n", "\n\n")


def _rows(table: Element) -> Iterator[Element]:
    """A table's own rows, not those of tables within."""
    for child in table:
        name = local_name(child)
        if name == "tr":
            yield child
        elif name in {"thead", "tbody", "tfoot"}:
            yield from (each for each in child if local_name(each) == "tr")


def _fenced(text: str) -> list[str]:
    if not text.strip():
        return []
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}\n{text}\n{fence}"]


def _code(text: str) -> str:
    text = _SPACE.sub(" ", text).strip()
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def _wrapped(text: str, mark: str) -> str:
    """Put marks next to the words, not to the spaces around them, and not around nothing or two lines."""
    core = text.strip()
    if not core or "\n" in core or core.startswith("*"):
        return text
    start = text.index(core)
    return f"{text[:start]}{mark}{core}{mark}{text[start + len(core) :]}"


def _escaped(text: str | None) -> str:
    """Escape what would be Markdown by accident. A new line in the source is a space."""
    return _SPECIAL.sub(r"\\\g<0>", _SPACE.sub(" ", text)) if text else ""


def _entity(element: Element) -> str:
    """An entity that nobody declared in a way that we follow: its character if HTML knows it, else nothing."""
    name = getattr(element, "name", None) if element.tag is etree.Entity else None
    return chr(name2codepoint[name]) if name in name2codepoint else ""


def _kinds(element: Element) -> set[str]:
    kinds = f"{element.get(EPUB_TYPE) or element.get('epub:type') or ''} {element.get('role') or ''}"
    return {kind.removeprefix("doc-") for kind in kinds.lower().split()}


def _is_note(element: Element) -> bool:
    return bool(_kinds(element) & {"footnote", "endnote", "rearnote"})


def _is_note_mark(element: Element) -> bool:
    return "noteref" in _kinds(element) and "#" in (element.get("href") or "")


def _note_name(fragment: str) -> str:
    return _NOTE_NAME.sub("-", fragment)[:60] or "note"


def _number(value: str | None, default: int) -> int:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 7 else default
