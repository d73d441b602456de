"""Owners, scopes and end dates of tokens, more roles, more about sessions, and the security log.

Revision ID: 0005
Revises: 0004
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from webapp.db import Json, UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TABLES = ("users", "user_sessions", "sign_in_links", "api_tokens", "orgs")
_TRIES, _PAUSE_SECONDS = 150, 0.1

_OLD_ROLES = "role IN ('member', 'ops')"
_ROLES = "role IN ('viewer', 'member', 'ops', 'operator')"
_SCOPES = "scope IN ('read', 'upload', 'write', 'metrics', 'ops', 'operator')"
_IS_SYSTEM = "current_setting('app.scope', true) = 'system'"
_IS_OF_ORG = "org_id = nullif(current_setting('app.org_id', true), '')::uuid"


def upgrade() -> None:
    """Tokens and sessions go on: ops tokens become tokens of the scope ops, the others of the scope write.

    Where there are several orgs, their ops no longer pause stages: `users role` makes somebody operator.
    """
    _prepare()
    _users(_ROLES)
    op.add_column("users", sa.Column("last_signed_in_at", UtcDateTime(), nullable=True))
    op.execute(
        "UPDATE users SET last_signed_in_at = "
        "(SELECT max(opened.created_at) FROM user_sessions opened WHERE opened.user_id = users.id)"
    )
    _sessions()
    _tokens()
    _sign_in_counts()
    _audit_log()
    _finish()


def downgrade() -> None:
    """Roles and scopes that were unknown then would become more powerful: those people and tokens are shut out."""
    _prepare()
    op.drop_table("audit_log")
    op.drop_table("sign_in_counts")
    _old_tokens()
    _old_sessions()
    op.execute(
        "UPDATE users SET disabled_at = coalesce(disabled_at, created_at), role = 'member' WHERE role = 'viewer'"
    )
    op.execute("UPDATE users SET role = 'ops' WHERE role = 'operator'")
    op.drop_column("users", "last_signed_in_at")
    _users(_OLD_ROLES)
    _finish()


def _on_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def _prepare() -> None:
    """On PostgreSQL take all locks at once, or none, and see the rows of every org."""
    if not _on_postgresql():
        return
    bind = op.get_bind()
    for patience in range(_TRIES, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text(f"LOCK TABLE {', '.join(_TABLES)} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            break
    op.execute("SELECT set_config('app.scope', 'system', true)")


def _finish() -> None:
    if _on_postgresql():
        op.execute("SELECT set_config('app.scope', '', true)")


# On SQLite a batch makes its table anew; migrations/env.py sees to it that rows that refer to it stay.


def _users(roles: str) -> None:
    with op.batch_alter_table("users") as batch:
        batch.drop_constraint(op.f("ck_users_role"), type_="check")
        batch.create_check_constraint(op.f("ck_users_role"), roles)


def _sessions() -> None:
    for name in ("via", "device", "address"):
        op.add_column("user_sessions", sa.Column(name, sa.Text(), nullable=True))
    for name in ("last_seen_at", "authenticated_at"):
        op.add_column("user_sessions", sa.Column(name, UtcDateTime(), nullable=True))
    # When they were last used nobody knows. Now, or those that began some days ago would end as idle.
    present = "clock_timestamp()" if _on_postgresql() else "strftime('%Y-%m-%d %H:%M:%f', 'now')"
    op.execute(f"UPDATE user_sessions SET via = 'password', last_seen_at = {present}, authenticated_at = created_at")
    with op.batch_alter_table("user_sessions") as batch:
        batch.alter_column("via", existing_type=sa.Text(), nullable=False)
        batch.alter_column("last_seen_at", existing_type=UtcDateTime(), nullable=False)
        batch.alter_column("authenticated_at", existing_type=UtcDateTime(), nullable=False)
        batch.create_check_constraint(op.f("ck_user_sessions_via"), "via IN ('password', 'link')")


def _old_sessions() -> None:
    with op.batch_alter_table("user_sessions") as batch:
        batch.drop_constraint(op.f("ck_user_sessions_via"), type_="check")
        for name in ("via", "device", "address", "last_seen_at", "authenticated_at"):
            batch.drop_column(name)


def _tokens() -> None:
    op.add_column("api_tokens", sa.Column("user_id", sa.Uuid(), nullable=True))
    op.add_column("api_tokens", sa.Column("scope", sa.Text(), nullable=True))
    op.add_column("api_tokens", sa.Column("expires_at", UtcDateTime(), nullable=True))
    op.execute("UPDATE api_tokens SET scope = CASE role WHEN 'ops' THEN 'ops' ELSE 'write' END")
    with op.batch_alter_table("api_tokens") as batch:
        batch.drop_constraint(op.f("ck_api_tokens_role"), type_="check")
        batch.drop_column("role")
        batch.alter_column("scope", existing_type=sa.Text(), nullable=False)
        batch.create_check_constraint(op.f("ck_api_tokens_scope"), _SCOPES)
        batch.create_foreign_key(
            op.f("fk_api_tokens_org_id_user_id_users"),
            "users",
            ["org_id", "user_id"],
            ["org_id", "id"],
            ondelete="CASCADE",
        )


def _old_tokens() -> None:
    op.add_column("api_tokens", sa.Column("role", sa.Text(), nullable=True))
    op.execute("UPDATE api_tokens SET role = CASE WHEN scope IN ('ops', 'operator') THEN 'ops' ELSE 'member' END")
    op.execute(
        "UPDATE api_tokens SET revoked_at = coalesce(revoked_at, created_at) "
        "WHERE scope IN ('read', 'upload', 'metrics') OR user_id IS NOT NULL OR expires_at IS NOT NULL"
    )
    with op.batch_alter_table("api_tokens") as batch:
        batch.drop_constraint(op.f("fk_api_tokens_org_id_user_id_users"), type_="foreignkey")
        batch.drop_constraint(op.f("ck_api_tokens_scope"), type_="check")
        for name in ("scope", "user_id", "expires_at"):
            batch.drop_column(name)
        batch.alter_column("role", existing_type=sa.Text(), nullable=False)
        batch.create_check_constraint(op.f("ck_api_tokens_role"), _OLD_ROLES)


def _sign_in_counts() -> None:
    op.create_table(
        "sign_in_counts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_sign_in_counts")),
    )


def _audit_log() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=True),
        sa.Column("actor_name", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("details", Json, nullable=True),
        sa.CheckConstraint(
            "actor_kind IN ('user', 'token', 'command', 'nobody')", name=op.f("ck_audit_log_actor_kind")
        ),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_audit_log_org_id_orgs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index("ix_audit_log_org_id_id", "audit_log", ["org_id", "id"])
    op.create_index("ix_audit_log_org_id_action_id", "audit_log", ["org_id", "action", "id"])
    if _on_postgresql():
        op.execute("ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE audit_log FORCE ROW LEVEL SECURITY")
        # Lines about the installation have no org, so only the scope `system` reads and writes them.
        op.execute(f"CREATE POLICY org ON audit_log USING ({_IS_SYSTEM} OR {_IS_OF_ORG})")
