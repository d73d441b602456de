"""Accents that a PDF draws apart come back to their letters, and nothing else is changed."""

# ruff: noqa: RUF001 - characters that look alike are what this is about

import pytest

from tests import samples
from tests.readers.conftest import Extract
from webapp.readers.filetypes import PDF
from webapp.readers.pdf.accents import with_accents


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        ("Universita¨t von Mu¨nchen, A¨ rger", "Universität von München, Ärger"),
        ("M¨unchen, Garc¸on, man˜ana, roˆle", "München, Garçon, mañana, rôle"),
        ("Cafe´ a` la carte, A` la mode", "Café à la carte, À la mode"),
        ("na¨ıve, pr´ıncipe, Dvorˇa´k", "naïve, príncipe, Dvořák"),
        ("one\nU¨ ber alles\ntwo", "one\nÜber alles\ntwo"),
    ],
)
def test_accents_come_back(drawn: str, read: str) -> None:
    assert with_accents(drawn) == read


@pytest.mark.parametrize(
    "text",
    ["don´t, he´s, I´m, we´ll, l´homme", "run `make me` or `cafe`", "``quoted''", "x^2 ~ y", "5´ 30\u02dd", "¨ alone ¨",
     "München, déjà", "t¨ x"],
)  # fmt: skip
def test_what_is_no_accent_stays(text: str) -> None:
    assert with_accents(text) == text


def test_a_page_whose_accents_are_drawn_apart(extract: Extract) -> None:
    page = [
        samples.Run(60, 80, "M"),
        samples.Run(69.2, 80, "u"),
        samples.Run(70.4, 80, "¨"),
        samples.Run(75.3, 80, "nchen is a city in the south."),
    ]
    found = extract(samples.pdf([page]), PDF)
    assert found.markdown.split("\n\n")[1:] == ["München is a city in the south."]
    assert found.pages[0].text.strip() == "München is a city in the south."
