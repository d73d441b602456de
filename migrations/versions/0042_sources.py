"""Sources: folders and mailboxes that are polled for new documents, and what became of each item.

Revision ID: 0042
Revises: 0039
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json, UtcDateTime

revision = "0042"
down_revision = "0039"
branch_labels = None
depends_on = None

_TABLES = ("sources", "source_items")


def upgrade() -> None:
    """Two new, empty tables."""
    _create_sources()
    _create_items()
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            for statement in _SECURITY:
                op.execute(statement.format(table=table))


def downgrade() -> None:
    """Back to what was there before: nothing is polled, and what was taken stays in the library."""
    for table in reversed(_TABLES):
        op.drop_table(table)


def _create_sources() -> None:
    op.create_table(
        "sources",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("place", Json, nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary(), nullable=True),
        sa.Column("after_taking", sa.Text(), nullable=False),
        sa.Column("interval_seconds", sa.Integer(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("lease_id", sa.Uuid(), nullable=True),
        sa.Column("lease_by", sa.Text(), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("next_poll_at", UtcDateTime(), nullable=False),
        sa.Column("last_poll_at", UtcDateTime(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("mark", Json, nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("kind IN ('folder', 'maildir', 'imap')", name="kind"),
        sa.CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        sa.CheckConstraint(
            "(kind = 'folder' AND after_taking IN ('leave', 'move', 'delete')) "
            "OR (kind = 'maildir' AND after_taking IN ('leave', 'seen')) "
            "OR (kind = 'imap' AND after_taking IN ('leave', 'seen', 'move'))",
            name="after_taking",
        ),
        sa.CheckConstraint("(kind = 'imap') = (sealed_secret IS NOT NULL)", name="secret"),
        sa.CheckConstraint("interval_seconds BETWEEN 10 AND 86400", name="interval"),
        sa.CheckConstraint(
            "(lease_id IS NULL) = (lease_until IS NULL) AND (lease_id IS NULL) = (lease_by IS NULL)", name="lease"
        ),
        sa.CheckConstraint("is_on OR lease_id IS NULL", name="off"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_sources_org_id_orgs", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("org_id", "id", name="uq_sources_org_id_id"),
    )
    op.create_index("ix_sources_org_id_name", "sources", ["org_id", "name"])
    on = sa.text("is_on")
    op.create_index("ix_sources_next_poll_at", "sources", ["next_poll_at"], postgresql_where=on, sqlite_where=on)


def _create_items() -> None:
    op.create_table(
        "source_items",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("source_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("document_id", sa.Uuid(), nullable=True),
        sa.Column("is_settled", sa.Boolean(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("unneeded_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'taken', 'skipped', 'failed')", name="state"),
        sa.CheckConstraint("length(key) BETWEEN 1 AND 200", name="key"),
        sa.CheckConstraint("(state = 'taken') = (document_id IS NOT NULL)", name="document"),
        sa.CheckConstraint("(state = 'waiting') = (ended_at IS NULL)", name="ended"),
        sa.CheckConstraint("state NOT IN ('skipped', 'failed') OR reason IS NOT NULL", name="reason"),
        sa.CheckConstraint("is_settled OR state = 'taken'", name="settled"),
        sa.ForeignKeyConstraint(
            ["org_id", "source_id"],
            ["sources.org_id", "sources.id"],
            name="fk_source_items_org_id_source_id_sources",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_source_items"),
        sa.UniqueConstraint("source_id", "key", "version", name="uq_source_items_source_id_key_version"),
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index(
        "uq_source_items_waiting",
        "source_items",
        ["source_id", "key"],
        unique=True,
        postgresql_where=waiting,
        sqlite_where=waiting,
    )
    op.create_index("ix_source_items_org_id_source_id", "source_items", ["org_id", "source_id", "state", "id"])
    op.create_index("ix_source_items_source_id_ended_at", "source_items", ["source_id", "ended_at"])
    op.create_index(
        "ix_source_items_unsettled",
        "source_items",
        ["source_id"],
        postgresql_where=sa.text("NOT is_settled"),
        sqlite_where=sa.text("is_settled = 0"),
    )


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
