"""Share links: a document or a saved view, shown to somebody outside.

Revision ID: 0047
Revises: 0046
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import UtcDateTime

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

_TABLE, _LOG, _KINDS = "share_links", "audit_log", "ck_audit_log_actor_kind"
_OLD = "actor_kind IN ('user', 'token', 'command', 'nobody')"
_NEW = "actor_kind IN ('user', 'token', 'command', 'link', 'nobody')"


def upgrade() -> None:
    """A new, empty table; and lines of the security log about what was done with a link."""
    op.create_table(
        _TABLE,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=True),
        sa.Column("view_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("with_original", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.Column("openings", sa.Integer(), nullable=False),
        sa.Column("last_opened_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("(document_id IS NULL) <> (view_id IS NULL)", name="target"),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        sa.CheckConstraint("expires_at >= created_at", name="expires_at"),
        sa.CheckConstraint("openings >= 0 AND (openings = 0) = (last_opened_at IS NULL)", name="openings"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_share_links_org_id_orgs", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_share_links_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "view_id"],
            ["saved_views.org_id", "saved_views.id"],
            name="fk_share_links_org_id_saved_views",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_share_links"),
        sa.UniqueConstraint("token_hash", name="uq_share_links_token_hash"),
    )
    op.create_index("ix_share_links_org_id_document_id", _TABLE, ["org_id", "document_id"])
    op.create_index("ix_share_links_org_id_view_id", _TABLE, ["org_id", "view_id"])
    with op.batch_alter_table(_LOG) as batch:
        batch.drop_constraint(op.f(_KINDS), type_="check")
        batch.create_check_constraint(op.f(_KINDS), _NEW)
    if op.get_bind().dialect.name == "postgresql":
        for statement in _SECURITY:
            op.execute(statement)


def downgrade() -> None:
    """Back to what was there before: links stop working, and lines of what was done with them are lost."""
    op.drop_table(_TABLE)
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute(f"DELETE FROM {_LOG} WHERE actor_kind = 'link'")
    with op.batch_alter_table(_LOG) as batch:
        batch.drop_constraint(op.f(_KINDS), type_="check")
        batch.create_check_constraint(op.f(_KINDS), _OLD)


_SECURITY = (
    "ALTER TABLE share_links ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE share_links FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON share_links USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
