"""Writes the index of words: what each passage is found by, in the transaction that changes the passages.

The words of title and file name, of the heading and of the text are told apart, so that they can weigh differently.
What a document's passages were indexed with (its names, its language, this version) is noted in `documents.words_by`:
where that has changed, all its passages are indexed again.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Protocol, cast
from uuid import UUID

from sqlalchemy import Connection, Table, Uuid, bindparam, select, text, update

from webapp.batches import batches
from webapp.db import session
from webapp.documents.model import Document
from webapp.search.alike import signature
from webapp.search.model import Chunk
from webapp.search.stems import MARK, indexed, language_of, linked_words, plain_words, stems, written_words

VERSION = 1
NAME_WORDS_MAX = 40
# Which share of an org's passages has the mark of a sample: one of so many.
SAMPLES = (8, 64)
_ENDING_CHARACTERS_MAX = 6
_ROWS_AT_ONCE = 500
# PostgreSQL knows no places beyond this one.
_PLACE_MAX = 16_000
_PART = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_documents = cast(Table, Document.__table__)


class Passage(Protocol):
    """What is indexed of a passage."""

    @property
    def id(self) -> UUID: ...
    @property
    def text(self) -> str: ...
    @property
    def heading(self) -> str | None: ...
    @property
    def page_from(self) -> int | None: ...


@dataclass(frozen=True)
class DocumentNames:
    """What is known of a document beside its passages: its names, and the languages of its text and its pages."""

    filename: str = ""
    title: str | None = None
    language: str | None = None
    page_languages: Mapping[int, str] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """By what it is told that something has changed."""
        said = repr((VERSION, self.filename, self.title, self.language, sorted(self.page_languages.items())))
        return sha256(said.encode()).hexdigest()[:16]

    @property
    def written(self) -> str:
        """Title and file name in one text, without the name's ending, and "MyScan01" also as its parts."""
        name = PurePath(self.filename)
        stem = name.stem if 1 < len(name.suffix) <= _ENDING_CHARACTERS_MAX else self.filename
        return f"{self.title or ''} {stem} {_PART.sub(' ', stem)}"


@dataclass(frozen=True)
class PassageWords:
    """What a passage is found by."""

    title: Sequence[str]
    heading: Sequence[str]
    words: Sequence[str]
    stems: Sequence[str]

    @property
    def signature(self) -> int:
        """By what passages with nearly the same text are told."""
        return signature(self.words)


def words_of(passage: Passage, names: DocumentNames) -> PassageWords:
    """The words of a passage and its stems, in its page's language where that is known."""
    code = names.page_languages.get(passage.page_from or 0) or names.language
    language = language_of(code, passage.text)
    title = list(dict.fromkeys(written_words(names.written)))[:NAME_WORDS_MAX]
    heading = written_words(passage.heading or "")
    written = written_words(passage.text)
    return PassageWords(
        title=indexed(plain_words(" ".join(title))),
        heading=indexed(plain_words(passage.heading or "")),
        words=indexed(plain_words(passage.text)),
        stems=[*stems([*written, *heading, *title], language), *indexed(linked_words(passage.text))],
    )


def write(
    org_id: UUID,
    document_id: UUID,
    passages: Sequence[Passage],
    changed: Collection[UUID],
    names: DocumentNames | None = None,
) -> None:
    """Index the passages that changed; all of the document's where its names did.

    `names` are those that it gets in this transaction, but for the file's name, which it has.
    """
    connection, own = session().connection(), {"org": org_id, "document": document_id}
    known = connection.execute(_KNOWN, own).one_or_none()
    if known is None:
        return
    names = replace(names or DocumentNames(title=known.title, language=known.language), filename=known.filename)
    is_other = known.words_by != names.mark
    _write(connection, own, [each for each in passages if is_other or each.id in changed], names)
    if is_other:
        connection.execute(_NOTE, {**own, "mark": names.mark})


def without_words(connection: Connection) -> Sequence[tuple[UUID, UUID]]:
    """Some documents with passages that are not indexed, each by its org and its id.

    They are from before there was this index, or a process of an earlier version has published them since.
    """
    found = connection.execute(_NEVER_INDEXED).all() or connection.execute(_PARTLY_INDEXED[connection.dialect.name])
    return [(row.org_id, row.id) for row in found]


def write_all(connection: Connection, org_id: UUID, document_id: UUID) -> bool:
    """Index all passages of a document by what its row says of it.

    False, and nothing is written, where the document is gone or another transaction is changing it: its passages may
    be deleted in that moment.
    """
    own = {"org": org_id, "document": document_id}
    known = connection.execute(_LOCK_KNOWN, own).one_or_none()
    if known is None:
        return False
    names = DocumentNames(known.filename, known.title, known.language)
    _write(connection, own, connection.execute(_PASSAGES, own).all(), names)
    connection.execute(_NOTE, {**own, "mark": names.mark})
    return True


_OWN = _documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document")
_KNOWN = select(_documents.c.filename, _documents.c.title, _documents.c.language, _documents.c.words_by).where(*_OWN)
_LOCK_KNOWN = _KNOWN.with_for_update(skip_locked=True, key_share=True)
_NEVER_INDEXED: Any = text("""
    SELECT org_id, id FROM documents WHERE words_by IS NULL
        AND EXISTS (SELECT 1 FROM chunks WHERE document_id = documents.id)
    LIMIT 10
""").columns(org_id=Uuid, id=Uuid)
# These read all passages of the database, so they are asked only where no document is found by the first one.
_PARTLY_INDEXED: Mapping[str, Any] = {
    "postgresql": text("""
        SELECT DISTINCT org_id, document_id AS id FROM chunks
        WHERE NOT EXISTS (SELECT 1 FROM chunk_words WHERE chunk_id = chunks.id)
        LIMIT 10
    """).columns(org_id=Uuid, id=Uuid),
    "sqlite": text("""
        SELECT DISTINCT org_id, document_id AS id FROM chunks
        WHERE NOT EXISTS (SELECT 1 FROM chunks_fts_ids WHERE chunk_id = chunks.id AND signature IS NOT NULL)
        LIMIT 10
    """).columns(org_id=Uuid, id=Uuid),
}
# It does not change for people.
_NOTE = update(_documents).where(*_OWN).values(words_by=bindparam("mark"), updated_at=_documents.c.updated_at)
_PASSAGES: Any = select(Chunk.id, Chunk.text, Chunk.heading, Chunk.page_from).where(
    Chunk.org_id == bindparam("org"), Chunk.document_id == bindparam("document")
)
_Found = Sequence[tuple[UUID, PassageWords]]
_Own = Mapping[str, UUID]


def _write(connection: Connection, own: _Own, passages: Sequence[Any], names: DocumentNames) -> None:
    write = _write_tsvectors if connection.dialect.name == "postgresql" else _write_fts5
    for part in batches(passages, _ROWS_AT_ONCE):
        write(connection, own, [(each.id, words_of(each, names)) for each in part])


def _write_fts5(connection: Connection, own: _Own, found: _Found) -> None:
    rows = [
        {
            "chunk": chunk_id,
            "title": " ".join(words.title),
            "heading": " ".join(words.heading),
            "words": " ".join(words.words),
            "stems": " ".join(words.stems),
        }
        for chunk_id, words in found
    ]
    numbers = [{"chunk": chunk_id, "org": own["org"], "signature": words.signature} for chunk_id, words in found]
    connection.execute(_NUMBER, numbers)
    connection.execute(_REPLACE, rows)


_NUMBER = text("""
    INSERT INTO chunks_fts_ids (chunk_id, org_id, signature) VALUES (:chunk, :org, :signature)
    ON CONFLICT (chunk_id) DO UPDATE SET signature = excluded.signature
    """).bindparams(bindparam("chunk", type_=Uuid), bindparam("org", type_=Uuid))
_REPLACE = text("""
    INSERT OR REPLACE INTO chunks_fts (rowid, title, heading, words, stems)
    VALUES ((SELECT number FROM chunks_fts_ids WHERE chunk_id = :chunk), :title, :heading, :words, :stems)
""").bindparams(bindparam("chunk", type_=Uuid))


def _write_tsvectors(connection: Connection, own: _Own, found: _Found) -> None:
    rows = [
        {**own, "chunk": chunk_id, "words": tsvector_of(own["org"], chunk_id, words), "signature": words.signature}
        for chunk_id, words in found
    ]
    connection.execute(_ADD, rows)


_ADD = text("""
    INSERT INTO chunk_words (chunk_id, org_id, document_id, signature, words)
    VALUES (:chunk, :org, :document, :signature, CAST(:words AS tsvector))
    ON CONFLICT (chunk_id) DO UPDATE SET words = excluded.words, signature = excluded.signature
""").bindparams(*(bindparam(name, type_=Uuid) for name in ("chunk", "org", "document")))


def org_mark(org_id: UUID) -> str:
    """The word that all passages of an org have."""
    return f"{MARK}{org_id.hex}"


def tsvector_of(org_id: UUID, chunk_id: UUID, words: PassageWords) -> str:
    """The text of a tsvector: A is the title, B the heading, C the text, D the stems."""
    places: dict[str, list[str]] = defaultdict(list)
    start = 0
    for weight, some in (("A", words.title), ("B", words.heading), ("C", words.words)):
        for place, word in enumerate(some, start + 1):
            places[word].append(f"{min(place, _PLACE_MAX)}{weight}")
        # No phrase goes on from one to the next.
        start += len(some) + 1
    for place, word in enumerate(words.stems, 1):
        places[word].append(f"{min(place, _PLACE_MAX)}D")
    mark = org_mark(org_id)
    marks = [mark, *(f"{mark}{share}" for share in SAMPLES if chunk_id.int % share == 0)]
    return " ".join(
        [*(f"'{word}':{','.join(held)}" for word, held in places.items()), *(f"'{each}'" for each in marks)]
    )
