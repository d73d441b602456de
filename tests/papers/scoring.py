"""Compares the table that a reader found in a made-up document with the truth."""

from collections.abc import Sequence

from tests.papers.made import Made
from webapp.readers.extraction import Table
from webapp.readers.fields.amounts import read_booked
from webapp.readers.fields.dates import read_date


def is_table_right(one: Made, tables: Sequence[Table]) -> bool:
    """Whether a table holds exactly the document's lines, each cell in its column."""
    return any(_lines(one, table) == list(one.lines) for table in tables if set(one.columns) <= set(table.columns))


def _lines(one: Made, table: Table) -> list[tuple[str, ...]]:
    at = {kind: table.columns.index(kind) for kind in one.columns}
    return [tuple(_meaning(one, kind, row[at[kind]]) for kind in one.columns) for row in table.rows[1:]]


def _meaning(one: Made, kind: str, cell: str) -> str:
    if kind == "description":
        # The second line of a description is the reference.
        return next(
            (
                line[one.columns.index(kind)]
                for line in one.lines
                if cell.startswith(f"{line[one.columns.index(kind)]} Ref")
            ),
            cell,
        )
    if kind == "date":
        day = read_date(cell.split())
        return (day.other if one.is_american and day.other else day.day).isoformat() if day else cell
    if kind == "quantity":
        return cell or "1"
    amount = read_booked(cell) if cell else None
    return f"{abs(amount.value) if kind in {'debit', 'credit'} else amount.value:.2f}" if amount else cell
