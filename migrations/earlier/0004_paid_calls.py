"""Reservations of paid calls, and a ledger that outlives documents.

Revision ID: 0004
Revises: 0003
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from webapp.db import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_LEDGER, _RUNS, _RESERVATIONS = "provider_calls", "processing_runs", "call_reservations"
_TO_RUNS = "fk_provider_calls_org_id_run_id_processing_runs"
_TRIES, _PAUSE_SECONDS = 150, 0.1


def upgrade() -> None:
    """A table of calls that are being made; the ledger's lines no longer go with their runs. No line is lost."""
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    if on_postgresql:
        _lock()
    with op.batch_alter_table(_LEDGER) as ledger:
        ledger.drop_constraint(op.f(_TO_RUNS), type_="foreignkey")
    op.create_table(
        _RESERVATIONS,
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=True),
        sa.Column("lease_id", sa.Uuid(), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("price", sa.Float(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("ends_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("units >= 0 AND price >= 0", name=op.f("ck_call_reservations_amounts")),
        sa.CheckConstraint(
            "(job_id IS NULL) = (lease_id IS NULL) AND (job_id IS NULL) = (run_id IS NULL)",
            name=op.f("ck_call_reservations_holder"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id"], ["orgs.id"], name=op.f("fk_call_reservations_org_id_orgs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "key", name=op.f("pk_call_reservations")),
    )
    op.create_index("ix_call_reservations_call_id", _RESERVATIONS, ["call_id"], unique=False)
    if on_postgresql:
        _row_level_security()


def downgrade() -> None:
    """Back to lines that go with their runs. Those whose run is gone already stay, without it."""
    if op.get_bind().dialect.name == "postgresql":
        _lock()
    op.drop_table(_RESERVATIONS)
    op.execute(f"UPDATE {_LEDGER} SET run_id = NULL WHERE run_id NOT IN (SELECT id FROM {_RUNS})")
    with op.batch_alter_table(_LEDGER) as ledger:
        columns = ["org_id", "run_id"]
        ledger.create_foreign_key(op.f(_TO_RUNS), _RUNS, columns, ["org_id", "id"], ondelete="CASCADE")


def _lock() -> None:
    """Both tables at once, or neither: nobody who is at work may wait for this while it waits for others."""
    bind = op.get_bind()
    # Row-level security is forced, also on the owner: without this no row would be seen.
    op.execute("SET LOCAL app.scope = 'system'")
    for patience in range(_TRIES, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text(f"LOCK TABLE {_LEDGER}, {_RUNS} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _row_level_security() -> None:
    op.execute(f"ALTER TABLE {_RESERVATIONS} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {_RESERVATIONS} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY org ON {_RESERVATIONS} USING (current_setting('app.scope', true) = 'system' "
        "OR org_id = nullif(current_setting('app.org_id', true), '')::uuid)"
    )
