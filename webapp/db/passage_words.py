"""Lets PostgreSQL find passages by an index of their words.

With row-level security no index is used for `@@`, which is not leakproof. So a function of the tables' owner reads
one, and returns only passages of the transaction's org; the index has the org beside the words, so that a small org's
passages are not looked for among all others. The owner, to whom row-level security applies as well, gets a policy of
its own for that. Where the application itself connects as the owner, there is no such function, and all of an org's
passages are compared.

Each `flask db upgrade` ends with this, since roles may change.
"""

from collections.abc import Sequence

from sqlalchemy import make_url, text
from sqlalchemy.engine import Connection, Engine

from webapp.config import Settings
from webapp.db.inside_words import serving_roles

FUNCTION = "docmill_passages_with(tsquery[], integer, integer)"
INDEX = "ix_chunks_org_words"


def prepare(engine: Engine, settings: Settings) -> None:
    """Create index, policy and function, or remove what must not exist. Not inside a transaction."""
    if engine.dialect.name != "postgresql":
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # Another process is doing the same. Waiting for it could deadlock: it waits for all older transactions.
        if not connection.scalar(_IS_TURN, {"lock": _LOCK}):
            return
        roles = serving_roles(connection, make_url(settings.database_url).username or "")
        if not roles:
            take_away(connection)
            return
        _make_index(connection)
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


_LOCK = 0x646F6370  # "docp": any number that nobody else uses as an advisory lock
_IS_TURN = text("SELECT to_regclass('public.chunks') IS NOT NULL AND pg_try_advisory_lock(:lock)")
_IS_VALID = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
# The id of the org is one more word.
_WORDS = "words || array_to_tsvector(ARRAY[CAST(org_id AS text)])"


def _make_index(connection: Connection) -> None:
    """Create the index while others write; first remove an invalid one that an interrupted attempt left."""
    if connection.scalar(_IS_VALID, {"name": f"public.{INDEX}"}):
        return
    connection.execute(text(f"DROP INDEX IF EXISTS public.{INDEX}"))
    connection.execute(text(f"CREATE INDEX CONCURRENTLY {INDEX} ON public.chunks USING gin (({_WORDS}))"))


_TAKE_AWAY = text(f"""
DO $docmill$ BEGIN
    DROP FUNCTION IF EXISTS public.{FUNCTION};
    DROP POLICY IF EXISTS owner_finds_words ON public.chunks;
END $docmill$
""")
# For each query its number, and of the first `most` passages that match the `best` ones.
_MAKE = text(f"""
DO $docmill$ BEGIN
    DROP POLICY IF EXISTS owner_finds_words ON public.chunks;
    CREATE POLICY owner_finds_words ON public.chunks FOR SELECT TO CURRENT_USER USING (true);
    CREATE OR REPLACE FUNCTION public.docmill_passages_with(wanted tsquery[], most integer, best integer)
    RETURNS TABLE (number integer, passage uuid, rank real, matching integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_custom_plan
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on
    AS $function$
    DECLARE
        org uuid := CAST(nullif(current_setting('app.org_id', true), '') AS uuid);
        own tsquery;
    BEGIN
        IF org IS NULL THEN
            RAISE EXCEPTION 'the transaction is about no org' USING ERRCODE = 'insufficient_privilege';
        END IF;
        own := CAST(quote_literal(CAST(org AS text)) AS tsquery);
        FOR place IN 1 .. coalesce(array_length(wanted, 1), 0) LOOP
            CONTINUE WHEN numnode(wanted[place]) = 0;
            RETURN QUERY
                SELECT place, found.id, ts_rank(found.words, wanted[place], 1) AS how_well,
                    CAST(count(*) OVER () AS integer)
                FROM (
                    SELECT c.id, c.words FROM public.chunks AS c
                    WHERE (c.words || array_to_tsvector(ARRAY[CAST(c.org_id AS text)])) @@ (wanted[place] && own)
                        AND c.org_id IS NOT DISTINCT FROM org
                    LIMIT most
                ) AS found
                ORDER BY how_well DESC, found.id LIMIT best;
        END LOOP;
    END $function$;
    REVOKE ALL ON FUNCTION public.{FUNCTION} FROM PUBLIC;
END $docmill$
""")  # noqa: S608 - of our own constants
