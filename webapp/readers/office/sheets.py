"""What Excel and OpenDocument sheets have in common: the limits, how values are shown, and the Markdown of a sheet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import DATA_VECTORS_MAX, Table
from webapp.readers.markup.markdown import escaped, plain_row, ruler
from webapp.readers.office.content import Content

# Readers make a table of all cells between the first and the last one, whatever is between them.
USED_CELLS_MAX = 5_000_000
CELL_CHARACTERS_MAX = 5_000
# Of all sheets together, so that the answer of the child stays within what its caller takes.
CHARACTERS_MAX = 10_000_000
# A long sheet is many tables, each with the sheet's first row on top: pages are shown in parts, and passages are cut.
BLOCK_CHARACTERS, HEAD_CHARACTERS_MAX = 8_000, 800
NAMES_SHOWN = 10

HIDDEN = "Hidden in the workbook, and read all the same: {names}."
CUT = "The workbook holds more text than {limit:,} characters; rows are missing in: {names}."
ERRORS = "Cells with an error such as #DIV/0! are shown empty ({count:,} of them)."

Value = int | float | str | bool | date | time | datetime | timedelta


class FormattedCell(str):
    """A cell as people see it, with the value behind it where that is another one: a number, or a date in ISO 8601."""

    __slots__ = ("value",)
    value: int | float | str

    @classmethod
    def of(cls, text: str, value: Value) -> "FormattedCell":
        """A cell with this text; the value of a date or a time is its own text."""
        cell = cls(text)
        cell.value = value if isinstance(value, int | float) else shown(value)
        return cell


@dataclass
class Sheet:
    """One sheet: its name and its cells as people see them."""

    name: str
    rows: Iterable[Sequence[str]]
    is_hidden: bool = False
    notes: list[str] = field(default_factory=list)
    """What is written beside the cells."""


class SheetWriter:
    """Makes a page and a table of each sheet, as long as the limit allows."""

    def __init__(self) -> None:
        self._content = Content([], is_paged=True, vectors_max=DATA_VECTORS_MAX)
        self._left = CHARACTERS_MAX
        self._hidden: list[str] = []
        self._cut: list[str] = []
        self._has_text = False

    def add(self, sheet: Sheet) -> None:
        """Add a sheet's page."""
        if sheet.is_hidden:
            self._hidden.append(sheet.name)
        blocks = [f"# {escaped(' '.join(sheet.name.split()))}"]
        rows = self._kept(sheet)
        if rows:
            self._has_text = True
            blocks += _tables(rows)
            page = len(self._content.pages) + 1
            self._content.tables.append(_table(page, sheet.name, rows))
        blocks += sheet.notes
        self._has_text |= bool(sheet.notes)
        self._content.pages.append("\n\n".join(blocks))

    def finished(self, errors: int = 0) -> Content:
        """All sheets; BadInput where none of them holds anything."""
        if not self._has_text:
            raise BadInput("no sheet holds anything", code=FailureCode.NO_TEXT)
        if self._hidden:
            self._content.warnings.append(HIDDEN.format(names=_named(self._hidden)))
        if self._cut:
            self._content.warnings.append(CUT.format(limit=CHARACTERS_MAX, names=_named(self._cut)))
            self._content.is_partial = True
        if errors:
            self._content.warnings.append(ERRORS.format(count=errors))
        return self._content

    def _kept(self, sheet: Sheet) -> list[Sequence[str]]:
        """The rows that fit below the limit, without empty ones and without empty columns at the borders."""
        rows: list[Sequence[str]] = []
        for row in sheet.rows:
            if not any(row):
                continue
            self._left -= sum(map(len, row)) + 3 * len(row)
            if self._left < 0:
                self._cut.append(sheet.name)
                break
            rows.append(row)
        return _without_borders(rows)


def shown(value: Value) -> str:
    """A cell's value as people see it: whole numbers without a point, dates as ISO 8601 has them."""
    if isinstance(value, str):
        return value if len(value) <= CELL_CHARACTERS_MAX else value[:CELL_CHARACTERS_MAX]
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        # What a spreadsheet shows has at most 15 digits: 0.30000000000000004 is 0.3.
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds").removesuffix(" 00:00:00")
    if isinstance(value, timedelta):
        return _duration(value)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def refuse_range(rows: int, columns: int) -> None:
    """Refuse a sheet whose cells, with all empty ones between them, are more than anybody reads."""
    if rows * columns > USED_CELLS_MAX:
        raise BadInput(f"a sheet of {rows:,} rows and {columns:,} columns", code=FailureCode.TOO_LARGE)


def _table(page: int, name: str, rows: list[Sequence[str]]) -> Table:
    values = [
        (row_number, column, cell.value)
        for row_number, row in enumerate(rows)
        for column, cell in enumerate(row)
        if isinstance(cell, FormattedCell)
    ]
    texts = tuple(tuple(map(str, row)) for row in rows) if values else tuple(map(tuple, rows))
    return Table(page, texts, caption=name, values=tuple(values))


def _without_borders(rows: list[Sequence[str]]) -> list[Sequence[str]]:
    ends = [max(index for index, cell in enumerate(row, 1) if cell) for row in rows]
    width = max(ends, default=0)
    first = 0
    while first < width and not any(len(row) > first and row[first] for row in rows):
        first += 1
    if first == 0 and all(len(row) == width for row in rows):
        return rows
    return [[*row[first:width], *[""] * (width - max(len(row), first))] for row in rows]


def _tables(rows: list[Sequence[str]]) -> list[str]:
    """Tables that are not too long each, under the sheet's first row; the rows are paragraphs in a single column."""
    if len(rows[0]) == 1:
        return ["\n".join(escaped(" ".join(row[0].split())) + "  " for row in rows)]
    head, rule = plain_row(rows[0]), ruler(len(rows[0]))
    repeated = head if len(head) <= HEAD_CHARACTERS_MAX else f"|{'  |' * len(rows[0])}"
    blocks, lines, size = list[str](), [head, rule], 0
    for row in rows[1:]:
        if size > BLOCK_CHARACTERS:
            blocks.append("\n".join(lines))
            lines, size = [repeated, rule], 0
        line = plain_row(row)
        lines.append(line)
        size += len(line)
    return [*blocks, "\n".join(lines)]


def _duration(value: timedelta) -> str:
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
