"""Tokens for programs that work off a stage over HTTP, and the stages that workers take themselves.

Revision ID: 0012
Revises: 0011
Create Date: 2026-11-19
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_NAME = "ck_api_tokens_scope"
_OLD = "scope IN ('read', 'upload', 'write', 'metrics', 'ops', 'operator')"
_NEW = "scope IN ('read', 'upload', 'write', 'metrics', 'ops', 'operator', 'worker')"


def upgrade() -> None:
    """One scope more; workers say which stages they take with their next heartbeat."""
    _replace(_NEW)
    op.add_column("workers", sa.Column("stages", Json, nullable=True))


def downgrade() -> None:
    """Tokens of that scope end: earlier versions would not know what they may do."""
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute("DELETE FROM api_tokens WHERE scope = 'worker'")
    _replace(_OLD)
    op.drop_column("workers", "stages")


def _replace(rule: str) -> None:
    with op.batch_alter_table("api_tokens") as batch:
        batch.drop_constraint(op.f(_NAME), type_="check")
        batch.create_check_constraint(op.f(_NAME), rule)
