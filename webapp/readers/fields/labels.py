"""Finds labels among words: which kind of value each names, and how plainly."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from webapp.readers.fields.vocabulary import COLUMNS, STRONG, TITLES, WEAK
from webapp.readers.fields.words import PlacedWord, folded

_END = ""
TITLE_WORDS = frozenset(folded(title.split()[0]) for title in TITLES)
"""The words that the name of an invoice begins with."""


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase among words: its kind, how much it says (2 plain, 1 weak), and how many words it takes."""

    kind: str
    weight: int
    words: int


class Phrases:
    """Phrases by their words: which kind each names, and how much it says."""

    __slots__ = ("kind", "next", "weight")

    def __init__(self, *weighted: tuple[int, Mapping[str, Sequence[str]]]) -> None:
        self.next: dict[str, Phrases] = {}
        self.kind, self.weight = _END, 0
        for weight, phrases_of in weighted:
            for kind, phrases in phrases_of.items():
                for phrase in phrases:
                    self._add(phrase, kind, weight)

    def longest(self, words: Sequence[str]) -> Match | None:
        """The longest phrase that folded words begin with."""
        found: Match | None = None
        tree, taken = self, 0
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

    def _add(self, phrase: str, kind: str, weight: int) -> None:
        tree = self
        for word in phrase.split():
            tree = tree.next.setdefault(folded(word), Phrases())
        if tree.weight < weight:
            tree.kind, tree.weight = kind, weight


def titles_of(titles: Sequence[str]) -> Phrases:
    """The names of one kind of document, as phrases."""
    return Phrases((1, {"title": titles}))


@dataclass(frozen=True)
class Vocabulary:
    """The words of one kind of document."""

    titles: Phrases
    labels: Phrases
    in_sentences: frozenset[str] = frozenset()
    """The kinds of labels that count within a sentence, too, where their value follows at once."""
    sender: str = "supplier"
    recipient: str = "customer"


INVOICE_LABELS = Phrases((2, STRONG), (1, WEAK))
INVOICE_COLUMNS = Phrases((1, COLUMNS))
_TITLES = titles_of(TITLES)
INVOICE = Vocabulary(_TITLES, INVOICE_LABELS, frozenset({"due_date"}))


def match_label(words: Sequence[str]) -> Match | None:
    """The longest label of an invoice's value that folded words begin with."""
    return INVOICE_LABELS.longest(words)


def match_column(words: Sequence[str]) -> Match | None:
    """The longest name of a column of an invoice's lines."""
    return INVOICE_COLUMNS.longest(words)


def match_title(words: Sequence[str]) -> Match | None:
    """The longest name of an invoice."""
    return _TITLES.longest(words)


def folded_words(words: Iterable[PlacedWord]) -> list[str]:
    """The words as phrases are compared; one without letters or digits is empty."""
    return [folded(word.text) for word in words]
