"""Sealed passwords in jobs' rows, the place of a document's opened copy, the values behind a table's cells.

Revision ID: 0020
Revises: 0019
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import OperationalError

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_JOBS = "document_processing_jobs"
_TRIES, _PAUSE_SECONDS = 150, 0.1
_SEALED = "sealed_password IS NULL OR status IN ('PENDING', 'PROCESSING')"


def upgrade() -> None:
    """Columns that are empty in all rows, and the rule that no ended job has a password."""
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    _lock_jobs()
    # SQLite adds a column with its CHECK without making the table anew; PostgreSQL has the rules in a function.
    kind, check = ("BYTEA", "") if is_postgresql else ("BLOB", f" CONSTRAINT ck_{_JOBS}_sealed CHECK ({_SEALED})")
    op.execute(f"ALTER TABLE {_JOBS} ADD COLUMN sealed_password {kind}{check}")
    if is_postgresql:
        _create_rules(f"{_RULES} AND (job.sealed_password IS NULL OR job.status IN ('PENDING', 'PROCESSING'))")
    values = sa.JSON().with_variant(JSONB(), "postgresql")
    op.add_column("document_tables", sa.Column("values", values, nullable=True))
    op.add_column("documents", sa.Column("opened_path", sa.Text(), nullable=True))


def downgrade() -> None:
    """Back to what was there before. Opened copies are blobs that no row names any more."""
    op.drop_column("documents", "opened_path")
    op.drop_column("document_tables", "values")
    _lock_jobs()
    if op.get_bind().dialect.name == "postgresql":
        _create_rules(_RULES)
    op.execute(f"ALTER TABLE {_JOBS} DROP COLUMN sealed_password")


def _lock_jobs() -> None:
    """At once or not yet: pages and workers must never wait behind a migration that waits itself."""
    bind = op.get_bind()
    for patience in range(_TRIES if bind.dialect.name == "postgresql" else 0, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text(f"LOCK TABLE {_JOBS} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _create_rules(rules: str) -> None:
    op.execute(f"""
    CREATE OR REPLACE FUNCTION job_is_possible(job {_JOBS})
    RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN {rules};
    END $$
    """)


_RULES = """job.attempts >= 0 AND job.max_attempts >= 1 AND job.attempts <= job.max_attempts
            AND (job.run_id IS NULL) = (job.document_id IS NULL)
            AND (job.run_id IS NULL) = (job.operation_id IS NOT NULL)
            AND CASE job.status
            WHEN 'PROCESSING' THEN job.lease_id IS NOT NULL AND job.locked_by IS NOT NULL AND job.wakes_at IS NULL
                AND job.started_at IS NOT NULL AND job.heartbeat_at IS NOT NULL AND job.completed_at IS NULL
            WHEN 'PENDING' THEN job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NULL
                AND (job.wakes_at IS NOT NULL OR job.available_at IS NOT NULL)
            ELSE job.status IN ('COMPLETED', 'FAILED', 'CANCELLED') AND job.wakes_at IS NULL
                AND job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NOT NULL
        END
            AND ( (job.resolution IS NULL) = (job.resolved_at IS NULL) AND (job.resolution IS NULL
                OR job.status = 'FAILED' AND job.resolution IN ('RETRIED', 'SUPERSEDED', 'DISCARDED')) )"""
