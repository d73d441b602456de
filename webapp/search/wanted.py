"""What a query wants of passages: what must be there, what must not, and words that make a passage better."""

import unicodedata
from dataclasses import dataclass

from webapp.search.grammar import Filter, LooseWord, ParsedQuery, Phrase, Prefix, Term, TermGroup
from webapp.search.match import Atom, TermMatch
from webapp.search.words import identifiers, query_terms, query_words


@dataclass(frozen=True)
class WantedPassages:
    """The part of a query that is about contents.

    Loose words need not all be there: a passage that means the same is found, too. Phrases, beginnings of words and
    alternatives must be.
    """

    text: str
    """What is compared by meaning: words and phrases without operators."""
    words: str
    """The loose words, as they were typed."""
    required: tuple[tuple[Atom, ...], ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    """Of these, one of each tuple must be there word for word; they are among `required`."""
    without: tuple[Atom, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for: filters and exclusions alone find no passage."""
        return not self.words and not self.required

    @property
    def is_plain(self) -> bool:
        """Whether it is words alone, without an operator."""
        return bool(self.words) and not self.required

    @property
    def telling(self) -> list[str]:
        """The loose words that say something about a subject."""
        return query_words(self.words)

    def all_words(self) -> TermMatch:
        """Passages with each telling word, and each code and number as a whole."""
        return self.having(*((Atom(word),) for word in dict.fromkeys([*self.telling, *identifiers(self.words)])))

    def some_words(self) -> TermMatch:
        """Passages with one of the words at least."""
        terms = tuple(map(Atom, query_terms(self.words)))
        return TermMatch(self.required, terms, self.without)

    def exact(self) -> TermMatch:
        """Passages with all numbers, codes and addresses; nothing where there are none."""
        named = identifiers(self.words)
        return self.having(*((Atom(each),) for each in named)) if named else TermMatch()

    def having(self, *groups: tuple[Atom, ...]) -> TermMatch:
        """Passages with all that is required, and these."""
        return TermMatch((*self.required, *groups), without=self.without)

    def excluded(self) -> TermMatch:
        """Passages with one of those that must not be there."""
        return TermMatch(any_of=self.without)

    @property
    def marked(self) -> list[str]:
        """The words that a snippet marks."""
        return query_words(" ".join([self.words, *(atom.text for group in self.required for atom in group)]))


def wanted_of(query: ParsedQuery) -> WantedPassages:
    """What is wanted of passages; the filters are about documents."""
    contents = query.contents
    required = [group for group in contents if not group.is_excluded and not _is_loose(group)]
    return WantedPassages(
        text=" ".join(_text(term) for group in contents if not group.is_excluded for term in group.terms),
        words=" ".join(_text(group.terms[0]) for group in contents if _is_loose(group)),
        required=tuple(_atoms(group) for group in required),
        phrases=tuple(
            tuple(map(_text, group.terms))
            for group in required
            if all(isinstance(term, Phrase) for term in group.terms)
        ),
        without=tuple(_atom(group.terms[0]) for group in contents if group.is_excluded),
    )


def _is_loose(group: TermGroup) -> bool:
    return not group.is_excluded and len(group.terms) == 1 and isinstance(group.terms[0], LooseWord)


def _atoms(group: TermGroup) -> tuple[Atom, ...]:
    return tuple(map(_atom, group.terms))


def _atom(term: Term) -> Atom:
    return Atom(_text(term), is_prefix=isinstance(term, Prefix))


def _text(term: Term) -> str:
    # Some keyboards and file systems write an accent as a character of its own.
    return unicodedata.normalize("NFC", term.value if isinstance(term, Filter) else term.text)
