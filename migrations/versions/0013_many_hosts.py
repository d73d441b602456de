"""What web processes on several machines share: rates, a secret, and who has just written something.

Revision ID: 0013
Revises: 0012
Create Date: 2026-11-19
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import UtcDateTime

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two small tables, and a column that sessions and tokens leave empty until they write."""
    op.create_table(
        "rate_buckets",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("full_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_rate_buckets"),
    )
    op.create_table(
        "agreed_values",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_agreed_values"),
    )
    op.add_column("user_sessions", sa.Column("wrote_at", UtcDateTime(), nullable=True))
    op.add_column("api_tokens", sa.Column("wrote_at", UtcDateTime(), nullable=True))


def downgrade() -> None:
    """Back to what was there before."""
    op.drop_column("api_tokens", "wrote_at")
    op.drop_column("user_sessions", "wrote_at")
    op.drop_table("agreed_values")
    op.drop_table("rate_buckets")
