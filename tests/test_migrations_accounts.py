"""The migration of accounts: everybody keeps what they may do, and nobody gains by going back."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.test_migrations import _see_everything, on_both, unmigrated  # noqa: F401 - a fixture
from webapp.clock import new_id

_FILL_ACCOUNTS = (
    "INSERT INTO orgs (id, name, created_at) VALUES ('{id}', 'a', {now})",
    """
    INSERT INTO users (id, org_id, email, role, password_hash, created_at) VALUES
        ('{id}', '{id}', 'ana@x', 'ops', 'hash', {now}), ('{second}', '{id}', 'bo@x', 'member', NULL, {now})
    """,
    """
    INSERT INTO user_sessions (id, org_id, user_id, token_hash, created_at, expires_at)
    VALUES ('{id}', '{id}', '{id}', 'session', '2026-01-01 00:00:00.000', {now})
    """,
    """
    INSERT INTO sign_in_links (id, org_id, user_id, token_hash, created_at, expires_at)
    VALUES ('{id}', '{id}', '{id}', 'link', {now}, {now})
    """,
    """
    INSERT INTO api_tokens (id, org_id, name, role, token_hash, created_at) VALUES
        ('{id}', '{id}', 'Nightly', 'ops', 'first', {now}), ('{second}', '{id}', 'x', 'member', 'second', {now})
    """,
)


@on_both
def test_accounts_go_forward_and_nobody_gains_by_going_back(unmigrated: Flask) -> None:  # noqa: F811 - it is asked for
    """On SQLite tables are made anew, and the sessions, links and tokens that refer to people must survive it."""
    with unmigrated.app_context():
        flask_migrate.upgrade(revision="0004")
        engine = sa.create_engine(unmigrated.config["DOCMILL_SETTINGS"].database_owner_url, poolclass=sa.NullPool)
        sa.event.listen(engine, "connect", _see_everything)
        values = {"id": new_id().hex, "second": new_id().hex, "now": "CURRENT_TIMESTAMP"}
        _do(engine, *(statement.format(**values) for statement in _FILL_ACCOUNTS))
        flask_migrate.upgrade(revision="0005")
        assert _found(engine, "SELECT name, scope, user_id, expires_at, revoked_at FROM api_tokens ORDER BY name") == [
            ("Nightly", "ops", None, None, None),
            ("x", "write", None, None, None),
        ]
        # Nobody knows when it was last used, so it does not end as one that was not.
        assert _found(
            engine, "SELECT via, authenticated_at = created_at, last_seen_at >= expires_at FROM user_sessions"
        ) == [("password", True, True)]
        assert _found(engine, "SELECT email, last_signed_in_at IS NULL FROM users ORDER BY email") == [
            ("ana@x", False),
            ("bo@x", True),
        ]
        assert _found(engine, "SELECT token_hash FROM sign_in_links") == [("link",)]
        _do(
            engine,
            "UPDATE users SET role = 'operator' WHERE email = 'ana@x'",
            "UPDATE users SET role = 'viewer' WHERE email = 'bo@x'",
            "UPDATE api_tokens SET scope = 'upload' WHERE name = 'x'",
        )
        flask_migrate.downgrade(revision="0004")
        assert _found(engine, "SELECT email, role, disabled_at IS NULL FROM users ORDER BY email") == [
            ("ana@x", "ops", True),
            ("bo@x", "member", False),
        ]
        assert _found(engine, "SELECT name, role, revoked_at IS NULL FROM api_tokens ORDER BY name") == [
            ("Nightly", "ops", True),
            ("x", "member", False),
        ]
        assert _found(engine, "SELECT token_hash FROM user_sessions") == [("session",)]
        with pytest.raises(sa.exc.IntegrityError):
            _do(engine, "UPDATE users SET role = 'viewer'")
        flask_migrate.upgrade()
        assert _found(engine, "SELECT token_hash FROM user_sessions") == [("session",)]
        for refused in ("UPDATE users SET role = 'king'", "UPDATE api_tokens SET scope = 'all'"):
            with pytest.raises(sa.exc.IntegrityError):
                _do(engine, refused)
        engine.dispose()


def _do(engine: sa.Engine, *statements: str) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def _found(engine: sa.Engine, query: str) -> list[tuple[object, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]
