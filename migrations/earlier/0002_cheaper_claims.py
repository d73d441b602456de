"""Fewer indexes for a claim to write, and the rules of a job's row in one function.

Revision ID: 0002
Revises: 0001
Create Date: 2026-11-18
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_JOBS = "document_processing_jobs"
_LIVE = "status IN ('PENDING', 'PROCESSING')"
_AT_REST = "status <> 'PROCESSING'"
_RULES = {
    "status": "status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED')",
    "lease": "(status = 'PROCESSING') = (lease_id IS NOT NULL)",
    "locked_by": "(status = 'PROCESSING') = (locked_by IS NOT NULL)",
    "started": "status <> 'PROCESSING' OR (started_at IS NOT NULL AND heartbeat_at IS NOT NULL)",
    "ended": "(status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL)",
    "attempts": "attempts >= 0 AND max_attempts >= 1 AND attempts <= max_attempts",
}
_FACTS = "status, lease_id, locked_by, started_at, heartbeat_at, completed_at, attempts, max_attempts"


def upgrade() -> None:
    """Exchange indexes, and on PostgreSQL the checks; no row changes."""
    op.drop_index("ix_jobs_org_id_status_id", _JOBS)
    op.drop_index("ix_jobs_run_id_org_id", _JOBS)
    op.drop_index("uq_jobs_live_run_stage", _JOBS)
    one_live = sa.text(f"(CASE WHEN {_LIVE} THEN 1 END)")
    op.create_index("uq_jobs_live_run_stage", _JOBS, ["run_id", "stage", one_live], unique=True)
    op.create_index(
        "ix_jobs_org_id_status_id",
        _JOBS,
        ["org_id", "status", "id"],
        postgresql_where=sa.text(_AT_REST),
        sqlite_where=sa.text(_AT_REST),
    )
    if op.get_bind().dialect.name == "postgresql":
        _one_check()


def downgrade() -> None:
    """Back to an index and a check for each purpose."""
    if op.get_bind().dialect.name == "postgresql":
        _many_checks()
    op.drop_index("ix_jobs_org_id_status_id", _JOBS)
    op.drop_index("uq_jobs_live_run_stage", _JOBS)
    op.create_index("ix_jobs_org_id_status_id", _JOBS, ["org_id", "status", "id"])
    op.create_index("ix_jobs_run_id_org_id", _JOBS, ["run_id", "org_id"])
    live = sa.text(_LIVE)
    op.create_index(
        "uq_jobs_live_run_stage", _JOBS, ["run_id", "stage"], unique=True, postgresql_where=live, sqlite_where=live
    )


def _one_check() -> None:
    op.execute("""
        CREATE FUNCTION job_is_possible(
            status text, lease_id uuid, locked_by text, started_at timestamptz, heartbeat_at timestamptz,
            completed_at timestamptz, attempts int, max_attempts int
        ) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
            RETURN attempts >= 0 AND max_attempts >= 1 AND attempts <= max_attempts AND CASE status
                WHEN 'PROCESSING' THEN lease_id IS NOT NULL AND locked_by IS NOT NULL
                    AND started_at IS NOT NULL AND heartbeat_at IS NOT NULL AND completed_at IS NULL
                WHEN 'PENDING' THEN lease_id IS NULL AND locked_by IS NULL AND completed_at IS NULL
                ELSE status IN ('COMPLETED', 'FAILED', 'CANCELLED')
                    AND lease_id IS NULL AND locked_by IS NULL AND completed_at IS NOT NULL
            END;
        END $$
    """)
    op.create_check_constraint(op.f(f"ck_{_JOBS}_possible"), _JOBS, f"job_is_possible({_FACTS})")
    for name in _RULES:
        op.drop_constraint(op.f(f"ck_{_JOBS}_{name}"), _JOBS, type_="check")


def _many_checks() -> None:
    for name, rule in _RULES.items():
        op.create_check_constraint(op.f(f"ck_{_JOBS}_{name}"), _JOBS, rule)
    op.drop_constraint(op.f(f"ck_{_JOBS}_possible"), _JOBS, type_="check")
    op.execute("DROP FUNCTION job_is_possible")
