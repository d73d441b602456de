"""What two connected passages have in common, marked in both: a value, or words."""

from collections.abc import Iterator, Sequence

from webapp.pipeline.markdown import plain
from webapp.readers.small_words import SMALL_WORDS
from webapp.search.connections import Connected, Kind
from webapp.search.places import words_of
from webapp.search.snippet import SnippetPart, snippet

AROUND_CHARACTERS = 120
_LETTERS_MIN = 3
_SMALL = frozenset(word for words in SMALL_WORDS.values() for word in words.split())
Sides = tuple[Sequence[SnippetPart], Sequence[SnippetPart]]


def sides(connected: Connected, shared: Sequence[str]) -> Sides:
    """The passages of a connection, cut to where the shared values are, or most of the words that both have."""
    own, other = plain(connected.passage.text), plain(connected.other.text)
    if shared:
        return _around(own, shared), _around(other, shared)
    if connected.kind is Kind.NEAR_DUPLICATE:
        # All is in both: what is marked is in one of them alone.
        in_own, in_other = set(words_of(own)), set(words_of(other))
        return snippet(own, in_own - in_other), snippet(other, in_other - in_own)
    common = _telling(own) & _telling(other)
    return snippet(own, common), snippet(other, common)


def _telling(text: str) -> set[str]:
    return {word for word in words_of(text) if len(word) >= _LETTERS_MIN and word not in _SMALL}


def _around(text: str, values: Sequence[str]) -> Sequence[SnippetPart]:
    """A piece of a text with the first of these values in its middle; each value in it is marked."""
    found = sorted(_spans(text, values))
    if not found:
        return snippet(text, ())
    start, end = max(0, found[0][0] - AROUND_CHARACTERS), min(len(text), found[0][1] + AROUND_CHARACTERS)
    start = text.rfind(" ", 0, start) + 1 if start else 0
    gap = text.find(" ", end)
    return tuple(_parts(text, start, len(text) if gap < 0 else gap, found))


def _spans(text: str, values: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where values are in a text: they are kept in small letters, and accounts without their spaces."""
    letters = [
        (folded, place) for place, letter in enumerate(text) if not letter.isspace() for folded in letter.casefold()
    ]
    compact = "".join(folded for folded, _ in letters)
    for value in filter(None, ("".join(value.split()) for value in values)):
        at = compact.find(value)
        while at >= 0:
            yield letters[at][1], letters[at + len(value) - 1][1] + 1
            at = compact.find(value, at + len(value))


def _parts(text: str, start: int, end: int, marked: Sequence[tuple[int, int]]) -> Iterator[SnippetPart]:
    if start:
        yield SnippetPart("… ")
    at = start
    for first, after in marked:
        if at <= first and after <= end:
            yield SnippetPart(text[at:first])
            yield SnippetPart(text[first:after], is_match=True)
            at = after
    yield SnippetPart(text[at:end])
    if end < len(text):
        yield SnippetPart(" …")
