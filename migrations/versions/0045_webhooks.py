"""Webhooks: the addresses that an org's events are sent to, and the outbox of deliveries.

Revision ID: 0045
Revises: 0044
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json, UtcDateTime

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

_TABLES = ("webhooks", "webhook_deliveries")


def upgrade() -> None:
    """Two new, empty tables."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", Json, nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("earlier_secret", sa.LargeBinary(), nullable=True),
        sa.Column("earlier_until", UtcDateTime(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("rests_until", UtcDateTime(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(url) BETWEEN 1 AND 2000", name="url"),
        sa.CheckConstraint("(earlier_secret IS NULL) = (earlier_until IS NULL)", name="earlier_secret"),
        sa.CheckConstraint("failures >= 0", name="failures"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_webhooks_org_id_orgs", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
        sa.UniqueConstraint("org_id", "id", name="uq_webhooks_org_id_id"),
    )
    _create_deliveries()
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            for statement in _SECURITY:
                op.execute(statement.format(table=table))


def downgrade() -> None:
    """Back to what was there before; webhooks are lost, and what was not sent yet."""
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute("DELETE FROM document_processing_jobs WHERE stage = 'deliver'")
    for table in reversed(_TABLES):
        op.drop_table(table)


def _create_deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("webhook_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.Uuid(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=True),
        sa.Column("queued_at", UtcDateTime(), nullable=False),
        sa.Column("tried_at", UtcDateTime(), nullable=True),
        sa.Column("next_try_at", UtcDateTime(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("delivered_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("state IN ('PENDING', 'DELIVERED', 'FAILED', 'HELD')", name="state"),
        sa.CheckConstraint("(state = 'DELIVERED') = (delivered_at IS NOT NULL)", name="delivered"),
        sa.CheckConstraint("state <> 'PENDING' OR job_id IS NOT NULL", name="job"),
        sa.CheckConstraint("attempts >= 0", name="attempts"),
        sa.CheckConstraint("length(answer) <= 1000", name="answer"),
        sa.ForeignKeyConstraint(
            ["org_id", "webhook_id"],
            ["webhooks.org_id", "webhooks.id"],
            name="fk_webhook_deliveries_org_id_webhooks",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_deliveries"),
        sa.UniqueConstraint("webhook_id", "event_id", name="uq_webhook_deliveries_webhook_id_event_id"),
    )
    op.create_index("ix_webhook_deliveries_org_id_webhook_id_id", "webhook_deliveries", ["org_id", "webhook_id", "id"])
    op.create_index(
        "ix_webhook_deliveries_org_id_state_webhook_id",
        "webhook_deliveries",
        ["org_id", "state", "webhook_id", "id"],
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
