"""Idempotency keys: the answers to requests that a program may send twice.

Revision ID: 0037
Revises: 0036
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json, UtcDateTime

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

_TABLE = "idempotency_keys"


def upgrade() -> None:
    """A new, empty table."""
    op.create_table(
        _TABLE,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_sha256", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("location", sa.Text(), nullable=True),
        sa.Column("body", Json, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(key) BETWEEN 1 AND 200", name=op.f("ck_idempotency_keys_key")),
        sa.CheckConstraint("status BETWEEN 200 AND 299", name=op.f("ck_idempotency_keys_status")),
        sa.ForeignKeyConstraint(
            ["org_id"], ["orgs.id"], name=op.f("fk_idempotency_keys_org_id_orgs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_keys")),
        sa.UniqueConstraint("org_id", "requested_by", "key", name=op.f("uq_idempotency_keys_org_id_requested_by_key")),
    )
    if op.get_bind().dialect.name == "postgresql":
        for statement in _SECURITY:
            op.execute(statement)


def downgrade() -> None:
    """Without the keys; a request that is sent again is done again."""
    op.drop_table(_TABLE)


_SECURITY = (
    "ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE idempotency_keys FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON idempotency_keys USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
