"""Indexes of both columns of keys, by which SQLite finds what is deleted with a document.

Revision ID: 0046
Revises: 0045
Create Date: 2026-11-20
"""

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No row changes."""
    op.create_index("ix_run_events_document_id_org_id_id", "run_events", ["document_id", "org_id", "id"])
    op.drop_index("ix_run_events_document_id_id", "run_events")
    # PostgreSQL does not need it, and with odd statistics would look up other things by it.
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_chunks_document_id_org_id", "chunks", ["document_id", "org_id"])


def downgrade() -> None:
    """Back to what was there before."""
    if op.get_bind().dialect.name == "sqlite":
        op.drop_index("ix_chunks_document_id_org_id", "chunks")
    op.create_index("ix_run_events_document_id_id", "run_events", ["document_id", "id"])
    op.drop_index("ix_run_events_document_id_org_id_id", "run_events")
