"""Asks PostgreSQL's index of words: tsvector and tsquery.

The index is read by a function (webapp/db/passage_words.py), which ranks so many of the passages that match and no
more: a word that a tenth of a large library has would else be ranked tens of thousands of times. Where there is no such
function, all of the org's passages are compared.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, TextClause, Uuid, bindparam, text

from webapp.db import ask_postgresql, db, session
from webapp.db.passage_words import FUNCTION
from webapp.search.match import Atom, TermMatch
from webapp.search.scope import SearchScope

# So many passages with all words are ranked, and so many with one of them.
RANKED_MAX = 1_000
RANKED_OF_ONE_MAX = 300
_WORD = re.compile(r"[^\W_]+")


def holding(scope: SearchScope, match: TermMatch, limit: int, among: Sequence[UUID] | None = None) -> list[UUID]:
    """The passages that match, best first; only those of `among` where that is given."""
    if among is None and scope.documents is None and _has_index():
        return _by_index(match, limit)
    wanted, values = expression(match)
    only = ""
    if among is not None:
        only, values["among"] = "AND id = ANY(:among)", list(among)
    elif scope.documents is not None:
        only, values["documents"] = "AND document_id = ANY(:documents)", list(scope.documents)
    # Made of numbered parameters alone. The rank is divided by the logarithm of the length (1).
    statement = text(
        f"SELECT id FROM chunks, (SELECT {wanted} AS wanted) AS query "  # noqa: S608
        f"WHERE org_id = :org_id AND words @@ wanted {only} "
        "ORDER BY ts_rank(words, wanted, 1) DESC, id LIMIT :limit"
    )
    found = session().execute(
        statement.bindparams(bindparam("org_id", type_=Uuid)).columns(id=Uuid),
        {"org_id": scope.org_id, "limit": limit, **values},
    )
    return [row.id for row in found]


def _by_index(match: TermMatch, limit: int) -> list[UUID]:
    """With all that must be there at once. Where one of several terms is enough, each is looked up by itself."""
    singles = [replace(match, must=(*match.must, (atom,)), any_of=()) for atom in match.any_of]
    most = max(limit, RANKED_OF_ONE_MAX if singles else RANKED_MAX)
    scores: dict[UUID, float] = {}
    for row in _asked(singles or [match], most, limit):
        # What few passages have tells more; of a term that many have, not all were counted.
        scores[row.passage] = scores.get(row.passage, 0.0) + (1.0 + row.rank) / math.log(2 + row.matching)
    return sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))[:limit]


def _asked(matches: Sequence[TermMatch], most: int, limit: int) -> Sequence[Any]:
    values: dict[str, Any] = {"most": most, "limit": limit}
    queries = []
    for match in matches:
        wanted, terms = expression(match, len(values))
        queries.append(wanted)
        values |= terms
    return session().execute(_statement(queries), values).all()


def _statement(queries: Sequence[str]) -> TextClause:
    # Made of numbered parameters alone.
    return text(
        f"SELECT passage, rank, matching FROM public.docmill_passages_with(ARRAY[{', '.join(queries)}], :most, :limit)"  # noqa: S608
    )


def _has_index() -> bool:
    engine = db.engine
    if engine not in _indexed:
        row = ask_postgresql(_MAY_ASK)
        _indexed[engine] = row is not None and bool(row[0])
    return _indexed[engine]


def forget_the_index() -> None:
    """Ask the database anew whether there is the function."""
    _indexed.clear()


# Asked once in each process.
_indexed: WeakKeyDictionary[Engine, bool] = WeakKeyDictionary()
_MAY_ASK = text(f"SELECT has_function_privilege(to_regprocedure('public.{FUNCTION}'), 'EXECUTE')")


def expression(match: TermMatch, first: int = 0) -> tuple[str, dict[str, Any]]:
    """An expression of numbered parameters that makes the tsquery, and their values."""
    terms = _Terms(first)
    groups = " && ".join(terms.one_of(group) for group in match.groups)
    return (f"({groups}) && !!{terms.one_of(match.without)}" if match.without else f"({groups})"), terms.values


class _Terms:
    """The terms of a tsquery as numbered parameters."""

    def __init__(self, first: int) -> None:
        self.values: dict[str, Any] = {}
        self._first = first

    def one_of(self, atoms: Sequence[Atom]) -> str:
        return "(" + " || ".join(map(self._atom, atoms)) + ")"

    def _atom(self, atom: Atom) -> str:
        name = f"term{self._first + len(self.values)}"
        if not atom.is_prefix:
            self.values[name] = atom.text
            return f"phraseto_tsquery('english', :{name})"
        # Words of letters and digits alone: nothing in them is syntax.
        self.values[name] = " <-> ".join(_WORD.findall(atom.text)) + ":*"
        return f"to_tsquery('english', :{name})"
