"""The buckets of rates that all web processes share, in PostgreSQL; an embedded process needs none.

A row says when its bucket will be full again, so it needs no size, and nothing has to fill it.
"""

from collections.abc import Mapping

from sqlalchemy import delete, text

from webapp.accounts.model import RateBucket
from webapp.clock import now
from webapp.db import session, transaction

# In the order of their keys: two processes that take from the same buckets must not wait for each other.
_TAKE = text("""
    INSERT INTO rate_buckets AS bucket (key, full_at)
    SELECT taken.key, statement_timestamp() + make_interval(secs => taken.seconds)
    FROM unnest(CAST(:keys AS text[]), CAST(:seconds AS double precision[])) AS taken (key, seconds)
    ORDER BY taken.key
    ON CONFLICT (key) DO UPDATE
    SET full_at = GREATEST(bucket.full_at, statement_timestamp()) + (EXCLUDED.full_at - statement_timestamp())
    RETURNING bucket.key, EXTRACT(EPOCH FROM bucket.full_at - statement_timestamp()) AS seconds
""")
# Nothing is lost that matters if power fails, and a process that freezes here must not hold up the others.
_IN_PASSING = text("SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '250ms', true)")


def take(seconds: Mapping[str, float]) -> dict[str, float]:
    """Take from each bucket what fills it in so many seconds; in how many seconds each will be full."""
    with transaction(everywhere=True) as opened:
        opened.execute(_IN_PASSING)
        rows = opened.execute(_TAKE, {"keys": list(seconds), "seconds": list(seconds.values())})
        return {row.key: float(row.seconds) for row in rows}


def forget_full() -> None:
    """Delete the rows of buckets that are full. Call it inside of a transaction."""
    session().execute(delete(RateBucket).where(RateBucket.full_at <= now()))
