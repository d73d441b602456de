"""Asks PostgreSQL's index of words: tsvector and tsquery.

The index is read by a function (webapp/db/passage_words.py), which ranks so many of the passages that match and no
more: a word that a tenth of a large library has would else be ranked tens of thousands of times. Where there is no such
function, all of the org's passages are compared.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, Uuid, bindparam, text

from webapp.db import ask_postgresql, db, session
from webapp.db.passage_words import FUNCTION
from webapp.search.match import Atom, TermMatch
from webapp.search.scope import SearchScope
from webapp.search.stems import MARK, forms, indexed, plain_words

# As in webapp/db/passage_words.sql.
RANK = "ts_rank('{0.2, 0.4, 0.4, 0.4}', words, wanted, 1)"
# So many passages with all words are ranked, and so many with one of them are looked up.
RANKED_MAX = 400
COUNTED_MAX = 300
# As in webapp/db/passage_words.sql: fewer passages than these are all that match, not those of a sample.
SAMPLED_MIN = 40


def holding(scope: SearchScope, match: TermMatch, limit: int, among: Sequence[UUID] | None = None) -> list[UUID]:
    """The passages that match, best first; only those of `among` where that is given."""
    if among is None and scope.documents is None and _has_index():
        return _by_index(match, limit)
    values: dict[str, Any] = {"org_id": scope.org_id, "limit": limit, "wanted": expression(match)}
    only = ""
    if among is not None:
        only, values["among"] = "AND chunk_id = ANY(:among)", list(among)
    elif scope.documents is not None:
        only, values["documents"] = "AND document_id = ANY(:documents)", list(scope.documents)
    # Made of our own constants alone.
    statement = text(
        f"SELECT chunk_id FROM chunk_words, (SELECT CAST(:wanted AS tsquery) AS wanted) AS query "  # noqa: S608
        f"WHERE org_id = :org_id AND NOT hidden AND words @@ wanted {only} ORDER BY {RANK} DESC, chunk_id LIMIT :limit"
    )
    found = session().execute(statement.bindparams(bindparam("org_id", type_=Uuid)).columns(chunk_id=Uuid), values)
    return [row.chunk_id for row in found]


def _by_index(match: TermMatch, limit: int) -> list[UUID]:
    """With all that must be there at once. Where one of several terms is enough, each is looked up by itself."""
    if not match.any_of:
        values = {"wanted": expression(match), "most": max(limit, RANKED_MAX), "limit": limit}
        return list(session().scalars(_WITH_ALL, values))
    # Words that must stand in a row are compared passage by passage; where each is asked for, too, that is left out.
    atoms = [atom for atom in match.any_of if len(plain_words(atom.text)) == 1] or match.any_of
    singles = [expression(replace(match, must=(*match.must, (atom,)), any_of=())) for atom in atoms]
    values = {"wanted": singles, "most": max(limit, COUNTED_MAX), "limit": limit}
    return list(session().scalars(_WITH_SOME, values))


_WITH_ALL = text(
    "SELECT passage FROM public.docmill_passages_found(CAST(:wanted AS tsquery), :most, :limit) AS passage"
).columns(passage=Uuid)
_WITH_SOME = text(
    "SELECT passage "
    "FROM public.docmill_passages_with_some(CAST(CAST(:wanted AS text[]) AS tsquery[]), :most, :limit) AS passage"
).columns(passage=Uuid)


def counted(wanted: Sequence[str]) -> Sequence[int]:
    """In how many passages each of these texts of tsqueries is, roughly where they are many; 0 without the index."""
    if not wanted or not _has_index():
        return [0] * len(wanted)
    found: Sequence[int] = session().execute(_COUNTED, {"wanted": list(wanted)}).scalar_one()
    return found


_COUNTED = text("SELECT public.docmill_passages_counted(CAST(CAST(:wanted AS text[]) AS tsquery[]))")


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


def expression(match: TermMatch) -> str:
    """The text of a tsquery: each word in quotation marks, and none has one in it, so that nothing is syntax."""
    groups = " & ".join(_one_of(group) for group in match.groups)
    return f"({groups}) & !{_one_of(match.without)}" if match.without else f"({groups})"


def _one_of(atoms: Sequence[Atom]) -> str:
    return "(" + " | ".join(map(_term, atoms)) + ")"


def _term(atom: Atom) -> str:
    row = indexed(plain_words(atom.text))
    if not row:
        # No passage has it.
        return f"'{MARK}'"
    if len(row) == 1 and not atom.is_prefix:
        return "(" + " | ".join(f"'{form}'" for form in forms(atom.text)) + ")"
    return "(" + " <-> ".join(f"'{word}'" for word in row) + (":*)" if atom.is_prefix else ")")
