"""Who wrote what: triggers of the test's own, under which no late write goes unseen.

Each process connects as a role of its own, so `session_user` names the process. A job belongs to
the role that claimed it; only that role may write on its behalf until the lease ends.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import psycopg

INSTALL = """
CREATE SCHEMA audit;
CREATE TABLE audit.log (
    seq bigint GENERATED ALWAYS AS IDENTITY, at timestamptz DEFAULT clock_timestamp(), who text DEFAULT session_user,
    kind text, job_id uuid, run_id uuid, document_id uuid,
    old_status text, new_status text, old_lease uuid, new_lease uuid, old_attempts int, new_attempts int
);
CREATE FUNCTION audit.job() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO audit.log (kind, job_id, run_id, document_id, old_status, new_status, old_lease, new_lease,
                           old_attempts, new_attempts)
    VALUES ('job', NEW.id, NEW.run_id, NEW.document_id, OLD.status, NEW.status, OLD.lease_id, NEW.lease_id,
            OLD.attempts, NEW.attempts);
    RETURN NULL;
END $$;
CREATE FUNCTION audit.event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO audit.log (kind, job_id, run_id, document_id)
    VALUES (NEW.kind, NEW.job_id, NEW.run_id, NEW.document_id);
    RETURN NULL;
END $$;
CREATE FUNCTION audit.chunk() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO audit.log (kind, document_id) VALUES ('chunk', coalesce(NEW.document_id, OLD.document_id));
    RETURN NULL;
END $$;
CREATE TABLE audit.publishing_waits (who text PRIMARY KEY);
CREATE FUNCTION audit.wait_while_publishing() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    IF EXISTS (SELECT FROM audit.publishing_waits WHERE who = session_user) THEN PERFORM pg_sleep(1.5); END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER wait AFTER INSERT ON chunks FOR EACH STATEMENT EXECUTE FUNCTION audit.wait_while_publishing();
CREATE TRIGGER audit AFTER UPDATE ON document_processing_jobs FOR EACH ROW EXECUTE FUNCTION audit.job();
CREATE TRIGGER audit AFTER INSERT ON run_events FOR EACH ROW EXECUTE FUNCTION audit.event();
CREATE TRIGGER audit AFTER INSERT OR DELETE ON chunks FOR EACH ROW EXECUTE FUNCTION audit.chunk();
"""

# The holder of a job at a moment: the worker that made the last claim before it, unless the lease has ended since.
_HOLDER = """
    LATERAL (SELECT c.who, c.new_status FROM audit.log c
             WHERE c.kind = 'job' AND c.seq < l.seq AND c.{match} AND c.old_lease IS DISTINCT FROM c.new_lease
             ORDER BY c.seq DESC LIMIT 1) holder
"""

LATE = {
    "a step's event by a process that does not hold the job": """
        SELECT l.seq, l.kind, l.who, holder.who FROM audit.log l, """
    + _HOLDER.format(match="job_id = l.job_id")
    + "WHERE l.kind LIKE 'STEP_%' AND (holder.who <> l.who OR holder.new_status <> 'PROCESSING')",
    "a job's row changed under a lease by another process": """
        SELECT l.seq, l.who, holder.who FROM audit.log l, """
    + _HOLDER.format(match="job_id = l.job_id")
    + "WHERE l.kind = 'job' AND l.old_lease = l.new_lease AND l.who <> holder.who",
    "a job completed by a process that does not hold it": """
        SELECT l.seq, l.who, holder.who FROM audit.log l, """
    + _HOLDER.format(match="job_id = l.job_id")
    + "WHERE l.kind = 'job' AND l.new_status = 'COMPLETED' AND l.who <> holder.who",
    "passages written by a process that does not hold a job of the document": """
        SELECT DISTINCT l.document_id, l.who, holder.who FROM audit.log l, """
    + _HOLDER.format(match="document_id = l.document_id")
    + "WHERE l.kind = 'chunk' AND holder.who <> l.who",
    "a job that left an ended state": """
        SELECT seq, job_id FROM audit.log
        WHERE kind = 'job' AND old_status IN ('COMPLETED', 'FAILED', 'CANCELLED') AND new_status <> old_status""",
    "an attempt counted twice": """
        SELECT seq, job_id FROM audit.log WHERE kind = 'job' AND new_attempts - old_attempts NOT IN (0, 1)""",
    "an attempt counted without a lease that ended": """
        SELECT seq, job_id FROM audit.log WHERE kind = 'job' AND new_attempts > old_attempts AND old_lease IS NULL""",
}

# From the death of a process to the moment at which each of its jobs was back in line, and was taken again.
RESETS = """
    SELECT l.job_id, l.at,
           (SELECT min(n.at) FROM audit.log n WHERE n.kind = 'job' AND n.job_id = l.job_id AND n.seq > l.seq
            AND n.new_status = 'PROCESSING' AND n.old_status = 'PENDING'),
           (SELECT c.who FROM audit.log c WHERE c.kind = 'job' AND c.job_id = l.job_id AND c.seq < l.seq
            AND c.new_lease IS NOT NULL ORDER BY c.seq DESC LIMIT 1)
    FROM audit.log l WHERE l.kind = 'job' AND l.new_attempts > l.old_attempts AND l.old_status = 'PROCESSING'
"""


def install(superuser_url: str) -> None:
    """Watch from now on."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(INSTALL)
        connection.execute("CREATE INDEX ON audit.log (job_id, seq) WHERE kind = 'job'")
        connection.execute("CREATE INDEX ON audit.log (document_id, seq) WHERE kind = 'job'")


@contextlib.contextmanager
def publishing_waits(superuser_url: str, role: str) -> Iterator[Callable[[], bool]]:
    """Transactions of this role pause inside their publishing; gives a question: does one pause now?"""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute("INSERT INTO audit.publishing_waits VALUES (%s) ON CONFLICT DO NOTHING", [role])
        try:
            yield lambda: connection.execute(_PAUSES, [role]).fetchone() is not None
        finally:
            connection.execute("DELETE FROM audit.publishing_waits WHERE who = %s", [role])


_PAUSES = "SELECT 1 FROM pg_stat_activity WHERE usename = %s AND wait_event = 'PgSleep'"
_OPEN = """
    SELECT extract(epoch FROM now() - state_change)::float8 FROM pg_stat_activity
    WHERE usename = %s AND state = 'idle in transaction' ORDER BY state_change LIMIT 1
"""


def open_seconds(superuser_url: str, role: str) -> float:
    """For how long a transaction of this role has been open and idle; 0 where there is none."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        row = connection.execute(_OPEN, [role]).fetchone()
        return float(row[0]) if row else 0.0


def late_writes(superuser_url: str) -> dict[str, list[Any]]:
    """What was written by somebody who had no right to it any more; nothing, where all is well."""
    with psycopg.connect(superuser_url) as connection:
        found = {name: connection.execute(query.encode()).fetchall() for name, query in LATE.items()}
    return {name: rows for name, rows in found.items() if rows}


def resets(superuser_url: str) -> list[tuple[Any, ...]]:
    """(job, when it was taken back, when it was claimed again, from whom)."""
    with psycopg.connect(superuser_url) as connection:
        return connection.execute(RESETS.encode()).fetchall()
