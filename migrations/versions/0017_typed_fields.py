"""What fields mean, what is doubtful about them, and what the columns of tables hold.

Revision ID: 0017
Revises: 0016
Create Date: 2026-11-19
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_FIELDS = ("kind", "normalized", "doubt")


def upgrade() -> None:
    """Columns that stay empty until a document is processed again: no row is written, on neither database."""
    for name in _FIELDS:
        op.add_column("document_fields", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("document_tables", sa.Column("columns", sa.JSON().with_variant(JSONB(), "postgresql"), nullable=True))


def downgrade() -> None:
    """Back to what was there before."""
    op.drop_column("document_tables", "columns")
    for name in reversed(_FIELDS):
        op.drop_column("document_fields", name)
