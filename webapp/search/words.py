"""Finding passages by their words, with each database's own full-text index.

What a person types never reaches a database as syntax: it is cut into terms before, and each term is a value.
"""

import re
from collections.abc import Collection, Sequence
from uuid import UUID

from webapp.db import is_postgresql
from webapp.search import fts5, tsquery
from webapp.search.common_words import common_among
from webapp.search.match import TermMatch
from webapp.search.scope import SearchScope

TERMS_MAX = 32
IDENTIFIER_CHARACTERS_MIN = 3
_WORD = re.compile(r"\w+")


def has_common_words(query: str) -> bool:
    """Whether some of the words say nothing about a subject, as in a sentence."""
    words = _words(query)
    return not common_among(words).isdisjoint(words)


def _words(query: str) -> list[str]:
    return list(dict.fromkeys(word.casefold() for word in _WORD.findall(query) if word.strip("_")))


def query_words(query: str) -> list[str]:
    """The words that tell something, each once; all of them where none does."""
    words = _words(query)
    common = common_among(words)
    telling = [word for word in words if word not in common]
    return (telling or words)[:TERMS_MAX]


def query_terms(query: str) -> list[str]:
    """The words, and what is written without a space: "KX-4711-B" is found as a whole, too."""
    compounds = [part for part in query.split() if len(_WORD.findall(part)) > 1]
    return list(dict.fromkeys([*compounds[:TERMS_MAX], *query_words(query)]))


def identifiers(query: str) -> list[str]:
    """What hardly has a meaning and is meant exactly: numbers, codes with digits in them, addresses."""
    parts = (_bare(part) for part in query.split())
    exact = [part for part in parts if len(part) >= IDENTIFIER_CHARACTERS_MIN and _is_exact(part)]
    return list(dict.fromkeys(exact))[:TERMS_MAX]


def _is_exact(part: str) -> bool:
    return "@" in part or any(map(str.isdigit, part))


def _bare(part: str) -> str:
    """From the first letter or digit to the last one."""
    places = [found.span() for found in _WORD.finditer(part)]
    return part[places[0][0] : places[-1][1]] if places else ""


def holding(scope: SearchScope, match: TermMatch, limit: int) -> list[UUID]:
    """The passages that match, best first."""
    if not match or limit < 1 or scope.is_empty:
        return []
    return _held(scope, match, limit, None)


def which_hold(scope: SearchScope, match: TermMatch, ids: Collection[UUID]) -> set[UUID]:
    """Those of these passages that match."""
    if not match or not ids:
        return set()
    return set(_held(scope, match, len(ids), list(ids)))


def _held(scope: SearchScope, match: TermMatch, limit: int, among: Sequence[UUID] | None) -> list[UUID]:
    if is_postgresql():
        return tsquery.holding(scope, match, limit, among)
    return fts5.holding(scope, match, limit, among)


def in_a_row(words: Sequence[str], text: Sequence[str]) -> bool:
    """Whether a text, as words, has these words one right after the other."""
    return f" {' '.join(words)} " in f" {' '.join(text)} "
