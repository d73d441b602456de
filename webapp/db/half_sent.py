"""Ends sessions of PostgreSQL whose client froze while it was sending a statement.

The server does not count such a session as idle in its transaction, so no time limit of the server's ends it, and its
rows would stay locked for as long as the client is frozen.
"""

from sqlalchemy import text

from webapp.db import ask_postgresql, reading
from webapp.db.engines import IDLE_IN_TRANSACTION_SECONDS

# An active session reads from its client for a moment at most. Only sessions that the transaction's role may end.
_END = text("""
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'docmill' AND state = 'active'
        AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - make_interval(secs => :seconds)
        AND pg_has_role(usesysid, 'MEMBER')
""")


def end_half_sent(seconds: float = IDLE_IN_TRANSACTION_SECONDS) -> int:
    """End the sessions that have waited so long for the rest of a statement; counts them."""
    with reading(everywhere=True):
        row = ask_postgresql(_END, {"seconds": seconds})
    return row[0] if row else 0
