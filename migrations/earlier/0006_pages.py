"""Read pages of large libraries by indexes: an index for each order, and the words of names.

The words of documents that there are already come after the commit, some documents at a time (`fill`): to take a
million names apart takes minutes, and nobody's work waits for that.

Revision ID: 0006
Revises: 0005
Create Date: 2026-11-19
"""

import re
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_TABLES = ("documents", "document_processing_jobs")
_TRIES, _PAUSE_SECONDS = 150, 0.1
_DOCUMENTS_AT_ONCE = 1_000

_OLD = {
    "ix_documents_org_id_created_at_id": ["org_id", "created_at", "id"],
    "ix_documents_org_id_status_created_at": ["org_id", "status", "created_at"],
}
_NEW = {
    "ix_documents_org_id_status_created_at_id": ["org_id", "status", "created_at", "id"],
    "ix_documents_org_id_status_filename_id": ["org_id", "status", "filename", "id"],
    "ix_documents_org_id_status_size_bytes_id": ["org_id", "status", "size_bytes", "id"],
    "ix_documents_org_id_embedding_model_id": ["org_id", "embedding_model", "id"],
}
_JOBS, _AT_REST = "document_processing_jobs", sa.text("status <> 'PROCESSING'")
_JOBS_OLD = ("ix_jobs_org_id_status_id", ["org_id", "status", "id"])
_JOBS_NEW = ("ix_jobs_org_id_status_stage_id", ["org_id", "status", "stage", "id"])
# How far `fill` has come; the table goes when nothing is left.
_TO_FILL = "document_words_to_fill"
_KEY = "fk_document_words_org_id_document_id_documents"


def upgrade() -> None:
    """New indexes, and a table for words."""
    _lock()
    for name, columns in _NEW.items():
        op.create_index(name, "documents", columns)
    for name in _OLD:
        op.drop_index(name, "documents")
    _exchange(_JOBS_OLD, _JOBS_NEW)
    _create_words()
    op.create_index("ix_document_words_org_id_word_document_id", "document_words", ["org_id", "word", "document_id"])
    if _on_postgresql():
        _protect_words()
    op.create_table(_TO_FILL, sa.Column("last_id", sa.Uuid()))
    op.execute(f"INSERT INTO {_TO_FILL} (last_id) VALUES (NULL)")


def fill(connection: sa.Connection) -> bool:
    """Add the words of some documents that were there before, in this transaction; whether others are left.

    A process that dies here has lost one transaction; the next `flask db upgrade` goes on with the rest.
    """
    if not sa.inspect(connection).has_table(_TO_FILL):
        return False
    last = connection.execute(sa.select(_last_id).with_for_update()).scalar_one()
    following = sa.select(_documents).order_by(_documents.c.id).limit(_DOCUMENTS_AT_ONCE)
    documents = connection.execute(following if last is None else following.where(_documents.c.id > last)).all()
    if not documents:
        connection.execute(sa.text(f"DROP TABLE {_TO_FILL}"))
        return False
    _add_words(connection, documents)
    connection.execute(sa.update(_last_id.table).values(last_id=documents[-1].id))
    return True


def downgrade() -> None:
    """Back to what was there before; the words follow from the names."""
    _lock()
    if _on_postgresql():
        # What `flask db upgrade` makes where the server has pg_trgm.
        op.execute("DROP FUNCTION IF EXISTS public.docmill_documents_with(text, integer)")
    op.drop_table("document_words")
    op.execute(f"DROP TABLE IF EXISTS {_TO_FILL}")
    for name, columns in _OLD.items():
        op.create_index(name, "documents", columns)
    for name in _NEW:
        op.drop_index(name, "documents")
    _exchange(_JOBS_NEW, _JOBS_OLD)


def _exchange(old: tuple[str, list[str]], new: tuple[str, list[str]]) -> None:
    op.create_index(new[0], _JOBS, new[1], postgresql_where=_AT_REST, sqlite_where=_AT_REST)
    op.drop_index(old[0], _JOBS)


def _on_postgresql() -> bool:
    return bool(op.get_bind().dialect.name == "postgresql")


def _lock() -> None:
    """Both tables at once, or none: who is at work must never wait for this one while it waits."""
    if not _on_postgresql():
        return
    tables, bind = ", ".join(_TABLES), op.get_bind()
    for patience in range(_TRIES, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _create_words() -> None:
    word = sa.Text(collation="C") if _on_postgresql() else sa.Text()
    belongs_to_document = sa.ForeignKeyConstraint(
        ["org_id", "document_id"], ["documents.org_id", "documents.id"], name=op.f(_KEY), ondelete="CASCADE"
    )
    op.create_table(
        "document_words",
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("word", word, nullable=False),
        sa.PrimaryKeyConstraint("org_id", "document_id", "word", name=op.f("pk_document_words")),
        belongs_to_document,
    )


_last_id: Any = sa.table(_TO_FILL, sa.column("last_id", sa.Uuid())).c.last_id
_documents = sa.table(
    "documents", sa.column("id", sa.Uuid()), sa.column("org_id", sa.Uuid()), sa.column("filename"), sa.column("title")
)
_words = sa.table(
    "document_words", sa.column("org_id", sa.Uuid()), sa.column("document_id", sa.Uuid()), sa.column("word")
)


def _add_words(connection: sa.Connection, documents: Iterable[Any]) -> None:
    """Those that a newer process has added meanwhile are there already."""
    rows = [(d.org_id, d.id, word) for d in documents for word in sorted(words_of(d.filename, d.title))]
    if connection.dialect.name == "postgresql":
        columns = dict(zip(("orgs", "documents", "words"), map(list, zip(*rows, strict=True)), strict=True))
        if rows:
            connection.execute(_ADD_AT_ONCE, columns)
        return
    named = [dict(zip(("org_id", "document_id", "word"), row, strict=True)) for row in rows]
    if named:
        connection.execute(sa.insert(_words).prefix_with("OR IGNORE"), named)


# One by one they would take several times as long.
_ADD_AT_ONCE = sa.text(
    "INSERT INTO document_words (org_id, document_id, word) "
    "SELECT * FROM unnest(CAST(:orgs AS uuid[]), CAST(:documents AS uuid[]), CAST(:words AS text[])) "
    "ON CONFLICT DO NOTHING"
)


def _protect_words() -> None:
    op.execute("ALTER TABLE document_words ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE document_words FORCE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY org ON document_words USING ("
        "current_setting('app.scope', true) = 'system' "
        "OR org_id = nullif(current_setting('app.org_id', true), '')::uuid)"
    )


# How names were taken apart when this was written: what the application does later changes nothing here.

_WORDS_PER_DOCUMENT_MAX = 60
_WORD_CHARACTERS_MAX = 64
_RUN = re.compile(r"\d+|[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts that put no space between words: each character stands for itself.
_UNSPACED = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿ก-๛]")


def words_of(*texts: str | None) -> set[str]:
    """The words of a document's name and title: each once, and of "MyInvoice" also "my" and "invoice"."""
    found: dict[str, None] = {}
    for text in texts:
        for run in _RUN.findall(_plain(text or "")):
            found.update(dict.fromkeys(_folded((run, *_HUMP.split(run)))))
    return set(list(found)[:_WORDS_PER_DOCUMENT_MAX])


def _plain(text: str) -> str:
    """Without accents, and in one form of each letter, however a keyboard or a file system writes it."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _folded(runs: Iterable[str]) -> Iterator[str]:
    for run in runs:
        for part in _UNSPACED.split(run):
            if part:
                yield part.casefold()[:_WORD_CHARACTERS_MAX]
        yield from _UNSPACED.findall(run)
