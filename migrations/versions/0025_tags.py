"""Tags: names that people give to documents.

Revision ID: 0025
Revises: 0024
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import UtcDateTime

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_TABLES = ("tags", "document_tags")


def upgrade() -> None:
    """Two new, empty tables."""
    op.create_table(
        "tags",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("word", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 100 AND length(word) BETWEEN 1 AND 300", name="name"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_tags_org_id_orgs", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_tags"),
        sa.UniqueConstraint("org_id", "id", name="uq_tags_org_id_id"),
        sa.UniqueConstraint("org_id", "word", name="uq_tags_org_id_word"),
    )
    op.create_table(
        "document_tags",
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("tag_id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_document_tags_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "tag_id"], ["tags.org_id", "tags.id"], name="fk_document_tags_org_id_tags", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "tag_id", name="pk_document_tags"),
    )
    op.create_index("ix_document_tags_org_id_tag_id_document_id", "document_tags", ["org_id", "tag_id", "document_id"])
    op.create_index("ix_document_tags_org_id_document_id", "document_tags", ["org_id", "document_id"])
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            for statement in _SECURITY:
                op.execute(statement.format(table=table))


def downgrade() -> None:
    """Back to what was there before; the tags are lost."""
    for table in reversed(_TABLES):
        op.drop_table(table)


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
