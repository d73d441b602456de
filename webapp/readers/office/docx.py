"""Word documents: everything that a reader sees, in reading order, with tracked changes as if they were accepted."""

from collections import Counter
from collections.abc import Iterator

from webapp.readers.markup.markdown import escaped, note
from webapp.readers.markup.spans import Spans
from webapp.readers.office.archive import Archive
from webapp.readers.office.blocks import Blocks, Tables, heading, link, nested_table, one_line, paragraph
from webapp.readers.office.content import Content
from webapp.readers.office.docx_styles import Lists, Styles, is_on
from webapp.readers.office.relations import Relations, main_part
from webapp.readers.office.xml import Element, attribute, child, children, name_of, number, parse_xml, within

USUAL_PART = "word/document.xml"
SPAN_MAX = 200
COMMENT = "Comment by {author}: {text}"
COMMENT_OF_NOBODY = "Comment: {text}"

# What was deleted, and what no reader sees.
_DROPPED = {
    "del",
    "moveFrom",
    "delText",
    "instrText",
    "delInstrText",
    "rPr",
    "pPr",
    "rt",
    "sectPr",
    "Fallback",
    "altChunk",
}
_CHARACTERS = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
_NOTES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}


def read_docx(archive: Archive) -> Content:
    """Read the document: headers, text, footers, then notes and comments."""
    part = main_part(archive, USUAL_PART)
    relations = Relations(archive, part)
    beside = {
        each.kind: each.target for each in relations.of_kind("styles", "numbering", "footnotes", "endnotes", "comments")
    }
    parts = {kind: archive.read_if_there(name) for kind, name in beside.items()}
    walk = _Walk(Styles(parts.get("styles")), Lists(parts.get("numbering")), relations)
    root = parse_xml(archive.read(part))
    blocks: list[str] = []
    for body in within(root, "body"):
        blocks += walk.flow(body)
    heads = _margins(archive, walk, root, "header")
    feet = _margins(archive, walk, root, "footer")
    walk.relations = None
    notes = [*walk.notes("footnote", parts.get("footnotes")), *walk.notes("endnote", parts.get("endnotes"))]
    text = "\n\n".join([*heads, *blocks, *feet, *notes, *_comments(walk, parts.get("comments"))])
    return Content([text], is_paged=False, tables=walk.tables.found, title=walk.title)


def _margins(archive: Archive, walk: "_Walk", root: Element, kind: str) -> list[str]:
    """The headers and footers of the pages, each once."""
    relations, found = walk.relations, list[str]()
    names = (
        []
        if relations is None
        else [relations.part(attribute(each, "id")) for each in within(root, f"{kind}Reference")]
    )
    for name in dict.fromkeys(names):
        if archive.has(name):
            walk.relations = Relations(archive, name)
            found += walk.flow(parse_xml(archive.read(name)))
    walk.relations = relations
    # A page's number alone says nothing here.
    return [block for block in dict.fromkeys(found) if not block.strip("-\u2013 ").isdigit()]


def _comments(walk: "_Walk", data: bytes | None) -> Iterator[str]:
    for each in children(None if data is None else parse_xml(data), "comment"):
        author, text = one_line(attribute(each, "author")), one_line(" ".join(walk.flow(each)))
        if text:
            yield COMMENT.format(author=escaped(author), text=text) if author else COMMENT_OF_NOBODY.format(text=text)


class _Walk:
    """Walks through one document, and keeps its tables and what it refers to on the way."""

    def __init__(self, styles: Styles, lists: Lists, relations: Relations) -> None:
        self.tables = Tables()
        self.title: str | None = None
        self.relations: Relations | None = relations
        """Those of the part that is being read."""
        self._styles = styles
        self._lists = lists
        self._boxes: list[Element] = []
        self._marks: dict[tuple[str, str], str] = {}
        self._note_counts: Counter[str] = Counter()
        self._table_depth = 0

    def flow(self, container: Element) -> list[str]:
        """The blocks within."""
        blocks = Blocks()
        carried = ""
        for each in _unwrapped(container):
            if name_of(each) == "tbl":
                blocks.add(paragraph(carried), *self._table(each))
                carried = ""
            else:
                carried = self._paragraph(each, blocks, carried)
        blocks.add(paragraph(carried))
        return blocks.done

    def notes(self, kind: str, data: bytes | None) -> Iterator[str]:
        """The notes that the text refers to, in its order."""
        root = None if data is None else parse_xml(data)
        found = {attribute(each, "id"): each for each in children(root, kind)}
        for (marked, note_id), mark in list(self._marks.items()):
            if marked == kind and note_id in found:
                yield note(mark, "\n\n".join(self.flow(found[note_id])))

    def _paragraph(self, element: Element, blocks: Blocks, carried: str) -> str:
        """Add a paragraph; its text comes back where its end was deleted, and the next one goes on with it."""
        properties = child(element, "pPr")
        style_id = _value(child(properties, "pStyle"))
        boxes, self._boxes = self._boxes, []
        text = carried + "".join(self._pieces(element, hidden=self._styles.is_hidden(style_id)))
        if child(properties, "rPr", "del") is None:
            self._place(element, style_id, text, blocks)
            text = ""
        found, self._boxes = self._boxes, boxes
        for box in found:
            blocks.add(*self.flow(box))
        return text

    def _place(self, element: Element, style_id: str, text: str, blocks: Blocks) -> None:
        properties = child(element, "pPr")
        if not text.strip():
            return
        outline = child(properties, "outlineLvl")
        level = self._styles.heading_level(style_id) if outline is None else number(_value(outline), 9) + 1
        label = self._label(properties, style_id)
        if level is not None and level <= 9 and not self._table_depth:
            if self.title is None and self._styles.is_title(style_id):
                self.title = one_line(text)
            blocks.add(heading(level, f"{label[1]} {text}" if label else text))
        elif label is None:
            blocks.add(paragraph(text))
        else:
            blocks.item(label[0], label[1], paragraph(text))

    def _label(self, properties: Element | None, style_id: str) -> tuple[int, str] | None:
        """The level and the label of a paragraph in a list."""
        numbered = child(properties, "numPr")
        list_id, level = _value(child(numbered, "numId")), child(numbered, "ilvl")
        depth = None if level is None else number(_value(level))
        if not list_id:
            found = self._styles.list_of(style_id)
            if found is None:
                return None
            list_id = found[0]
            depth = found[1] if depth is None else depth
        depth = self._lists.level_of_style(list_id, style_id) if depth is None else depth
        label = self._lists.next_label(list_id, depth)
        return None if label is None else (depth, label)

    def _pieces(self, element: Element, *, hidden: bool) -> Iterator[str]:
        """The text of a paragraph, escaped."""
        for each in element:
            yield self._piece(each, name_of(each), hidden=hidden)

    def _piece(self, element: Element, name: str, *, hidden: bool) -> str:  # noqa: PLR0911 - one for each kind of piece
        if name == "t":
            return "" if hidden else escaped(element.text or "")
        if name == "r":
            hidden = self._is_hidden(element, hidden=hidden)
        if name in _DROPPED or (name == "AlternateContent" and (element := _choice(element)) is None):
            return ""
        if name in _CHARACTERS:
            return "" if hidden else _CHARACTERS[name]
        if name in _NOTES:
            return "" if hidden else f"[^{self._mark(_NOTES[name], attribute(element, 'id'))}]"
        if name == "txbxContent":
            self._boxes.append(element)
            return ""
        text = "".join(self._pieces(element, hidden=hidden))
        if name == "hyperlink" and self.relations is not None:
            found = self.relations.get(attribute(element, "id"))
            return link(text, found.target) if found is not None and found.is_external else text
        return _alternative(element, name) + text

    def _is_hidden(self, run: Element, *, hidden: bool) -> bool:
        properties = child(run, "rPr")
        if properties is None:
            return hidden
        own = is_on(child(properties, "vanish"))
        style_id = _value(child(properties, "rStyle"))
        return own if own is not None else hidden or self._styles.is_hidden(style_id)

    def _mark(self, kind: str, note_id: str) -> str:
        """The mark of a note in the text: a number for footnotes, e and a number for endnotes."""
        if (kind, note_id) not in self._marks:
            self._note_counts[kind] += 1
            start = "" if kind == "footnote" else "e"
            self._marks[kind, note_id] = f"{start}{self._note_counts[kind]}"
        return self._marks[kind, note_id]

    def _table(self, element: Element) -> list[str]:
        self._table_depth += 1
        spans = Spans()
        rows = [self._row(each, spans) for each in _unwrapped(element, "tr") if child(each, "trPr", "del") is None]
        self._table_depth -= 1
        if self._table_depth:
            return [nested_table(rows)]
        if len(rows) == 1 and len(rows[0]) == 1:
            # A frame around a text.
            return [
                block
                for cell in _unwrapped(element, "tr")
                for each in _unwrapped(cell, "tc")
                for block in self.flow(each)
            ]
        return self.tables.add(rows, spans=spans)

    def _row(self, element: Element, spans: Spans) -> list[str]:
        spans.begin_row()
        cells = [""] * number(_value(child(element, "trPr", "gridBefore")), most=SPAN_MAX)
        for each in _unwrapped(element, "tc"):
            properties = child(each, "tcPr")
            if child(properties, "cellDel") is not None:
                continue
            merged = child(properties, "vMerge")
            is_continued = merged is not None and attribute(merged, "val", "continue") == "continue"
            start = len(cells)
            cells.append("" if is_continued else one_line(" ".join(self.flow(each))))
            cells += [""] * min(number(_value(child(properties, "gridSpan")), 1) - 1, SPAN_MAX - len(cells))
            spans.cell(start, len(cells) - start, is_continued=is_continued)
        return cells


def _unwrapped(container: Element, *names: str) -> Iterator[Element]:
    """Paragraphs and tables (or rows, or cells) right within, and within what only wraps them."""
    wanted = names or ("p", "tbl")
    for each in container:
        name = name_of(each)
        if name in wanted:
            yield each
        elif name == "AlternateContent":
            if (chosen := _choice(each)) is not None:
                yield from _unwrapped(chosen, *names)
        elif name in {"sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"}:
            yield from _unwrapped(each, *names)


def _choice(element: Element) -> Element | None:
    """Of several forms of one thing the first; the others say the same again."""
    found = child(element, "Choice")
    return child(element, "Fallback") if found is None else found


def _alternative(element: Element, name: str) -> str:
    """The text in place of a picture."""
    if name == "docPr":
        text = attribute(element, "descr")
    elif name in {"shape", "rect", "imagedata"}:
        text = attribute(element, "alt")
    else:
        return ""
    return f" {escaped(one_line(text))} " if text.strip() else ""


def _value(element: Element | None) -> str:
    return "" if element is None else attribute(element, "val")
