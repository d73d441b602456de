"""Answers: what a chat model answered to questions.

Revision ID: 0030
Revises: 0028
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json, UtcDateTime

revision = "0030"
down_revision = "0028"
branch_labels = None
depends_on = None

_TABLES = ("answers", "answer_sources")


def upgrade() -> None:
    """Two new, empty tables."""
    op.create_table(
        "answers",
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("sentences", Json, nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Uuid(), nullable=False),
        sa.Column("ends_at", UtcDateTime(), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("state IN ('ASKING', 'DONE', 'FAILED')", name="state"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_answers_org_id_orgs", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "key", name="pk_answers"),
    )
    op.create_table(
        "answer_sources",
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("chunk_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_answer_sources_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "key"],
            ["answers.org_id", "answers.key"],
            name="fk_answer_sources_org_id_answers",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "key", "number", name="pk_answer_sources"),
    )
    op.create_index("ix_answers_org_id_used_at", "answers", ["org_id", "used_at"])
    op.create_index("ix_answer_sources_org_id_document_id", "answer_sources", ["org_id", "document_id"])
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            for statement in _SECURITY:
                op.execute(statement.format(table=table))


def downgrade() -> None:
    """Back to what was there before; the answers are lost."""
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
