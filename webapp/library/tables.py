"""The tables of a document as everybody sees them: what was found, with the cells that people corrected.

A correction belongs to the cell in the same table and column whose row has the same other cells as when it was made,
so that it finds its row where others came before it, and is never put on another one. Rows that are the same but for
this cell are told by their order, as long as their number stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import select

from webapp.db import session
from webapp.documents.correction_model import Correction
from webapp.documents.model import DocumentTable
from webapp.library import corrections
from webapp.library.corrections import Target
from webapp.readers.markup.spans import Span, apart

Cell = tuple[int, int]


@dataclass(frozen=True)
class ShownTable:
    """A table with its corrected cells. `number` counts from 1, rows and columns from 0; row 0 is the heading."""

    number: int
    ordinal: int
    page: int | None
    caption: str | None
    rows: Sequence[Sequence[str]]
    columns: Sequence[str]
    """What each column holds, where that is known."""
    values: Sequence[Sequence[Any]]
    """Row, column and value of each cell that is shown in another way than its value."""
    said: Mapping[Cell, Correction] = field(default_factory=dict)
    """The corrections by their cells."""
    found: Mapping[Cell, str] = field(default_factory=dict)
    """What was found in these cells."""
    spans: Sequence[Span] = ()
    """The cells that take several places, but for those that would hide what a person typed."""

    def column_type(self, column: int) -> str | None:
        """What a column holds, where that is known."""
        return self.columns[column] if column < len(self.columns) else None

    def has(self, cell: Cell) -> bool:
        """Whether it has such a cell."""
        row, column = cell
        return 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row])


@dataclass(frozen=True)
class ShownTables:
    """The tables of a document, and the corrections whose cells are no longer found."""

    tables: Sequence[ShownTable]
    lost: Sequence[Correction] = ()

    def get(self, number: int) -> ShownTable | None:
        """The table with this number, from 1."""
        return self.tables[number - 1] if 1 <= number <= len(self.tables) else None


def of_document(org_id: UUID, document_id: UUID) -> ShownTables:
    """The tables of a document, in its order."""
    asked = select(DocumentTable).where(DocumentTable.org_id == org_id, DocumentTable.document_id == document_id)
    found = session().scalars(asked.order_by(DocumentTable.ordinal)).all()
    return merged(found, corrections.of_document(org_id, document_id, Target.CELL))


def merged(found: Sequence[DocumentTable], said: Sequence[Correction]) -> ShownTables:
    """What was found with what people say of its cells."""
    by_cell: dict[int, dict[Cell, Correction]] = {}
    lost = []
    for each in said:
        cell = _cell_of(found[each.nth].rows, each) if each.nth < len(found) else None
        known = by_cell.setdefault(each.nth, {})
        if cell is None or cell in known:
            lost.append(each)
        else:
            known[cell] = each
    return ShownTables([_shown(at, each, by_cell.get(at, {})) for at, each in enumerate(found)], lost)


def place_of(document: Mapping[str, UUID], found: Sequence[Sequence[str]], number: int, cell: Cell) -> dict[str, Any]:
    """What a correction of a cell is found again by: `found` are the rows as they were found."""
    row, column = cell
    return {
        **document,
        "target": Target.CELL,
        "name": _heading(found, column),
        "nth": number - 1,
        "row_number": row,
        "column_number": column,
        "neighbours": [*_order(found, row, column), *_neighbours(found[row], column)],
    }


def found_rows(table: ShownTable) -> list[list[str]]:
    """The rows as they were found."""
    rows = [list(row) for row in table.rows]
    for (row, column), text in table.found.items():
        rows[row][column] = text
    return rows


def _cell_of(rows: Sequence[Sequence[str]], said: Correction) -> Cell | None:
    """Where the cell of a correction is now."""
    column, row = said.column_number or 0, said.row_number or 0
    order, count, *neighbours = said.neighbours or [0, 0]
    if row == 0:
        # A heading is recognised by the others.
        is_same = bool(rows) and column < len(rows[0]) and _neighbours(rows[0], column) == neighbours
        return (0, column) if is_same else None
    if _heading(rows, column) != said.name:
        return None
    if not any(neighbours):
        # Nothing tells its row from others but its place and what was found there.
        is_same = row < len(rows) and column < len(rows[row]) and rows[row][column] == said.found
        return (row, column) if is_same and _neighbours(rows[row], column) == neighbours else None
    same = _same(rows, column, neighbours)
    return (same[order], column) if len(same) == count else None


def _same(rows: Sequence[Sequence[str]], column: int, neighbours: Sequence[str]) -> list[int]:
    """The rows below the heading with these other cells."""
    return [
        at for at, row in enumerate(rows) if at and column < len(row) and _neighbours(row, column) == list(neighbours)
    ]


def _order(rows: Sequence[Sequence[str]], row: int, column: int) -> tuple[int, int]:
    """How many rows with the same other cells are before it, and how many there are."""
    same = _same(rows, column, _neighbours(rows[row], column))
    return sum(at < row for at in same), len(same)


def _neighbours(row: Sequence[str], column: int) -> list[str]:
    return [text for at, text in enumerate(row) if at != column]


def _heading(rows: Sequence[Sequence[str]], column: int) -> str:
    return rows[0][column] if rows and column < len(rows[0]) else ""


def _shown(at: int, table: DocumentTable, said: Mapping[Cell, Correction]) -> ShownTable:
    rows = [list(row) for row in table.rows]
    found = {(row, column): rows[row][column] for row, column in said}
    for (row, column), each in said.items():
        rows[row][column] = each.value or ""
    return ShownTable(
        number=at + 1,
        ordinal=table.ordinal,
        page=table.page,
        caption=table.caption,
        rows=rows,
        columns=table.columns or (),
        values=[each for each in table.values or () if (each[0], each[1]) not in said],
        said=said,
        found=found,
        spans=apart(((a, b, c, d) for a, b, c, d in table.spans or ()), rows),
    )
