"""The language of queries: what each part means, and that every mistake is said, with its place."""

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.library.status_filter import StatusFilter
from webapp.library.tags import named
from webapp.search import filters
from webapp.search.filters import Between, FilterName, Period
from webapp.search.grammar import (
    QUERY_CHARACTERS_MAX,
    Filter,
    LooseWord,
    Mistake,
    MistakeCode,
    ParsedQuery,
    Phrase,
    Prefix,
    TermGroup,
    parse,
)

VALUES = {
    FilterName.KIND: "pdf",
    FilterName.IN: "annual report",
    FilterName.LANG: "pt",
    FilterName.BEFORE: "2026-03",
    FilterName.AFTER: "2025",
    FilterName.PAGES: ">100",
    FilterName.STATUS: "failed",
    FilterName.IS: "partly-read",
    FilterName.TAG: "to pay",
    FilterName.NOTE: "ask Ana",
}

# Whatever somebody types: any characters, and often those that have a meaning.
anything = st.lists(
    st.one_of(st.text(max_size=12), st.sampled_from(['"', "-", " OR ", "*", ":", "kind:pdf", "tag:", "“", " ", "\0"])),
    max_size=20,
).map("".join)
words = st.text(st.characters(categories=("L", "N")), min_size=2, max_size=9).filter(lambda word: word != "OR")
terms = st.one_of(
    words.map(LooseWord),
    words.map(Prefix),
    st.lists(words, min_size=1, max_size=4).map(lambda some: Phrase(" ".join(some))),
)
filter_terms = st.sampled_from([Filter(name, value) for name, value in VALUES.items()])
groups = st.one_of(
    st.builds(TermGroup, st.tuples(terms), st.booleans()),
    st.builds(TermGroup, st.tuples(filter_terms), st.booleans()),
    st.builds(lambda some: TermGroup(tuple(some)), st.lists(terms, min_size=2, max_size=3)),
    st.builds(lambda some: TermGroup(tuple(some)), st.lists(filter_terms, min_size=2, max_size=3)),
)


def parsed(text: str) -> list[str]:
    """Each group as it is written, so that a test reads like what is typed."""
    return [str(group) for group in parse(text).groups]


@given(anything)
def test_whatever_is_typed_is_understood_or_said_to_be_wrong(text: str) -> None:
    query, place = ParsedQuery(), 1
    try:
        query = parse(text)
    except Mistake as mistake:
        place = mistake.position

    assert parse(str(query)) == query
    assert 1 <= place <= max(len(text), QUERY_CHARACTERS_MAX) + 1


@given(st.lists(groups, max_size=6))
def test_what_is_written_is_read_again(some: list[TermGroup]) -> None:
    assert parse(str(ParsedQuery(tuple(some)))) == ParsedQuery(tuple(some))


@given(st.sampled_from(list(FilterName)), st.text(max_size=20))
def test_whatever_a_filter_is_given_it_takes_or_refuses(name: FilterName, value: str) -> None:
    with suppress(filters.BadValue):
        filters.check(name, value)


def test_words_phrases_prefixes_exclusions_and_alternatives() -> None:
    assert parse('boiler "two months" -draft invoi* lease OR tenancy').groups == (
        TermGroup((LooseWord("boiler"),)),
        TermGroup((Phrase("two months"),)),
        TermGroup((LooseWord("draft"),), is_excluded=True),
        TermGroup((Prefix("invoi"),)),
        TermGroup((LooseWord("lease"), LooseWord("tenancy"))),
    )


def test_or_binds_its_neighbours_only_and_has_capitals() -> None:
    assert parsed("a b OR c OR d e or f") == ["a", "b OR c OR d", "e", "or", "f"]


def test_filters_take_words_or_phrases_in_any_case() -> None:
    assert parse('KIND:pdf -tag:"to pay" in:“annual report”').groups == (
        TermGroup((Filter(FilterName.KIND, "pdf"),)),
        TermGroup((Filter(FilterName.TAG, "to pay"),), is_excluded=True),
        TermGroup((Filter(FilterName.IN, "annual report"),)),
    )


def test_contents_and_filters_are_told_apart() -> None:
    query = parse("soup kind:pdf -draft -lang:en")

    assert list(map(str, query.contents)) == ["soup", "-draft"]
    assert list(map(str, query.filters)) == ["kind:pdf", "-lang:en"]


@pytest.mark.parametrize(
    "text",
    [
        "http://example.com/a?b=c",
        "12:30",
        "C:\\Users",
        "Subject: hello",
        "a - b",
        "--verbose",
        "KX-4711-B",
        "a@b.c",
    ],
)
def test_what_only_looks_like_an_operator_is_a_word(text: str) -> None:
    assert all(isinstance(term, LooseWord) for group in parse(text).groups for term in group.terms)
    assert not any(group.is_excluded for group in parse(text).groups)


def test_punctuation_says_nothing() -> None:
    assert parsed("& - — ? ... ()") == []
    assert parsed("wheat & rye?") == ["wheat", "rye?"]


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ('wheat "rye', MistakeCode.UNCLOSED_PHRASE, 7),
        ('wheat ""', MistakeCode.EMPTY_PHRASE, 7),
        ('"--"', MistakeCode.EMPTY_PHRASE, 1),
        ("OR wheat", MistakeCode.LONELY_OR, 1),
        ("wheat OR", MistakeCode.LONELY_OR, 7),
        ("wheat OR OR rye", MistakeCode.LONELY_OR, 10),
        ("wheat OR &", MistakeCode.LONELY_OR, 7),
        ("wheat OR -rye", MistakeCode.EXCLUDED_OR, 7),
        ("wheat OR kind:pdf", MistakeCode.MIXED_OR, 7),
        ("*.pdf", MistakeCode.MISPLACED_STAR, 1),
        ("a wh*t", MistakeCode.MISPLACED_STAR, 3),
        ("w*", MistakeCode.SHORT_PREFIX, 1),
        ("wheat colour:red", MistakeCode.UNKNOWN_FILTER, 7),
        ("wheat kind:", MistakeCode.EMPTY_FILTER, 7),
        ("kind: pdf", MistakeCode.EMPTY_FILTER, 1),
        ("w " * 501, MistakeCode.TOO_LONG, 1001),
        ('"a b" ' * 65, MistakeCode.TOO_MANY_TERMS, 385),
        ("x " + " OR ".join(["a"] * 65), MistakeCode.TOO_MANY_TERMS, 3),
        ('tag:""', MistakeCode.BAD_VALUE, 1),
        *((f"{name}:{bad}", MistakeCode.BAD_VALUE, 1) for name, bad in [
            ("kind", "sofa"), ("in", "--"), ("lang", "e1"), ("before", "2026-13"), ("before", "yesterday"),
            ("after", "2026-02-30"), ("after", "9999"), ("pages", "many"), ("pages", "9-3"), ("pages", "<0"),
            ("after", "2026-00"), ("before", "2026-03-00"), ("status", "lost"), ("is", "lost"), ("tag", "x" * 101),
        ]),
    ],
)  # fmt: skip
def test_a_mistake_has_a_code_and_a_place(text: str, code: MistakeCode, position: int) -> None:
    with pytest.raises(Mistake) as caught:
        parse(text)

    assert (caught.value.code, caught.value.position) == (code, position)


def test_a_long_question_in_words_alone_is_no_mistake() -> None:
    assert len(parse("what " * 180).groups) == 180


def test_a_date_is_a_year_a_month_or_a_day() -> None:
    assert filters.period_of("2026") == Period(date(2026, 1, 1), date(2027, 1, 1))
    assert filters.period_of("2026-12") == Period(date(2026, 12, 1), date(2027, 1, 1))
    assert filters.period_of("2026-2-28") == Period(date(2026, 2, 28), date(2026, 3, 1))


def test_numbers_are_one_or_a_range() -> None:
    most = filters.PAGES_MAX
    asked = {"12": (12, 12), ">100": (101, most), ">=5": (5, most), "<10": (0, 9), "<=9": (0, 9), "5-10": (5, 10)}
    assert {text: filters.numbers_of(text) for text in asked} == {text: Between(*ends) for text, ends in asked.items()}


def test_statuses_are_those_of_the_library() -> None:
    assert {status.lower() for status in StatusFilter} == filters.STATUSES
    assert set(filters.STATES.values()) <= filters.STATUSES


def test_a_kind_is_a_word_of_people_or_the_end_of_a_name() -> None:
    assert filters.kind_of("Invoice") == "invoice"
    assert filters.kind_of(".PDF") == "pdf"
    assert filters.kind_of("bank-statement") == "bank_statement"
    assert {"application/pdf"} == filters.ENDINGS["pdf"]


@pytest.mark.parametrize("tag", ["\u2605", 'disk 5" wide', "\u00abold\u00bb", "a\x01b"])
def test_any_tag_is_found_by_its_link(tag: str) -> None:
    ((word, name),) = named([tag]).items()
    (group,) = parse(f'tag:"{name}"').groups
    (term,) = group.terms
    assert isinstance(term, Filter)
    assert filters.tag_of(term.value) == word
