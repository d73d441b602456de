"""Asks PostgreSQL's index of words: tsvector and tsquery."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Uuid, bindparam, text

from webapp.db import session
from webapp.search.match import Atom, Match
from webapp.search.scope import Scope

_WORD = re.compile(r"[^\W_]+")


def holding(scope: Scope, match: Match, limit: int, among: Sequence[UUID] | None = None) -> list[UUID]:
    """The passages that match, best first; only those of `among` where that is given."""
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


def expression(match: Match) -> tuple[str, dict[str, Any]]:
    """An expression of numbered parameters that makes the tsquery, and their values."""
    values: dict[str, Any] = {}
    groups = " && ".join(_one_of(group, values) for group in match.groups)
    return (f"({groups}) && !!{_one_of(match.without, values)}" if match.without else groups), values


def _one_of(atoms: Sequence[Atom], values: dict[str, Any]) -> str:
    return "(" + " || ".join(_atom(atom, values) for atom in atoms) + ")"


def _atom(atom: Atom, values: dict[str, Any]) -> str:
    name = f"term{len(values)}"
    if not atom.is_prefix:
        values[name] = atom.text
        return f"phraseto_tsquery('english', :{name})"
    # Words of letters and digits alone: nothing in them is syntax.
    values[name] = " <-> ".join(_WORD.findall(atom.text)) + ":*"
    return f"to_tsquery('english', :{name})"
