"""Saved views: filters of the library that people have named.

Revision ID: 0035
Revises: 0034
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import UtcDateTime

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A new, empty table."""
    op.create_table(
        "saved_views",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("sort", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("private_to", sa.Uuid(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        sa.CheckConstraint("sort IN ('newest', 'oldest', 'name', 'largest')", name="sort"),
        sa.CheckConstraint("position >= 0", name="position"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_saved_views_org_id_orgs", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["org_id", "private_to"],
            ["users.org_id", "users.id"],
            name="fk_saved_views_org_id_users",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_saved_views"),
        sa.UniqueConstraint("org_id", "id", name="uq_saved_views_org_id_id"),
    )
    op.create_index("ix_saved_views_org_id_position_id", "saved_views", ["org_id", "position", "id"])
    op.create_index("ix_saved_views_org_id_private_to", "saved_views", ["org_id", "private_to"])
    if op.get_bind().dialect.name == "postgresql":
        for statement in _SECURITY:
            op.execute(statement)


def downgrade() -> None:
    """Back to what was there before; the views are lost."""
    op.drop_table("saved_views")


_SECURITY = (
    "ALTER TABLE saved_views ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE saved_views FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON saved_views USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
