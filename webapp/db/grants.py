"""Grants the serving roles what they need in PostgreSQL: to read and write rows, nothing else.

Each `flask db upgrade` ends with this, so that a new table is granted in the transaction that creates it.
"""

import logging

from sqlalchemy import NullPool, create_engine, make_url, text
from sqlalchemy.engine import Connection

from webapp.config import Settings
from webapp.db.role import SERVING_ROLE

_log = logging.getLogger(__name__)


def grant(connection: Connection, settings: Settings) -> None:
    """Grant access to rows to the role of DATABASE_URL (if it is not the owner) and to the serving role."""
    if connection.dialect.name != "postgresql":
        return
    login, owner = make_url(settings.database_url).username, make_url(settings.database_owner_url).username
    if login is not None and login != owner:
        _grant_rows(connection, login)
    if _is_serving_role_ready(connection, settings):
        _grant_rows(connection, SERVING_ROLE)


def _grant_rows(connection: Connection, name: str) -> None:
    role = _quoted(connection, name)
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"))
    # By default everybody may execute these, but defaults can be changed; the CHECKs of rows call them.
    for function in connection.scalars(_OUR_FUNCTIONS).all():
        connection.execute(text(f"GRANT EXECUTE ON FUNCTION {function} TO {role}"))


_OUR_FUNCTIONS = text("""
    SELECT CAST(CAST(oid AS regprocedure) AS text) FROM pg_proc
    WHERE proname IN ('job_is_possible', 'run_is_possible') AND pg_has_role(proowner, 'USAGE')
""")


def _is_serving_role_ready(connection: Connection, settings: Settings) -> bool:
    """Whether this database needs the serving role, and it is there; it is created where it is needed."""
    login = _login(connection, settings)
    if not connection.scalar(_IS_PRIVILEGED, {"login": login}):
        # A role that an earlier upgrade prepared is kept up to date, in case it is needed again.
        return bool(connection.scalar(_IS_PREPARED))
    _make(connection, login)
    if not connection.scalar(_MAY_SERVE, {"login": login}) and settings.database_url != settings.database_owner_url:
        _make_as_login(settings, login)
    if connection.scalar(_MAY_SERVE, {"login": login}):
        return True
    _log.warning(
        "row-level security does not apply to the database role %s, and the role %s that Docmill would serve as could "
        "not be made or granted: docs/operations.md shows what to do",
        login,
        SERVING_ROLE,
    )
    return False


def _login(connection: Connection, settings: Settings) -> str:
    """The role that serves, as the database names it: a pooler may know it by another name."""
    login = make_url(settings.database_url).username
    if login is not None and login != make_url(settings.database_owner_url).username:
        return login
    return str(connection.scalar(text("SELECT current_user")))


def _make(connection: Connection, login: str) -> None:
    """Create the role if this connection may; it may exist, since all databases of a server share roles."""
    connection.exec_driver_sql(_CREATE)
    if not connection.scalar(_MAY_SERVE, {"login": login}):
        connection.exec_driver_sql(_ADMIT.format(login=_quoted(connection, login)))


def _make_as_login(settings: Settings, login: str) -> None:
    """Create the role by the login that serves, where the tables' owner may not."""
    engine = create_engine(settings.database_url, poolclass=NullPool)
    with engine.begin() as connection:
        _make(connection, login)


def _quoted(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote(name)


# A lack of privilege is no error here: the result is checked afterwards. Two databases of one server may be migrated at
# the same time, so the role may be created by the other one meanwhile.
_CREATE = f"""
DO $docmill$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{SERVING_ROLE}') THEN
        CREATE ROLE {SERVING_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN
    NULL;
END $docmill$
"""
_ADMIT = f"""
DO $docmill$ BEGIN
    GRANT {SERVING_ROLE} TO {{login}};
EXCEPTION WHEN unique_violation OR undefined_object OR insufficient_privilege THEN
    NULL;
END $docmill$
"""
_IS_PRIVILEGED = text("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = :login")
_MAY_SERVE = text(f"""
    SELECT NOT rolsuper AND NOT rolbypassrls AND pg_has_role(
        CAST(:login AS name), oid,
        CASE WHEN CAST(current_setting('server_version_num') AS int) >= 160000 THEN 'SET' ELSE 'MEMBER' END
    ) FROM pg_roles WHERE rolname = '{SERVING_ROLE}'
""")  # noqa: S608 - of our own constants
_IS_PREPARED = text(f"""
    SELECT has_table_privilege(oid, to_regclass('alembic_version'), 'SELECT')
    FROM pg_roles WHERE rolname = '{SERVING_ROLE}'
""")  # noqa: S608 - of our own constants
