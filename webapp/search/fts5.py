"""Asks SQLite's index of words, FTS5."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy import TextClause, Uuid, bindparam, text

from webapp.batches import batches
from webapp.db import session
from webapp.search.match import Atom, TermMatch
from webapp.search.scope import SearchScope
from webapp.search.stems import forms, indexed, plain_words

# SQLite takes no more values in one statement.
_IDS_PER_STATEMENT = 10_000

# Ranking takes longer than finding: of what very many passages have, the newest ones are ranked, and so many of them.
# Behind a filter all are, since those that fulfil it may be anywhere: up to 0.2 s for 100,000 passages.
RANKED_MAX = 1_000

COUNTED_MAX = 200
# Of a word in the title or file's name, in the heading, in the text, and of a stem.
WEIGHTS = "1.0, 1.0, 1.0, 1.0"
_FOUND = """
    SELECT id FROM (
        SELECT chunk_id AS id, bm25(chunks_fts, {weights}) AS distance FROM chunks_fts
        JOIN chunks_fts_ids ON number = chunks_fts.rowid
        {join}
        WHERE chunks_fts MATCH :wanted AND chunks_fts_ids.org_id = :org_id AND NOT hidden {only}
        {newest}
    )
    ORDER BY distance, id LIMIT :limit
"""
_OF_DOCUMENTS = {"join": "JOIN chunks ON chunks.id = chunk_id", "only": "AND chunks.document_id IN :documents"}
_AMONG = {"join": "", "only": "AND chunk_id IN :among"}


def _statement(join: str = "", only: str = "", newest: str = "LIMIT -1") -> TextClause:
    return text(_FOUND.format(join=join, only=only, newest=newest, weights=WEIGHTS)).bindparams(
        bindparam("org_id", type_=Uuid)
    )


_ANYWHERE = _statement(newest="ORDER BY chunks_fts.rowid DESC LIMIT :most").columns(id=Uuid)
_BEHIND_FILTER = _statement().columns(id=Uuid)
_IN_DOCUMENTS = _statement(**_OF_DOCUMENTS).bindparams(bindparam("documents", type_=Uuid, expanding=True))
_IN_IDS = _statement(**_AMONG).bindparams(bindparam("among", type_=Uuid, expanding=True))


def holding(scope: SearchScope, match: TermMatch, limit: int, among: Sequence[UUID] | None = None) -> list[UUID]:
    """The passages that match, best first; only those of `among` where that is given."""
    # Of passages that are named, each is asked for all terms.
    if match.any_of and among is None:
        match = replace(match, any_of=_telling(match.any_of))
    values = {"wanted": expression(match), "org_id": scope.org_id, "limit": limit}
    if among is not None:
        parts = batches(among, _IDS_PER_STATEMENT)
        return [
            row.id for part in parts for row in session().execute(_IN_IDS.columns(id=Uuid), values | {"among": part})
        ]
    if scope.documents is not None:
        found = session().execute(_IN_DOCUMENTS.columns(id=Uuid), values | {"documents": scope.documents})
        return [row.id for row in found]
    if scope.matching is not None:
        return [row.id for row in session().execute(_BEHIND_FILTER, values)]
    return [row.id for row in session().execute(_ANYWHERE, values | {"most": max(RANKED_MAX, limit)})]


def _telling(atoms: Sequence[Atom]) -> tuple[Atom, ...]:
    """Of terms of which one is enough those that not too many passages have; all where there is none."""
    asked = ({"wanted": _string(atom), "most": RANKED_MAX} for atom in atoms)
    counts = {atom: session().scalar(_COUNTED, each) for atom, each in zip(atoms, asked, strict=True)}
    rare = tuple(atom for atom in atoms if counts[atom] < RANKED_MAX)
    return rare if any(counts[atom] for atom in rare) else tuple(atoms)


_COUNTED = text("SELECT count(*) FROM (SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH :wanted LIMIT :most)")


def occurring(words: Collection[str]) -> dict[str, int]:
    """Those of these words that passages of any org have, and how many do."""
    parts = batches(sorted(words), _IDS_PER_STATEMENT)
    return {row.term: row.doc for part in parts for row in session().execute(_TERMS, {"words": part})}


_TERMS = text("SELECT term, doc FROM chunks_fts_vocab WHERE term IN :words").bindparams(
    bindparam("words", expanding=True)
)


def count(org_id: UUID, match: TermMatch) -> int:
    """In how many passages of the org this is, counted as far as `COUNTED_MAX`."""
    values = {"wanted": expression(match), "org_id": org_id, "most": COUNTED_MAX}
    return session().scalar(_COUNTED_IN_ORG, values) or 0


_COUNTED_IN_ORG = text("""
    SELECT count(*) FROM (
        SELECT 1 FROM chunks_fts JOIN chunks_fts_ids ON number = chunks_fts.rowid
        WHERE chunks_fts MATCH :wanted AND chunks_fts_ids.org_id = :org_id AND NOT hidden LIMIT :most
    )
""").bindparams(bindparam("org_id", type_=Uuid))


def expression(match: TermMatch) -> str:
    """The expression of FTS5: each atom a string, so that nothing in it is syntax."""
    groups = " AND ".join(_one_of(group) for group in match.groups)
    return f"({groups}) NOT {_one_of(match.without)}" if match.without else groups


def _one_of(atoms: Sequence[Atom]) -> str:
    return "(" + " OR ".join(_string(atom) for atom in atoms) + ")"


def _string(atom: Atom) -> str:
    # In quotation marks it is one word to FTS5, or several in a row. None has a quotation mark in it.
    row = indexed(plain_words(atom.text))
    if len(row) == 1 and not atom.is_prefix:
        return "(" + " OR ".join(f'"{form}"' for form in forms(atom.text)) + ")"
    return f'"{" ".join(row)}"' + ("*" if atom.is_prefix else "")
