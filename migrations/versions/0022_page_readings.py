"""How each page was read, and what kind of document it is, of which day, and whether its title is a guess.

Revision ID: 0022
Revises: 0021
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

_ORDERS = ("created_at", "filename", "size_bytes")
_TRIES, _PAUSE_SECONDS = 150, 0.1
_PARTLY_READ = "status = 'READY' AND reading = 'in_part'"
# In this order: a column's rule may name those before it.
_COLUMNS = {
    "reading": "TEXT CONSTRAINT ck_documents_reading CHECK (reading IN ('well', 'in_part'))",
    "title_is_guess": "BOOLEAN",
    "kind": "TEXT",
    "document_date": "DATE",
    "document_date_from": "TEXT CONSTRAINT ck_documents_document_date"
    " CHECK ((document_date IS NULL) = (document_date_from IS NULL))",
}


def upgrade() -> None:
    """A new, empty table; columns that documents leave empty until they are processed again; indexes without rows."""
    _lock_documents()
    for name, kind in _COLUMNS.items():
        # One statement for both databases: with its CHECK, SQLite adds it without making the table anew.
        op.execute(f"ALTER TABLE documents ADD COLUMN {name} {kind}")
    condition = sa.text(_PARTLY_READ)
    for order in _ORDERS:
        name, columns = f"ix_documents_partly_{order}", ["org_id", order, "id", "reading"]
        op.create_index(name, "documents", columns, postgresql_where=condition, sqlite_where=condition)
    _create_pages()


def downgrade() -> None:
    """Back to what was there before."""
    _lock_documents()
    op.drop_table("document_pages")
    for order in _ORDERS:
        op.drop_index(f"ix_documents_partly_{order}", "documents")
    for name in reversed(_COLUMNS):
        op.execute(f"ALTER TABLE documents DROP COLUMN {name}")


def _create_pages() -> None:
    op.create_table(
        "document_pages",
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("reading", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("by_ocr", sa.Boolean(), nullable=False),
        sa.Column("sure_share", sa.Float(), nullable=True),
        sa.CheckConstraint("number >= 1", name="number"),
        sa.CheckConstraint(_POSSIBLE, name="possible"),
        sa.CheckConstraint("NOT by_ocr OR reading <> 'not_read'", name="by_ocr"),
        sa.CheckConstraint("sure_share BETWEEN 0 AND 1", name="sure_share"),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_document_pages_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "document_id", "number", name="pk_document_pages"),
    )
    op.create_index("ix_document_pages_org_id_reading_reason", "document_pages", ["org_id", "reading", "reason"])
    if op.get_bind().dialect.name == "postgresql":
        for statement in _SECURITY:
            op.execute(statement)


def _lock_documents() -> None:
    """At once or not yet: pages and workers must never wait behind a migration that waits itself."""
    bind = op.get_bind()
    for patience in range(_TRIES if bind.dialect.name == "postgresql" else 0, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text("LOCK TABLE documents IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


_POSSIBLE = (
    "(reading = 'well' AND (reason IS NULL OR reason = 'blank'))"
    " OR (reading = 'in_part' AND reason IS NOT NULL AND reason IN ('ocr_off', 'unknown_script', 'low_confidence',"
    " 'damaged_text', 'page_failed', 'ocr_ended', 'time_limit'))"
    " OR (reading = 'not_read' AND reason IS NOT NULL AND reason IN ('no_text', 'ocr_off', 'unknown_script',"
    " 'page_failed', 'ocr_ended', 'time_limit', 'not_answered'))"
)
_SECURITY = (
    "ALTER TABLE document_pages ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE document_pages FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON document_pages USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
