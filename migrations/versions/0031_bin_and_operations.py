"""The bin that deleted documents lie in for a while, and operations: work on many documents.

Revision ID: 0031
Revises: 0030
Create Date: 2026-11-20
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from webapp.db import Json, UtcDateTime

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

_TRIES, _PAUSE_SECONDS = 150, 0.1
_ORDERS = ("created_at", "filename", "size_bytes")
_NOT_KEPT = "status <> 'READY' OR pages_read IS NULL OR pages_read <> 0"
_KEPT = "status = 'READY' AND pages_read = 0"
_PARTLY_READ = "status = 'READY' AND reading = 'in_part'"
_COLUMNS = {
    "deleted_at": {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "TEXT"},
    "deleted_by": {"postgresql": "TEXT", "sqlite": "TEXT"},
    "deleted_with": {
        "postgresql": "UUID CONSTRAINT ck_documents_deleted CHECK ((deleted_at IS NULL) = (deleted_with IS NULL))",
        "sqlite": "CHAR(32) CONSTRAINT ck_documents_deleted CHECK ((deleted_at IS NULL) = (deleted_with IS NULL))",
    },
}
# Indexes of the library, each with its columns and its condition. They leave out what lies in the bin.
_LIBRARY: dict[str, tuple[tuple[str, ...], str]] = {
    **{
        f"ix_documents_org_id_status_{by}_id": (("org_id", "status", by, "id", "pages_read"), _NOT_KEPT)
        for by in _ORDERS
    },
    **{f"ix_documents_kept_{by}": (("org_id", by, "id", "pages_read"), _KEPT) for by in _ORDERS},
    **{f"ix_documents_partly_{by}": (("org_id", by, "id", "reading"), _PARTLY_READ) for by in _ORDERS},
    "ix_documents_folder": (("org_id", "folder", "id"), "folder IS NOT NULL"),
    "ix_documents_read_by": (("read_by", "org_id", "id", "reread_for"), "status = 'READY'"),
    "ix_documents_org_id_embedding_model_id": (("org_id", "embedding_model", "id"), ""),
}


def upgrade() -> None:
    """Columns that are empty in all rows, the indexes of the library anew, and two new, empty tables."""
    _lock_documents()
    name = op.get_bind().dialect.name
    for column, kinds in _COLUMNS.items():
        op.execute(f"ALTER TABLE documents ADD COLUMN {column} {kinds[name]}")
    for index, (columns, condition) in _LIBRARY.items():
        op.drop_index(index, "documents")
        both = f"({condition}) AND deleted_at IS NULL" if condition else "deleted_at IS NULL"
        _create_index(index, [*columns, "deleted_at"], both)
    op.drop_index("uq_documents_uploaded_contents", "documents")
    uploaded = "parent_id IS NULL AND deleted_at IS NULL"
    _create_index("uq_documents_uploaded_contents", ["org_id", "sha256"], uploaded, unique=True)
    in_bin = "deleted_at IS NOT NULL"
    _create_index("ix_documents_bin", ["org_id", "deleted_with", "id", "deleted_at"], in_bin)
    _create_index("ix_documents_bin_contents", ["org_id", "sha256"], in_bin)
    _create_index("ix_documents_bin_listed", ["org_id", "deleted_at", "id"], "deleted_with = id")
    table, false = ("chunk_words", "false") if name == "postgresql" else ("chunks_fts_ids", "0")
    op.execute(f"ALTER TABLE {table} ADD COLUMN hidden BOOLEAN NOT NULL DEFAULT {false}")
    _create_operations()


def downgrade() -> None:
    """Back to what was there before: what lies in the bin is in the library again."""
    _lock_documents()
    for table in ("operation_items", "operations"):
        op.drop_table(table)
    op.execute(
        f"ALTER TABLE {'chunk_words' if op.get_bind().dialect.name == 'postgresql' else 'chunks_fts_ids'} "
        "DROP COLUMN hidden"
    )
    for index in ("ix_documents_bin_listed", "ix_documents_bin_contents", "ix_documents_bin"):
        op.drop_index(index, "documents")
    op.drop_index("uq_documents_uploaded_contents", "documents")
    _create_index("uq_documents_uploaded_contents", ["org_id", "sha256"], "parent_id IS NULL", unique=True)
    for index, (columns, condition) in _LIBRARY.items():
        op.drop_index(index, "documents")
        _create_index(index, columns, condition)
    for column in reversed(_COLUMNS):
        op.execute(f"ALTER TABLE documents DROP COLUMN {column}")


def _create_operations() -> None:
    op.create_table(
        "operations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("wanted", Json, nullable=False),
        sa.Column("matched", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("undo_of", sa.Uuid(), nullable=True),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "action IN ('tag', 'untag', 'delete', 'restore', 'reprocess')",
            name="action",
        ),
        sa.CheckConstraint("state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'STOPPED')", name="state"),
        sa.CheckConstraint(
            "(state IN ('SUCCEEDED', 'FAILED', 'STOPPED')) = (finished_at IS NOT NULL)", name="finished"
        ),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_operations_org_id_orgs", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_operations"),
        sa.UniqueConstraint("org_id", "id", name="uq_operations_org_id_id"),
    )
    op.create_table(
        "operation_items",
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("operation_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("undo", Json, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["org_id", "operation_id"],
            ["operations.org_id", "operations.id"],
            name="fk_operation_items_org_id_operations",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_operation_items_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("operation_id", "document_id", name="pk_operation_items"),
    )
    op.create_index("ix_operations_org_id_undo_of", "operations", ["org_id", "undo_of"])
    op.create_index("ix_operation_items_org_id_document_id", "operation_items", ["org_id", "document_id"])
    if op.get_bind().dialect.name == "postgresql":
        for table in ("operations", "operation_items"):
            for statement in _SECURITY:
                op.execute(statement.format(table=table))


def _create_index(name: str, columns: list[str] | tuple[str, ...], where: str, *, unique: bool = False) -> None:
    only = {"postgresql_where": sa.text(where), "sqlite_where": sa.text(where)} if where else {}
    op.create_index(name, "documents", list(columns), unique=unique, **only)


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


_SECURITY = (
    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON {table} USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
