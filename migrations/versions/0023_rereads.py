"""Documents say which reader read them, and may be read again by a run with the trigger REREAD.

Revision ID: 0023
Revises: 0022
Create Date: 2026-11-19
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_RUNS, _NAME = "processing_runs", "ck_processing_runs_trigger"
_OLD = "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY', 'CONTINUED')"
_NEW = "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY', 'CONTINUED', 'REREAD')"
_TRIED = sa.text("reread_for IS NOT NULL")
_READY, _LIVE = sa.text("status = 'READY'"), sa.text("trigger = 'REREAD' AND state IN ('QUEUED', 'RUNNING')")


def upgrade() -> None:
    """Columns that are empty in all rows, one trigger more, and the indexes for both."""
    _replace_rule(_NEW)
    op.create_index("ix_processing_runs_live_rereads", _RUNS, ["org_id"], postgresql_where=_LIVE, sqlite_where=_LIVE)
    op.add_column("orgs", sa.Column("reread_for", sa.Text(), nullable=True))
    op.add_column("documents", sa.Column("read_by", sa.Text(), nullable=True))
    op.add_column("documents", sa.Column("reread_for", sa.Text(), nullable=True))
    columns = ["read_by", "org_id", "id", "reread_for"]
    op.create_index("ix_documents_read_by", "documents", columns, postgresql_where=_READY, sqlite_where=_READY)
    columns = ["org_id", "reread_for", "id"]
    op.create_index("ix_documents_reread_for", "documents", columns, postgresql_where=_TRIED, sqlite_where=_TRIED)


def downgrade() -> None:
    """Earlier versions know the trigger that is nearest to it."""
    op.drop_index("ix_documents_reread_for", "documents")
    op.drop_index("ix_documents_read_by", "documents")
    op.drop_column("documents", "reread_for")
    op.drop_column("documents", "read_by")
    op.drop_column("orgs", "reread_for")
    op.drop_index("ix_processing_runs_live_rereads", _RUNS)
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute(f"UPDATE {_RUNS} SET trigger = 'REPROCESS' WHERE trigger = 'REREAD'")
    _replace_rule(_OLD)


def _replace_rule(rule: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        # The rules of a row are one function there.
        op.execute(_RULES_ON_POSTGRESQL.format(rule=rule))
        return
    with op.batch_alter_table(_RUNS) as batch:
        batch.drop_constraint(op.f(_NAME), type_="check")
        batch.create_check_constraint(op.f(_NAME), rule)


_RULES_ON_POSTGRESQL = """
    CREATE OR REPLACE FUNCTION run_is_possible(
        state text, failure_type text, trigger text, started_at timestamptz, finished_at timestamptz
    ) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN {rule} AND CASE state
            WHEN 'QUEUED' THEN started_at IS NULL AND finished_at IS NULL AND failure_type IS NULL
            WHEN 'RUNNING' THEN started_at IS NOT NULL AND finished_at IS NULL AND failure_type IS NULL
            WHEN 'SUCCEEDED' THEN started_at IS NOT NULL AND finished_at IS NOT NULL AND failure_type IS NULL
            WHEN 'TIMED_OUT' THEN started_at IS NOT NULL AND finished_at IS NOT NULL AND failure_type IS NULL
            ELSE state IN ('FAILED', 'CANCELLED') AND finished_at IS NOT NULL AND failure_type IS NOT NULL
                AND failure_type IN
                    ('PROCESS_TERMINATED', 'STEP_FAILED', 'ATTEMPTS_EXHAUSTED', 'BAD_INPUT', 'CANCELLED')
        END;
    END $$
"""
