"""Docmill's queue: its own worker code, with one stage whose handler does nothing but end its run."""

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import text

from bench._peers import tell, wait_for_go
from webapp.app import create_app
from webapp.clock import new_id
from webapp.config import Settings
from webapp.db import db, init_database, transaction
from webapp.documents.states import LiveRun
from webapp.jobs.queue import Lease, NewJob
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue
from webapp.pipeline.steps import StageContext
from webapp.runs import lifecycle
from webapp.serving.memory import keep_what_is_loaded
from webapp.worker.process import WorkerProcess

UNFINISHED = "SELECT FROM document_processing_jobs WHERE status IN ('PENDING', 'PROCESSING') LIMIT 1"
RUNTIME = "docmill_bench"
STAGE = "noop"
_PAUSE_SECONDS = 0.02
_FEW = 1_000


def settings(url: str, **variables: str) -> Settings:
    """As a worker has them, on the role to which row-level security applies; an empty URL is SQLite's."""
    runtime = url.replace("//postgres:", f"//{RUNTIME}:")
    where = {"DATABASE_URL": runtime, "DATABASE_OWNER_URL": url} if url else {}
    folder = variables.pop("DATA_DIR", tempfile.gettempdir())
    known = {"EXECUTION": "workers", "DATA_DIR": folder, "SECRET_KEY": "a key for measuring only"} | where
    return Settings.from_environment(known | variables)


def bare_app(url: str, **variables: str) -> Flask:
    """The database alone."""
    app = Flask("webapp")
    init_database(app, settings(url, **variables))
    return app


@contextmanager
def queue_on(url: str, **variables: str) -> Iterator[SqlJobQueue]:
    """The queue, inside an application context."""
    with bare_app(url, **variables).app_context():
        yield SqlJobQueue(RetryPolicy(30, 600))
        db.engine.dispose()


def install(url: str) -> None:
    with bare_app(url).app_context():
        upgrade()
        db.engine.dispose()


def new_jobs(number: int, stage: str = STAGE) -> list[NewJob]:
    """Jobs to enqueue, each of a run and a document of its own, all of one new org."""
    org, ids = new_id(), [(new_id(), new_id()) for _ in range(number)]
    present = "CURRENT_TIMESTAMP" if db.engine.dialect.name == "postgresql" else "strftime('%Y-%m-%d %H:%M:%f', 'now')"
    hexed = db.engine.dialect.name == "sqlite"

    def as_sql(value: object) -> str:
        return str(value).replace("-", "") if hexed else str(value)

    rows = [
        {"org": as_sql(org), "document": as_sql(document), "run": as_sql(run), "hash": document.hex * 2}
        for document, run in ids
    ]
    with transaction(everywhere=True) as opened:
        connection = opened.connection()
        named = {"org": as_sql(org), "name": str(org)}
        connection.execute(text(f"INSERT INTO orgs (id, name, created_at) VALUES (:org, :name, {present})"), named)
        connection.execute(text(_DOCUMENT.format(present=present)), rows)
        connection.execute(text(_RUN.format(present=present)), rows)
    return [NewJob(org, LiveRun(run, org, document), stage, max_attempts=5) for document, run in ids]


_DOCUMENT = """
INSERT INTO documents
    (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at, updated_at)
VALUES (:document, :org, 'a', 'text/plain', 1, :hash, 'a', 'PROCESSING', {present}, {present})
"""
_RUN = """
INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at)
VALUES (:run, :org, :document, 'QUEUED', 'UPLOAD', {present})
"""


def enqueue(url: str, number: int, batch: int = 1_000) -> float:
    with queue_on(url) as queue:
        jobs = new_jobs(number)
        queue.claim("nobody", stages=[])
        began_at = time.perf_counter()
        for start in range(0, number, batch):
            queue.enqueue(jobs[start : start + batch])
        return time.perf_counter() - began_at


def one_by_one(url: str, number: int) -> list[float]:
    with queue_on(url) as queue:
        jobs, moments = new_jobs(number), []
        pause = threading.Event()
        for job in jobs:
            if number < _FEW:
                pause.wait(_PAUSE_SECONDS)
            moments.append(time.monotonic())
            # As an upload does it: in the transaction of its rows, which wakes sleepers once it is committed.
            with transaction(job.org_id):
                queue.enqueue([job])
        return [*moments, time.monotonic()]


def work(url: str) -> None:
    variables = json.loads(os.environ.get("BENCH_SETTINGS", "{}"))
    if not url:
        variables["EXECUTION"] = "embedded"
    Path(variables.get("DATA_DIR", "/tmp")).mkdir(exist_ok=True)  # noqa: S108 - nothing is written there
    app = create_app(settings(url, **variables))
    with app.app_context():
        workshop = workshop_on(app)
        keep_what_is_loaded()
        wait_for_go()
        workshop.start()
        signal.sigwait({signal.SIGTERM})
    os._exit(0)


def workshop_on(app: Flask) -> WorkerProcess:
    """A worker with one stage."""
    return WorkerProcess(app.extensions["docmill"], print, handlers={STAGE: _handle})


def _job(lease: Lease) -> None:
    if seconds := lease.payload.get("seconds"):
        os.write(1, b"%d %d %d %s\n" % (time.monotonic_ns(), os.getpid(), lease.attempts, lease.org_id.hex.encode()))
        threading.Event().wait(seconds)
    else:
        tell()


def _handle(context: StageContext) -> None:
    _job(context.lease)
    has_stored = False
    try:
        with context.transaction():
            lifecycle.succeed_run(context.queue, context.lease)
        has_stored = True
    finally:
        if context.lease.payload.get("tells"):
            os.write(1, b"stored\n" if has_stored else b"lost\n")
