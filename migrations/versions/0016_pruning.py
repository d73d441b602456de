"""Sums of the ledger's lines that were deleted, and tables that PostgreSQL tidies before they swell.

Revision ID: 0016
Revises: 0015
Create Date: 2026-11-19
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# Measured by bench/pruning.py. Below two of a hundred pages with dead rows, a vacuum leaves the indexes alone.
_OPTIONS = {
    "autovacuum_vacuum_scale_factor": "0.04",
    "autovacuum_vacuum_insert_scale_factor": "0.04",
    "autovacuum_analyze_scale_factor": "0.04",
}
_GROWING = ("run_events", "provider_calls", "document_processing_jobs")


def upgrade() -> None:
    """A new, empty table; options of three others, which no reader or writer waits for."""
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "spending_days",
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("calls", "failed", "units", "units_saved")),
        *(sa.Column(name, sa.Float(), nullable=False) for name in ("seconds", "price", "price_saved")),
        sa.PrimaryKeyConstraint("org_id", "day", "provider", "operation", name="pk_spending_days"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_spending_days_org_id_orgs", ondelete="CASCADE"),
    )
    if is_postgresql:
        for statement in _SECURITY:
            op.execute(statement)
        options = ", ".join(f"{name} = {value}" for name, value in _OPTIONS.items())
        for table in _GROWING:
            op.execute(f"ALTER TABLE {table} SET ({options})")


def downgrade() -> None:
    """Back to what was there before; the sums are gone."""
    op.drop_table("spending_days")
    if op.get_bind().dialect.name == "postgresql":
        for table in _GROWING:
            op.execute(f"ALTER TABLE {table} RESET ({', '.join(_OPTIONS)})")


_SECURITY = (
    "ALTER TABLE spending_days ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE spending_days FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON spending_days USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
