"""OpenDocument spreadsheets: each sheet is a page and a table of its values, read row by row."""

from collections.abc import Iterator

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.markup.markdown import escaped
from webapp.readers.office.archive import Archive
from webapp.readers.office.blocks import one_line
from webapp.readers.office.content import Content
from webapp.readers.office.odf import COMMENT_OF_NOBODY, one_space, refuse_encrypted
from webapp.readers.office.odf_styles import OdfStyles
from webapp.readers.office.sheets import CELL_CHARACTERS_MAX, Sheet, SheetWriter, refuse_range
from webapp.readers.office.xml import Element, attribute, children, each_event, name_of, number
from webapp.sandbox.child import Report

SHEETS_MAX = 1_000
COMMENTS_MAX = 10_000
# Millions of cells are asked for these, so they are named in full.
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_PARAGRAPH = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}p"
_CELLS = frozenset({_TABLE + "table-cell", _TABLE + "covered-table-cell"})
_REPEATED, _TYPE, _DATE = _TABLE + "number-columns-repeated", _OFFICE + "value-type", _OFFICE + "date-value"
_BLANKS = {"s": " ", "tab": " ", "line-break": "\n"}


def read_ods(archive: Archive, report: Report) -> Content:
    """Read all sheets; a tree of a whole workbook would need too much memory."""
    refuse_encrypted(archive)
    data = archive.read("content.xml")
    report.progress(0.2)
    writer = SheetWriter()
    styles = OdfStyles(None)
    sheet: _Sheet | None = None
    count = 0
    for event, element in each_event(data, "automatic-styles", "table", "table-row", "style"):
        name = name_of(element)
        if name == "automatic-styles" and event == "end":
            styles = OdfStyles(element)
        elif name == "table" and event == "start" and sheet is None:
            sheet = _Sheet(attribute(element, "name"), is_hidden=styles.is_hidden(attribute(element, "style-name")))
            count += 1
        elif name == "table" and event == "end" and sheet is not None:
            writer.add(Sheet(sheet.name, sheet.rows, is_hidden=sheet.is_hidden, notes=sheet.notes))
            element.clear()
            sheet = None
        elif name == "table-row" and event == "end" and sheet is not None:
            sheet.add(element)
            element.clear()
        if count > SHEETS_MAX:
            raise BadInput(f"more than {SHEETS_MAX} sheets", code=FailureCode.TOO_LARGE)
    return writer.finished()


class _Sheet:
    """The rows of one sheet that hold something, and how far they reach."""

    def __init__(self, name: str, *, is_hidden: bool) -> None:
        self.name = name
        self.is_hidden = is_hidden
        self.rows: list[list[str]] = []
        self.notes: list[str] = []
        self._height = 0
        self._empty = 0
        self._width = 0

    def add(self, element: Element) -> None:
        cells = self._cells(element)
        times = max(1, number(attribute(element, "number-rows-repeated"), 1, most=1 << 31))
        if not cells:
            # They count only where something follows.
            self._empty += times if self.rows else 0
            return
        self._width = max(self._width, len(cells))
        self._height += self._empty + times
        self._empty = 0
        refuse_range(self._height, self._width)
        self.rows += [cells] * times

    def _cells(self, row: Element) -> list[str]:
        cells: list[str] = []
        empty = 0
        for each in row:
            if each.tag not in _CELLS:
                continue
            inner = len(each)
            text = _shown(each) if inner or each.get(_TYPE) else ""
            repeated = each.get(_REPEATED)
            times = 1 if repeated is None else max(1, number(repeated, 1, most=1 << 31))
            if inner > 1:
                self._note(each)
            if text:
                refuse_range(1, len(cells) + empty + times)
                cells += [""] * empty + [text] * times
                empty = 0
            else:
                empty += times
        return cells

    def _note(self, cell: Element) -> None:
        for comment in children(cell, "annotation"):
            text = one_line(" ".join(_text(each) for each in children(comment, "p")))
            if text and len(self.notes) < COMMENTS_MAX:
                self.notes.append(COMMENT_OF_NOBODY.format(text=escaped(text)))


def _shown(cell: Element) -> str:
    """A cell as people see it; a date as ISO 8601 has it, whatever the sheet's language."""
    kind = cell.get(_TYPE)
    if kind == "date":
        date = str(cell.get(_DATE, ""))
        return date.replace("T", " ")[:40].removesuffix(" 00:00:00") if len(date) > 10 else date
    if kind == "boolean":
        return str(cell.get(_OFFICE + "boolean-value", "")).upper()[:5]
    lines = [each.text or "" if len(each) == 0 else _text(each) for each in cell if each.tag == _PARAGRAPH]
    text = (lines[0] if len(lines) == 1 else "\n".join(lines)).strip()
    if not text and kind in {"float", "currency", "percentage"}:
        text = str(cell.get(_OFFICE + "value", ""))
    return text[:CELL_CHARACTERS_MAX]


def _text(element: Element) -> str:
    return "".join(_pieces(element))


def _pieces(element: Element) -> Iterator[str]:
    yield one_space(element.text)
    for each in element:
        name = name_of(each)
        yield _BLANKS[name] if name in _BLANKS else "".join(_pieces(each))
        yield one_space(each.tail)
