"""Excel workbooks: each sheet is a page and a table of its values, as they were last calculated."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.markup.markdown import escaped
from webapp.readers.office.archive import Archive
from webapp.readers.office.blocks import one_line
from webapp.readers.office.content import Content
from webapp.readers.office.number_formats import BUILT_IN, NumberFormat
from webapp.readers.office.relations import Relations, main_part
from webapp.readers.office.sheets import FormattedCell, Sheet, SheetWriter, Value, refuse_range, shown
from webapp.readers.office.xml import Element, attribute, each_event, number, parse_xml, refuse_doctype, within
from webapp.readers.panics import panics_refuse
from webapp.sandbox.child import Report

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

USUAL_PART = "xl/workbook.xml"
SHEETS_MAX = 1_000
COMMENT = "Comment on {cell}: {text}"


def read_xlsx(archive: Archive, report: Report) -> Content:
    """Read all sheets; BadInput before the library sees one that would be too much."""
    part = main_part(archive, USUAL_PART)
    relations = Relations(archive, part)
    sheet_parts = {
        attribute(each, "name"): relations.part(attribute(each, "id"))
        for each in within(parse_xml(archive.read(part)), "sheet")
    }
    if len(sheet_parts) > SHEETS_MAX:
        raise BadInput(f"more than {SHEETS_MAX} sheets", code=FailureCode.TOO_LARGE)
    for each in relations.of_kind("sharedStrings", "styles"):
        refuse_doctype(archive.read_if_there(each.target) or b"")
    formats = _formats(archive, relations)
    reaches = {name: _checked(archive.read(part), formats) for name, part in sheet_parts.items() if archive.has(part)}
    report.progress(0.2)
    from python_calamine import SheetVisibleEnum  # noqa: PLC0415 - in the child alone, and only for a workbook

    writer = SheetWriter()
    book = _opened(archive)
    for index, found in enumerate(book.sheets_metadata):
        sheet = _sheet(book, index)
        if sheet is None:
            continue
        rows = _rows(sheet, reaches.get(found.name))
        notes = list(_comments(archive, sheet_parts.get(found.name, "")))
        writer.add(Sheet(found.name, rows, is_hidden=found.visible != SheetVisibleEnum.Visible, notes=notes))
        report.progress(0.2 + 0.6 * (index + 1) / len(book.sheets_metadata))
    return writer.finished(sum(reach.errors for reach in reaches.values()))


def _opened(archive: Archive) -> "CalamineWorkbook":
    # In the child alone, and only in one that reads a workbook.
    from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415 - see above

    try:
        with panics_refuse("workbook"):
            return CalamineWorkbook.from_path(str(archive.source))
    except CalamineError as error:
        raise BadInput(f"no workbook that is read: {str(error)[:100]}", code=FailureCode.CORRUPT) from error


def _sheet(book: "CalamineWorkbook", index: int) -> "CalamineSheet | None":
    """A sheet's cells; None for a chart or a macro, which are listed as sheets and have none."""
    from python_calamine import CalamineError, SheetTypeEnum  # noqa: PLC0415 - see above

    if book.sheets_metadata[index].typ != SheetTypeEnum.WorkSheet:
        return None
    try:
        with panics_refuse("sheet"):
            return book.get_sheet_by_index(index)
    except CalamineError as error:
        raise BadInput(f"a sheet that can't be read: {str(error)[:100]}", code=FailureCode.CORRUPT) from error


def _formats(archive: Archive, relations: Relations) -> dict[str, NumberFormat]:
    """The number formats that say more than a value itself, by the number of the style that has them."""
    for each in relations.of_kind("styles"):
        root = parse_xml(archive.read_if_there(each.target) or b"<styleSheet/>")
        own = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in within(root, "numFmt")}
        codes = {**{str(number): code for number, code in BUILT_IN.items()}, **own}
        known = {name: NumberFormat(code) for name, code in codes.items()}
        styles = next(within(root, "cellXfs"), None)
        names = [attribute(one, "numFmtId") for one in within(styles, "xf")] if styles is not None else []
        return {str(style): known[name] for style, name in enumerate(names) if name in known and known[name].is_known}
    return {}


def _rows(sheet: "CalamineSheet", reach: "_Reach | None") -> Iterator[list[str]]:
    """The rows of a sheet as people see them."""
    top, left = (1 + place for place in sheet.start or (0, 0))
    for place, row in enumerate(sheet.to_python(), top):
        cells = [shown(value) for value in row]
        for column, style in (reach.formats.get(place, {}) if reach is not None else {}).items():
            index = column - left
            if 0 <= index < len(row):
                cells[index] = _formatted(row[index], style, cells[index])
        yield cells


def _formatted(value: "Value", style: NumberFormat, plain: str) -> str:
    if isinstance(value, bool | str):
        return plain
    text = style.number(value) if isinstance(value, int | float) else style.moment(value)
    return plain if text is None or text == plain else FormattedCell.of(text, value)


def _checked(data: bytes, formats: Mapping[str, NumberFormat]) -> "_Reach":
    """Refuse a sheet whose cells reach too far; give what is known of them."""
    reach = _Reach(formats)
    for event, row in each_event(data, "row"):
        if event == "end":
            reach.add(row)
            row.clear()
    refuse_range(max(0, reach.bottom - reach.top + 1), max(0, reach.right - reach.left + 1))
    return reach


class _Reach:
    """The rectangle that holds all cells of a sheet with something in them, their errors and their formats."""

    def __init__(self, formats: Mapping[str, NumberFormat]) -> None:
        self.errors = 0
        self.formats: dict[int, dict[int, NumberFormat]] = {}
        """The cells with a number format, by row and column."""
        self._known = formats
        self.top = self.left = 1 << 62
        self.bottom = self.right = 0
        self._row = 0
        self._columns: dict[str, int] = {}

    def add(self, row: Element) -> None:
        """Look at a row; cells without a place follow the one before."""
        place_in_row = number(row.get("r"), self._row + 1, most=1 << 40)
        column = 0
        left, right = self.left, self.right
        for cell in row:
            place = cell.get("r")
            if place is None:
                column += 1
            else:
                letters = place.rstrip("0123456789")
                column = self._columns.get(letters) or self._column(letters)
                place_in_row = int(place[len(letters) :][:9] or 0)
            # Without a value it is there for its border or its colour.
            if len(cell):
                self.errors += cell.get("t") == "e"
                if (style := self._known.get(cell.get("s", "0"))) is not None:
                    self.formats.setdefault(place_in_row, {})[column] = style
                left = min(left, column)
                right = max(right, column)
                self.top = min(self.top, place_in_row)
                self.bottom = max(self.bottom, place_in_row)
        self.left, self.right, self._row = left, right, place_in_row

    def _column(self, letters: str) -> int:
        if not (0 < len(letters) <= 3 and letters.isascii() and letters.isalpha()):
            raise BadInput("a cell without a place", code=FailureCode.CORRUPT)
        found = 0
        for letter in letters.upper():
            found = 26 * found + ord(letter) - 64
        self._columns[letters] = found
        return found


def _comments(archive: Archive, part: str) -> Iterator[str]:
    """What people wrote beside the cells."""
    for each in Relations(archive, part).of_kind("comments") if part else ():
        for comment in within(parse_xml(archive.read_if_there(each.target) or b"<comments/>"), "comment"):
            text = one_line("".join(found.text or "" for found in within(comment, "t")))
            if text:
                yield escaped(COMMENT.format(cell=attribute(comment, "ref"), text=text))
