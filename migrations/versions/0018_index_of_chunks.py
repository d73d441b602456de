"""One index of chunks less: the places of a document find its chunks, too.

Revision ID: 0018
Revises: 0017
Create Date: 2026-11-19
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No row changes."""
    op.drop_index("ix_chunks_org_id_document_id", "chunks")


def downgrade() -> None:
    """Back to what was there before."""
    op.create_index("ix_chunks_org_id_document_id", "chunks", ["org_id", "document_id"])
