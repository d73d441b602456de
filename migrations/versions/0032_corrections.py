"""Corrections: what people say of documents, of fields and of cells; notes, favourites, and fields to be checked.

Revision ID: 0032
Revises: 0031
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json, UtcDateTime

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_NO_CELL = "target <> 'cell'"
_TO_CHECK = "check_order IS NOT NULL"


def upgrade() -> None:
    """A new, empty table, columns that are empty at first, and the order in which doubtful fields are checked."""
    op.add_column("documents", sa.Column("note", sa.Text(), nullable=True))
    op.add_column("documents", sa.Column("favourite", sa.Boolean(), nullable=True))
    op.add_column("documents", sa.Column("found", Json, nullable=True))
    op.add_column("document_fields", sa.Column("check_order", sa.Float(), nullable=True))
    _create_corrections()
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute("""
        UPDATE document_fields
        SET check_order = CASE WHEN doubt IS NOT NULL THEN -1.0 ELSE confidence END
        WHERE doubt IS NOT NULL OR confidence < 0.85
    """)
    condition = sa.text(_TO_CHECK)
    op.create_index(
        "ix_document_fields_to_check",
        "document_fields",
        ["org_id", "check_order", "id"],
        postgresql_where=condition,
        sqlite_where=condition,
    )


def _create_corrections() -> None:
    op.create_table(
        "corrections",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("nth", sa.Integer(), nullable=False),
        sa.Column("row_number", sa.Integer(), nullable=True),
        sa.Column("column_number", sa.Integer(), nullable=True),
        sa.Column("neighbours", Json, nullable=True),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("normalized", sa.Text(), nullable=True),
        sa.Column("found", sa.Text(), nullable=True),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("target IN ('fact', 'field', 'cell')", name="target"),
        sa.CheckConstraint("verdict IN ('value', 'absent', 'confirmed')", name="verdict"),
        sa.CheckConstraint("(verdict = 'absent') = (value IS NULL)", name="value"),
        sa.CheckConstraint("nth >= 0", name="nth"),
        sa.CheckConstraint(
            "(target = 'cell') = (row_number IS NOT NULL) AND (target = 'cell') = (column_number IS NOT NULL)",
            name="cell",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_corrections_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_corrections"),
    )
    condition = sa.text(_NO_CELL)
    op.create_index(
        "uq_corrections_place",
        "corrections",
        ["document_id", "target", "name", "nth"],
        unique=True,
        postgresql_where=condition,
        sqlite_where=condition,
    )
    op.create_index("ix_corrections_org_id_document_id", "corrections", ["org_id", "document_id"])
    op.create_index("ix_corrections_org_id_target_verdict", "corrections", ["org_id", "target", "verdict"])
    op.create_index("ix_corrections_org_id_id", "corrections", ["org_id", "id"])
    if op.get_bind().dialect.name == "postgresql":
        for statement in _SECURITY:
            op.execute(statement)


def downgrade() -> None:
    """Back to what was there before; the corrections, notes and favourites are lost."""
    op.drop_index("ix_document_fields_to_check", "document_fields")
    op.drop_table("corrections")
    op.drop_column("document_fields", "check_order")
    for name in ("found", "favourite", "note"):
        op.drop_column("documents", name)


_SECURITY = (
    "ALTER TABLE corrections ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE corrections FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON corrections USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
