"""The sandboxed job that reads CSV and TSV: one table, what its columns hold, and its rows as lines to be found."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.cleaning import CELL_CHARACTERS_MAX
from webapp.readers.data.columns import Column, look_at
from webapp.readers.data.dialect import Dialect, find_dialect
from webapp.readers.extraction import DATA_VECTORS_MAX, Extraction
from webapp.readers.markup.markdown import table, table_row
from webapp.readers.markup.writer import paragraph
from webapp.readers.text import read_text
from webapp.sandbox.child import Report

NAME = "local"
CELLS_MAX = 3_000_000
COLUMNS_MAX = 1_000
LINE_CHARACTERS_MAX = FIELD_CHARACTERS_MAX = 2_000_000
ROWS_PER_BLOCK = 100
NAMES_IN_TITLE = 6
CUT = "The table is longer than what is read: the first {rows:,} of its rows are here."
NARROWED = f"The table has more than {COLUMNS_MAX:,} columns; the others were left out."
SHORTENED = f"Cells of more than {CELL_CHARACTERS_MAX:,} characters were shortened."
BROKEN_QUOTES = "A quotation mark is never closed, so all quotation marks were read as letters."
_SEPARATOR = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces", "^": "^", "~": "~"}


@dataclass(frozen=True)
class _Read:
    """A table's cells, and what was wrong with them."""

    rows: list[list[str]]
    warnings: list[str]


def parse_csv(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the table at `source`; the answer is an Extraction as plain data."""
    text, warnings = read_text(arguments)
    said = _SEPARATOR.match(text)
    text = text[said.end() :] if said else text
    csv.field_size_limit(FIELD_CHARACTERS_MAX)
    dialect = Dialect(said[1]) if said else find_dialect(text, promised=str(arguments.get("delimiter") or ""))
    report.progress(0.2)
    read = _read(text, dialect)
    if not read.rows:
        raise BadInput("nothing but signs between cells", code=FailureCode.NO_TEXT)
    report.progress(0.5)
    before, rows = _without_preamble(read.rows)
    names, body = _named(rows)
    columns = [look_at(name, cells) for name, cells in zip(names, _columns(body, len(names)), strict=True)]
    report.progress(0.7)
    extraction = Extraction(
        extractor=NAME,
        version="",
        markdown=_markdown(before, columns, body, dialect),
        title="",
        partial=any(each != BROKEN_QUOTES for each in read.warnings),
        warnings=(*warnings, *read.warnings),
        vectors_max=DATA_VECTORS_MAX,
    )
    # The table not by way of `asdict`, which would copy each of a million cells deeply.
    return asdict(extraction) | {"tables": [{"page": None, "rows": [names, *body], "caption": None}]}


def _read(text: str, dialect: Dialect) -> _Read:
    if dialect.delimiter and max(map(len, StringIO(text, newline="\n"))) > LINE_CHARACTERS_MAX:
        raise BadInput("a line is too long to be a row of a table", code=FailureCode.TOO_LARGE)
    try:
        read = _cells(text, dialect)
    except csv.Error:
        read = None
    # One cell that holds a good part of all lines is not what anybody meant.
    if read is None or any(cell.count("\n") > ROWS_PER_BLOCK for row in read.rows[-3:] for cell in row):
        again = _cells(text, Dialect(dialect.delimiter, ""))
        return _Read(again.rows, [*again.warnings, BROKEN_QUOTES])
    return read


def _cells(text: str, dialect: Dialect) -> _Read:
    rows: list[list[str]] = []
    left, warnings = CELLS_MAX, dict[str, None]()
    for row in dialect.rows(StringIO(text, newline="\n")):
        if not any(row):
            continue
        if len(row) > COLUMNS_MAX:
            warnings[NARROWED] = None
        left -= min(len(row), COLUMNS_MAX)
        if left < 0:
            warnings[CUT.format(rows=len(rows))] = None
            break
        if max(map(len, row)) > CELL_CHARACTERS_MAX:
            warnings[SHORTENED] = None
        rows.append([cell.strip()[:CELL_CHARACTERS_MAX] for cell in row[:COLUMNS_MAX]])
    return _Read(rows, list(warnings))


def _without_preamble(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Lines above the table, such as a report's name, and the rows, all equally wide."""
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    start = next((n for n, row in enumerate(rows) if sum(map(bool, row)) > 1 or width == 1), 0)
    before = [" ".join(filter(None, row)) for row in rows[:start]]
    rows = rows[start:]
    widest = max(map(len, rows))
    return before, [row + [""] * (widest - len(row)) for row in rows]


def _named(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the rows under them; numbers where the first row holds no names."""
    first, rest = rows[0], rows[1:]
    filled = [cell for cell in first if cell]
    is_heading = bool(rest) and len(set(filled)) == len(filled) >= 0.5 * len(first)
    is_heading = is_heading and not any(look_at("", [cell]).counts or len(cell) > 200 for cell in filled)
    names = [cell or f"Column {n}" for n, cell in enumerate(first, 1)]
    if is_heading:
        return [" ".join(name.split()) for name in names], rest
    return [f"Column {n}" for n in range(1, len(first) + 1)], rows


def _columns(rows: Sequence[Sequence[str]], count: int) -> Iterator[Sequence[str]]:
    for number in range(count):
        yield [row[number] for row in rows]


def _title(names: Sequence[str]) -> str:
    more = ", …" if len(names) > NAMES_IN_TITLE else ""
    return f"Table: {', '.join(name[:40] for name in names[:NAMES_IN_TITLE])}{more}"


def _markdown(before: list[str], columns: list[Column], rows: list[list[str]], dialect: Dialect) -> str:
    names = [column.name for column in columns]
    parted = f", separated by {_NAMES.get(dialect.delimiter, dialect.delimiter)}" if len(names) > 1 else ""
    count = f"{len(rows):,} {'rows' if len(rows) != 1 else 'row'} of {len(names):,} columns{parted}."
    listed = "\n".join(f"- {_cell(column.name)}: {_cell(column.about)}" for column in columns)
    blocks = [f"# {_cell(_title(names))}", paragraph("\n".join(before)), count, f"## Columns\n\n{listed}"]
    heading = table_row([_cell(name) for name in names])
    for start in range(0, len(rows), ROWS_PER_BLOCK):
        part = rows[start : start + ROWS_PER_BLOCK]
        lines = table([heading, *(table_row([_cell(cell) for cell in row]) for row in part)], len(names))
        blocks.append(f"## Rows {start + 1:,} to {start + len(part):,}\n\n{lines}")
    return "\n\n".join(block for block in blocks if block)


def _cell(text: str) -> str:
    """A cell on one line."""
    if text.isalnum():
        return text
    return paragraph(text.replace("\n", " "))
