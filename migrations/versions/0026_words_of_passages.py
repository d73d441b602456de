"""The words of passages without accents, with their stems in each language, and with those of titles and file names.

Their index is written by the application (webapp/search/word_rows.py), no longer by the database, which knows one
language. The passages that are there are indexed anew after the commit, document by document, in short transactions;
where that was interrupted, the next upgrade goes on. What a process of an earlier version publishes later is indexed by
a chore of the workers (`index_words`). On PostgreSQL the earlier index stays until all is there, for processes of an
earlier version, which still search by it; on SQLite nobody else is there.

Revision ID: 0026
Revises: 0025
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.search import word_rows

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the new index, which is empty."""
    op.add_column("documents", sa.Column("words_by", sa.Text(), nullable=True))
    condition = sa.text("words_by IS NULL")
    op.create_index("ix_documents_words_by", "documents", ["id"], postgresql_where=condition, sqlite_where=condition)
    for statement in _POSTGRESQL if op.get_bind().dialect.name == "postgresql" else _SQLITE:
        op.execute(statement)


def downgrade() -> None:
    """Back to what was there before, with the index that the database writes."""
    for statement in _POSTGRESQL_BACK if op.get_bind().dialect.name == "postgresql" else _SQLITE_BACK:
        op.execute(statement)
    op.drop_index("ix_documents_words_by", "documents")
    op.drop_column("documents", "words_by")


def fill(connection: sa.Connection) -> bool:
    """Index the passages of some documents; False when there are no more, but for those that others are changing."""
    written = [word_rows.write_all(connection, *each) for each in word_rows.without_words(connection)]
    return any(written)


# The words lie apart from the rows, which are small: a search reads many rows, and the words of few.
_POSTGRESQL = (
    """
    CREATE TABLE chunk_words (
        chunk_id uuid NOT NULL CONSTRAINT pk_chunk_words PRIMARY KEY,
        org_id uuid NOT NULL,
        document_id uuid NOT NULL,
        signature bigint NOT NULL,
        words tsvector NOT NULL,
        CONSTRAINT fk_chunk_words_org_id_chunks FOREIGN KEY (org_id, chunk_id)
            REFERENCES chunks (org_id, id) ON DELETE CASCADE
    ) WITH (toast_tuple_target = 128)
    """,
    "CREATE INDEX ix_chunk_words_document_id ON chunk_words (document_id)",
    "ALTER TABLE chunk_words ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE chunk_words FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON chunk_words USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
_POSTGRESQL_BACK = (
    "DROP FUNCTION IF EXISTS docmill_passages_found(tsquery, integer, integer)",
    "DROP FUNCTION IF EXISTS docmill_passages_with_some(tsquery[], integer, integer)",
    "DROP FUNCTION IF EXISTS docmill_passages_counted(tsquery[])",
    "DROP TABLE chunk_words",
    """
    ALTER TABLE chunks ADD COLUMN IF NOT EXISTS words tsvector
        GENERATED ALWAYS AS (to_tsvector('english', coalesce(heading, '') || ' ' || text)) STORED
    """,
)

_REMOVE = """
    DELETE FROM chunks_fts WHERE rowid = (SELECT number FROM chunks_fts_ids WHERE chunk_id = old.id);
    DELETE FROM chunks_fts_ids WHERE chunk_id = old.id;
"""
_ADD = """
    INSERT INTO chunks_fts_ids (chunk_id, org_id) VALUES (new.id, new.org_id);
    INSERT INTO chunks_fts (rowid, heading, text)
        VALUES ((SELECT number FROM chunks_fts_ids WHERE chunk_id = new.id), coalesce(new.heading, ''), new.text);
"""
_TRIGGERS = tuple(f"DROP TRIGGER chunks_fts_{change}" for change in ("insert", "update", "delete"))
_ON_DELETE = f"CREATE TRIGGER chunks_fts_delete AFTER DELETE ON chunks BEGIN {_REMOVE} END"
_SQLITE = (
    *_TRIGGERS,
    "DROP TABLE chunks_fts",
    "ALTER TABLE chunks_fts_ids ADD COLUMN signature INTEGER",
    """
    CREATE VIRTUAL TABLE chunks_fts
        USING fts5(title, heading, words, stems, tokenize = 'unicode61 remove_diacritics 0')
    """,
    "CREATE VIRTUAL TABLE chunks_fts_vocab USING fts5vocab('chunks_fts', 'row')",
    _ON_DELETE,
)
_SQLITE_BACK = (
    "DROP TRIGGER chunks_fts_delete",
    "DROP TABLE chunks_fts_vocab",
    "DROP TABLE chunks_fts",
    "ALTER TABLE chunks_fts_ids DROP COLUMN signature",
    "CREATE VIRTUAL TABLE chunks_fts USING fts5(heading, text, tokenize = 'porter unicode61 remove_diacritics 2')",
    "INSERT OR IGNORE INTO chunks_fts_ids (chunk_id, org_id) SELECT id, org_id FROM chunks",
    """
    INSERT INTO chunks_fts (rowid, heading, text)
        SELECT number, coalesce(heading, ''), text FROM chunks JOIN chunks_fts_ids ON chunk_id = id
    """,
    f"CREATE TRIGGER chunks_fts_insert AFTER INSERT ON chunks BEGIN {_ADD} END",
    _ON_DELETE,
    f"""
    CREATE TRIGGER chunks_fts_update AFTER UPDATE OF text, heading ON chunks
    WHEN old.text <> new.text OR old.heading IS NOT new.heading
    BEGIN {_REMOVE} {_ADD} END
    """,
)
