"""The lines of a passage that answer best, with the matching words set apart: segments, never HTML."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice

from webapp.search.stems import forms

SNIPPET_CHARACTERS = 260
LEAD_CHARACTERS = 60
# The first ones say enough of where the words are.
MATCHES_MAX = 100

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SnippetPart:
    """A piece of text, and whether it is one of the words that were looked for."""

    text: str
    is_match: bool = False


def snippet(passage: str, words: Iterable[str]) -> tuple[SnippetPart, ...]:
    """Cut out where most of the words are together, and mark them."""
    wanted = {form for word in words for form in forms(word)}
    matches = list(islice(_matches(passage, wanted), MATCHES_MAX))
    start, end = _window(passage, matches)
    inside = [(max(a, start), min(b, end)) for a, b in matches if a < end and b > start]
    return tuple(_segments(passage, start, end, inside))


def _matches(passage: str, wanted: AbstractSet[str]) -> Iterator[tuple[int, int]]:
    """The places of words that are wanted in any language: it only decides what is marked, not what is found."""
    return (found.span() for found in _WORD.finditer(passage) if not wanted.isdisjoint(forms(found[0])))


def _window(passage: str, matches: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The stretch that holds the most different places, widened to whole words."""
    if len(passage) <= SNIPPET_CHARACTERS:
        return 0, len(passage)
    best, most, last = 0, -1, 0
    for first, (begin, _) in enumerate(matches):
        last = max(last, first)
        while last < len(matches) and matches[last][1] <= begin + SNIPPET_CHARACTERS - LEAD_CHARACTERS:
            last += 1
        if last - first > most:
            best, most = begin, last - first
    start = max(0, min(best - LEAD_CHARACTERS, len(passage) - SNIPPET_CHARACTERS))
    start = passage.rfind(" ", 0, start + 1) + 1 if start else 0
    end = start + SNIPPET_CHARACTERS
    gap = passage.rfind(" ", start + SNIPPET_CHARACTERS // 2, end) if end < len(passage) else -1
    return start, min(len(passage), gap if gap > 0 else end)


def _segments(passage: str, start: int, end: int, matches: Sequence[tuple[int, int]]) -> Iterable[SnippetPart]:
    if start > 0:
        yield SnippetPart("… ")
    position = start
    for begin, stop in matches:
        if begin > position:
            yield SnippetPart(passage[position:begin])
        yield SnippetPart(passage[begin:stop], is_match=True)
        position = stop
    if position < end:
        yield SnippetPart(passage[position:end])
    if end < len(passage):
        yield SnippetPart(" …")
