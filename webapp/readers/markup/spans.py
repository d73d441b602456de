"""Cells of tables that take several places: found as rows come, and counted anew where rows are left out."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

# Spans of a hostile file may cover each other.
PLACES_LOOKED_AT_MAX = 1_000_000
Span = tuple[int, int, int, int]
"""Row and column of the cell, and how many rows and columns it takes."""


class Spans:
    """The cells of one table, row by row."""

    def __init__(self) -> None:
        self._row = -1
        self._cells: list[list[int]] = []
        self._last: dict[int, list[int]] = {}

    def begin_row(self) -> None:
        """The cells that follow are of the next row."""
        self._row += 1

    def cell(self, column: int, width: int = 1, height: int = 1, *, is_continued: bool = False) -> None:
        """A cell, or one that only continues the one above it."""
        above = self._last.get(column)
        if is_continued:
            if above is not None:
                above[2] = self._row - above[0] + 1
            return
        self._last[column] = [self._row, column, height, width]
        self._cells.append(self._last[column])

    def of(self, rows: Sequence[Sequence[str]], width: int) -> tuple[Span, ...]:
        """Those of the cells with text that take several places, where only rows with text are kept, so wide."""
        before = list(accumulate((any(row) for row in rows), initial=0))
        found = []
        for row, column, height, wide in self._cells:
            if (
                (height > 1 or wide > 1)
                and row < len(rows)
                and column < min(width, len(rows[row]))
                and rows[row][column]
            ):
                rows_kept = before[min(row + height, len(rows))] - before[row]
                found.append((before[row], column, rows_kept, min(wide, width - column)))
        return tuple(each for each in found if each[2] * each[3] > 1)


def apart(spans: Iterable[Span], rows: Sequence[Sequence[str]]) -> tuple[Span, ...]:
    """The spans that fit the rows and each other, and hide no text."""
    taken: set[tuple[int, int]] = set()
    kept = []
    left = PLACES_LOOKED_AT_MAX
    for row, column, height, width in spans:
        left -= height * width
        if left < 0 or min(row, column) < 0 or min(height, width) < 1 or row + height > len(rows):
            continue
        if any(column + width > len(rows[each]) for each in range(row, row + height)):
            continue
        places = {(r, c) for r in range(row, row + height) for c in range(column, column + width)}
        if len(places) > 1 and not places & taken and not any(rows[r][c] for r, c in places - {(row, column)}):
            taken |= places
            kept.append((row, column, height, width))
    return tuple(kept)
