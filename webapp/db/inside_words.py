"""Lets PostgreSQL find names by the middle of their words, where the server has the extension `pg_trgm`.

With row-level security no index is used for LIKE, which is not leakproof. So a function of the tables' owner reads a
trigram index, and returns only documents of the transaction's org. The owner, to whom row-level security applies as
well, gets a policy of its own for that. Where the application itself connects as the owner, there is no such function,
and names are found by the beginnings of their words.

Each `flask db upgrade` ends with this, since the extension may be installed later and roles may change.
"""

import logging
from collections.abc import Sequence

from sqlalchemy import make_url, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from webapp.config import Settings
from webapp.db.role import SERVING_ROLE

_log = logging.getLogger(__name__)

FUNCTION = "docmill_documents_with(text, integer)"
INDEX = "ix_document_words_trigrams"


def prepare(engine: Engine, settings: Settings) -> None:
    """Create index, policy and function, or remove what must not exist. Not inside a transaction."""
    if engine.dialect.name != "postgresql":
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # Another process is doing the same. Waiting for it could deadlock: it waits for all older transactions.
        if not connection.scalar(_IS_TURN, {"lock": _LOCK}):
            return
        roles = serving_roles(connection, make_url(settings.database_url).username or "")
        schema = _schema_of_extension(connection) if roles else None
        if schema is None:
            take_away(connection)
            return
        _make_index(connection, schema)
        allow(connection, roles)


def allow(connection: Connection, roles: Sequence[str]) -> None:
    """Let these roles call the function, for the org of their transaction."""
    connection.execute(_MAKE)
    for role in roles:
        quoted = connection.dialect.identifier_preparer.quote(role)
        connection.execute(text(f"GRANT EXECUTE ON FUNCTION public.{FUNCTION} TO {quoted}"))


def take_away(connection: Connection) -> None:
    """Remove function and policy. The index stays; it shows nobody any rows."""
    connection.execute(_TAKE_AWAY)


_LOCK = 0x646F6369  # "doci": any number that nobody else uses as an advisory lock
_IS_TURN = text("SELECT to_regclass('public.document_words') IS NOT NULL AND pg_try_advisory_lock(:lock)")


def serving_roles(connection: Connection, login: str) -> list[str]:
    """The roles that serve; none where that is the owner, to whom the policy would show all orgs' words."""
    return list(connection.scalars(_ROLES, {"login": login, "serving": SERVING_ROLE}))


_ROLES = text("""
    SELECT serving.rolname FROM pg_roles AS serving
    WHERE serving.rolname = (
        SELECT CASE WHEN rolsuper OR rolbypassrls THEN CAST(:serving AS name) ELSE rolname END
        FROM pg_roles WHERE rolname = coalesce(nullif(:login, ''), CAST(current_user AS text))
    )
    AND serving.rolname <> current_user AND NOT pg_has_role(serving.oid, current_user, 'MEMBER')
""")


def _schema_of_extension(connection: Connection) -> str | None:
    """The extension's schema; None where the server lacks it, or the owner may not create it."""
    if not connection.scalar(text("SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm')")):
        return None
    try:
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
    except DBAPIError as error:
        _log.warning("names are found by the beginnings of words only: pg_trgm could not be created: %s", error.orig)
        return None
    return str(connection.scalar(_SCHEMA))


_SCHEMA = text("SELECT CAST(CAST(extnamespace AS regnamespace) AS text) FROM pg_extension WHERE extname = 'pg_trgm'")


def _make_index(connection: Connection, schema: str) -> None:
    """Create the index while others write; first remove an invalid one that an interrupted attempt left."""
    if connection.scalar(_IS_VALID, {"name": f"public.{INDEX}"}):
        return
    connection.execute(text(f"DROP INDEX IF EXISTS public.{INDEX}"))
    column = f"word {schema}.gin_trgm_ops"
    connection.execute(text(f"CREATE INDEX CONCURRENTLY {INDEX} ON public.document_words USING gin ({column})"))


_IS_VALID = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
_TAKE_AWAY = text(f"""
DO $docmill$ BEGIN
    DROP FUNCTION IF EXISTS public.{FUNCTION};
    DROP POLICY IF EXISTS owner_looks_inside ON public.document_words;
END $docmill$
""")
# Any other index would be read from end to end, so the function may use bitmap scans alone.
_MAKE = text(f"""
DO $docmill$ BEGIN
    DROP POLICY IF EXISTS owner_looks_inside ON public.document_words;
    CREATE POLICY owner_looks_inside ON public.document_words FOR SELECT TO CURRENT_USER USING (true);
    CREATE OR REPLACE FUNCTION public.docmill_documents_with(part text, most integer) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_custom_plan
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on
    AS $function$
    DECLARE
        org uuid := CAST(nullif(current_setting('app.org_id', true), '') AS uuid);
    BEGIN
        IF org IS NULL THEN
            RAISE EXCEPTION 'the transaction is about no org' USING ERRCODE = 'insufficient_privilege';
        END IF;
        IF part ~ '[%_]' OR strpos(part, chr(92)) > 0 THEN
            RAISE EXCEPTION 'a part of a word has letters and digits alone' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        RETURN QUERY SELECT w.document_id FROM public.document_words AS w
            WHERE w.org_id IS NOT DISTINCT FROM org AND w.word LIKE '%' || part || '%' LIMIT most;
    END $function$;
    REVOKE ALL ON FUNCTION public.{FUNCTION} FROM PUBLIC;
END $docmill$
""")  # noqa: S608 - of our own constants
