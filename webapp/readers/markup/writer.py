"""Elements of HTML or XHTML -> Markdown: headings, paragraphs, nested lists, tables, code, quotations, notes, links."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from html.entities import name2codepoint
from typing import Any
from urllib.parse import quote

from lxml import etree

from webapp.readers.extraction import Table
from webapp.readers.markup.markdown import escaped, note, paragraph_of, table, table_row
from webapp.readers.markup.spans import Spans

Element = Any  # lxml's elements are no types of their own

SPAN_MAX = 50
ROWS_REACHED_MAX = 1_000
LINK_CHARACTERS_MAX = 300
EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"

_PARAGRAPHS = {"p", "dt", "figcaption", "caption", "address", "summary"}
BLOCKS = _PARAGRAPHS | {
    "div", "section", "article", "main", "aside", "header", "footer", "nav", "figure", "details", "body", "center",
    "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dd", "table", "pre", "blockquote", "hr",
    "thead", "tbody", "tfoot", "tr", "td", "th", "form", "fieldset",
}  # fmt: skip
_SKIPPED = {
    "script", "style", "head", "template", "title", "rp", "noscript", "object", "iframe", "svg",
    "select", "datalist", "audio", "video", "canvas",
}  # fmt: skip
# Nobody puts these into a cell of a table of data.
_IN_LAYOUT = {"table", "h1", "h2", "h3", "h4", "h5", "h6", "form", "section", "article"}
_STRONG, _EMPHASIS, _CODE = {"b", "strong"}, {"i", "em", "cite", "dfn"}, {"code", "kbd", "samp", "tt", "var"}
_HEADING = re.compile(r"h([1-6])")
_SPACE = re.compile(r"[ \t\r\n\f\v]+")
_NOTE_NAME = re.compile(r"[^\w-]+")
_ADDRESS = re.compile(r"(?:https?://|mailto:|tel:)[^\s<>]+", re.IGNORECASE)


def local_name(element: Element) -> str:
    """A tag without its namespace; nothing for comments, instructions and entities."""
    return str(element.tag).rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def text_of(element: Element) -> str:
    """All text within, on one line."""
    return _SPACE.sub(" ", "".join(element.itertext())).strip()


class Writer:
    """Writes what is within one element, and keeps its tables on the way.

    `without` are elements that are left out, with all that is in them. `inner` gives the address that a link to another
    file of the same book has in what is written, "" where it leads nowhere.
    """

    def __init__(
        self,
        root: Element,
        *,
        has_links: bool = False,
        without: Collection[Element] = (),
        inner: Callable[[str], str] | None = None,
    ) -> None:
        self.tables: list[Table] = []
        self._inner = inner
        self._in_words_only = 0
        """How many headings and tables are being written, in which no link leads on."""
        self._has_links = has_links
        self._without = frozenset(without)
        self._around_blocks = _around_blocks(root)

    def flow(self, element: Element) -> list[str]:
        """The blocks within; text between them is paragraphs of its own."""
        blocks: list[str] = []
        run: list[str] = [_plain(element.text)]
        for child in element:
            name = local_name(child)
            if name in _SKIPPED or child in self._without:
                pass
            elif name in BLOCKS or child in self._around_blocks:
                blocks += _paragraph(run)
                run = []
                blocks += self._block(child, name)
            else:
                run.append(self._inline(child, name))
            run.append(_plain(child.tail))
        return blocks + _paragraph(run)

    def _block(self, element: Element, name: str) -> list[str]:  # noqa: PLR0911 - one for each kind of block
        if heading := _HEADING.fullmatch(name):
            self._in_words_only += 1
            text = " ".join("".join(self._pieces(element)).split())
            self._in_words_only -= 1
            return [f"{'#' * int(heading[1])} {text}"] if text else []
        if _is_note(element):
            return self._note(element)
        match name:
            case "ul" | "ol":
                return self._list(element, name)
            case "pre":
                return _fenced("".join(element.itertext()).strip("\n"))
            case "table":
                return self._layout(element) if _is_layout(element) else self._table(element)
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
        written = note(_note_name(element.get("id") or "note"), "\n\n".join(self.flow(element)))
        return [written] if written else []

    def _layout(self, element: Element) -> list[str]:
        """A table that only arranges: what is in its cells, one after the other."""
        cells = (cell for row in _rows(element) for cell in row if cell not in self._without)
        return [block for cell in cells if local_name(cell) in {"td", "th"} for block in self.flow(cell)]

    def _table(self, element: Element) -> list[str]:
        spans = Spans()
        self._in_words_only += 1
        grid = list(self._grid(element, spans))
        self._in_words_only -= 1
        rows = [row for row in grid if any(row)]
        caption = next((text_of(each) for each in element if local_name(each) == "caption"), None)
        if not rows:
            return []
        width = max(map(len, rows))
        if width == 1:
            # One column is layout, not a table.
            return [cell for (cell,) in rows if cell]
        rows = [[*row, *[""] * (width - len(row))] for row in rows]
        self.tables.append(Table(None, tuple(map(tuple, rows)), caption, spans=spans.of(grid, width)))
        written = table([table_row(row) for row in rows], width)
        return [caption, written] if caption else [written]

    def _grid(self, element: Element, spans: Spans) -> Iterator[list[str]]:
        """The rows, with empty cells where others reach into them from the left and from above."""
        reaching: dict[int, int] = {}
        for row in _rows(element):
            cells: list[str] = []
            spans.begin_row()
            below = {column: rows - 1 for column, rows in reaching.items() if rows > 1}
            for cell in row:
                if local_name(cell) not in {"td", "th"} or cell in self._without:
                    continue
                _fill(cells, reaching)
                width = max(1, min(_number(cell.get("colspan"), 1), SPAN_MAX))
                height = min(_number(cell.get("rowspan"), 1), ROWS_REACHED_MAX)
                spans.cell(len(cells), width, height)
                below |= dict.fromkeys(range(len(cells), len(cells) + width), height - 1) if height > 1 else {}
                cells += [" ".join(" ".join(self.flow(cell)).split()), *[""] * (width - 1)]
            _fill(cells, reaching)
            yield cells
            reaching = below

    def _pieces(self, element: Element) -> Iterator[str]:
        yield _plain(element.text)
        for child in element:
            name = local_name(child)
            if name not in _SKIPPED and child not in self._without:
                yield self._inline(child, name)
            yield _plain(child.tail)

    def _inline(self, element: Element, name: str) -> str:  # noqa: PLR0911 - one for each kind of mark
        if not name:
            return _entity(element)
        match name:
            case "br":
                return "\n"
            case "img" | "image":
                alt = _SPACE.sub(" ", element.get("alt") or "").strip()
                return f" {escaped(alt)} " if alt else ""
            case "a" if _is_note_mark(element):
                return f"[^{_note_name((element.get('href') or '').rpartition('#')[2])}]"
            case _ if name in _CODE:
                return _code("".join(element.itertext()))
        text = "".join(self._pieces(element))
        if name == "a" and self._has_links:
            return _link(text, element.get("href"))
        if name == "a" and self._inner is not None and not self._in_words_only:
            return _linked(text, self._inner(element.get("href") or ""))
        if name in _STRONG:
            return _wrapped(text, "**")
        if name in _EMPHASIS:
            return _wrapped(text, "*")
        return text


def _around_blocks(root: Element) -> set[Element]:
    """The elements that hold blocks, at whatever depth: each is looked at once."""
    found: set[Element] = set()
    for element in root.iter():
        if local_name(element) in BLOCKS:
            above = element.getparent()
            while above is not None and above not in found:
                found.add(above)
                above = above.getparent()
    return found


def _is_layout(table: Element) -> bool:
    if table.get("role") in {"presentation", "none"}:
        return True
    return any(local_name(each) in _IN_LAYOUT for each in table.iterdescendants())


def _fill(cells: list[str], reaching: Mapping[int, int]) -> None:
    while len(cells) in reaching:
        cells.append("")


def _link(text: str, address: str | None) -> str:
    """A link to somewhere else; one within the page, or to a file beside it, leads nowhere from here."""
    words, address = " ".join(text.split()), (address or "").strip()
    if not words or len(address) > LINK_CHARACTERS_MAX or not _ADDRESS.fullmatch(address):
        return text
    address = quote(address, safe="%/:?#[]@!$&'*+,;=~-._")
    shown = words.replace("\\", "")
    if shown in {address, address.partition(":")[2], address.rstrip("/")}:
        return text
    return _linked(text, address)


def _linked(text: str, address: str) -> str:
    """Words that lead to an address; none where there is none."""
    words = " ".join(text.split())
    if not words or not address:
        return text
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{lead}[{words.replace('[', '(').replace(']', ')')}]({address}){tail}"


def paragraph(text: str) -> str:
    """Plain text as one paragraph that looks the same: its lines are kept, and none becomes a heading or a list."""
    lines = (escaped(line).strip() for line in text.split("\n"))
    # Under a line of text, a ruler would make that a heading.
    return paragraph_of(f"\\{line}" if line and not line.strip("-=_") else line for line in lines)


def _paragraph(run: list[str]) -> list[str]:
    text = paragraph_of(_SPACE.sub(" ", line).strip() for line in "".join(run).split("\n"))
    return [text] if text else []


def _item(marker: str, blocks: list[str]) -> str:
    """Everything of an item is indented to its first letter; a list in it follows without a gap."""
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
    """Marks are put next to the words, not to the spaces around them, and not around nothing or two lines."""
    core = text.strip()
    if not core or "\n" in core or core.startswith("*"):
        return text
    start = text.index(core)
    return f"{text[:start]}{mark}{core}{mark}{text[start + len(core) :]}"


def _plain(text: str | None) -> str:
    """The escaped text of an element. A new line in the source is a space."""
    return escaped(_SPACE.sub(" ", text)) if text else ""


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
