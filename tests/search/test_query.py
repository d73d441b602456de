"""Both legs together, and what a hit tells."""

from dataclasses import replace
from time import thread_time
from uuid import UUID

from tests.search.passages import Searcher, chunk, new_document, put
from webapp.db import transaction
from webapp.search import index
from webapp.search.query import fuse
from webapp.search.snippet import MATCHES_MAX, SNIPPET_CHARACTERS, snippet
from webapp.search.words import identifiers

A, B, C = (UUID(int=number) for number in range(3))


def test_a_hit_tells_where_it_is(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id, "cooking.pdf")
    put(searcher.org_id, document_id, ["Boil the soup."], heading="Soups", page_from=4, page_to=5)

    (hit,) = searcher.by_both("soup")

    assert (hit.document_id, hit.filename, hit.heading, hit.page_from, hit.page_to) == (
        document_id, "cooking.pdf", "Soups", 4, 5,
    )  # fmt: skip
    assert hit.text == "Boil the soup."
    assert hit.score > 0


def test_no_more_hits_than_asked_for(searcher: Searcher) -> None:
    put(searcher.org_id, new_document(searcher.org_id), [f"soup number {number}" for number in range(30)])

    assert len(searcher.by_both("soup", limit=7)) == 7
    assert searcher.by_both("soup", limit=0) == []
    scores = [hit.score for hit in searcher.by_both("soup number 3", limit=20)]
    assert scores == sorted(scores, reverse=True)


def test_an_exact_number_beats_similar_passages(searcher: Searcher) -> None:
    texts = [f"invoice payment customer {name}" for name in "abcdefgh"] + ["Reference KX-4711-B, see there."]
    put(searcher.org_id, new_document(searcher.org_id), texts)

    assert searcher.by_both("invoice payment customer KX-4711-B")[0].text == texts[-1]


def test_the_whole_question_is_found_beside_a_sample(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id)
    samples = [
        replace(chunk(document_id, number, f"Keeper {number} of a lamp."), id=UUID(int=64 * number))
        for number in range(1, 50)
    ]
    text = "Where the stairs end, behind some doors and beside many other things, the lamp keeper sleeps."
    whole = replace(chunk(document_id, 50, text), id=UUID(int=64 * 50 + 1))
    with transaction(searcher.org_id):
        index.replace(searcher.org_id, document_id, [*samples, whole])

    assert searcher.by_words("lamp keeper")[0].text == text


def test_ranks_are_fused() -> None:
    scores = fuse([([A, B], 1.0), ([B, C], 0.5)])

    assert scores[B] > scores[A] > scores[C]


def test_numbers_and_codes_are_meant_exactly() -> None:
    assert identifiers("„№4711”… ——A-1—— ((())) ...") == ["4711", "A-1"]
    assert identifiers("invoice (KX-4711-B), 17 April 2026?") == ["KX-4711-B", "2026"]
    assert identifiers("how do I boil soup") == []


def test_a_snippet_marks_words_in_their_forms() -> None:
    segments = snippet("Invoices are <b>paid</b> by the customer who was invoiced.", ["invoice", "pay"])

    assert [segment.text for segment in segments if segment.is_match] == ["Invoices", "invoiced"]
    assert "".join(segment.text for segment in segments) == (
        "Invoices are <b>paid</b> by the customer who was invoiced."
    )


def test_a_snippet_is_cut_around_the_words() -> None:
    passage = "nothing here " * 100 + "the harbour lights bakery sells bread " + "and so on " * 100

    segments = snippet(passage, ["bakery", "bread"])
    shown = "".join(segment.text for segment in segments)

    assert [segment.text for segment in segments if segment.is_match] == ["bakery", "bread"]
    assert len(shown) <= SNIPPET_CHARACTERS + 8
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    segments = snippet("word " * 500, ["submarine"])

    assert segments[0].text.startswith("word word")
    assert not any(segment.is_match for segment in segments)


def test_a_snippet_of_one_endless_word_is_cut_too() -> None:
    shown = "".join(segment.text for segment in snippet("x" * 5000, ["x"]))

    assert len(shown) <= SNIPPET_CHARACTERS + 8


def test_a_passage_of_nothing_but_matches_takes_no_longer_than_others() -> None:
    passage = "a " * 500
    started = thread_time()
    for _ in range(100):
        assert snippet(passage, ["a"])
    assert thread_time() - started < 0.5


def test_only_the_first_hundred_matches_are_looked_at() -> None:
    segments = snippet("a " * MATCHES_MAX + "and then " * 100 + "b " * 500, ["a", "b"])

    assert sum(segment.is_match for segment in segments) <= MATCHES_MAX
    assert segments[0].text == "a"
