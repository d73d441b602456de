"""An index of the vectors that multilingual-e5-small makes, and runs with the trigger REEMBED, which make new vectors.

Revision ID: 0028
Revises: 0026
Create Date: 2026-11-20
"""

from alembic import op

revision = "0028"
down_revision = "0026"
branch_labels = None
depends_on = None

_RUNS, _NAME = "processing_runs", "ck_processing_runs_trigger"
_OLD = "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY', 'CONTINUED', 'REREAD')"
_NEW = "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY', 'CONTINUED', 'REREAD', 'REEMBED')"


def upgrade() -> None:
    """No passage has such a vector yet, so the index is built in a moment."""
    _replace_rule(_NEW)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE INDEX ix_chunks_embedding_e5 ON chunks USING hnsw ((embedding::vector(384)) vector_cosine_ops) "
            "WHERE embedding_model = 'multilingual-e5-small-int8'"
        )


def downgrade() -> None:
    """Vectors of the model stay, and are compared one by one. Earlier versions know the trigger that is nearest."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP INDEX ix_chunks_embedding_e5")
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute(f"UPDATE {_RUNS} SET trigger = 'REPROCESS' WHERE trigger = 'REEMBED'")
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
