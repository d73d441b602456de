"""Tables know which cells take several places.

Revision ID: 0036
Revises: 0035
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Json

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A column that is empty in all rows."""
    with op.batch_alter_table("document_tables") as batch:
        batch.add_column(sa.Column("spans", Json, nullable=True))


def downgrade() -> None:
    """The tables stay."""
    with op.batch_alter_table("document_tables") as batch:
        batch.drop_column("spans")
