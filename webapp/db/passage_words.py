"""Lets PostgreSQL find passages by an index of their words.

With row-level security no index is used for `@@`, which is not leakproof. So a function of the tables' owner reads
one, and returns only passages of the transaction's org: all of these have one more word, the org's mark. The owner, to
whom row-level security applies as well, gets a policy of its own for that. Where the application itself connects as the
owner, there is no such function, and all passages of an org are compared.

A bitmap of all passages that have a common word takes the longer the more there are. So a sample is asked first: some
passages of each org, always the same ones, have another mark. Where the sample shows that a term is common, only
passages of a sample that is large enough are ranked.

Each `flask db upgrade` ends with this, since roles may change.
"""

import logging
from collections.abc import Sequence

from sqlalchemy import make_url, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from webapp.config import Settings
from webapp.db.inside_words import serving_roles

_log = logging.getLogger(__name__)

FUNCTION = "docmill_passages_found(tsquery[], integer, integer, boolean)"
COUNT_FUNCTION = "docmill_passages_counted(tsquery[])"
INDEX = "ix_chunk_words_words"
# Of a term that so many passages of the smaller sample have, only a sample is ranked.
SEEN_MIN = 40
# The weights are of stems, of words in the text, in the heading, in the title; the rank is divided by the logarithm of
# the length (1).
RANK = "ts_rank('{0.2, 0.4, 0.4, 0.4}', words, wanted, 1)"


def prepare(engine: Engine, settings: Settings) -> None:
    """Create index, policy and function, or remove what must not exist. Not inside a transaction."""
    if engine.dialect.name != "postgresql":
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # Another process is doing the same. Waiting for it could deadlock: it waits for all older transactions.
        if not connection.scalar(_IS_TURN, {"lock": _LOCK}):
            return
        roles = serving_roles(connection, make_url(settings.database_url).username or "")
        if roles:
            _make_index(connection)
            allow(connection, roles)
        else:
            take_away(connection)
        _drop_earlier(connection)


def allow(connection: Connection, roles: Sequence[str]) -> None:
    """Let these roles call the function, for the org of their transaction."""
    connection.execute(_MAKE)
    for role in roles:
        quoted = connection.dialect.identifier_preparer.quote(role)
        for function in (FUNCTION, COUNT_FUNCTION):
            connection.execute(text(f"GRANT EXECUTE ON FUNCTION public.{function} TO {quoted}"))


def take_away(connection: Connection) -> None:
    """Remove function and policy. The index stays; it shows nobody any rows."""
    connection.execute(_TAKE_AWAY)


_LOCK = 0x646F6370  # "docp": any number that nobody else uses as an advisory lock
_IS_TURN = text("SELECT to_regclass('public.chunk_words') IS NOT NULL AND pg_try_advisory_lock(:lock)")
_IS_VALID = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")


def _drop_earlier(connection: Connection) -> None:
    """Remove the index of words of earlier versions, whose processes have searched by it until now."""
    try:
        connection.execute(text("SET lock_timeout = '5s'"))
        connection.execute(_DROP_EARLIER)
        if connection.scalar(_HAS_EARLIER):
            connection.execute(text("ALTER TABLE public.chunks DROP COLUMN IF EXISTS words"))
    except DBAPIError as error:
        _log.warning("the earlier index of words could not be removed now; the next upgrade will: %s", error.orig)
    finally:
        connection.execute(text("RESET lock_timeout"))


_HAS_EARLIER = text("""
    SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('public.chunks') AND attname = 'words' AND NOT attisdropped
""")
_DROP_EARLIER = text("""
DO $docmill$ BEGIN
    DROP FUNCTION IF EXISTS public.docmill_passages_with(tsquery[], integer, integer);
    DROP POLICY IF EXISTS owner_finds_words ON public.chunks;
END $docmill$
""")


def _make_index(connection: Connection) -> None:
    """Create the index while others write; first remove an invalid one that an interrupted attempt left."""
    if connection.scalar(_IS_VALID, {"name": f"public.{INDEX}"}):
        return
    connection.execute(text(f"DROP INDEX IF EXISTS public.{INDEX}"))
    connection.execute(text(f"CREATE INDEX CONCURRENTLY {INDEX} ON public.chunk_words USING gin (words)"))


_TAKE_AWAY = text(f"""
DO $docmill$ BEGIN
    DROP FUNCTION IF EXISTS public.{FUNCTION};
    DROP FUNCTION IF EXISTS public.{COUNT_FUNCTION};
    DROP POLICY IF EXISTS owner_finds_words ON public.chunk_words;
END $docmill$
""")
# Any other index would be read from end to end, so the functions may use bitmap scans alone.
_HOW = """
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET enable_bitmapscan = on
"""
# Of each query the `best` ones of the first `most` passages that match, and how many match. In the smaller sample every
# 64th passage is, in the larger one every 8th (webapp/search/word_rows.py). Of so few that match, all are looked up.
# Where `telling` is set, common terms are left out, unless no other one finds anything.
_MAKE = text(f"""
DO $docmill$ BEGIN
    DROP POLICY IF EXISTS owner_finds_words ON public.chunk_words;
    CREATE POLICY owner_finds_words ON public.chunk_words FOR SELECT TO CURRENT_USER USING (true);
    CREATE OR REPLACE FUNCTION public.docmill_passages_found(
        asked tsquery[], most integer, best integer, telling boolean
    )
    RETURNS TABLE (passage uuid, rank real, matching integer)
    {_HOW}
    AS $function$
    DECLARE
        org uuid := CAST(nullif(current_setting('app.org_id', true), '') AS uuid);
        mark text := chr(448) || replace(CAST(org AS text), '-', '');
        wanted tsquery;
        scope tsquery;
        seen integer;
        share integer;
        common tsquery[] := '{{}}';
        is_found boolean := false;
    BEGIN
        IF org IS NULL THEN
            RAISE EXCEPTION 'the transaction is about no org' USING ERRCODE = 'insufficient_privilege';
        END IF;
        FOR round IN 1 .. 2 LOOP
            EXIT WHEN round = 2 AND (is_found OR NOT telling);
            FOREACH wanted IN ARRAY CASE round WHEN 1 THEN asked ELSE common END LOOP
                scope := CAST(mark || '64' AS tsquery);
                SELECT count(*) INTO seen FROM (
                    SELECT 1 FROM public.chunk_words AS c WHERE c.words @@ (wanted && scope) LIMIT most
                ) AS few;
                IF round = 1 AND telling AND seen >= {SEEN_MIN} THEN
                    common := common || wanted;
                    CONTINUE;
                END IF;
                share := CASE WHEN seen < {SEEN_MIN} THEN 1 WHEN seen < most THEN 8 ELSE 64 END;
                scope := CAST(mark || CASE share WHEN 1 THEN '' ELSE CAST(share AS text) END AS tsquery);
                RETURN QUERY
                    SELECT found.chunk_id, {RANK} AS how_well, share * CAST(count(*) OVER () AS integer)
                    FROM (
                        SELECT c.chunk_id, c.words FROM public.chunk_words AS c
                        WHERE c.words @@ (wanted && scope) AND c.org_id IS NOT DISTINCT FROM org
                        LIMIT most
                    ) AS found
                    ORDER BY how_well DESC, found.chunk_id LIMIT best;
                is_found := is_found OR FOUND;
            END LOOP;
        END LOOP;
    END $function$;
    REVOKE ALL ON FUNCTION public.{FUNCTION} FROM PUBLIC;
    CREATE OR REPLACE FUNCTION public.docmill_passages_counted(asked tsquery[]) RETURNS integer[]
    {_HOW}
    AS $function$
    DECLARE
        org uuid := CAST(nullif(current_setting('app.org_id', true), '') AS uuid);
        mark text := chr(448) || replace(CAST(org AS text), '-', '');
        wanted tsquery;
        seen integer;
        counts integer[] := '{{}}';
    BEGIN
        IF org IS NULL THEN
            RAISE EXCEPTION 'the transaction is about no org' USING ERRCODE = 'insufficient_privilege';
        END IF;
        FOREACH wanted IN ARRAY asked LOOP
            SELECT 64 * count(*) INTO seen FROM (
                SELECT 1 FROM public.chunk_words AS c
                WHERE c.words @@ (wanted && CAST(mark || '64' AS tsquery)) LIMIT {SEEN_MIN}
            ) AS few;
            IF seen < 64 * {SEEN_MIN} THEN
                SELECT count(*) INTO seen FROM public.chunk_words AS c
                WHERE c.words @@ (wanted && CAST(mark AS tsquery)) AND c.org_id IS NOT DISTINCT FROM org;
            END IF;
            counts := counts || seen;
        END LOOP;
        RETURN counts;
    END $function$;
    REVOKE ALL ON FUNCTION public.{COUNT_FUNCTION} FROM PUBLIC;
END $docmill$
""")  # noqa: S608 - of our own constants
