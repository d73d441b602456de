"""How long a claim takes while 100,000 finished jobs are forgotten, beside how long it takes in quiet.

Run as `python -m bench.retention [--jobs N]`.
"""

import argparse
import statistics
import threading
import time
from collections.abc import Callable

from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import insert

from bench._databases import DATABASES
from webapp.accounts.model import Org
from webapp.clock import after, new_id
from webapp.config import Settings
from webapp.db import db, init_database, transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import LiveRun
from webapp.jobs.model import Job
from webapp.jobs.queue import JobQueue, NewJob
from webapp.runs.retention import prune
from webapp.services import Services
from webapp.wiring import wire

DUE, QUIET_CLAIMS = 50, 500
_OLD_SECONDS = 40 * 86_400


def main() -> None:
    """Measure on both databases and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000, help="finished jobs to forget")
    jobs = parser.parse_args().jobs
    print("Claim and release of one job, milliseconds: in quiet | while old jobs are forgotten")
    for name, opened in DATABASES.items():
        with opened() as variables:
            print(f"{name:10} {_measure(variables, jobs)}", flush=True)


def _measure(variables: dict[str, str], jobs: int) -> str:
    settings = Settings.from_environment({"SECRET_KEY": new_id().hex, "JOB_RETENTION_DAYS": "30", **variables})
    app = Flask("webapp")
    init_database(app, settings)
    services = wire(settings)
    with app.app_context():
        upgrade()
        _fill(services.queue, jobs)
        _claims(services.queue, _times(100))
        quiet = _claims(services.queue, _times(QUIET_CLAIMS))
        busy, seconds, forgotten = _while_pruning(app, services)
        db.session.remove()
        db.engine.dispose()
    return f"{_figures(quiet)} | {_figures(busy)}   ({forgotten:,} forgotten in {seconds:.1f} s)"


def _fill(queue: JobQueue, number: int) -> None:
    with transaction(everywhere=True) as session:
        org = Org(name="Bench")
        session.add(org)
        session.flush()
        documents = [_document(org) for _ in range(DUE)]
        session.add_all(documents)
        session.flush()
        runs = [ProcessingRun(org_id=org.id, document_id=one.id, trigger="UPLOAD") for one in documents]
        session.add_all(runs)
        session.flush()
        ids = {"org_id": org.id, "document_id": documents[0].id, "run_id": runs[0].id}
        past = {"status": "COMPLETED", "created_at": after(-_OLD_SECONDS), "completed_at": after(-_OLD_SECONDS)}
        old = insert(Job).values(stage="done", max_attempts=1, **ids, **past)
        session.connection().execute(old, [{"id": new_id()} for _ in range(number)])
        queue.enqueue([NewJob(org.id, LiveRun(run.id, org.id, run.document_id), "process_document", 5) for run in runs])


def _document(org: Org) -> Document:
    sha256 = new_id().hex * 2
    return Document(
        org_id=org.id, filename="a", content_type="text/plain", size_bytes=1, sha256=sha256, blob_path="nowhere"
    )


def _while_pruning(app: Flask, services: Services) -> tuple[list[float], float, int]:
    forgotten: list[int] = []

    def forget() -> None:
        with app.app_context():
            forgotten.append(prune(services)["jobs"])

    start, thread = time.perf_counter(), threading.Thread(target=forget)
    thread.start()
    busy = _claims(services.queue, thread.is_alive)
    thread.join()
    return busy, time.perf_counter() - start, forgotten[0]


def _claims(queue: JobQueue, goes_on: Callable[[], bool]) -> list[float]:
    """Milliseconds of each claim and release, one every few milliseconds: workers do not claim in a loop."""
    found = []
    while goes_on():
        start = time.perf_counter()
        queue.release(queue.claim("bench", 1))
        found.append((time.perf_counter() - start) * 1000)
        time.sleep(0.002)
    return found


def _times(number: int) -> Callable[[], bool]:
    left = iter(range(number))
    return lambda: next(left, None) is not None


def _figures(values: list[float]) -> str:
    p99 = sorted(values)[int(len(values) * 0.99)]
    return f"p50 {statistics.median(values):6.2f}  p99 {p99:6.2f}  max {max(values):6.2f}"


if __name__ == "__main__":
    main()
