"""Suggests how a question may have been meant whose words occur nowhere: by the words of the org's own passages.

For such a word all words are looked up that differ by one letter, by two letters that change places, by a space, or by
the layout of the keyboard (English and Russian). These are some hundred lookups in the index, however large it is.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import select

from webapp.db import is_postgresql, session
from webapp.search import fts5, tsquery
from webapp.search.common_words import ENGLISH
from webapp.search.grammar import LooseWord, ParsedQuery, TermGroup
from webapp.search.match import Atom, TermMatch
from webapp.search.model import Chunk
from webapp.search.scope import SearchScope
from webapp.search.stems import folded, written_words
from webapp.search.words import holding

WORD_CHARACTERS = (4, 24)
WORDS_MAX, MENDED_MAX = 8, 2
PART_CHARACTERS_MIN = 3
# A word in no more than `RARE` passages is looked at again where another one is common.
RARE, COMMON = 1, 30
LOOKED_AT_MAX = 8
_SAME_START = 1.5
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщъыьэюя")
_LATIN_KEYS = "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"
_RUSSIAN_KEYS = "йцукенгшщзхъфывапролджэячсмитьбюё"
_LAYOUTS = (str.maketrans(_LATIN_KEYS, _RUSSIAN_KEYS), str.maketrans(_RUSSIAN_KEYS, _LATIN_KEYS))


@dataclass(frozen=True)
class _Candidate:
    """A word, or two, and in how many passages it is."""

    text: str
    passages: int

    def likelihood(self, typed: str) -> float:
        """How likely it was meant: common words are, and the first letter is seldom wrong."""
        return math.log(1 + self.passages) + (_SAME_START if self.text[0] == typed[0] else 0.0)


def corrected(org_id: UUID, query: ParsedQuery) -> str | None:
    """The query with other words for those that occur nowhere, or hardly; None where nothing better is known."""
    words = [word for group in query.contents if (word := _plain_word(group))][:WORDS_MAX]
    if not words:
        return None
    counts = _counted(org_id, words)
    rare = [(word, count) for word, count in zip(words, counts, strict=True) if count <= RARE][:MENDED_MAX]
    mended = {word: better for word, count in rare if (better := _better(org_id, word, count)) is not None}
    return str(ParsedQuery(tuple(_mended(group, mended) for group in query.groups))) if mended else None


def _plain_word(group: TermGroup) -> str | None:
    """The one plain word of letters that it is: numbers, codes and names of files are what they are."""
    term = group.terms[0]
    if group.is_excluded or len(group.terms) > 1 or not isinstance(term, LooseWord):
        return None
    least, most = WORD_CHARACTERS
    return term.text if least <= len(term.text) <= most and _is_typed_word(term.text) else None


def _is_typed_word(word: str) -> bool:
    # On the other layout of the keyboard some letters are punctuation, in the middle of a word.
    return word[-1].isalpha() and all(letter.isalpha() or letter in _LATIN_KEYS for letter in word)


def _mended(group: TermGroup, mended: Mapping[str, str]) -> TermGroup:
    better = mended.get(_plain_word(group) or "")
    return replace(group, terms=(LooseWord(better),)) if better else group


def _better(org_id: UUID, typed: str, count: int) -> str | None:
    word = folded(typed)
    texts = [each for each in dict.fromkeys(_candidates(word)) if each != word and each not in ENGLISH]
    known = _known(org_id, texts)
    best = max(known, key=lambda each: (each.likelihood(word), each.text), default=None)
    if best is None or (count and best.passages < COMMON):
        return None
    return " ".join(_as_written(org_id, part) for part in best.text.split())


def _candidates(word: str) -> Iterator[str]:
    """Words that somebody may have meant, folded; two of them where a space may be missing."""
    yield from (folded(other) for layout in _LAYOUTS if (other := word.translate(layout)).isalpha())
    if not word.isalpha():
        return
    alphabet = next((each for each in _ALPHABETS if any(letter in each for letter in word)), "".join(set(word)))
    for place in range(len(word) + 1):
        before, behind = word[:place], word[place:]
        if min(len(before), len(behind)) >= PART_CHARACTERS_MIN:
            yield f"{before} {behind}"
        yield from (before + letter + behind for letter in alphabet)
        if behind:
            yield before + behind[1:]
            yield from (before + letter + behind[1:] for letter in alphabet)
        if len(behind) > 1:
            yield before + behind[1] + behind[0] + behind[2:]


def _known(org_id: UUID, texts: Sequence[str]) -> list[_Candidate]:
    """Those of which each word occurs in passages of the org."""
    rough = _occurring({part for each in texts for part in each.split()})
    likely = [
        _Candidate(each, min(rough[part] for part in each.split()))
        for each in texts
        if all(part in rough for part in each.split())
    ]
    likely = sorted(likely, key=lambda each: (-each.passages, each.text))[:LOOKED_AT_MAX]
    # Of the org, and two words right behind each other.
    counts = _counted(org_id, [each.text for each in likely])
    return [replace(each, passages=count) for each, count in zip(likely, counts, strict=True) if count]


def _occurring(words: Collection[str]) -> Mapping[str, int]:
    """Those of these words that occur, and in how many passages; on SQLite in those of any org."""
    if not is_postgresql():
        return fts5.occurring(words)
    asked = sorted(words)
    return {word: count for word, count in zip(asked, tsquery.counted(asked), strict=True) if count}


def _counted(org_id: UUID, texts: Sequence[str]) -> Sequence[int]:
    """In how many passages of the org each of these is, in any form, as far as that is counted."""
    matches = [TermMatch(((Atom(each),),)) for each in texts]
    if is_postgresql():
        return tsquery.counted([tsquery.expression(match) for match in matches])
    return [fts5.count(org_id, match) for match in matches]


def _as_written(org_id: UUID, word: str) -> str:
    """A word with its accents, as the first passage has it that is found."""
    found = holding(SearchScope(org_id), TermMatch(((Atom(word),),)), 1)
    passage = session().scalar(select(Chunk.text).where(Chunk.org_id == org_id, Chunk.id.in_(found)))
    return next((written for written in written_words(passage or "") if folded(written) == word), word)
