"""What each org stores, and the vectors of what it searched for.

Revision ID: 0007
Revises: 0006
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from webapp.db import Embedding, UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_TRIES, _PAUSE_SECONDS = 150, 0.1
_USAGE, _QUERIES = "org_usage", "query_embeddings"


def upgrade() -> None:
    """Two tables more; what is stored already is counted."""
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        _USAGE,
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_org_usage_org_id_orgs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "part", name=op.f("pk_org_usage")),
    )
    op.create_table(
        _QUERIES,
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("query_sha256", sa.Text(), nullable=False),
        sa.Column("embedding", Embedding(), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["orgs.id"], name=op.f("fk_query_embeddings_org_id_orgs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "model", "query_sha256", name=op.f("pk_query_embeddings")),
    )
    op.create_index("ix_query_embeddings_org_id_used_at", _QUERIES, ["org_id", "used_at"], unique=False)
    if on_postgresql:
        _lock()
    counted = "SELECT org_id, 0, sum(size_bytes) FROM documents GROUP BY org_id"
    op.execute(f"INSERT INTO {_USAGE} (org_id, part, stored_bytes) {counted}")
    if on_postgresql:
        for table in (_USAGE, _QUERIES):
            _row_level_security(table)


def downgrade() -> None:
    """Both can be made again."""
    op.drop_table(_QUERIES)
    op.drop_table(_USAGE)


def _lock() -> None:
    """Uploads wait until this is committed, so that none is missed; nobody waits while this waits for others."""
    bind = op.get_bind()
    # Row-level security is forced, also on the owner: without this no row would be seen.
    op.execute("SET LOCAL app.scope = 'system'")
    for patience in range(_TRIES, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text("LOCK TABLE documents IN SHARE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _row_level_security(table: str) -> None:
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY org ON {table} USING (current_setting('app.scope', true) = 'system' "
        "OR org_id = nullif(current_setting('app.org_id', true), '')::uuid)"
    )
