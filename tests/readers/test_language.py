"""The language of each page, and of most of a document's text."""

# ruff: noqa: RUF001 - letters of other alphabets are the point here

import pytest

from tests import local_providers
from webapp.providers.local.languages import LocalLanguages
from webapp.readers.extraction import Extraction, Page
from webapp.readers.language import with_languages

ENGLISH = "The keeper of the lighthouse was in the tower when the storm came from the sea. "
GERMAN = "Der Wärter war in der Nacht auf dem Turm, als der Sturm von der See kam. "
RUSSIAN = "Смотритель маяка был в башне, когда буря пришла с моря. "


@pytest.fixture(scope="module")
def teller() -> LocalLanguages:
    return local_providers.language_teller()


def named(teller: LocalLanguages, *pages: str, declared: str | None = None, markdown: str = "") -> Extraction:
    numbered = tuple(Page(number, text) for number, text in enumerate(pages, 1))
    extraction = Extraction("", "", markdown, pages=numbered, language=declared)
    return with_languages(extraction, teller.language_of, teller.known)


def test_each_page_has_its_own_and_the_document_that_of_most_text(teller: LocalLanguages) -> None:
    found = named(teller, ENGLISH, GERMAN * 5, "42", RUSSIAN * 2)
    assert [page.language for page in found.pages] == ["en", "de", None, "ru"]
    assert found.language == "de"


def test_a_text_without_pages_is_looked_at_all_over(teller: LocalLanguages) -> None:
    assert named(teller, markdown=ENGLISH * 40 + GERMAN * 400).language == "de"


def test_pages_that_say_little_say_more_together(teller: LocalLanguages) -> None:
    found = named(teller, "Der alte Wärter", "auf dem Turm", "in der Nacht")
    assert ([page.language for page in found.pages], found.language) == ([None] * 3, "de")


def test_the_text_counts_more_than_what_the_file_says_of_itself(teller: LocalLanguages) -> None:
    assert named(teller, GERMAN, declared="en").language == "de"
    assert named(teller, "17 18", declared="en").language == "en"
    # None of those that are told apart: the file knows better.
    assert (
        named(teller, "Custos turris in nocte tempestatem maris vidit et lampadem accendit.", declared="la").language
        == "la"
    )


def test_nothing_is_guessed_of_nothing(teller: LocalLanguages) -> None:
    assert named(teller, "17", "").language is None
    assert named(teller, markdown="").language is None
