"""Excel workbooks: each sheet is a page and a table of its values, as they were last calculated."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.office.archive import Archive
from webapp.readers.office.blocks import escaped, one_line
from webapp.readers.office.content import Content
from webapp.readers.office.relations import Relations, main_part
from webapp.readers.office.sheets import Sheet, SheetWriter, refuse_range, shown
from webapp.readers.office.xml import attribute, parse_xml, refuse_doctype, within
from webapp.sandbox.child import Report

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

USUAL_PART = "xl/workbook.xml"
SHEETS_MAX = 1_000
COMMENT = "Comment on {cell}: {text}"

# Rows and cells, without making a tree of them: a sheet has millions.
_ROW_OR_CELL = re.compile(rb"<(?:[A-Za-z]\w{0,20}+:)?(row|c)(?=[ \t\r\n/>])[^>]*+")
_REFERENCE = re.compile(rb"[ \t\r\n]r=[\"']([A-Za-z]{0,3})(\d{1,9})[\"']")


@dataclass
class _Range:
    """The cells of a sheet that hold something, by where they stand."""

    rows: int
    columns: int
    errors: int


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
    errors = sum(_checked(archive.read(name)).errors for name in sheet_parts.values() if archive.has(name))
    for each in relations.of_kind("sharedStrings", "styles"):
        refuse_doctype(archive.read_if_there(each.target) or b"")
    report.progress(0.2)
    from python_calamine import SheetVisibleEnum  # noqa: PLC0415 - in the child alone, and only for a workbook

    writer = SheetWriter()
    book = _opened(archive)
    for index, found in enumerate(book.sheets_metadata):
        sheet = _sheet(book, index)
        if sheet is None:
            continue
        rows = (list(map(shown, row)) for row in sheet.to_python())
        notes = list(_comments(archive, sheet_parts.get(found.name, "")))
        writer.add(Sheet(found.name, rows, is_hidden=found.visible != SheetVisibleEnum.Visible, notes=notes))
        report.progress(0.2 + 0.6 * (index + 1) / len(book.sheets_metadata))
    return writer.finished(errors)


def _opened(archive: Archive) -> "CalamineWorkbook":
    # In the child alone, and only in one that reads a workbook.
    from python_calamine import CalamineError, CalamineWorkbook  # noqa: PLC0415 - see above

    try:
        return CalamineWorkbook.from_path(str(archive.source))
    except CalamineError as error:
        raise BadInput(f"no workbook that is read: {str(error)[:100]}", code=FailureCode.CORRUPT) from error


def _sheet(book: "CalamineWorkbook", index: int) -> "CalamineSheet | None":
    """A sheet's cells; None for a chart or a macro, which stand among the sheets and have none."""
    from python_calamine import CalamineError, SheetTypeEnum  # noqa: PLC0415 - see above

    if book.sheets_metadata[index].typ != SheetTypeEnum.WorkSheet:
        return None
    try:
        return book.get_sheet_by_index(index)
    except CalamineError as error:
        raise BadInput(f"a sheet that can't be read: {str(error)[:100]}", code=FailureCode.CORRUPT) from error


def _checked(data: bytes) -> _Range:
    """How far the cells of a sheet reach; those without a reference follow the one before."""
    refuse_doctype(data)
    row = column = errors = 0
    top = left = 1 << 30
    bottom = right = 0
    for found in _ROW_OR_CELL.finditer(data):
        tag = found[0]
        place = _REFERENCE.search(tag)
        if found[1] == b"row":
            row, column = int(place[2]) if place else row + 1, 0
            continue
        if place and place[1]:
            row, column = int(place[2]), _column(place[1])
        else:
            column += 1
        if tag.endswith(b"/"):
            # Without a value: it is there for its border or its colour.
            continue
        errors += b't="e"' in tag
        top, bottom = min(top, row), max(bottom, row)
        left, right = min(left, column), max(right, column)
    result = _Range(max(0, bottom - top + 1), max(0, right - left + 1), errors)
    refuse_range(result.rows, result.columns)
    return result


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _comments(archive: Archive, part: str) -> Iterator[str]:
    """What people wrote beside the cells."""
    for each in Relations(archive, part).of_kind("comments") if part else ():
        for comment in within(parse_xml(archive.read_if_there(each.target) or b"<comments/>"), "comment"):
            text = one_line("".join(found.text or "" for found in within(comment, "t")))
            if text:
                yield escaped(COMMENT.format(cell=attribute(comment, "ref"), text=text))
