"""Finds labels among words: which kind of value each names, and how plainly."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from webapp.readers.fields.vocabulary import COLUMNS, STRONG, TITLES, WEAK
from webapp.readers.fields.words import PlacedWord, folded

_END = ""
TITLE_WORDS = frozenset(folded(title.split()[0]) for title in TITLES)
"""The words that the name of an invoice begins with."""
Names = dict[str, tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase among words: its kind, how much it says (2 plain, 1 weak), and how many words it takes."""

    kind: str
    weight: int
    words: int


def match_label(words: Sequence[str]) -> Match | None:
    """The longest label that folded words begin with."""
    return _longest(_labels(), words)


def match_column(words: Sequence[str]) -> Match | None:
    """The longest name of a column of an invoice's lines."""
    return _longest(_columns(), words)


def match_title(words: Sequence[str]) -> Match | None:
    """The longest name of a kind of document."""
    return _longest(_titles(), words)


def folded_words(words: Iterable[PlacedWord]) -> list[str]:
    """The words as phrases are compared; one without letters or digits is empty."""
    return [folded(word.text) for word in words]


def _longest(tree: "_Tree", words: Sequence[str]) -> Match | None:
    found: Match | None = None
    taken = 0
    for word in words:
        taken += 1
        if not word and taken > 1:
            continue
        step = tree.next.get(word)
        if step is None:
            break
        tree = step
        if tree.kind:
            found = Match(tree.kind, tree.weight, taken)
    return found


class _Tree:
    """Phrases by their words."""

    __slots__ = ("kind", "next", "weight")

    def __init__(self) -> None:
        self.next: dict[str, _Tree] = {}
        self.kind, self.weight = _END, 0

    def add(self, phrase: str, kind: str, weight: int) -> None:
        tree = self
        for word in phrase.split():
            tree = tree.next.setdefault(folded(word), _Tree())
        if tree.weight < weight:
            tree.kind, tree.weight = kind, weight


@cache
def _labels() -> _Tree:
    tree = _Tree()
    for weight, phrases_of in ((2, STRONG), (1, WEAK)):
        for kind, phrases in phrases_of.items():
            for phrase in phrases:
                tree.add(phrase, kind, weight)
    return tree


@cache
def _columns() -> _Tree:
    tree = _Tree()
    for kind, phrases in COLUMNS.items():
        for phrase in phrases:
            tree.add(phrase, kind, 1)
    return tree


@cache
def _titles() -> _Tree:
    tree = _Tree()
    for title in TITLES:
        tree.add(title, "title", 1)
    return tree
