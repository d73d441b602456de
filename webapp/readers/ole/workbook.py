"""Old Excel workbooks: each sheet is a page and a table of its values."""

from pathlib import Path

from webapp.provider_errors import BadInput
from webapp.readers.office.content import Content
from webapp.readers.office.sheets import Sheet, SheetWriter, refuse_range, shown
from webapp.readers.panics import panics_refuse
from webapp.sandbox.child import Report


def read_workbook(source: Path, report: Report) -> Content:
    """Read all sheets."""
    # In the child alone, and only in one that reads a workbook.
    from python_calamine import (  # noqa: PLC0415 - see above
        CalamineError,
        CalamineWorkbook,
        SheetTypeEnum,
        SheetVisibleEnum,
    )

    writer = SheetWriter()
    try:
        with panics_refuse("workbook"):
            book = CalamineWorkbook.from_path(str(source))
            for index, found in enumerate(book.sheets_metadata):
                if found.typ != SheetTypeEnum.WorkSheet:
                    continue
                sheet = book.get_sheet_by_index(index)
                refuse_range(sheet.height, sheet.width)
                rows = ([shown(value) for value in row] for row in sheet.to_python())
                writer.add(Sheet(found.name, rows, is_hidden=found.visible != SheetVisibleEnum.Visible))
                report.progress(0.1 + 0.8 * (index + 1) / len(book.sheets_metadata))
    except CalamineError as error:
        raise BadInput(f"no workbook that is read: {str(error)[:100]}") from error
    return writer.finished()
