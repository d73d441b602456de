"""Operations may be exports and imports, and have a result: the file that an export makes.

Revision ID: 0033
Revises: 0032
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_TABLE, _NAME = "operations", "ck_operations_action"
_OLD = "action IN ('tag', 'untag', 'delete', 'restore', 'reprocess')"
_NEW = "action IN ('tag', 'untag', 'delete', 'restore', 'reprocess', 'export', 'import')"


def upgrade() -> None:
    """Two actions more, and a column that is empty in all rows."""
    with op.batch_alter_table(_TABLE) as batch:
        batch.drop_constraint(op.f(_NAME), type_="check")
        batch.add_column(sa.Column("result", Json, nullable=True))
        batch.create_check_constraint(op.f(_NAME), _NEW)


def downgrade() -> None:
    """Earlier versions know no exports: their rows go, and their files are removed by the daily sweep."""
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute("DELETE FROM document_processing_jobs WHERE stage = 'export'")
    op.execute(f"DELETE FROM {_TABLE} WHERE action IN ('export', 'import')")
    with op.batch_alter_table(_TABLE) as batch:
        batch.drop_constraint(op.f(_NAME), type_="check")
        batch.drop_column("result")
        batch.create_check_constraint(op.f(_NAME), _OLD)
