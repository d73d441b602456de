"""Rows of cells as files that people take along: CSV and XLSX. No spreadsheet computes what lies in them."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from webapp.readers.markup.spans import Span

Value = str | Decimal | int | float | date | None
CSV = "text/csv; charset=utf-8"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# Spreadsheets compute what begins like this, unless it is a number.
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
# A spreadsheet keeps 15 digits, and of a cell so many characters.
_DIGITS_MAX, _CHARACTERS_MAX = 15, 32_767
# Spreadsheets count days from 1900 on, and take that year for a leap year.
_FIRST_DAY = date(1900, 3, 1)
_WIDTHS = (8, 60)
_ROWS_MEASURED = 200


def harmless(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, wherever it is pasted."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """CSV with a mark that tells Excel that it is UTF-8."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return ("\ufeff" + written.getvalue()).encode()


def as_xlsx(heading: Sequence[str], rows: Sequence[Sequence[Value]], spans: Iterable[Span] = ()) -> bytes:
    """A workbook of one sheet: texts as texts, numbers and dates as such. There is no formula and no link in it.

    `spans` are the cells that take several places; row 0 is the heading.
    """
    written = io.BytesIO()
    with Workbook(written, {"in_memory": True}) as workbook:
        sheet = workbook.add_worksheet()
        bold, day = workbook.add_format({"bold": True}), workbook.add_format({"num_format": "yyyy-mm-dd"})
        for top, left, high, wide in spans:
            sheet.merge_range(top, left, top + high - 1, left + wide - 1, "", None if top else bold)
        for column, text in enumerate(heading):
            sheet.write_string(0, column, text[:_CHARACTERS_MAX], bold)
        for number, row in enumerate(rows, 1):
            for column, value in enumerate(row):
                _write(sheet, number, column, value, day)
        sheet.freeze_panes(1, 0)
        for column, width in enumerate(_column_widths(heading, rows)):
            sheet.set_column(column, column, width)
    return written.getvalue()


def _write(sheet: Worksheet, row: int, column: int, value: Value, day: object) -> None:
    if isinstance(value, date) and value >= _FIRST_DAY:
        sheet.write_datetime(row, column, value, day)
    elif isinstance(value, date):
        sheet.write_string(row, column, value.isoformat())
    elif isinstance(value, int | float) or (isinstance(value, Decimal) and _fits(value)):
        sheet.write_number(row, column, value)
    elif isinstance(value, Decimal):
        sheet.write_string(row, column, str(value))
    elif value:
        sheet.write_string(row, column, value[:_CHARACTERS_MAX])


def _fits(value: Decimal) -> bool:
    """Whether a spreadsheet keeps all its digits."""
    return len(str(value).replace(".", "").lstrip("-0")) <= _DIGITS_MAX


def _column_widths(heading: Sequence[str], rows: Sequence[Sequence[Value]]) -> list[int]:
    measured: list[Sequence[Value]] = [heading, *rows[:_ROWS_MEASURED]]
    count = max(map(len, measured), default=0)
    least, most = _WIDTHS
    longest = [max((len(str(row[at])) for row in measured if at < len(row)), default=0) for at in range(count)]
    return [min(most, max(least, length + 2)) for length in longest]
