"""The words of file names and titles, by whose beginnings documents are found.

Both databases keep the same words, folded here: lower case, without accents. Their tables are read by ranges of an
index, since PostgreSQL uses no index of another kind (full text, trigrams) below row-level security. Where `flask db
upgrade` could make a function that passes it by (see webapp/db/inside_words.py), documents are found by the inside of
their words, too.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy import (
    ColumnElement,
    Engine,
    FromClause,
    Select,
    Subquery,
    Table,
    Uuid,
    bindparam,
    column,
    delete,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects import postgresql

from webapp.batches import batches
from webapp.db import ask_postgresql, db, session
from webapp.db.inside_words import FUNCTION
from webapp.documents.model import Document, DocumentWord
from webapp.documents.name_model import FurtherName

WORDS_PER_DOCUMENT_MAX = 60
WORD_CHARACTERS_MAX = 64
# A document has no more words than that.
QUERY_WORDS_MAX = WORDS_PER_DOCUMENT_MAX
_COUNTED_WORDS_MAX = 8
INSIDE_LEAST = 3
_IDS_PER_STATEMENT = 500

words = cast(Table, DocumentWord.__table__)
_documents = cast(Table, Document.__table__)
_others = cast(Table, FurtherName.__table__)
# A further name of a document may have the word, too.
_ADD = postgresql.insert(words).on_conflict_do_nothing()
_OWN = words.c.org_id == bindparam("org"), words.c.document_id == bindparam("document")
# An older version of the application adds documents without words while a newer one is being rolled out.
_HAS_WORDS = select(literal_column("1")).where(*_OWN).limit(literal_column("1")).scalar_subquery()
_NAMES = select(_documents.c.filename, _documents.c.title, _HAS_WORDS)
_NAMES = _NAMES.where(_documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document"))

# Letters and digits part company: "scan0001" is found by "0001".
_RUN = re.compile(r"\d+|[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts that put no space between words: each character is a word.
_UNSPACED = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿ก-๛]")
# Sorts behind everything that a word may go on with.
_END = "\U0010ffff"


def words_of(*texts: str | None) -> set[str]:
    """The words of a document's name and title: each once, and of "MyInvoice" also "my" and "invoice"."""
    found: dict[str, None] = {}
    for name in texts:
        for run in _RUN.findall(_plain(name or "")):
            found.update(dict.fromkeys(_folded((run, *_HUMP.split(run)))))
    return set(list(found)[:WORDS_PER_DOCUMENT_MAX])


def query_words(query: str) -> list[str]:
    """What somebody typed, as beginnings of words that must all be there. Empty where there is no letter or digit."""
    found = dict.fromkeys(_folded(_RUN.findall(_plain(query))))
    # "inv" says nothing beside "invoice".
    return [word for word in found if not any(other != word and other.startswith(word) for other in found)]


def looks_inside(word: str) -> bool:
    """Whether this is looked for inside of words, too: an index of trigrams finds no fewer than three characters."""
    return len(word) >= INSIDE_LEAST and _can_look_inside()


def begins_with(word: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The range of words that begin like this."""
    return words.c.word >= word, words.c.word < word + _END


def add(org_id: UUID, document_id: UUID, filename: str) -> None:
    """Let a new document be found by its file's name."""
    _insert(org_id, document_id, words_of(filename))


def rename(org_id: UUID, document_id: UUID, new_names: Mapping[str, Any]) -> None:
    """Let a document be found by a new `title` or `filename`, and no longer by the one that it has; called before
    that changes.
    """
    row = session().execute(_NAMES, {"org": org_id, "document": document_id}).one_or_none()
    if row is None:
        return
    filename, title = new_names.get("filename", row.filename), new_names.get("title", row.title)
    if (row.filename, row.title) == (filename, title) and row[2]:
        return
    old = words_of(row.filename, row.title) if row[2] else set()
    new = words_of(filename, title)
    gone = old - new
    if gone:
        gone -= _words_of_others(org_id, [document_id]).get(document_id, set())
    if gone:
        session().execute(delete(words).where(*_OWN, words.c.word.in_(gone)), {"org": org_id, "document": document_id})
    _insert(org_id, document_id, new - old)


def forget(org_id: UUID, document_ids: Iterable[UUID]) -> None:
    """Let these documents be found by their names no longer; they stay."""
    for part in batches(document_ids, _IDS_PER_STATEMENT):
        session().execute(delete(words).where(words.c.org_id == org_id, words.c.document_id.in_(part)))


def remember(org_id: UUID, document_ids: Iterable[UUID]) -> None:
    """Let these documents, which were forgotten, be found by their names again."""
    d = _documents.c
    for part in batches(document_ids, _IDS_PER_STATEMENT):
        others = _words_of_others(org_id, part)
        named = session().execute(select(d.id, d.filename, d.title).where(d.org_id == org_id, d.id.in_(part)))
        rows = [
            {"org_id": org_id, "document_id": row.id, "word": word}
            for row in named
            for word in sorted(words_of(row.filename, row.title) | others.get(row.id, set()))
        ]
        if rows:
            session().execute(_ADD, rows)


def _words_of_others(org_id: UUID, document_ids: Iterable[UUID]) -> dict[UUID, set[str]]:
    """The words of further names of these documents, where they have some."""
    found: dict[UUID, set[str]] = {}
    asked = select(_others.c.document_id, _others.c.filename).where(_others.c.org_id == org_id)
    for row in session().execute(asked.where(_others.c.document_id.in_(list(document_ids)))):
        found.setdefault(row.document_id, set()).update(words_of(row.filename))
    return found


@dataclass(frozen=True)
class Rarest:
    """Of some words the one that the fewest documents have, as far as they were counted."""

    word: str
    is_few: bool


def rarest(org_id: UUID, wanted: Sequence[str], few: int) -> Rarest:
    """Which of these words is best looked up: the occurrences of each are counted, up to `few`.

    Of many words those that are long are asked for: they occur least.
    """
    wanted = sorted(wanted, key=len, reverse=True)[:_COUNTED_WORDS_MAX]
    numbers = dict(zip(wanted, session().execute(_places(org_id, wanted, few + 1)).one(), strict=True))
    # Only where few begin with it: to find all that have it inside costs most where these are many.
    for word in wanted:
        if numbers[word] <= few and looks_inside(word):
            inside = select(func.count()).select_from(_inside(word, few + 1))
            numbers[word] = session().scalar(inside) or 0
    word = min(wanted, key=lambda each: (numbers[each], each))
    return Rarest(word, numbers[word] <= few)


def having(org_id: UUID, word: str, most: int) -> Subquery:
    """The documents that have a word, each once, out of so many places at most."""
    if looks_inside(word):
        return select(_inside(word, most).c.document_id).distinct().subquery()
    places = select(words.c.document_id).where(words.c.org_id == org_id, *begins_with(word))
    some = places.limit(literal_column(str(most))).subquery()
    return select(some.c.document_id).distinct().subquery()


def has_all(org_id: UUID, document_id: ColumnElement[UUID], wanted: Iterable[str]) -> list[ColumnElement[bool]]:
    """Whether a document has all these words, asked for each document by itself.

    A value, not EXISTS: that one a planner may turn around, and read all documents that have the word.
    """
    return [
        select(literal_column("1"))
        .where(words.c.org_id == org_id, words.c.document_id == document_id, *_fits(word))
        .limit(literal_column("1"))
        .scalar_subquery()
        == literal_column("1")
        for word in wanted
    ]


def _places(org_id: UUID, wanted: Sequence[str], most: int) -> Select[Any]:
    """In how many places words begin with each of these, counted as far as `most`."""
    counted = []
    for word in wanted:
        places: Select[Any] = select(literal_column("1")).select_from(words)
        places = places.where(words.c.org_id == org_id, *begins_with(word)).limit(literal_column(str(most)))
        counted.append(select(func.count()).select_from(places.subquery()).scalar_subquery())
    return select(*counted)


def _fits(word: str) -> Sequence[ColumnElement[bool]]:
    return [words.c.word.contains(word, autoescape=True)] if looks_inside(word) else begins_with(word)


def _inside(word: str, most: int) -> FromClause:
    """The documents with this inside of a word, once for each such word: of the org that the transaction is about."""
    found: Any = func.docmill_documents_with(word, literal_column(str(most)))
    return select(found.table_valued(column("document_id", Uuid)).render_derived().c.document_id).subquery()


def _can_look_inside() -> bool:
    engine = db.engine
    if engine not in _looking_inside:
        row = ask_postgresql(_MAY_LOOK)
        _looking_inside[engine] = row is not None and bool(row[0])
    return _looking_inside[engine]


def forget_whether_to_look() -> None:
    """Ask the database anew whether it lets us look inside of words."""
    _looking_inside.clear()


# Asked once in each process.
_looking_inside: WeakKeyDictionary[Engine, bool] = WeakKeyDictionary()
_MAY_LOOK = text(f"SELECT has_function_privilege(to_regprocedure('public.{FUNCTION}'), 'EXECUTE')")


def _insert(org_id: UUID, document_id: UUID, found: set[str]) -> None:
    if found:
        rows = [{"org_id": org_id, "document_id": document_id, "word": word} for word in sorted(found)]
        session().execute(_ADD, rows)


def _plain(text: str) -> str:
    """Without accents, and in one form of each letter, however a keyboard or a file system writes it."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _folded(runs: Iterable[str]) -> Iterator[str]:
    for run in runs:
        for part in _UNSPACED.split(run):
            if part:
                yield part.casefold()[:WORD_CHARACTERS_MAX]
        yield from _UNSPACED.findall(run)
