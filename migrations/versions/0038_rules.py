"""Rules: what documents of a saved view are given; and operations that apply them, or make tags of folders.

Revision ID: 0038
Revises: 0037
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json, UtcDateTime

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

_TABLES = ("rules", "rule_applications")
_OPERATIONS, _NAME = "operations", "ck_operations_action"
_OLD = "action IN ('tag', 'untag', 'delete', 'restore', 'reprocess', 'export', 'import')"
_NEW = (
    "action IN ('tag', 'untag', 'delete', 'restore', 'reprocess', 'export', 'import', 'rule', 'unrule', 'tag_folders')"
)


def upgrade() -> None:
    """Two new, empty tables, and three actions more."""
    op.create_table(
        "rules",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("view_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tags", Json, nullable=False),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_rules_org_id_orgs", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["org_id", "view_id"], ["saved_views.org_id", "saved_views.id"], name="fk_rules_org_id_saved_views"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_rules"),
        sa.UniqueConstraint("org_id", "id", name="uq_rules_org_id_id"),
    )
    op.create_index("ix_rules_org_id_view_id", "rules", ["org_id", "view_id"])
    _create_applications()
    with op.batch_alter_table(_OPERATIONS) as batch:
        batch.drop_constraint(op.f(_NAME), type_="check")
        batch.create_check_constraint(op.f(_NAME), _NEW)
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            for statement in _SECURITY:
                op.execute(statement.format(table=table))


def downgrade() -> None:
    """Back to what was there before; rules are lost, and the operations that applied them."""
    for table in reversed(_TABLES):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    gone = f"SELECT id FROM {_OPERATIONS} WHERE action IN ('rule', 'unrule', 'tag_folders')"
    op.execute(f"DELETE FROM document_processing_jobs WHERE operation_id IN ({gone})")
    op.execute(f"DELETE FROM {_OPERATIONS} WHERE id IN ({gone})")
    with op.batch_alter_table(_OPERATIONS) as batch:
        batch.drop_constraint(op.f(_NAME), type_="check")
        batch.create_check_constraint(op.f(_NAME), _OLD)


def _create_applications() -> None:
    op.create_table(
        "rule_applications",
        sa.Column("rule_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("tags", Json, nullable=False),
        sa.Column("applied_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "rule_id"],
            ["rules.org_id", "rules.id"],
            name="fk_rule_applications_org_id_rules",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_rule_applications_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("rule_id", "document_id", name="pk_rule_applications"),
    )
    op.create_index("ix_rule_applications_org_id_document_id", "rule_applications", ["org_id", "document_id"])


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
