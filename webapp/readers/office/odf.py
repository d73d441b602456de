"""The walk through OpenDocument text, which slides hold as well: paragraphs, lists, tables, notes, text boxes."""

from collections.abc import Iterator

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.markup.markdown import escaped, note
from webapp.readers.markup.spans import Spans
from webapp.readers.office.archive import Archive
from webapp.readers.office.blocks import Blocks, Tables, heading, link, nested_table, one_line, paragraph
from webapp.readers.office.odf_styles import OdfStyles
from webapp.readers.office.xml import Element, attribute, child, children, name_of, number, parse_xml
from webapp.readers.zip_members import inside

SPACES_MAX = 100
COLUMNS_REPEATED_MAX, ROWS_REPEATED_MAX = 200, 100
SPAN_MAX = 1_000
COMMENT = "Comment by {author}: {text}"
COMMENT_OF_NOBODY = "Comment: {text}"
MANIFEST = "META-INF/manifest.xml"

_DROPPED = {
    "tracked-changes",
    "ruby-text",
    "sequence-decls",
    "variable-decls",
    "user-field-decls",
    "forms",
    "annotation-end",
}
_WRAPPERS = {
    "section", "index-body", "table-of-content", "index-title", "illustration-index", "table-index", "object-index",
    "user-index", "alphabetical-index", "bibliography", "list-header", "numbered-paragraph",
}  # fmt: skip


_DRAWINGS = {
    "frame", "text-box", "custom-shape", "g", "rect", "ellipse", "circle", "line", "connector", "polygon", "polyline",
    "path", "caption", "regular-polygon", "measure",
}  # fmt: skip


class OdfWalk:
    """Walks through one document, and keeps its tables, notes and comments on the way."""

    def __init__(self, archive: Archive, styles: OdfStyles) -> None:
        self._archive = archive
        self.tables = Tables()
        self.notes: list[str] = []
        self.comments: list[str] = []
        self.title: str | None = None
        self._styles = styles
        self._boxes: list[Element] = []
        self._counts: dict[tuple[str, int], int] = {}
        self._table_depth = 0
        self.page: int | None = None
        """The page that tables are found on."""

    def flow(self, container: Element) -> list[str]:
        """The blocks within."""
        blocks = Blocks()
        self._flow(container, blocks)
        return blocks.done

    def shape(self, element: Element) -> list[str]:
        """The blocks of one shape on a slide."""
        blocks = Blocks()
        self._boxed(self._piece(element, name_of(element)), blocks)
        if name_of(element) not in _DRAWINGS:
            self._flow(element, blocks)
        return blocks.done

    def _flow(self, container: Element, blocks: Blocks) -> None:
        for each in container:
            name = name_of(each)
            if name in {"h", "p"}:
                self._paragraph(each, name, blocks)
            elif name == "list":
                self._list(each, blocks, 1, attribute(each, "style-name"))
            elif name == "table":
                blocks.add(*self.table(each))
            elif name in _WRAPPERS and attribute(each, "display") != "none":
                self._flow(each, blocks)
            elif name in _DRAWINGS:
                # Right on the page, outside of any paragraph.
                self._boxed(self._piece(each, name), blocks)

    def _paragraph(self, element: Element, name: str, blocks: Blocks) -> None:
        style = attribute(element, "style-name")
        boxes, self._boxes = self._boxes, []
        text = "" if self._styles.is_hidden(style) else self._text(element)
        is_title = self._styles.is_title(style)
        if is_title and self.title is None and text.strip():
            self.title = one_line(text)
        if (name == "h" or is_title) and not self._table_depth:
            blocks.add(heading(number(attribute(element, "outline-level"), 1), text))
        else:
            blocks.add(paragraph(text))
        self._add_boxes(boxes, blocks)

    def _boxed(self, text: str, blocks: Blocks) -> None:
        blocks.add(paragraph(text))
        self._add_boxes([], blocks)

    def _add_boxes(self, before: list[Element], blocks: Blocks) -> None:
        found, self._boxes = self._boxes, before
        for box in found:
            blocks.add(*self.flow(box))

    def _list(self, element: Element, blocks: Blocks, level: int, style: str) -> None:
        style = attribute(element, "style-name") or style
        key = (style, level)
        if attribute(element, "continue-numbering") != "true" and not attribute(element, "continue-list"):
            self._counts.pop(key, None)
        for each in element:
            name = name_of(each)
            if name == "list-item":
                start = attribute(each, "start-value")
                count = self._counts.get(key, self._styles.start(style, level) - 1) + 1
                self._item(each, blocks, level, style, number(start, count) if start else count)
            elif name == "list-header":
                self._flow(each, blocks)

    def _item(self, element: Element, blocks: Blocks, level: int, style: str, count: int) -> None:
        label: str | None = self._styles.label(style, level, count)
        for each in element:
            name = name_of(each)
            if name == "list":
                self._list(each, blocks, level + 1, style)
            elif name in {"h", "p"} and label is not None:
                boxes, self._boxes = self._boxes, []
                text = "" if self._styles.is_hidden(attribute(each, "style-name")) else self._text(each)
                if name == "h" and not self._table_depth:
                    text = f"{label} {text}" if text.strip() else ""
                    blocks.add(heading(number(attribute(each, "outline-level"), 1), text))
                else:
                    blocks.item(level, label, paragraph(text))
                self._add_boxes(boxes, blocks)
                if text.strip():
                    self._counts[style, level] = count
                    label = None
            elif name in {"h", "p"}:
                self._paragraph(each, name, blocks)
            elif name == "table":
                blocks.add(*self.table(each))

    def _text(self, element: Element) -> str:
        pieces = [escaped(one_space(element.text))]
        for each in element:
            pieces.append(self._piece(each, name_of(each)))
            pieces.append(escaped(one_space(each.tail)))
        return "".join(pieces)

    def _piece(self, element: Element, name: str) -> str:  # noqa: PLR0911 - one for each kind of piece
        match name:
            case "s":
                return " " * max(1, number(attribute(element, "c"), 1, most=SPACES_MAX))
            case "tab" | "line-break":
                return " " if name == "tab" else "\n"
            case "a":
                return link(self._text(element), attribute(element, "href"))
            case "span" if self._styles.is_hidden(attribute(element, "style-name")):
                return ""
            case "note":
                return self._note(element)
            case "object":
                self._chart(inside("", attribute(element, "href")))
                return ""
            case "annotation":
                self.comment(element)
                return ""
            case _ if name in _DRAWINGS:
                return self._drawing(element)
            case "hidden-text" | "hidden-paragraph" | "p" | "h" | "title" | "desc" | "notes":
                return ""
        return "" if name in _DROPPED else self._text(element)

    def _drawing(self, element: Element) -> str:
        """The text in place of a picture; the texts of boxes and shapes follow their paragraph."""
        if any(name_of(each) in {"p", "list"} for each in element):
            self._boxes.append(element)
        alternative = child(element, "desc") if child(element, "desc") is not None else child(element, "title")
        words = "" if alternative is None else escaped(one_line("".join(alternative.itertext())))
        inner = "".join(self._piece(each, name_of(each)) for each in element if name_of(each) != "table")
        for each in children(element, "table"):
            self._boxes.append(_wrapped(each))
        return f" {words} {inner}" if words else inner

    def _chart(self, folder: str) -> None:
        """The values behind a chart, which is a document of its own within this one."""
        data = self._archive.read_if_there(f"{folder}/content.xml") if folder else None
        root = None if data is None else parse_xml(data)
        for each in list(children(child(root, "body", "chart", "chart"), "table")):
            self._boxes.append(_wrapped(each))

    def _note(self, element: Element) -> str:
        mark = str(len(self.notes) + 1)
        self.notes.append("")
        body = child(element, "note-body")
        self.notes[int(mark) - 1] = "" if body is None else note(mark, "\n\n".join(self.flow(body)))
        return f"[^{mark}]"

    def comment(self, element: Element) -> None:
        """Keep a comment for the end of the text."""
        author = child(element, "creator")
        name = "" if author is None else escaped(one_line("".join(author.itertext())))
        text = one_line(" ".join(self.flow(element)))
        if text:
            words = COMMENT if name else COMMENT_OF_NOBODY
            self.comments.append(words.format(author=name, text=text))

    def table(self, element: Element) -> list[str]:
        """The blocks of a table; a table within a cell is one line."""
        self._table_depth += 1
        spans = Spans()
        rows = [cells for each in _rows(element) for cells in self._repeated(each, spans)]
        self._table_depth -= 1
        return [nested_table(rows)] if self._table_depth else self.tables.add(rows, page=self.page, spans=spans)

    def _repeated(self, row: Element, spans: Spans) -> Iterator[list[str]]:
        cells: list[str] = []
        spans.begin_row()
        for each in row:
            name = name_of(each)
            if name not in {"table-cell", "covered-table-cell"}:
                continue
            text = one_line(" ".join(self.flow(each))) if name == "table-cell" else ""
            width, height = (
                number(attribute(each, f"number-{of}-spanned"), 1, most=SPAN_MAX) for of in ("columns", "rows")
            )
            spans.cell(len(cells), max(1, width), max(1, height))
            cells += [text] * max(1, number(attribute(each, "number-columns-repeated"), 1, most=COLUMNS_REPEATED_MAX))
            # More columns than anybody reads are cut at the end, where they are empty.
            if len(cells) > COLUMNS_REPEATED_MAX and not text:
                del cells[COLUMNS_REPEATED_MAX:]
        times = number(attribute(row, "number-rows-repeated"), 1, most=ROWS_REPEATED_MAX) if any(cells) else 1
        yield cells
        for _ in range(1, times):
            spans.begin_row()
            yield list(cells)


def open_document(archive: Archive) -> tuple[Element, Element | None]:
    """The content and the styles of a document; BadInput where it is locked by a password."""
    refuse_encrypted(archive)
    styles = archive.read_if_there("styles.xml")
    return parse_xml(archive.read("content.xml")), None if styles is None else parse_xml(styles)


def refuse_encrypted(archive: Archive) -> None:
    """Refuse a document whose list of files says that they are encrypted."""
    data = archive.read_if_there(MANIFEST)
    if data is not None and b"encryption-data" in data:
        # Old writers name a document type here, which is no matter: nothing but this name is asked for.
        raise BadInput("the document is locked by a password", code=FailureCode.ENCRYPTED)


def one_space(text: str | None) -> str:
    """White space in the XML is one space; more of it is written as elements."""
    if not text:
        return ""
    inner = " ".join(text.split())
    return f"{' ' if text[0].isspace() else ''}{inner}{' ' if text[-1].isspace() and inner else ''}"


def _rows(table: Element) -> Iterator[Element]:
    """A table's own rows, not those of tables within."""
    for each in table:
        name = name_of(each)
        if name == "table-row":
            yield each
        elif name in {"table-header-rows", "table-row-group", "table-rows"}:
            yield from _rows(each)


def _wrapped(table: Element) -> Element:
    """A table right in a frame, as something that holds it."""
    holder = table.makeelement("holder", {})
    holder.append(table)
    return holder
