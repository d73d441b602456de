"""Keep delayed and waiting jobs out of the index of due ones, and let a job belong to an operation.

Revision ID: 0009
Revises: 0008
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from webapp.db import Json, UtcDateTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_JOBS = "document_processing_jobs"
_NEVER = "9000-01-01 00:00:00"
_PENDING, _LEASED = "status = 'PENDING'", "status = 'PROCESSING'"
_DUE, _DELAYED = f"{_PENDING} AND wakes_at IS NULL", f"{_PENDING} AND wakes_at IS NOT NULL"
_DUE_BEFORE = f"{_PENDING} AND available_at IS NOT NULL"
_AT_REST = "status <> 'PROCESSING'"
_LIVE = "(CASE WHEN status IN ('PENDING', 'PROCESSING') THEN 1 END)"
_TRIES, _PAUSE_SECONDS = 150, 0.1


def upgrade() -> None:
    """Two columns; jobs that are delayed or wait get their time in `wakes_at`."""
    if op.get_bind().dialect.name == "postgresql":
        _lock()
        op.drop_index("ix_jobs_due", _JOBS)
        op.add_column(_JOBS, sa.Column("wakes_at", UtcDateTime(), nullable=True))
        op.add_column(_JOBS, sa.Column("operation_id", sa.Uuid(), nullable=True))
        for name in ("document_id", "run_id"):
            op.alter_column(_JOBS, name, nullable=True)
        _see_all_orgs()
        later = f"{_PENDING} AND (available_at IS NULL OR available_at > statement_timestamp())"
        op.execute(f"UPDATE {_JOBS} SET wakes_at = coalesce(available_at, '{_NEVER}+00') WHERE {later}")
        _create_rules(_RULES)
        _create_indexes_of_due_jobs()
    else:
        later = (
            f"CASE WHEN {_PENDING} AND available_at IS NULL THEN '{_NEVER}.000'"
            f" WHEN {_PENDING} AND available_at > strftime('%Y-%m-%d %H:%M:%f', 'now') THEN available_at END"
        )
        _rebuild_on_sqlite(_CHECKS, {"wakes_at": later, "operation_id": "NULL"}, is_required=False)
        _create_indexes_of_due_jobs()


def downgrade() -> None:
    """Back to what was there before. Jobs of operations, which that version knows nothing of, are removed."""
    if op.get_bind().dialect.name == "postgresql":
        _see_all_orgs()
    op.execute(f"DELETE FROM {_JOBS} WHERE run_id IS NULL")
    if op.get_bind().dialect.name == "postgresql":
        _lock()
        op.drop_index("ix_jobs_due", _JOBS)
        op.drop_index("ix_jobs_delayed", _JOBS)
        _create_rules(_RULES_BEFORE)
        for name in ("document_id", "run_id"):
            op.alter_column(_JOBS, name, nullable=False)
        op.drop_column(_JOBS, "wakes_at")
        op.drop_column(_JOBS, "operation_id")
    else:
        _rebuild_on_sqlite(_CHECKS_BEFORE, {}, is_required=True)
    _create_index("ix_jobs_due", ["stage", "priority", "org_id", "available_at", "id"], _DUE_BEFORE)


def _see_all_orgs() -> None:
    """Row-level security applies to the owner, too."""
    op.execute("SELECT set_config('app.scope', 'system', true)")


def _lock() -> None:
    """Lock the table without waiting in front of others' statements: try again until it is free."""
    bind = op.get_bind()
    for tries_left in range(_TRIES, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text(f"LOCK TABLE {_JOBS} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if tries_left == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _create_indexes_of_due_jobs() -> None:
    _create_index("ix_jobs_due", ["stage", "priority", "org_id", "available_at", "id"], _DUE)
    _create_index("ix_jobs_delayed", ["wakes_at"], _DELAYED)


def _create_index(name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, _JOBS, columns, postgresql_where=where, sqlite_where=where)


# The rules of a row, as PostgreSQL's one function has them.
_RULES_BEFORE = """
RETURN job.attempts >= 0 AND job.max_attempts >= 1 AND job.attempts <= job.max_attempts AND CASE job.status
    WHEN 'PROCESSING' THEN job.lease_id IS NOT NULL AND job.locked_by IS NOT NULL
        AND job.started_at IS NOT NULL AND job.heartbeat_at IS NOT NULL AND job.completed_at IS NULL
    WHEN 'PENDING' THEN job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NULL
    ELSE job.status IN ('COMPLETED', 'FAILED', 'CANCELLED')
        AND job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NOT NULL
END;
"""
_RULES = """
RETURN job.attempts >= 0 AND job.max_attempts >= 1 AND job.attempts <= job.max_attempts
    AND (job.run_id IS NULL) = (job.document_id IS NULL) AND (job.run_id IS NULL) = (job.operation_id IS NOT NULL)
    AND CASE job.status
    WHEN 'PROCESSING' THEN job.lease_id IS NOT NULL AND job.locked_by IS NOT NULL AND job.wakes_at IS NULL
        AND job.started_at IS NOT NULL AND job.heartbeat_at IS NOT NULL AND job.completed_at IS NULL
    WHEN 'PENDING' THEN job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NULL
        AND (job.wakes_at IS NOT NULL OR job.available_at IS NOT NULL)
    ELSE job.status IN ('COMPLETED', 'FAILED', 'CANCELLED') AND job.wakes_at IS NULL
        AND job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NOT NULL
END;
"""


def _create_rules(rules: str) -> None:
    op.execute(f"""
        CREATE OR REPLACE FUNCTION job_is_possible(job {_JOBS}) RETURNS boolean
        LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN {rules} END $$
    """)


# The same for SQLite, where each is a constraint of its own.
_CHECKS_BEFORE = {
    "status": "status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED')",
    "lease": "(status = 'PROCESSING') = (lease_id IS NOT NULL)",
    "locked_by": "(status = 'PROCESSING') = (locked_by IS NOT NULL)",
    "started": "status <> 'PROCESSING' OR (started_at IS NOT NULL AND heartbeat_at IS NOT NULL)",
    "ended": "(status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL)",
    "attempts": "attempts >= 0 AND max_attempts >= 1 AND attempts <= max_attempts",
}
_CHECKS = {
    **_CHECKS_BEFORE,
    "wakes": "wakes_at IS NULL OR status = 'PENDING'",
    "due": "status <> 'PENDING' OR wakes_at IS NOT NULL OR available_at IS NOT NULL",
    "owner": "(run_id IS NULL) = (document_id IS NULL) AND (run_id IS NULL) = (operation_id IS NOT NULL)",
}
_NEW = f"new_{_JOBS}"


def _rebuild_on_sqlite(checks: dict[str, str], added: dict[str, str], *, is_required: bool) -> None:
    """SQLite changes no constraints: copy all rows into a new table, which takes the old one's place."""
    columns = [
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=not is_required),
        sa.Column("run_id", sa.Uuid(), nullable=not is_required),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("payload", Json, nullable=False),
        sa.Column("checkpoint", Json, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("available_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("heartbeat_at", UtcDateTime(), nullable=True),
        sa.Column("completed_at", UtcDateTime(), nullable=True),
        sa.Column("locked_by", sa.Text(), nullable=True),
        sa.Column("lease_id", sa.Uuid(), nullable=True),
        sa.Column("error_log", Json, nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
    ]
    kept = ", ".join(column.name for column in columns)
    types = {"wakes_at": UtcDateTime(), "operation_id": sa.Uuid()}
    op.create_table(
        _NEW,
        *columns,
        *(sa.Column(name, types[name], nullable=True) for name in added),
        *(sa.CheckConstraint(rule, name=op.f(f"ck_{_JOBS}_{name}")) for name, rule in checks.items()),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id", "run_id"],
            ["processing_runs.org_id", "processing_runs.document_id", "processing_runs.id"],
            name=op.f(f"fk_{_JOBS}_run"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_JOBS}")),
    )
    into, values = ", ".join([kept, *added]), ", ".join([kept, *added.values()])
    op.execute(f"INSERT INTO {_NEW} ({into}) SELECT {values} FROM {_JOBS}")
    op.drop_table(_JOBS)
    op.rename_table(_NEW, _JOBS)
    _create_index("ix_jobs_held", ["stage", "locked_by"], _LEASED)
    _create_index("ix_jobs_org_id_status_stage_id", ["org_id", "status", "stage", "id"], _AT_REST)
    op.create_index("uq_jobs_live_run_stage", _JOBS, ["run_id", "stage", sa.text(_LIVE)], unique=True)
