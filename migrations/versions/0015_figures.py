"""Tables for incidents, and for how many jobs ended in each minute, hour and day.

Revision ID: 0015
Revises: 0014
Create Date: 2026-11-19
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import UtcDateTime

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_STATS = ("stats_minute", "stats_hour", "stats_day")
_TOOK = ("1", "3", "10", "30", "60", "300", "1800", "7200", "more")


def upgrade() -> None:
    """Empty tables: the first count makes up for the jobs that are still there."""
    op.create_table(
        "incidents",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("hour", UtcDateTime(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("first_at", UtcDateTime(), nullable=False),
        sa.Column("last_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("number > 0", name="number"),
        sa.PrimaryKeyConstraint("name", "subject", "hour"),
    )
    for name in _STATS:
        _create_stats(name)
    op.create_table(
        "stats_progress",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("counted_until", UtcDateTime(), nullable=True),
        sa.Column("counted_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("id = 1", name="id"),
        sa.PrimaryKeyConstraint("id"),
    )


def downgrade() -> None:
    """Without them."""
    for name in ("stats_progress", *reversed(_STATS), "incidents"):
        op.drop_table(name)


def _create_stats(name: str) -> None:
    numbers = ("completed", "failed", *(f"took_{seconds}" for seconds in _TOOK))
    op.create_table(
        name,
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("size", sa.SmallInteger(), nullable=False),
        *(sa.Column(each, sa.BigInteger(), nullable=False) for each in numbers),
        *(sa.Column(each, sa.Float(), nullable=False) for each in ("seconds", "seconds_max", "latency", "latency_max")),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "at", "stage", "size"),
    )
    op.create_index(f"ix_{name}_at", name, ["at"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY")
        op.execute(f"""
            CREATE POLICY org ON {name} USING (
                current_setting('app.scope', true) = 'system'
                OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
            )
        """)
