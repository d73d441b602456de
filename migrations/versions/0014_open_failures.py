"""Failures have a code and are open until they are resolved; ended jobs are found by the time of their end.

Revision ID: 0014
Revises: 0013
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from webapp.db import UtcDateTime

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_JOBS = "document_processing_jobs"
_TRIES, _PAUSE_SECONDS = 150, 0.1
_OPEN = "status = 'FAILED' AND resolved_at IS NULL"
_RESOLVED = "status = 'FAILED' AND resolved_at IS NOT NULL"
_ENDED = "completed_at IS NOT NULL"
_INDEXES = {
    "ix_jobs_open_failures": (["org_id", "stage", "id"], _OPEN),
    "ix_jobs_open_failures_by_error": (["org_id", "stage", "error_code", "id"], _OPEN),
    "ix_jobs_resolved_failures": (["org_id", "resolution", "id"], _RESOLVED),
    "ix_jobs_completed_at": (["completed_at"], _ENDED),
}
_RESOLUTION = """
(resolution IS NULL) = (resolved_at IS NULL) AND (resolution IS NULL OR status = 'FAILED' AND resolution IN
('RETRIED', 'SUPERSEDED', 'DISCARDED'))
"""


def upgrade() -> None:
    """Columns for the error and for what became of it. Failures of earlier runs are superseded already."""
    _lock_jobs()
    for name, kind in {"error_code": sa.Text(), "resolved_at": UtcDateTime(), "resolved_by": sa.Text()}.items():
        op.add_column(_JOBS, sa.Column(name, kind, nullable=True))
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    # SQLite adds a column with its CHECK without making the table anew; PostgreSQL has the rules in a function.
    check = "" if is_postgresql else f" CONSTRAINT ck_{_JOBS}_resolved CHECK ({_on_one_line(_RESOLUTION)})"
    op.execute(f"ALTER TABLE {_JOBS} ADD COLUMN resolution TEXT{check}")
    if is_postgresql:
        # Row-level security hides all rows from the owner, too.
        op.execute("SET LOCAL app.scope = 'system'")
    op.execute(_CODES_ON_POSTGRESQL if is_postgresql else _CODES_ON_SQLITE)
    op.execute(_SUPERSEDED_ON_POSTGRESQL if is_postgresql else _SUPERSEDED_ON_SQLITE)
    if is_postgresql:
        # The rows that were changed have checks to come, and a table with such is not indexed.
        op.execute("SET CONSTRAINTS ALL IMMEDIATE")
        _create_rules(f"{_RULES} AND {_of_row(_RESOLUTION)}")
    for name, (columns, where) in _INDEXES.items():
        op.create_index(name, _JOBS, columns, postgresql_where=sa.text(where), sqlite_where=sa.text(where))


def downgrade() -> None:
    """Back to what was there before."""
    _lock_jobs()
    for name in _INDEXES:
        op.drop_index(name, _JOBS)
    if op.get_bind().dialect.name == "postgresql":
        _create_rules(_RULES)
    for name in ("resolution", "error_code", "resolved_at", "resolved_by"):
        op.execute(f"ALTER TABLE {_JOBS} DROP COLUMN {name}")


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _of_row(rule: str) -> str:
    for name in ("resolution", "resolved_at", "status"):
        rule = rule.replace(f"{name} ", f"job.{name} ")
    return _on_one_line(f"({rule})")


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
        END"""
_CODES_ON_POSTGRESQL = f"""
    UPDATE {_JOBS} SET error_code = coalesce(error_log -> -1 ->> 'code', 'unexpected') WHERE status = 'FAILED'
"""
_CODES_ON_SQLITE = f"""
    UPDATE {_JOBS} SET error_code = coalesce(json_extract(error_log, '$[#-1].code'), 'unexpected')
    WHERE status = 'FAILED'
"""
# Those of a run that is not its document's newest, and those whose stage was tried again in the same run.
_SUPERSEDED = f"""
    UPDATE {_JOBS} SET resolution = 'SUPERSEDED', resolved_at = $now
    WHERE status = 'FAILED' AND run_id IS NOT NULL AND (
        run_id <> (
            SELECT run.id FROM processing_runs AS run WHERE run.document_id = {_JOBS}.document_id
            ORDER BY run.created_at DESC, run.id DESC LIMIT 1
        )
        OR EXISTS (
            SELECT 1 FROM {_JOBS} AS later
            WHERE later.run_id = {_JOBS}.run_id AND later.stage = {_JOBS}.stage AND later.id > {_JOBS}.id
        )
    )
"""
_SUPERSEDED_ON_POSTGRESQL = _SUPERSEDED.replace("$now", "CURRENT_TIMESTAMP")
_SUPERSEDED_ON_SQLITE = _SUPERSEDED.replace("$now", "strftime('%Y-%m-%d %H:%M:%f', 'now')")
