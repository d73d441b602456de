"""Phrases are found word for word, first, and across passages; operators are obeyed."""

from tests.search.conftest import only_sqlite
from tests.search.passages import Searcher, new_document, put

LETTER = "You must give two months written notice before the lease ends. Pay rent to jane.doe@example.org."
LICENCE = "A written licence of two pages notes months of notice, and every licence is written in months of two."


def found(searcher: Searcher, text: str) -> list[str]:
    return [hit.text for hit in searcher.by_words(text)]


def shelve(searcher: Searcher, *texts: str) -> None:
    put(searcher.org_id, new_document(searcher.org_id), texts)


def test_a_phrase_is_these_words_in_this_order_and_form(searcher: Searcher) -> None:
    shelve(searcher, LICENCE, LETTER, "Two month terms, and months two.")

    assert found(searcher, '"two months"') == [LETTER]
    assert found(searcher, '"TWO   Months written"') == [LETTER]
    assert found(searcher, '"months two"') == ["Two month terms, and months two."]
    assert found(searcher, '"notice months"') == []


def test_a_phrase_is_found_across_two_passages(searcher: Searcher) -> None:
    one, other = "The keeper lights the lamp at seven and", "climbs down the narrow stairs before midnight."
    shelve(searcher, "Seven lamps and stairs.", one, other, "The narrow stairs and the lamp.")

    assert [hit.text for hit in searcher.by_both('"seven and climbs down the"')][:2] == [one, other]
    for phrase in ('"lamp at seven and climbs"', '"and climbs down the narrow"', '"seven and climbs down the"'):
        assert found(searcher, phrase)[:2] == [one, other]
    assert found(searcher, '"and climbs"')[:2] == [one, other]
    assert found(searcher, '"and climbs up the narrow"') == []

    # Also beside a word that need not be there.
    assert found(searcher, '"seven and climbs down the" stairs')[:2] == [one, other]


def test_passages_of_different_documents_do_not_follow_each_other(searcher: Searcher) -> None:
    shelve(searcher, "The keeper lights the lamp at seven and")
    shelve(searcher, "climbs down the narrow stairs.")

    assert found(searcher, '"lamp at seven and climbs down"') == []


def test_a_sentence_without_quotation_marks_comes_first_too(searcher: Searcher) -> None:
    shelve(searcher, LICENCE, "Months of written notice: two. " + LICENCE, LETTER)

    assert found(searcher, "two months written notice")[0] == LETTER


def test_all_words_come_before_some(searcher: Searcher) -> None:
    some = [f"Service of systems, service at start {number}, service service." for number in range(5)]
    both = "The boiler on the second floor, of the make that we know, had its yearly service."
    shelve(searcher, *some, both, "Boiler.")

    assert found(searcher, "boiler service")[0] == both
    assert searcher.by_both("boiler service")[0].text == both
    assert len(found(searcher, "boiler service")) == 7


def test_marks_of_markdown_make_no_difference_to_a_phrase(searcher: Searcher) -> None:
    shelve(searcher, "Die **Kündigung** der [Wohnung](https://example.org/x) ist möglich.")

    assert len(found(searcher, '"Kündigung der Wohnung ist möglich"')) == 1
    assert len(found(searcher, '"Kündigung der Wohnung"')) == 1


@only_sqlite
def test_accents_may_be_left_out(searcher: Searcher) -> None:
    shelve(searcher, "Die Kündigung ist möglich.")

    assert len(found(searcher, '"kundigung ist moglich"')) == 1


def test_what_is_excluded_is_not_found(searcher: Searcher) -> None:
    shelve(searcher, "Soup of the day.", "Soup of the night, a draft.")

    assert found(searcher, "soup -draft") == ["Soup of the day."]
    assert found(searcher, 'soup -"of the night"') == ["Soup of the day."]
    assert [hit.text for hit in searcher.by_both("soup -draft")] == ["Soup of the day."]
    assert found(searcher, '"soup of" -draft') == ["Soup of the day."]
    assert found(searcher, "-draft") == []


def test_alternatives_and_beginnings_must_be_there(searcher: Searcher) -> None:
    texts = ["The lease ends.", "The tenancy ends.", "The invoice ends.", "The day ends."]
    shelve(searcher, *texts)

    assert set(found(searcher, "ends lease OR tenancy")) == set(texts[:2])
    assert found(searcher, "ends invoi*") == [texts[2]]
    assert set(found(searcher, '"the day" OR lea*')) == {texts[0], texts[3]}
    assert [hit.text for hit in searcher.by_both("ends invoi*")] == [texts[2]]


def test_an_address_a_number_and_a_rare_name_come_first(searcher: Searcher) -> None:
    others = [f"Please pay invoice RE-2026-{number} to john.roe@example.org by return of post." for number in range(30)]
    number = "Our reference: RE-2026-0417, see below."
    name = "Signed: Quillfeather."
    shelve(searcher, *others, number, name, LETTER)

    assert found(searcher, "RE-2026-0417")[0] == number
    assert found(searcher, "invoice RE-2026-0417")[0] == number
    assert found(searcher, "jane.doe@example.org")[0] == LETTER
    assert found(searcher, "who is Quillfeather")[0] == name


def test_pages_of_hits_follow_each_other(searcher: Searcher) -> None:
    shelve(searcher, *(f"soup number {number}" for number in range(30)))
    every = [hit.chunk_id for hit in searcher.by_words("soup", limit=30)]

    assert len(every) == 30
    assert [hit.chunk_id for hit in searcher.by_words("soup", limit=12, start=12)] == every[12:24]


def test_a_phrase_that_many_passages_have_finds_them_all(searcher: Searcher) -> None:
    reports = [f"The annual report of the year {number}." for number in range(600)]
    right = "A zebra was seen, says an annual report that is longer than any of the others."
    shelve(searcher, *reports, right)

    assert found(searcher, '"annual report" zebra')[0] == right
    assert searcher.by_both('"annual report" zebra')[0].text == right
    assert len(searcher.by_words('"annual report"', limit=1000)) == 601
    # Without the phrase nothing is found, however near it is.
    assert found(searcher, '"report annual" zebra') == []
    assert searcher.by_both('"report annual" zebra') == []
