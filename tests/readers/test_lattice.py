"""A table is read by its lines, or not at all where they make none."""

from dataclasses import dataclass

import pytest

from webapp.readers.pdf.lattice import Line, Lines, read_by_lines


@dataclass
class Box:
    x: float
    y: float
    width: float
    height: float
    text: str = ""


TABLE = Box(0, 0, 90, 60)
ROWS, COLUMNS = (0, 20, 40, 60), (0, 30, 60, 90)
WORDS = [
    Box(5 + 30 * column, 5 + 20 * row, 10, 10, f"{row}{column}") for row in range(3) for column in range(3)
]  # fmt: skip


def grid(*, without_across: tuple[tuple[int, int], ...] = (), without_down: tuple[tuple[int, int], ...] = ()) -> Lines:
    """Three by three cells. Left out are lines at a place, along one of the three fields."""
    across = [
        Line(30 * x, 30 * x + 30, y) for i, y in enumerate(ROWS) for x in range(3) if (i, x) not in without_across
    ]
    down = [Line(20 * y, 20 * y + 20, x) for i, x in enumerate(COLUMNS) for y in range(3) if (i, y) not in without_down]
    return Lines(tuple(across), tuple(down))


def test_each_cell_is_where_its_lines_are() -> None:
    assert read_by_lines(TABLE, WORDS, grid()) == [["00", "01", "02"], ["10", "11", "12"], ["20", "21", "22"]]


def test_a_cell_over_rows_and_one_over_columns_are_whole() -> None:
    lines = grid(without_across=((1, 0), (2, 0)), without_down=((2, 0),))
    found = read_by_lines(TABLE, WORDS, lines)
    assert found == [["00 10 20", "01 02", ""], ["", "11", "12"], ["", "21", "22"]]


def test_lines_of_a_cell_are_read_one_after_the_other() -> None:
    words = [Box(12, 10, 8, 4, "last"), Box(2, 10, 8, 4, "the"), Box(2, 4, 8, 4, "of"), Box(200, 4, 8, 4, "outside")]
    found = read_by_lines(TABLE, words, grid())
    assert found is not None
    assert found[0][0] == "of the last"


@pytest.mark.parametrize(
    "lines",
    [
        Lines(),
        grid(without_across=((1, 0),), without_down=((1, 0),)),
        grid(without_across=((0, 1),)),
        grid(without_down=((3, 2),)),
        Lines(grid().horizontal, ()),
    ],
    ids=["none", "a corner", "open on top", "open at the side", "no columns"],
)
def test_what_is_no_table_is_left_as_it_was(lines: Lines) -> None:
    assert read_by_lines(TABLE, WORDS, lines) is None
