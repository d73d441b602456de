"""Lets PostgreSQL find passages by an index of their words.

With row-level security no index is used for `@@`, which is not leakproof. So functions of the tables' owner
(passage_words.sql) read one, and return only passages of the transaction's org: all of these have one more word, the
org's mark. The owner, to whom row-level security applies as well, gets a policy of its own for that. Where the
application itself connects as the owner, there are no such functions, and all passages of an org are compared.

Each `flask db upgrade` ends with this, since roles may change.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import make_url, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from webapp.config import Settings
from webapp.db.inside_words import serving_roles

_log = logging.getLogger(__name__)

FUNCTION = "docmill_passages_found(tsquery, integer, integer)"
SOME_FUNCTION = "docmill_passages_with_some(tsquery[], integer, integer)"
COUNT_FUNCTION = "docmill_passages_counted(tsquery[])"
INDEX = "ix_chunk_words_words"


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
        for function in (FUNCTION, SOME_FUNCTION, COUNT_FUNCTION):
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
    DROP FUNCTION IF EXISTS public.{SOME_FUNCTION};
    DROP FUNCTION IF EXISTS public.{COUNT_FUNCTION};
    DROP POLICY IF EXISTS owner_finds_words ON public.chunk_words;
END $docmill$
""")
_MAKE = text(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
