"""How many pages of a document were read, and indexes in which files that nothing reads lie apart.

Revision ID: 0011
Revises: 0010
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_ORDERS = ("created_at", "filename", "size_bytes")
_TRIES, _PAUSE_SECONDS = 150, 0.1
_KEPT = "status = 'READY' AND pages_read = 0"
_NOT_KEPT = "status <> 'READY' OR pages_read IS NULL OR pages_read <> 0"


def upgrade() -> None:
    """A column that documents leave empty until they are processed again, and the library's indexes anew."""
    _lock_documents()
    # One statement for both databases: with its CHECK, SQLite adds it without making the table anew.
    op.execute(
        "ALTER TABLE documents ADD COLUMN pages_read INTEGER CONSTRAINT ck_documents_pages_read CHECK (pages_read >= 0)"
    )
    for order in _ORDERS:
        op.drop_index(f"ix_documents_org_id_status_{order}_id", "documents")
        _create_index(f"ix_documents_org_id_status_{order}_id", ["org_id", "status", order, "id"], _NOT_KEPT)
        _create_index(f"ix_documents_kept_{order}", ["org_id", order, "id"], _KEPT)


def downgrade() -> None:
    """Back to what was there before."""
    _lock_documents()
    for order in _ORDERS:
        op.drop_index(f"ix_documents_kept_{order}", "documents")
        op.drop_index(f"ix_documents_org_id_status_{order}_id", "documents")
        op.create_index(f"ix_documents_org_id_status_{order}_id", "documents", ["org_id", "status", order, "id"])
    op.execute("ALTER TABLE documents DROP COLUMN pages_read")


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


def _create_index(name: str, columns: list[str], where: str) -> None:
    # The last column is in no order; with it the index alone answers.
    condition = sa.text(where)
    op.create_index(name, "documents", [*columns, "pages_read"], postgresql_where=condition, sqlite_where=condition)
