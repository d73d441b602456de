"""One PostgreSQL database for many tests: emptied after each, which is faster than copying a template."""

import psycopg

from tests.applications import Keeper
from tests.postgres import DatabaseUrls

# So many dead rows would slow down the tests after this one.
BULKY = 5_000


class Emptied:
    """The database, and a superuser's connection that stays open."""

    def __init__(self, urls: DatabaseUrls, keeper: Keeper) -> None:
        self.urls = urls
        self._keeper = keeper
        self._connection = self._connect()

    def empty(self) -> None:
        """An open connection belongs to a test that is over, except for those that wait in a pool."""
        waiting = self._keeper.backends(self.urls.runtime_url)
        try:
            self._connection.execute(_END_OTHERS, [waiting])
        except psycopg.OperationalError:
            # A test that cut off everybody cut off this one, too.
            self._connection = self._connect()
            self._connection.execute(_END_OTHERS, [waiting])
        row = self._connection.execute("SELECT pg_temp.empty()").fetchone()
        if row is not None and row[0] > BULKY:
            self._connection.execute("VACUUM ANALYZE")
            self._keeper.close_connections(self.urls.runtime_url)

    def close(self) -> None:
        """Nobody needs it any more."""
        self._connection.close()

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect(self.urls.superuser_url, autocommit=True)
        # Everything goes, so nobody has to look for what belongs to it.
        connection.execute("SET session_replication_role = replica")
        connection.execute(_MAKE_EMPTY)
        return connection


_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL(%s)
"""

# A function, so that the plans of its statements are kept; it names each table, so that none is forgotten.
_MAKE_EMPTY = r"""
DO $make$
DECLARE
    statements text;
BEGIN
    SELECT string_agg(
        format('DELETE FROM %I; GET DIAGNOSTICS deleted = ROW_COUNT; total := total + deleted;', tablename), E'\n'
    )
    INTO statements FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version';
    EXECUTE format(
        'CREATE FUNCTION pg_temp.empty() RETURNS bigint LANGUAGE plpgsql AS '
        '$empty$ DECLARE deleted bigint; total bigint := 0; BEGIN %s RETURN total; END $empty$',
        statements
    );
END $make$
"""
