"""Finding by words: what is typed is words, never syntax."""

import pytest

from tests.search.conftest import only_sqlite
from tests.search.passages import Searcher, new_document, new_org, put
from webapp.db import reading
from webapp.search.grammar import Mistake, parse
from webapp.search.query import search
from webapp.search.scope import SearchScope
from webapp.search.wanted import wanted_of
from webapp.search.words import TERMS_MAX, query_words

HOSTILE = [
    '"', "'", '"unclosed', "a AND", "OR OR", "NOT x", "NEAR(a b, 3)", "text:recipe", "heading : x", "a*", "^start",
    "-minus", "+plus", "(", ")", "a)(b", "{x y}: z", "a & b | !c", "a <-> b", "a:*", ":limit", ":term0", "%s", "%(x)s",
    "\\", "\0recipe", "\ud800", "_", "__", "; DROP TABLE chunks; --", "'; DELETE FROM chunks; --", "?", "$1", "{}",
    "rec\u0301ipe", "🍲", "日本語", "\u202erecipe", "x" * 5000, "a " * 5000, "&&&", "|", "!", "<->", "'a' 'b'",
    "http://example.com/a?b=c&d=e", "a@b.example", "-", "--", "*", "''", '""', "OR", "and", "NEAR",
]  # fmt: skip


def found(searcher: Searcher, text: str) -> list[str]:
    return [hit.text for hit in searcher.by_words(text)]


def test_any_of_the_words_is_enough_and_more_are_better(searcher: Searcher) -> None:
    texts = ["The baker bakes bread.", "The baker sells cakes and bread to the harbour.", "Nothing of the kind."]
    put(searcher.org_id, new_document(searcher.org_id), texts)

    assert set(found(searcher, "bread submarine")) == set(texts[:2])
    assert found(searcher, "harbour bread")[0] == texts[1]
    assert found(searcher, "submarine") == []


def test_words_are_found_in_their_other_forms(searcher: Searcher) -> None:
    put(searcher.org_id, new_document(searcher.org_id), ["Invoices were paid late."])

    assert found(searcher, "paying an INVOICE") == ["Invoices were paid late."]


def test_words_of_another_script_are_found(searcher: Searcher) -> None:
    put(searcher.org_id, new_document(searcher.org_id), ["Счёт на оплату поставки."])

    assert found(searcher, "оплату") == ["Счёт на оплату поставки."]


@pytest.mark.parametrize("number", ["INV-2024-001", "2024/17", "RFC9457", "4711", "3.5.1"])
def test_numbers_and_their_compounds_are_found(searcher: Searcher, number: str) -> None:
    wanted = f"Please quote {number} with your payment."
    put(searcher.org_id, new_document(searcher.org_id), [wanted, "Please quote XYZ-1999-555 with it.", "None."])

    assert found(searcher, number)[0] == wanted


def test_nothing_that_is_typed_is_syntax(searcher: Searcher, subtests: pytest.Subtests) -> None:
    put(searcher.org_id, new_document(searcher.org_id), ["A recipe for soup."])

    for number, hostile in enumerate(HOSTILE):
        with subtests.test(number=number):
            try:
                searcher.by_both(hostile)
            except Mistake:
                continue
            assert found(searcher, f"recipe {hostile[:100]}") == ["A recipe for soup."]


def test_other_orgs_are_not_searched(searcher: Searcher) -> None:
    other = new_org()
    put(other, new_document(other), ["A recipe for soup."])

    assert found(searcher, "recipe soup") == []
    assert searcher.by_both("recipe soup") == []


@pytest.mark.parametrize("empty", ["", "   ", "\0", "\n\t"])
def test_no_words_find_nothing(searcher: Searcher, empty: str) -> None:
    put(searcher.org_id, new_document(searcher.org_id), ["A recipe for soup."])

    assert searcher.by_both(empty) == []


def test_a_query_has_bounds() -> None:
    assert len(query_words(" ".join(f"w{number}" for number in range(500)))) == TERMS_MAX


def test_common_words_are_dropped_unless_they_are_all_there_is() -> None:
    assert query_words("What is the answer?") == ["answer"]
    assert query_words("to be or not to be") == ["to", "be", "or", "not"]


@only_sqlite
def test_new_passages_and_those_of_a_filter_are_found_beside_many_others(searcher: Searcher) -> None:
    old, new = new_document(searcher.org_id), new_document(searcher.org_id)
    put(searcher.org_id, old, ["Soup, of old."])
    put(searcher.org_id, new_document(searcher.org_id), [f"A soup of the kind {number}." for number in range(1100)])
    put(searcher.org_id, new, ["Soup, anew."])

    assert found(searcher, "soup")[0] == "Soup, anew."
    only_old = SearchScope(searcher.org_id, matching=lambda documents: {old} & set(documents))
    with reading(searcher.org_id):
        hits = search(only_old, wanted_of(parse("soup")), [], 10, searcher.folder).hits
    assert [hit.text for hit in hits] == ["Soup, of old."]
