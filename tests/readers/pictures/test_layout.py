"""The lines of a page are put in the order in which people read them."""

import numpy as np
import pytest

from webapp.readers.pictures.layout import lay_out, words_of
from webapp.readers.pictures.letters import ReadLine, ReadWord
from webapp.readers.pictures.lines import LineBox
from webapp.readers.pictures.page import PlacedLine, ReadPicture

LETTER, HEIGHT = 10.0, 20.0


def line(text: str, x: float, y: float, height: float = HEIGHT) -> PlacedLine:
    """A line of letters that are all as wide; its words share its length."""
    width = LETTER * len(text) * height / HEIGHT
    corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])
    words, at = [], 0
    for word in text.split():
        words.append(ReadWord(word, 0.99, at / len(text), (at + len(word)) / len(text)))
        at += len(word) + 1
    return PlacedLine(LineBox(corners), ReadLine(tuple(words)))


def turned(lines: list[PlacedLine], degrees: float) -> list[PlacedLine]:
    angle = np.radians(degrees)
    by = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return [PlacedLine(LineBox(each.place.corners @ by), each.line) for each in lines]


def read(lines: list[PlacedLine]) -> ReadPicture:
    """A page whose lines were found in no order."""
    shuffled = [lines[index] for index in np.random.default_rng(3).permutation(len(lines))]
    return ReadPicture(tuple(shuffled), (1200, 1700))


def columns() -> list[PlacedLine]:
    left = [line(f"left line {number} of the column", 50, 200 + 30 * number) for number in range(6)]
    right = [line(f"right line {number} of the column", 450, 207 + 30 * number) for number in range(6)]
    title = line("A title over both of the columns, on its own line", 50, 100)
    return [title, *left, *right, line("And a line under both of them, on its own as well", 50, 500)]


@pytest.mark.parametrize("degrees", [-3.0, 0.0, 3.0])
def test_columns_are_read_one_after_the_other(degrees: float) -> None:
    lines = columns()
    assert lay_out(read(turned(lines, degrees))).text == "\n".join(each.line.text for each in lines)


def test_a_label_and_its_value_stay_together() -> None:
    rows = [(f"Label {number}", f"{number}.00") for number in range(6)]
    lines = [
        line(text, 50 + 500 * place, 100 + 40 * number)
        for number, row in enumerate(rows)
        for place, text in enumerate(row)
    ]
    assert lay_out(read(lines)).text == "\n".join(" ".join(row) for row in rows)


def test_large_letters_make_headings_and_space_makes_paragraphs() -> None:
    lines = [
        line("The harbour", 50, 50, 45),
        line("The harbour opens at seven o'clock, and ships", 50, 150),
        line("wait outside the break-", 50, 175),
        line("water.", 50, 200),
        line("Dues are paid once for each visit.", 50, 250),
        line("• Boats of members pay nothing", 50, 300),
        line("2. Fees * of 2026 <b>", 50, 330),
    ]
    assert lay_out(read(lines)).markdown.split("\n\n") == [
        "# The harbour",
        "The harbour opens at seven o'clock, and ships wait outside the breakwater.",
        "Dues are paid once for each visit.",
        "- Boats of members pay nothing",
        "2. Fees \\* of 2026 \\<b>",
    ]


def test_a_page_mark_on_paper_is_only_text() -> None:
    assert "<!-- page" not in lay_out(read([line("<!-- page 7 -->", 50, 50)])).markdown


def test_nothing_is_nothing() -> None:
    assert lay_out(read([])).text == lay_out(read([])).markdown == ""


def test_words_come_in_reading_order_in_points() -> None:
    words = words_of(read([line("first row", 100, 100), line("second", 100, 140)]), 0.5)
    assert [word.text for word in words] == ["first", "row", "second"]
    assert words[0].polygon == (50.0, 50.0, 75.0, 50.0, 75.0, 60.0, 50.0, 60.0)
