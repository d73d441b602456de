"""The database role that transactions run as.

Row-level security does not apply to a superuser, nor to a role with BYPASSRLS. Where DATABASE_URL names such a role,
each transaction switches to another one, which `flask db upgrade` creates and which may only read and write rows.
"""

from typing import Any, NamedTuple

import psycopg

SERVING_ROLE = "docmill_serving"


class Login(NamedTuple):
    """The role that a connection begins with, and whether it may switch to the serving role."""

    name: str
    is_superuser: bool
    bypasses: bool
    may_serve: bool

    @property
    def is_privileged(self) -> bool:
        """Whether row-level security does not apply to it."""
        return self.is_superuser or self.bypasses


class RoleOfTransactions:
    """The role that the transactions of one engine switch to; looked up once, not for each transaction."""

    def __init__(self) -> None:
        self._is_known = False
        self._name: str | None = None

    def of(self, connection: "psycopg.Connection[Any]") -> str | None:
        """The role's name; None where transactions keep the login's. No transaction may be open."""
        if not self._is_known:
            login = login_of(connection)
            self._name = SERVING_ROLE if login.is_privileged and login.may_serve else None
            # Until the upgrade has created the role, each transaction looks again.
            self._is_known = login.may_serve or not login.is_privileged
        return self._name


def login_of(connection: "psycopg.Connection[Any]") -> Login:
    """The role of a connection without an open transaction."""
    row = connection.execute(_LOGIN, prepare=False).fetchone()
    if row is None:
        raise LookupError("the database does not know the role of its own session")
    return Login(*row)


# Roles belong to all databases of a server: that the role exists does not mean that this database was prepared for it.
_LOGIN = f"""
    SELECT login.rolname, login.rolsuper, login.rolbypassrls, coalesce(
        NOT serving.rolsuper AND NOT serving.rolbypassrls
        AND pg_has_role(
            session_user, serving.oid,
            CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END
        )
        AND has_table_privilege(serving.oid, to_regclass('alembic_version'), 'SELECT'),
        false
    )
    FROM pg_roles AS login LEFT JOIN pg_roles AS serving ON serving.rolname = '{SERVING_ROLE}'
    WHERE login.rolname = current_user
"""  # noqa: S608 - of our own constants
