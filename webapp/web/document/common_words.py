"""What two connected passages have in common, marked in both: a value, or words."""

import re
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
    # Values are kept without spaces, in small letters.
    pattern = re.compile("|".join(r"\s?".join(map(re.escape, value)) for value in values), re.IGNORECASE)
    first = pattern.search(text)
    if first is None:
        return snippet(text, ())
    start, end = max(0, first.start() - AROUND_CHARACTERS), min(len(text), first.end() + AROUND_CHARACTERS)
    start = text.rfind(" ", 0, start) + 1 if start else 0
    gap = text.find(" ", end)
    return tuple(_parts(text, start, len(text) if gap < 0 else gap, pattern))


def _parts(text: str, start: int, end: int, pattern: re.Pattern[str]) -> Iterator[SnippetPart]:
    if start:
        yield SnippetPart("… ")
    at = start
    for found in pattern.finditer(text, start, end):
        yield SnippetPart(text[at : found.start()])
        yield SnippetPart(found[0], is_match=True)
        at = found.end()
    yield SnippetPart(text[at:end])
    if end < len(text):
        yield SnippetPart(" …")
