"""Checks whether row-level security applies to our role, so that the database itself keeps orgs apart.

Queries name their org themselves; this protects from a query that forgets to. Many images and providers hand out a role
to which row-level security does not apply; transactions then run as another role (see webapp/db/role.py).
"""

from sqlalchemy import text

from webapp.config import Settings
from webapp.db import ask_postgresql, reading
from webapp.db.role import SERVING_ROLE

_ROLE = text("SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")
# The role of the connection, where the transaction runs as the serving role.
_LOGIN = text(
    "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = session_user AND current_user = :serving"
).bindparams(serving=SERVING_ROLE)
# No row where the transaction runs as a role that row-level security applies to.
_CAN_BE_MENDED = text("""
    SELECT CASE WHEN serving.oid IS NULL THEN login.rolsuper OR login.rolcreaterole
        ELSE NOT serving.rolsuper AND NOT serving.rolbypassrls AND pg_has_role(login.oid, serving.oid, 'MEMBER') END
    FROM pg_roles AS login LEFT JOIN pg_roles AS serving ON serving.rolname = :serving
    WHERE login.rolname = current_user AND (login.rolsuper OR login.rolbypassrls)
""").bindparams(serving=SERVING_ROLE)
# Tables of orgs that lack it, or whose owner it does not apply to.
_TABLES = text("""
    SELECT c.relname FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped
     WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace
       AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
     ORDER BY c.relname
""")


def fault() -> str | None:
    """Why row-level security does not hold here, in a sentence; None where it does, and on SQLite, which has none."""
    with reading(everywhere=True) as session:
        role = ask_postgresql(_ROLE)
        if role is None:
            return None
        name, is_superuser, bypasses = role
        tables = session.scalars(_TABLES).all()
        can_be_mended = session.scalar(_CAN_BE_MENDED)
    if is_superuser or bypasses:
        advice = _ADVICE_TO_UPGRADE if can_be_mended else _ADVICE
        return f"{_says(name, is_superuser)}, so row-level security does not keep organisations apart. {advice}"
    if tables:
        return f"Row-level security is not enabled and forced on {', '.join(tables)}. Run: flask --app wsgi db upgrade."
    return None


_ADVICE = (
    "Use a role without these (docs/operations.md shows how to create one), or set ROW_SECURITY=warn to go on without."
)
_ADVICE_TO_UPGRADE = (
    f"Run: flask --app wsgi db upgrade, which makes the role {SERVING_ROLE} to serve as. Or use a role without these "
    "(docs/operations.md shows how to create one), or set ROW_SECURITY=warn to go on without."
)


def refusal(settings: Settings) -> str | None:
    """The fault, where the process must not start because of it; the embedded mode may do without."""
    return fault() if _is_required(settings) else None


def awaits_upgrade(settings: Settings) -> bool:
    """Whether the fault is the role's, and `flask db upgrade` has yet to make the serving role that mends it."""
    if not _is_required(settings):
        return False
    with reading(everywhere=True):
        row = ask_postgresql(_CAN_BE_MENDED)
    return row is not None and bool(row[0])


def notice() -> str | None:
    """That transactions run as another role than the one that was given, in a sentence; None where they do not."""
    with reading(everywhere=True):
        login = ask_postgresql(_LOGIN)
    if login is None:
        return None
    says = _says(login.rolname, login.rolsuper)
    return f"{says}; Docmill serves as {SERVING_ROLE}, to which row-level security applies."


def _says(name: str, is_superuser: bool) -> str:
    return f"The database role {name} {'is a superuser' if is_superuser else 'has BYPASSRLS'}"


def _is_required(settings: Settings) -> bool:
    return settings.access.row_security == "require" and not settings.is_embedded
