"""Links that set a password, and the security log of one person.

Revision ID: 0044
Revises: 0042
Create Date: 2026-11-20
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0042"
branch_labels = None
depends_on = None

_LINKS, _LOG = "sign_in_links", "audit_log"


def upgrade() -> None:
    """Links say what they are for; those that are open sign in. Two indexes find what a person did and underwent."""
    op.add_column(_LINKS, sa.Column("purpose", sa.Text(), nullable=True))
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute(f"UPDATE {_LINKS} SET purpose = 'sign_in'")
    with op.batch_alter_table(_LINKS) as batch:
        batch.alter_column("purpose", existing_type=sa.Text(), nullable=False)
        batch.create_check_constraint("purpose", "purpose IN ('sign_in', 'password')")
    op.create_index("ix_audit_log_org_id_actor_id_id", _LOG, ["org_id", "actor_id", "id"])
    op.create_index("ix_audit_log_org_id_target_id", _LOG, ["org_id", "target", "id"])


def downgrade() -> None:
    """Back to what was there before. Links that set a password are lost: they would sign in without one."""
    op.drop_index("ix_audit_log_org_id_target_id", _LOG)
    op.drop_index("ix_audit_log_org_id_actor_id_id", _LOG)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SELECT set_config('app.scope', 'system', true)")
    op.execute(f"DELETE FROM {_LINKS} WHERE purpose = 'password'")
    with op.batch_alter_table(_LINKS) as batch:
        batch.drop_constraint(op.f("ck_sign_in_links_purpose"), type_="check")
        batch.drop_column("purpose")
