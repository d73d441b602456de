"""Ask for the scope before the org, keep the rules of a run and of a job in a function each, and do without an index.

Revision ID: 0003
Revises: 0002
Create Date: 2026-11-18
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# As they were when this was written.
_ORG_TABLES = (
    "users",
    "user_sessions",
    "sign_in_links",
    "api_tokens",
    "documents",
    "processing_runs",
    "run_events",
    "document_fields",
    "document_tables",
    "artifacts",
    "provider_calls",
    "document_processing_jobs",
    "chunks",
    "embedding_cache",
    "chunk_values",
    "connections",
)
_IS_SYSTEM = "current_setting('app.scope', true) = 'system'"
_IS_OF_ORG = "org_id = nullif(current_setting('app.org_id', true), '')::uuid"

_TRIES, _PAUSE_SECONDS = 150, 0.1

_RUNS = "processing_runs"
_RULES = {
    "state": "state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')",
    "finished": "(state IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')) = (finished_at IS NOT NULL)",
    "failure": "(state IN ('FAILED', 'CANCELLED')) = (failure_type IS NOT NULL)",
    "started": "state NOT IN ('RUNNING', 'SUCCEEDED', 'TIMED_OUT') OR started_at IS NOT NULL",
    "not_started": "state <> 'QUEUED' OR started_at IS NULL",
    "failure_type": (
        "failure_type IN ('PROCESS_TERMINATED', 'STEP_FAILED', 'ATTEMPTS_EXHAUSTED', 'BAD_INPUT', 'CANCELLED')"
    ),
    "trigger": "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY')",
}


def upgrade() -> None:
    """Lighter by an index everywhere; on PostgreSQL also policies and checks. No row changes."""
    if op.get_bind().dialect.name == "postgresql":
        _lock()
    # The unique constraint over org, document and run begins with the same columns.
    op.drop_index("ix_processing_runs_org_id_document_id", _RUNS)
    if op.get_bind().dialect.name == "postgresql":
        _one_check()
        _check_of_whole_rows()
        # A row is written anew when it is claimed and when it ends: beside the old one, that is a little cheaper.
        op.execute(f"ALTER TABLE {_JOBS} SET (fillfactor = 45)")
        # The queue asks in the scope `system`, for each row that it reads and each that it writes.
        _policies(f"{_IS_SYSTEM} OR {_IS_OF_ORG}")


def downgrade() -> None:
    """Back to what was there before."""
    if op.get_bind().dialect.name == "postgresql":
        _lock()
        op.execute(f"ALTER TABLE {_JOBS} RESET (fillfactor)")
        _check_of_columns()
        _many_checks()
        _policies(f"{_IS_OF_ORG} OR {_IS_SYSTEM}")
    op.create_index("ix_processing_runs_org_id_document_id", _RUNS, ["org_id", "document_id"])


def _lock() -> None:
    """All tables at once, or none: who is at work locks them in orders of his own, and must never wait for this one."""
    tables, bind = ", ".join(_ORG_TABLES), op.get_bind()
    for patience in range(_TRIES, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _policies(condition: str) -> None:
    for table in _ORG_TABLES:
        op.execute(sa.text(f"ALTER POLICY org ON {table} USING ({condition})"))


def _one_check() -> None:
    op.execute("""
        CREATE FUNCTION run_is_possible(
            state text, failure_type text, trigger text, started_at timestamptz, finished_at timestamptz
        ) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
        BEGIN
            RETURN trigger IN ('UPLOAD', 'REPROCESS', 'RETRY') AND CASE state
                WHEN 'QUEUED' THEN started_at IS NULL AND finished_at IS NULL AND failure_type IS NULL
                WHEN 'RUNNING' THEN started_at IS NOT NULL AND finished_at IS NULL AND failure_type IS NULL
                WHEN 'SUCCEEDED' THEN started_at IS NOT NULL AND finished_at IS NOT NULL AND failure_type IS NULL
                WHEN 'TIMED_OUT' THEN started_at IS NOT NULL AND finished_at IS NOT NULL AND failure_type IS NULL
                ELSE state IN ('FAILED', 'CANCELLED') AND finished_at IS NOT NULL AND failure_type IS NOT NULL
                    AND failure_type IN
                        ('PROCESS_TERMINATED', 'STEP_FAILED', 'ATTEMPTS_EXHAUSTED', 'BAD_INPUT', 'CANCELLED')
            END;
        END $$
    """)
    facts = "state, failure_type, trigger, started_at, finished_at"
    op.create_check_constraint(op.f(f"ck_{_RUNS}_possible"), _RUNS, f"run_is_possible({facts})")
    for name in _RULES:
        op.drop_constraint(op.f(f"ck_{_RUNS}_{name}"), _RUNS, type_="check")


def _many_checks() -> None:
    for name, rule in _RULES.items():
        op.create_check_constraint(op.f(f"ck_{_RUNS}_{name}"), _RUNS, rule)
    op.drop_constraint(op.f(f"ck_{_RUNS}_possible"), _RUNS, type_="check")
    op.execute("DROP FUNCTION run_is_possible")


# What a job of 0002 keeps to, too. A check is read anew for each statement, and one argument is read faster than eight.
_RULES_OF_JOBS = """
RETURN {job}attempts >= 0 AND {job}max_attempts >= 1 AND {job}attempts <= {job}max_attempts AND CASE {job}status
    WHEN 'PROCESSING' THEN {job}lease_id IS NOT NULL AND {job}locked_by IS NOT NULL
        AND {job}started_at IS NOT NULL AND {job}heartbeat_at IS NOT NULL AND {job}completed_at IS NULL
    WHEN 'PENDING' THEN {job}lease_id IS NULL AND {job}locked_by IS NULL AND {job}completed_at IS NULL
    ELSE {job}status IN ('COMPLETED', 'FAILED', 'CANCELLED')
        AND {job}lease_id IS NULL AND {job}locked_by IS NULL AND {job}completed_at IS NOT NULL
END;
"""
_JOBS = "document_processing_jobs"
_POSSIBLE = f"ck_{_JOBS}_possible"
_COLUMNS = "status text, lease_id uuid, locked_by text, started_at timestamptz, heartbeat_at timestamptz, \
completed_at timestamptz, attempts int, max_attempts int"
_NAMES = ", ".join(column.split()[0] for column in _COLUMNS.split(", "))


def _check_of_whole_rows() -> None:
    op.drop_constraint(op.f(_POSSIBLE), _JOBS, type_="check")
    op.execute(f"DROP FUNCTION job_is_possible({_types()})")
    _create(f"job {_JOBS}", _RULES_OF_JOBS.format(job="job."))
    op.create_check_constraint(op.f(_POSSIBLE), _JOBS, f"job_is_possible({_JOBS})")


def _check_of_columns() -> None:
    op.drop_constraint(op.f(_POSSIBLE), _JOBS, type_="check")
    op.execute(f"DROP FUNCTION job_is_possible({_JOBS})")
    _create(_COLUMNS, _RULES_OF_JOBS.format(job=""))
    op.create_check_constraint(op.f(_POSSIBLE), _JOBS, f"job_is_possible({_NAMES})")


def _create(arguments: str, rules: str) -> None:
    op.execute(f"""
        CREATE FUNCTION job_is_possible({arguments}) RETURNS boolean
        LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN {rules} END $$
    """)


def _types() -> str:
    return ", ".join(column.split()[1] for column in _COLUMNS.split(", "))
