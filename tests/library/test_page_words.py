"""Marks on the picture of a page, from words with their places."""

import pytest

from webapp.library.page_words import PlacedPage
from webapp.readers.extraction import Word
from webapp.readers.pictures.words_file import WordsOfPage


@pytest.mark.parametrize(
    ("turned", "box"),
    [(0, (10, 20, 30, 5)), (90, (175, 10, 5, 30)), (180, (60, 175, 30, 5)), (270, (20, 60, 5, 30))],
    ids=["upright", "left", "upside down", "right"],
)
def test_marks_follow_the_picture_of_a_turned_scan(turned: int, box: tuple[float, ...]) -> None:
    word = Word("Harbour", 1.0, (10, 20, 40, 20, 40, 25, 10, 25))
    marks = PlacedPage(WordsOfPage(1, 100, 200, turned, (word,))).marks(["harbour"])
    assert marks is not None
    [line] = marks.lines
    assert (line.x, line.y, line.width, line.height) == box
    assert (marks.width, marks.height) == ((100, 200) if turned % 180 == 0 else (200, 100))


def test_a_word_that_was_looked_for_is_marked_whatever_its_case_and_accents() -> None:
    place = (10, 20, 40, 20, 40, 25, 10, 25)
    page = WordsOfPage(1, 100, 200, 0, (Word("München,", 1.0, place), Word("Hafen", 1.0, place)))
    for typed in ("münchen", "MUNCHEN", "München"):
        marks = PlacedPage(page).marks(["munchen", "hafen"], [typed])
        assert marks is not None
        assert len(marks.words) == 1, typed


@pytest.mark.parametrize(("turned", "box"), [(0, (10, 20, 30, 10)), (180, (60, 170, 30, 10))])
def test_the_box_of_a_field_is_turned_with_its_page(turned: int, box: tuple[float, ...]) -> None:
    page = PlacedPage(WordsOfPage(1, 100, 200, turned, (Word("a", None, (0, 0, 1, 0, 1, 1, 0, 1)),)))
    found = page.outline((10, 20, 40, 20, 40, 30, 10, 30))
    assert found
    [line] = found.lines
    assert (line.x, line.y, line.width, line.height) == box
    assert page.outline((10, 20, 140, 20, 140, 30, 10, 30)) is None, "it is not on the page"
