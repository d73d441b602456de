"""Whether the tables that grow with use keep their size when old rows are deleted, with millions of rows coming in.

Run as `python -m bench.pruning [--rows N] [--only TABLE] [--stock]`, on PostgreSQL. First a table gets half of the
rows, as of ten days. Then, ten times, it gets the rows of one more day while the product's own pass deletes those of
the oldest one. Meanwhile the pages that read the table are opened again and again. Rows are made by the database, as
each transaction of the product would leave them: a job is inserted, claimed and completed, which leaves two dead rows.

`--stock` takes the server's own settings for autovacuum instead of the table's.
"""

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from uuid import UUID

import psycopg
from flask.testing import FlaskClient

from bench._place import Place, place
from bench._table import row, title
from bench._visitor import signed_in
from tests.search.passages import new_org
from webapp.app import create_app
from webapp.runs import retention
from webapp.runs.retention import Page

DAY_SECONDS = 86_400.0
DAYS = 10
# From the middle of the ten days on, when all that was there at first has been deleted or written over.
GROWTH_MOST = 1.05
BATCH = 10_000
PAGES = ("/ops", "/ops/jobs?status=completed", "/metrics")
_never = threading.Event()


@dataclass(frozen=True)
class Grown:
    """A table that grows with use: the statements that make a batch of its rows, and the product's pass over it."""

    table: str
    statements: tuple[str, ...]
    pruned: Callable[[Place], Page]


# One row in eight begins another document's run; each batch is of the ages from `age` seconds on.
_MADE = """
CREATE TEMP TABLE made AS
SELECT n, uuidv7(age) AS id, now() + age AS at, first_value(uuidv7(age)) OVER eighth AS run_id,
    first_value(uuidv7(age)) OVER eighth AS document_id
FROM (
    SELECT n, make_interval(secs => %(age)s::float8 + n * %(step)s::float8) AS age
    FROM generate_series(1, %(number)s::int) AS n
) AS numbers
WINDOW eighth AS (PARTITION BY n / 8 ORDER BY n)
"""
_EVENTS = """
INSERT INTO run_events (id, org_id, document_id, run_id, job_id, kind, step, details, created_at)
SELECT id, %(org)s, document_id, run_id, run_id, 'STEP_SUCCEEDED', 'embedded',
    jsonb_build_object('chunks', n, 'seconds', 0.25), at
FROM made
"""
_CALLS = """
INSERT INTO provider_calls
    (id, org_id, run_id, provider, operation, units, seconds, outcome, reused, price, created_at)
SELECT id, %(org)s, run_id, 'openai', 'embed', 16, 0.25, 'ok', mod(n, 4) = 0, 0.0001, at FROM made
"""
_JOBS = """
INSERT INTO document_processing_jobs (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint,
    attempts, max_attempts, available_at, created_at, error_log, updated_at)
SELECT id, %(org)s, document_id, id, 'process_document', 'PENDING', 0, '{}', '{}', 0, 5, at, at, '[]', at FROM made
"""
_CLAIM = """
UPDATE document_processing_jobs AS job SET status = 'PROCESSING', lease_id = made.id, locked_by = 'a worker',
    started_at = at, heartbeat_at = at, updated_at = at
FROM made WHERE job.id = made.id
"""
_COMPLETE = """
UPDATE document_processing_jobs AS job SET status = 'COMPLETED', lease_id = NULL, locked_by = NULL, completed_at = at,
    checkpoint = jsonb_build_object('published', at, 'chunks', 12), updated_at = at
FROM made WHERE job.id = made.id
"""
_DROP = "DROP TABLE made"


def _of_jobs(at: Place) -> Page:
    return at.services.queue.prune


GROWN = (
    Grown("run_events", (_MADE, _EVENTS, _DROP), lambda at: retention.EVENTS.prune_page),
    Grown("provider_calls", (_MADE, _CALLS, _DROP), lambda at: retention.CALLS.prune_page),
    Grown("document_processing_jobs", (_MADE, _JOBS, _CLAIM, _COMPLETE, _DROP), _of_jobs),
)


@dataclass
class Sizes:
    """What a table takes with its indexes, in bytes, after each day."""

    bytes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    rows: int = 0


def add_day(connection: psycopg.Connection, grown: Grown, org_id: UUID, age: float, number: int) -> None:
    """The rows of a day that began so many seconds ago, in batches that are committed one by one."""
    for first in range(0, number, BATCH):
        values = {
            "org": org_id,
            "number": min(BATCH, number - first),
            "age": DAY_SECONDS * first / number - age,
            "step": DAY_SECONDS / number,
        }
        with connection.transaction():
            for statement in grown.statements:
                connection.execute(statement, values)


def cycle(at: Place, connection: psycopg.Connection, grown: Grown, org_id: UUID, number: int, day: int) -> float:
    """Add the rows of a day, and meanwhile delete those of the oldest one; the seconds that the pass took."""
    began_at, done = time.monotonic(), list[float]()

    def prune() -> None:
        with at.app.app_context():
            retention.prune_all(partial(grown.pruned(at), older_than_seconds=(DAYS * 2 - day) * DAY_SECONDS), _never)
        done.append(time.monotonic() - began_at)

    thread = threading.Thread(target=prune)
    thread.start()
    add_day(connection, grown, org_id, (DAYS - day) * DAY_SECONDS, number)
    thread.join()
    return done[0]


class Visits:
    """Opens pages all the time, and keeps how long each took (seconds)."""

    def __init__(self, client: FlaskClient) -> None:
        self._client = client
        self.times: dict[str, list[float]] = {path: [] for path in PAGES}

    def once(self) -> None:
        """Open each page."""
        for path, times in self.times.items():
            began_at = time.perf_counter()
            answer = self._client.get(path)
            times.append(time.perf_counter() - began_at)
            assert answer.status_code == 200, answer.text

    @contextmanager
    def all_the_time(self) -> Iterator[None]:
        """Until the block ends, with a second in between."""
        ending = threading.Event()

        def visit() -> None:
            while not ending.wait(1.0):
                self.once()

        thread = threading.Thread(target=visit)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()


def size(connection: psycopg.Connection, table: str) -> int:
    """Table, indexes and all, in bytes."""
    found = connection.execute("SELECT pg_total_relation_size(%s::regclass)", [table]).fetchone()
    assert found is not None
    return int(found[0])


def compact(connection: psycopg.Connection, table: str) -> int:
    """The size after it was written anew without any waste."""
    connection.execute(f"VACUUM FULL {table}".encode())
    return size(connection, table)


def measure(at: Place, client: FlaskClient, grown: Grown, org_id: UUID, rows: int, *, stock: bool) -> None:
    """Print how a table's size and the times of pages go."""
    assert at.owner_url is not None
    number = rows // (2 * DAYS)
    with psycopg.connect(at.owner_url, autocommit=True) as connection:
        # Nothing looks up what a row refers to, and no disk is waited for.
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        if stock:
            connection.execute(f"ALTER TABLE {grown.table} RESET ({', '.join(_SETTINGS)})".encode())
        for day in range(DAYS):
            add_day(connection, grown, org_id, (2 * DAYS - day) * DAY_SECONDS, number)
        connection.execute(f"VACUUM ANALYZE {grown.table}".encode())
        quiet, busy = Visits(client), Visits(client)
        for _ in range(20):
            quiet.once()
        sizes, took = [size(connection, grown.table)], list[float]()
        with busy.all_the_time():
            for day in range(DAYS):
                took.append(cycle(at, connection, grown, org_id, number, day))
                sizes.append(size(connection, grown.table))
                print(f"  day {day}: {sizes[-1] / 1e6:,.0f} MB, the pass took {took[-1]:.0f} s", flush=True)
        least = compact(connection, grown.table)
    _report(grown.table, number, sizes, took, least)
    for path in PAGES:
        before, during = (sorted(visits.times[path]) for visits in (quiet, busy))
        row(f"{path}, p50 (p95)", _times(during), beside=f"before any row was deleted {_times(before)}")


def _times(seconds: list[float]) -> str:
    return f"{median(seconds) * 1000:.0f} ms ({seconds[int(len(seconds) * 0.95)] * 1000:.0f})"


def _report(table: str, number: int, sizes: list[int], took: list[float], least: int) -> None:
    title(f"{table}: {2 * DAYS * number:,} rows came in, {DAYS * number:,} of them were deleted")
    megabytes = ", ".join(f"{each / 1e6:.0f}" for each in sizes)
    row(f"MB after each day: {megabytes}", "")
    growth = sizes[-1] / sizes[DAYS // 2]
    row(
        "size after the last day",
        f"{sizes[-1] / 1e6:.0f} MB, {growth:.2f} x",
        wanted=f"≤ {GROWTH_MOST} x the fifth's",
        beside=f"rows written anew {least / 1e6:.0f} MB",
        holds=growth <= GROWTH_MOST,
    )
    row("rows deleted a second, with pauses", f"{number / median(took):,.0f}")


_SETTINGS = (
    "autovacuum_vacuum_scale_factor",
    "autovacuum_vacuum_insert_scale_factor",
    "autovacuum_analyze_scale_factor",
)


def main() -> None:
    """Print each table's figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="that come into each table")
    parser.add_argument("--only", choices=[grown.table for grown in GROWN])
    parser.add_argument("--stock", action="store_true", help="with the server's own settings for autovacuum")
    given = parser.parse_args()
    for grown in GROWN:
        if given.only in {None, grown.table}:
            with place("postgresql") as at:
                org_id = new_org()
                client = signed_in(create_app(at.settings), org_id)
                measure(at, client, grown, org_id, given.rows, stock=given.stock)


if __name__ == "__main__":
    main()
