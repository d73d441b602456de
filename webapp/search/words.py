"""Finding passages by their words, with each database's own full-text index.

What a person types is never query syntax: it is split into words here, and every word
reaches the database as a value.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Uuid, bindparam, text

from webapp.db import is_postgresql, session

QUERY_CHARACTERS_MAX = 1000
TERMS_MAX = 32
IDENTIFIER_CHARACTERS_MIN = 3

_WORD = re.compile(r"\w+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Words that say nothing about a subject; PostgreSQL's dictionary knows its own.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a about an and are as at be been but by can did do does for from had has have how i if in into is it its me "
        "my no not of on or our she so that the their them then there these they this to was we were what when where "
        "which who why will with would you your",
    )
)


def clean_query(raw: str) -> str:
    """What was typed, without what no database takes, and of a sensible length."""
    return " ".join(_CONTROL.sub(" ", raw[: 4 * QUERY_CHARACTERS_MAX]).split())[:QUERY_CHARACTERS_MAX]


def query_words(query: str) -> list[str]:
    """The words that tell something, each once; all of them where none does."""
    words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(query)))
    telling = [word for word in words if word not in _COMMON]
    return (telling or words)[:TERMS_MAX]


def query_terms(query: str) -> list[str]:
    """The words, and what is written without a space: "KX-4711-B" is found as a whole, too."""
    compounds = [part for part in query.split() if len(_WORD.findall(part)) > 1]
    return list(dict.fromkeys([*compounds[:TERMS_MAX], *query_words(query)]))


def identifiers(query: str) -> list[str]:
    """What hardly has a meaning and is meant exactly: numbers, and codes with digits in them."""
    parts = (_bare(part) for part in query.split())
    exact = [part for part in parts if len(part) >= IDENTIFIER_CHARACTERS_MIN and any(map(str.isdigit, part))]
    return list(dict.fromkeys(exact))[:TERMS_MAX]


def _bare(part: str) -> str:
    """From the first letter or digit to the last one."""
    places = [found.span() for found in _WORD.finditer(part)]
    return part[places[0][0] : places[-1][1]] if places else ""


def best_by_terms(org_id: UUID, terms: Sequence[str], limit: int) -> list[UUID]:
    """The passages of an org that hold any of the terms, best first."""
    if not terms:
        return []
    if is_postgresql():
        return _on_postgresql(org_id, terms, limit)
    return _on_sqlite(org_id, terms, limit)


def _on_postgresql(org_id: UUID, terms: Sequence[str], limit: int) -> list[UUID]:
    any_of = " || ".join(f"plainto_tsquery('english', :term{number})" for number in range(len(terms)))
    # Made of numbered parameters alone. The rank is divided by the logarithm of the length (1).
    statement = text(
        f"SELECT id FROM chunks, (SELECT {any_of} AS wanted) AS query "  # noqa: S608
        "WHERE org_id = :org_id AND words @@ wanted "
        "ORDER BY ts_rank(words, wanted, 1) DESC, id LIMIT :limit"
    )
    values = {f"term{number}": term for number, term in enumerate(terms)}
    found = session().execute(
        statement.bindparams(bindparam("org_id", type_=Uuid)).columns(id=Uuid),
        {"org_id": org_id, "limit": limit, **values},
    )
    return [row.id for row in found]


_FTS5 = (
    text(
        "SELECT chunk_id AS id FROM chunks_fts JOIN chunks_fts_ids ON number = chunks_fts.rowid "
        "WHERE chunks_fts MATCH :wanted AND org_id = :org_id "
        "ORDER BY bm25(chunks_fts, 0.5, 1.0), chunk_id LIMIT :limit"
    )
    .bindparams(bindparam("org_id", type_=Uuid))
    .columns(id=Uuid)
)


def _on_sqlite(org_id: UUID, terms: Sequence[str], limit: int) -> list[UUID]:
    # In quotation marks a term is a string to FTS5, or several words in a row.
    wanted = " OR ".join('"' + term.replace('"', " ") + '"' for term in terms)
    return [row.id for row in session().execute(_FTS5, {"wanted": wanted, "org_id": org_id, "limit": limit})]
