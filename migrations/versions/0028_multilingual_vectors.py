"""An index of the vectors that multilingual-e5-small makes.

Revision ID: 0028
Revises: 0025
Create Date: 2026-11-20
"""

from alembic import op

revision = "0028"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """On PostgreSQL, beside that of MiniLM. No passage has such a vector yet, so it is built in a moment."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX ix_chunks_embedding_e5 ON chunks USING hnsw ((embedding::vector(384)) vector_cosine_ops) "
            "WHERE embedding_model = 'multilingual-e5-small-int8'"
        )


def downgrade() -> None:
    """Vectors of the model stay, and are compared one by one."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP INDEX ix_chunks_embedding_e5")
