"""PowerPoint presentations: each slide is a page, with its notes, tables, and the values of its charts."""

from collections.abc import Iterator, Sequence

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.markup.markdown import escaped
from webapp.readers.markup.spans import Spans
from webapp.readers.office.archive import Archive
from webapp.readers.office.blocks import Blocks, Tables, link, one_line, paragraph
from webapp.readers.office.charts import chart_rows
from webapp.readers.office.content import Content
from webapp.readers.office.pptx_places import Places
from webapp.readers.office.relations import Relations, main_part
from webapp.readers.office.slides import COMMENT, SLIDES_MAX, Slide, SlidePart, presentation
from webapp.readers.office.xml import Element, attribute, child, children, name_of, number, parse_xml, within
from webapp.sandbox.child import Report

USUAL_PART = "ppt/presentation.xml"
SPAN_MAX = 200
_TITLES = {"title", "ctrTitle"}
# What the master writes on each slide: the date, the foot, the slide's number.
_EVERYWHERE = {"dt", "ftr", "sldNum", "hdr", "sldImg"}
_BODIES = {"", "body", "obj"}
_SHAPES = {"sp", "pic", "graphicFrame", "cxnSp"}


def read_pptx(archive: Archive, report: Report) -> Content:
    """Read all slides in the order of the show."""
    part = main_part(archive, USUAL_PART)
    root, relations = parse_xml(archive.read(part)), Relations(archive, part)
    ids = [attribute(each, "id") for each in _slide_ids(root)]
    names = [name for each in ids if archive.has(name := relations.part(each))]
    if len(names) > SLIDES_MAX:
        raise BadInput(f"more than {SLIDES_MAX} slides", code=FailureCode.TOO_LARGE)
    size = child(root, "sldSz")
    reader = _Reader(
        archive, Places(archive, number(_of(size, "cx"), most=1 << 40), number(_of(size, "cy"), most=1 << 40))
    )
    slides = []
    for count, name in enumerate(names, 1):
        slides.append(reader.slide(name, count))
        report.progress(0.05 + 0.8 * count / len(names))
    return presentation(slides, reader.tables.found)


def _slide_ids(root: Element) -> Iterator[Element]:
    """The slides' relations; each also has a number of its own, under a name without a namespace."""
    for each in children(child(root, "sldIdLst"), "sldId"):
        each.attrib.pop("id", None)
        yield each


class _Reader:
    """Reads slides, and keeps their tables."""

    def __init__(self, archive: Archive, places: Places) -> None:
        self.tables = Tables()
        self._archive = archive
        self._places = places
        self._relations = Relations(archive, "")
        self._page = 0

    def slide(self, name: str, page: int) -> Slide:
        self._page = page
        root = parse_xml(self._archive.read(name))
        relations = Relations(self._archive, name)
        slide = Slide(is_hidden=attribute(root, "show", "1") in {"0", "false"})
        self._relations = relations
        layouts = [each.target for each in relations.of_kind("slideLayout")]
        for shape, box in self._places.shapes(child(root, "cSld", "spTree"), layouts):
            role = _role(shape)
            if role in _EVERYWHERE:
                continue
            blocks = self._shape(shape, role)
            if role in _TITLES and not slide.title:
                slide.title = one_line(" ".join(blocks))
            else:
                slide.parts.append(SlidePart(blocks, box.top, box.left))
        slide.notes = [*self._notes(relations), *self._comments(relations)]
        return slide

    def _shape(self, shape: Element, role: str | None) -> list[str]:
        blocks = Blocks()
        kind = name_of(shape)
        if kind == "graphicFrame":
            blocks.add(*self._graphic(shape))
        else:
            self._text(child(shape, "txBody"), blocks, is_list=role in _BODIES)
        if kind in {"pic", "graphicFrame"} or not blocks.done:
            blocks.add(paragraph(escaped(_alternative(shape))))
        return blocks.done

    def _text(self, body: Element | None, blocks: Blocks, *, is_list: bool) -> None:
        """The paragraphs of a shape; those of a slide's body are a list where there is more than one."""
        paragraphs = [(each, self._line(each)) for each in children(body, "p")]
        is_list = is_list and sum(bool(text.strip()) for _, text in paragraphs) > 1
        count: dict[int, int] = {}
        for each, text in paragraphs:
            properties = child(each, "pPr")
            level = number(_of(properties, "lvl"), most=8)
            numbered, marked = child(properties, "buAutoNum"), child(properties, "buChar")
            if not text.strip():
                continue
            count = {deeper: value for deeper, value in count.items() if deeper <= level}
            count[level] = count.get(level, number(_of(numbered, "startAt"), 1) - 1) + 1 if numbered is not None else 0
            if numbered is not None:
                blocks.item(level, f"{count[level]}.", paragraph(text))
            elif marked is not None or (is_list and child(properties, "buNone") is None):
                blocks.item(level, "", paragraph(text))
            else:
                blocks.add(paragraph(text))

    def _line(self, element: Element) -> str:
        pieces = []
        for each in element:
            name = name_of(each)
            if name in {"r", "fld"}:
                found = child(each, "t")
                text = escaped("" if found is None else found.text or "")
                target = self._relations.get(_of(child(each, "rPr", "hlinkClick"), "id"))
                pieces.append(link(text, target.target) if target is not None and target.is_external else text)
            elif name == "br":
                pieces.append("\n")
            elif name in {"m", "AlternateContent"}:
                pieces.append(escaped("".join(found.text or "" for found in within(each, "t"))))
        return "".join(pieces)

    def _graphic(self, frame: Element) -> list[str]:
        data = child(frame, "graphic", "graphicData")
        table = child(data, "tbl")
        if table is not None:
            spans = Spans()
            cells = [self._row(each, spans) for each in children(table, "tr")]
            return self.tables.add(cells, page=self._page, spans=spans)
        for each in () if data is None else data:
            if name_of(each) == "chart":
                part = self._relations.part(attribute(each, "id"))
                rows = chart_rows(parse_xml(self._archive.read(part))) if self._archive.has(part) else []
                return self.tables.add(rows, page=self._page) if rows else []
            if name_of(each) == "relIds":
                return self._diagram(self._relations.part(attribute(each, "dm")))
        return []

    def _diagram(self, part: str) -> list[str]:
        blocks = Blocks()
        if self._archive.has(part):
            for each in within(parse_xml(self._archive.read(part)), "p"):
                blocks.item(0, "", paragraph(self._line(each)))
        return blocks.done

    def _row(self, row: Element, spans: Spans) -> Sequence[str]:
        spans.begin_row()
        cells: list[str] = []
        for each in children(row, "tc"):
            blocks = Blocks()
            is_continued = attribute(each, "hMerge") in {"1", "true"} or attribute(each, "vMerge") in {"1", "true"}
            if not is_continued:
                self._text(child(each, "txBody"), blocks, is_list=False)
                # The cells that it covers follow, each with its place.
                width, height = (number(attribute(each, name), 1, most=SPAN_MAX) for name in ("gridSpan", "rowSpan"))
                spans.cell(len(cells), max(1, width), max(1, height))
            cells.append(one_line(" ".join(blocks.done)))
        return cells

    def _notes(self, relations: Relations) -> list[str]:
        blocks = Blocks()
        for part in relations.of_kind("notesSlide"):
            data = self._archive.read_if_there(part.target)
            for shape in within(None if data is None else parse_xml(data), "sp"):
                if _role(shape) == "body":
                    self._text(child(shape, "txBody"), blocks, is_list=False)
        return blocks.done

    def _comments(self, relations: Relations) -> Iterator[str]:
        for part in relations.of_kind("comments"):
            data = self._archive.read_if_there(part.target)
            for each in within(None if data is None else parse_xml(data), "cm"):
                words = " ".join(found.text or "" for name in ("text", "t") for found in within(each, name))
                if words.strip():
                    yield escaped(COMMENT.format(text=one_line(words)))


def _role(shape: Element) -> str | None:
    """What a placeholder is for; None for a shape that somebody drew."""
    found = next(within(shape, "ph"), None)
    return None if found is None else attribute(found, "type")


def _alternative(shape: Element) -> str:
    """The text in place of a picture or a drawing."""
    found = next(within(shape, "cNvPr"), None)
    return one_line(_of(found, "descr"))


def _of(element: Element | None, name: str) -> str:
    return "" if element is None else attribute(element, name)
