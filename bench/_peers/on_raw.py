"""No queue at all: the fewest statements that can be one, prepared, on a table as wide as ours, by four threads.

It has no leases, no attempts, no orgs and no way to recover: what a queue costs beyond it is what it gives.
"""

import os
import threading
import time
from collections.abc import Callable

import psycopg

from bench._peers import tell, wait_for_go

THREADS = 4
CLAIM_SIZE = int(os.environ.get("BENCH_CLAIM", "50"))
_TABLE = """
CREATE TABLE raw_jobs (id bigserial PRIMARY KEY, org_id uuid, document_id uuid, run_id uuid, stage text, status text,
    priority int, payload jsonb, checkpoint jsonb, attempts int, available_at timestamptz, created_at timestamptz,
    started_at timestamptz, completed_at timestamptz, locked_by text, lease_id uuid, error_log jsonb);
CREATE INDEX raw_due ON raw_jobs (priority, available_at, id) WHERE status = 'PENDING'
"""
_ADD = """
INSERT INTO raw_jobs (org_id, document_id, run_id, stage, status, priority, payload, checkpoint, attempts, available_at,
    created_at, error_log)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'noop', 'PENDING', 0, '{}', '{}', 0, now(), now(), '[]'
FROM generate_series(1, %s)
"""
_CLAIM = """
UPDATE raw_jobs SET status = 'PROCESSING', started_at = now(), locked_by = 'a', lease_id = gen_random_uuid()
FROM (SELECT id FROM raw_jobs WHERE status = 'PENDING' AND available_at <= now()
    ORDER BY priority, available_at, id LIMIT %s FOR UPDATE SKIP LOCKED) chosen
WHERE raw_jobs.id = chosen.id RETURNING raw_jobs.*
"""
_DONE = "UPDATE raw_jobs SET status = 'COMPLETED', completed_at = now() WHERE id = ANY(%s)"


def _connect(url: str) -> "psycopg.Connection[tuple[int, ...]]":
    return psycopg.connect(url, autocommit=True, prepare_threshold=0)


def install(url: str) -> None:
    with _connect(url) as connection:
        connection.execute(_TABLE, prepare=False)


def one_by_one(url: str, number: int) -> list[float]:
    with _connect(url) as connection:
        moments, pause = [], threading.Event()
        for _ in range(number):
            if number < 1_000:
                pause.wait(0.02)
            moments.append(time.monotonic())
            with connection.pipeline():
                connection.execute(_ADD, (1,))
                connection.execute("SELECT pg_notify('raw', '')")
        return [*moments, time.monotonic()]


def _drain(connection: "psycopg.Connection[tuple[int, ...]]") -> None:
    while rows := connection.execute(_CLAIM, (CLAIM_SIZE,)).fetchall():
        for _ in rows:
            tell()
        connection.execute(_DONE, ([row[0] for row in rows],))


def work(url: str) -> None:
    connections = [_connect(url) for _ in range(THREADS)]
    wait_for_go()
    threads = [threading.Thread(target=_serve(connection)) for connection in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _serve(connection: "psycopg.Connection[tuple[int, ...]]") -> Callable[[], None]:
    def serve() -> None:
        connection.execute("LISTEN raw")
        while True:
            _drain(connection)
            list(connection.notifies(timeout=1, stop_after=1))

    return serve
