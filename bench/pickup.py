"""How soon an idle worker begins a document: from the commit of its upload to the first line of its first stage.

Run as `python -m bench.pickup [--only sqlite] [--number N]`. Each document is uploaded once the one before is ready and
the worker sleeps. On PostgreSQL a worker process is woken by NOTIFY, on SQLite a thread of the same process. At the end
of the time measured, the claim is committed and the timeline says RUN_STARTED.

Beside it, half before and half after, the least that could do: a bare table, a wake-up after the commit of an INSERT,
and one committed claim (on PostgreSQL psycopg, FOR UPDATE SKIP LOCKED, and a process of its own; on SQLite a thread).
The claiming thread runs at the low priority of the product's worker threads, so a busy machine delays both.
"""

import argparse
import multiprocessing
import os
import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from uuid import UUID

import psycopg
from sqlalchemy import event

from bench._databases import DATABASES
from bench._place import Place, Worker, place, wait_until
from bench._table import p50_p99, row, title
from tests.search.passages import new_org
from webapp.app import create_app
from webapp.db import db
from webapp.pipeline.handlers import HANDLERS
from webapp.pipeline.steps import StageContext
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.worker.embedded import EmbeddedHost
from webapp.worker.threads import yield_to_others

WANTED_P50, WANTED_P99 = 3.0, 10.0
WARM_UP = 5
_ASLEEP_AFTER_SECONDS = 0.05

Begun = Callable[[], tuple[float, UUID]]


@contextmanager
def worker_process(at: Place) -> Iterator[Begun]:
    """On PostgreSQL: what waits for the next document that a worker process begins."""
    with Worker(at) as worker:
        yield worker.begun


@contextmanager
def embedded_host(at: Place) -> Iterator[Begun]:
    """On SQLite: the same for the worker threads of this process."""
    beginnings: queue.SimpleQueue[tuple[float, UUID]] = queue.SimpleQueue()

    def begin(context: StageContext) -> None:
        beginnings.put((time.monotonic(), context.lease.document_id))
        HANDLERS[PROCESS_DOCUMENT](context)

    app = create_app(at.settings)
    with app.app_context():
        host = EmbeddedHost(app.extensions["docmill"], {**HANDLERS, PROCESS_DOCUMENT: begin})
        host.start()
        assert host.wait_until_working(60)
        yield beginnings.get
        host.stop()


def pickups(at: Place, number: int, begun: Begun) -> list[float]:
    """Upload so many short texts, one after the other; the seconds of each."""
    commits: list[float] = []
    main_thread = threading.get_ident()

    def committed(_: object) -> None:
        if threading.get_ident() == main_thread:
            commits.append(time.monotonic())

    event.listen(db.session, "after_commit", committed)
    org_id, found, pause = new_org(), [], threading.Event()
    for each in range(WARM_UP + number):
        wait_until(at.is_idle)
        pause.wait(_ASLEEP_AFTER_SECONDS)
        document_id = at.upload(org_id, f"Letter {each} about the harbour.".encode(), f"letter-{each}.txt")
        moment, begun_id = begun()
        assert begun_id == document_id
        found.append(moment - commits[-1])
    wait_until(at.is_idle)
    event.remove(db.session, "after_commit", committed)
    return found[WARM_UP:]


def bare_postgresql(at: Place, number: int) -> list[float]:
    """The same for a bare table and a bare process."""
    assert at.owner_url is not None
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=_bare_worker, args=(at.owner_url, theirs))
    with psycopg.connect(at.owner_url, autocommit=True, prepare_threshold=0) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, state text DEFAULT 'DUE')")
        child.start()
        ours.recv()
        found, pause = [], threading.Event()
        for _ in range(WARM_UP + number):
            pause.wait(_ASLEEP_AFTER_SECONDS)
            connection.execute("INSERT INTO bare DEFAULT VALUES")
            committed_at = time.monotonic()
            connection.execute("NOTIFY bare")
            found.append(ours.recv() - committed_at)
    child.kill()
    child.join()
    return found[WARM_UP:]


def _bare_worker(url: str, out: Connection) -> None:
    yield_to_others()
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as connection:
        connection.execute("LISTEN bare")
        out.send("ready")
        while True:
            list(connection.notifies(stop_after=1))
            connection.execute(
                "UPDATE bare SET state = 'CLAIMED' WHERE id = (SELECT id FROM bare WHERE state = 'DUE' ORDER BY id "
                "LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id"
            )
            out.send(time.monotonic())


def bare_sqlite(at: Place, number: int) -> list[float]:
    """The same for a bare file and a bare thread."""
    claims: queue.SimpleQueue[float] = queue.SimpleQueue()
    woken, waker = os.pipe()

    def work() -> None:
        yield_to_others()
        connection = _bare_file(path)
        while os.read(woken, 1) == b"!":
            connection.execute(
                "UPDATE bare SET state = 'CLAIMED' WHERE id = (SELECT min(id) FROM bare WHERE state = 'DUE')"
            )
            claims.put(time.monotonic())

    with tempfile.TemporaryDirectory(dir=at.settings.data_dir) as folder:
        path = Path(folder) / "bare.sqlite3"
        connection = _bare_file(path)
        thread, pause, found = threading.Thread(target=work), threading.Event(), []
        thread.start()
        for _ in range(WARM_UP + number):
            pause.wait(_ASLEEP_AFTER_SECONDS)
            connection.execute("INSERT INTO bare (state) VALUES ('DUE')")
            committed_at = time.monotonic()
            os.write(waker, b"!")
            found.append(claims.get() - committed_at)
        os.write(waker, b".")
        thread.join()
    return found[WARM_UP:]


def _bare_file(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, state TEXT)")
    connection.execute("CREATE INDEX IF NOT EXISTS due ON bare (id) WHERE state = 'DUE'")
    return connection


WORK = {"postgresql": worker_process, "sqlite": embedded_host}
BARE = {"postgresql": bare_postgresql, "sqlite": bare_sqlite}
WORDS = {"postgresql": "PostgreSQL, a worker process", "sqlite": "SQLite, embedded"}


def measure(name: str, number: int) -> None:
    """Print a line for each percentile."""
    with place(name) as at:
        bare = BARE[name](at, number // 2)
        with WORK[name](at) as begun:
            ours = pickups(at, number, begun)
        bare += BARE[name](at, number - number // 2)
    both = zip((50, 99), (WANTED_P50, WANTED_P99), p50_p99(ours), p50_p99(bare), strict=True)
    for percentile, wanted, mine, theirs in both:
        row(
            f"{WORDS[name]}, p{percentile}",
            f"{mine:.2f} ms",
            wanted=f"≤ {wanted:.0f} ms",
            beside=f"bare {theirs:.2f} ms, {mine / theirs:.1f} x",
            holds=mine <= wanted,
        )


def main() -> None:
    """Measure on both databases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=DATABASES)
    parser.add_argument("--number", type=int, default=300, help="of documents")
    given = parser.parse_args()
    title(f"From the commit of an upload to the first line of its work, {given.number} times")
    for name in [given.only] if given.only else ["postgresql", "sqlite"]:
        measure(name, given.number)


if __name__ == "__main__":
    main()
