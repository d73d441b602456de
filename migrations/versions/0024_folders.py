"""The folder that a document was uploaded with, and how many files in an archive a password locks.

Revision ID: 0024
Revises: 0023
Create Date: 2026-11-20
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_TRIES, _PAUSE_SECONDS = 150, 0.1
_HAS_FOLDER = sa.text("folder IS NOT NULL")


def upgrade() -> None:
    """Two columns that are empty in all rows, and an index that has none yet."""
    _lock_documents()
    # Folders are read by ranges, so they sort by their characters whatever the language of the database is.
    folder = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("documents", sa.Column("folder", folder, nullable=True))
    op.add_column("documents", sa.Column("locked_parts", sa.Integer(), nullable=True))
    columns = ["org_id", "folder", "id"]
    op.create_index("ix_documents_folder", "documents", columns, postgresql_where=_HAS_FOLDER, sqlite_where=_HAS_FOLDER)


def downgrade() -> None:
    """Back to what was there before."""
    _lock_documents()
    op.drop_index("ix_documents_folder", "documents")
    op.drop_column("documents", "locked_parts")
    op.drop_column("documents", "folder")


def _lock_documents() -> None:
    """At once or not yet: pages and workers must never wait behind a migration that waits itself."""
    bind = op.get_bind()
    for patience in range(_TRIES if bind.dialect.name == "postgresql" else 0, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text("LOCK TABLE documents IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return
