"""Runs may go on where the run before reached its time limit: the trigger CONTINUED.

Revision ID: 0019
Revises: 0018
Create Date: 2026-11-19
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_RUNS, _NAME = "processing_runs", "ck_processing_runs_trigger"
_OLD = "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY')"
_NEW = "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY', 'CONTINUED')"


def upgrade() -> None:
    """One trigger more."""
    _replace(_NEW)


def downgrade() -> None:
    """Earlier versions know the trigger that is nearest to it."""
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute(f"UPDATE {_RUNS} SET trigger = 'RETRY' WHERE trigger = 'CONTINUED'")
    _replace(_OLD)


def _replace(rule: str) -> None:
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
