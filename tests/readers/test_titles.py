"""What is a title, and what a program, a file name or a table of contents left there."""

import pytest

from webapp.readers.creation import day_of_creation
from webapp.readers.titles import chosen_title, guessed_title, title_of


@pytest.mark.parametrize(
    "said",
    [
        None, "", " . ", "(anonymous)", "Untitled", "untitled 3", "Document1", "Microsoft Word - x.doc", "Scan 0001",
        "Microsoft Word - Annual report.docx", "thesis-final.tex", "letter.pdf", "«»", "<unknown>", "Без названия",
    ],
)  # fmt: skip
def test_what_nobody_chose_is_no_title(said: str | None) -> None:
    assert chosen_title(said) is None


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("  The  harbour ", "The harbour"),
        ("Microsoft Word - Annual report", "Annual report"),
        ("Untitled portraits", "Untitled portraits"),
        ("Contents of the harbour", "Contents of the harbour"),
        ("Version 2.1", "Version 2.1"),
    ],
)
def test_what_somebody_chose_is_a_title(said: str, title: str) -> None:
    assert chosen_title(said) == title
    assert title_of(said, "# Something else") == (title, False)


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("Rental agreement", "Rental agreement"),
        ("Table of contents", None),
        ("Inhaltsverzeichnis:", None),
        ("1 Introduction . . . . . . 3", None),
        ("1 Introduction ........ 3", None),
        ("Chapter 1\u2026\u2026\u2026 12", None),
        ("notes.txt", None),
        ("INVOICE", None),
        ("Receipt number 2026/27572 Date of sale: February 10, 2025 18:15 Served by: Kim", None),
        ("Part 1: the years 2025 and 2026", "Part 1: the years 2025 and 2026"),
        ("Lines of a form " * 8, None),
        ("And so on ...", "And so on ..."),
    ],
)
def test_a_first_heading_is_a_guess(heading: str, title: str | None) -> None:
    assert guessed_title(f"## {heading}\n\nText\n\n# Later heading") == title
    assert title_of("(anonymous)", f"## {heading}") == (title, title is not None)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("D:20260304112233+01'00'", "2026-03-04"),
        ("D:20260304", "2026-03-04"),
        ("2026-03-04T11:22:33Z", "2026-03-04"),
        ("2026-03-04 11:22+01:00", "2026-03-04"),
        ("D:20261304", None),
        ("D:19700101000000Z", None),
        ("2013-12-23T23:15:00Z", None),
        ("1601-01-01 00:00:00", None),
        ("4 March 2026", None),
        ("", None),
        (None, None),
    ],
)
def test_the_day_of_creation(said: str | None, day: str | None) -> None:
    assert day_of_creation(said) == day
