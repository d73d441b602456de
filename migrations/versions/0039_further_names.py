"""Further names: what else a document's file was called where it was uploaded again.

Revision ID: 0039
Revises: 0038
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import UtcDateTime

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A new, empty table."""
    op.create_table(
        "further_names",
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("filename", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("uploaded_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(filename) > 0", name="filename"),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_further_names_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "filename", "folder", name="pk_further_names"),
    )
    op.create_index("ix_further_names_org_id_document_id", "further_names", ["org_id", "document_id"])
    if op.get_bind().dialect.name == "postgresql":
        for statement in _SECURITY:
            op.execute(statement)


def downgrade() -> None:
    """Back to what was there before; the further names are lost."""
    op.drop_table("further_names")


_SECURITY = (
    "ALTER TABLE further_names ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE further_names FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON further_names USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
