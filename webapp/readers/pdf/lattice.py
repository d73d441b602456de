"""Reads a table with drawn lines by these lines: cells over several rows or columns come out whole.

The layout's parser takes a cell over several rows for one row of its own height, and puts what is beside it together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

# How far apart lines may be that are one, and how thick a line is at most, in points.
_NEAR, _THICK_MAX = 3.0, 3.0
# A drawing has more lines than any table.
_LINES_MAX = 5_000
_NO_CELL = (-1, -1)


@dataclass(frozen=True, slots=True)
class Line:
    """A line from `start` to `end` at `at`: of a horizontal one x, x and y, of a vertical one y, y and x."""

    start: float
    end: float
    at: float


@dataclass(frozen=True, slots=True)
class Lines:
    """The straight lines of a page."""

    horizontal: tuple[Line, ...] = ()
    vertical: tuple[Line, ...] = ()


def lines_of(page: Any) -> Lines:
    """The lines of a page that liteparse read with its graphics; thin and framed rectangles are lines, too."""
    boxes = [(line.x1, line.y1, line.x2, line.y2) for line in page.vector_graphics.lines]
    for shape in page.vector_graphics.shapes:
        x, y, width, height = shape.bbox
        right, bottom = x + width, y + height
        if min(width, height) <= _THICK_MAX:
            boxes.append((x, y, right, bottom))
        elif shape.stroke:
            boxes += [(x, y, right, y), (x, bottom, right, bottom), (x, y, x, bottom), (right, y, right, bottom)]
    if len(boxes) > _LINES_MAX:
        return Lines()
    flat = [box for box in boxes if abs(box[3] - box[1]) <= _THICK_MAX]
    steep = [box for box in boxes if abs(box[2] - box[0]) <= _THICK_MAX < abs(box[3] - box[1])]
    return Lines(
        tuple(Line(min(x, right), max(x, right), min(y, bottom)) for x, y, right, bottom in flat),
        tuple(Line(min(y, bottom), max(y, bottom), min(x, right)) for x, y, right, bottom in steep),
    )


def read_by_lines(box: Any, words: Iterable[Any], lines: Lines) -> list[list[str]] | None:
    """The rows of the table in this box: a cell's text is in its first row and column, the others are empty.

    None where the lines make no table: some are missing, or a cell is no rectangle.
    """
    left, top, right, bottom = box.x - _NEAR, box.y - _NEAR, box.x + box.width + _NEAR, box.y + box.height + _NEAR
    across = [each for each in lines.horizontal if top <= each.at <= bottom and _meets(each, left, right)]
    down = [each for each in lines.vertical if left <= each.at <= right and _meets(each, top, bottom)]
    rows, columns = _places(across), _places(down)
    if len(rows) < 3 or len(columns) < 3:
        return None
    firsts = _first_cells(rows, columns, across, down)
    if firsts is None:
        return None
    found: dict[tuple[int, int], list[Any]] = {}
    for word in words:
        row, column = _index(rows, _middle(word.y, word.height)), _index(columns, _middle(word.x, word.width))
        if row is not None and column is not None:
            found.setdefault(firsts[row][column], []).append(word)
    texts = {place: _text(inside) for place, inside in found.items()}
    return [
        [texts.get((row, column), "") if first == (row, column) else "" for column, first in enumerate(line)]
        for row, line in enumerate(firsts)
    ]


def _meets(line: Line, low: float, high: float) -> bool:
    return line.start <= high and line.end >= low


def _places(lines: Sequence[Line]) -> list[float]:
    """Where there are lines; those that are near each other are one."""
    places: list[float] = []
    for at in sorted(each.at for each in lines):
        if not places or at - places[-1] > _NEAR:
            places.append(at)
    return places


def _first_cells(
    rows: Sequence[float], columns: Sequence[float], across: Sequence[Line], down: Sequence[Line]
) -> list[list[tuple[int, int]]] | None:
    """For each field of the grid the first one of its cell. None where a cell is no rectangle."""
    below = _drawn(rows, columns, across)
    beside = _drawn(columns, rows, down)
    if not all(below[0]) or not all(beside[0]) or not all(below[-1]) or not all(beside[-1]):
        return None
    height, width = len(rows) - 1, len(columns) - 1
    firsts: list[list[tuple[int, int]]] = [[_NO_CELL] * width for _ in range(height)]
    for row, column in product(range(height), range(width)):
        if firsts[row][column] != _NO_CELL:
            continue
        last_column = next(end for end in range(column, width) if beside[end + 1][row])
        last_row = next(end for end in range(row, height) if below[end + 1][column])
        inside = list(product(range(row, last_row + 1), range(column, last_column + 1)))
        is_closed = all(below[last_row + 1][x] and beside[last_column + 1][y] for y, x in inside)
        is_cut = any(below[y + 1][x] for y, x in inside if y < last_row)
        is_cut |= any(beside[x + 1][y] for y, x in inside if x < last_column)
        if is_cut or not is_closed or any(firsts[y][x] != _NO_CELL for y, x in inside):
            return None
        for y, x in inside:
            firsts[y][x] = (row, column)
    return firsts


def _drawn(places: Sequence[float], others: Sequence[float], lines: Sequence[Line]) -> list[list[bool]]:
    """At each place, between each two neighbours of the others: whether a line is drawn there."""
    found = []
    for place in places:
        here = [line for line in lines if place <= line.at <= place + _NEAR]
        middles = [(low + high) / 2 for low, high in pairwise(others)]
        found.append([any(line.start <= middle <= line.end for line in here) for middle in middles])
    return found


def _index(places: Sequence[float], at: float) -> int | None:
    return next((index for index, (low, high) in enumerate(pairwise(places)) if low <= at < high), None)


def _middle(start: float, length: float) -> float:
    return float(start + length / 2)


def _text(words: Sequence[Any]) -> str:
    """The words of a cell, line by line."""
    lines: list[list[Any]] = []
    for word in sorted(words, key=lambda each: _middle(each.y, each.height)):
        if lines and _middle(word.y, word.height) - _middle(lines[-1][0].y, lines[-1][0].height) < word.height / 2:
            lines[-1].append(word)
        else:
            lines.append([word])
    return " ".join(word.text for line in lines for word in sorted(line, key=lambda each: each.x))
