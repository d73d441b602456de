"""The queue inside of one process, on SQLite, beside huey's."""

import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from flask_migrate import upgrade

from bench import _processes
from bench._figures import OURS, Size, milliseconds, report
from bench._peers import on_docmill
from bench._processes import Workers
from webapp.app import create_app
from webapp.db import db
from webapp.jobs.sql import SqlJobQueue
from webapp.pipeline import lifecycle
from webapp.pipeline.steps import StageContext
from webapp.worker.workshop import Workshop


def sqlite(size: Size) -> None:
    """No-op jobs a second on SQLite with synchronous FULL, beside huey's default."""
    found: dict[str, list[float]] = {}
    for _ in range(size.rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.setdefault(OURS, []).append(_drain_sqlite(folder, size.jobs))
        for threads in (1, 4):
            with tempfile.TemporaryDirectory() as folder:
                if (rate := _drain_huey(folder, size.jobs, threads)) is not None:
                    found.setdefault(f"huey, {threads} thread(s)", []).append(rate)
    report("drain SQLite", {name: statistics.median(rates) for name, rates in found.items()})


def _drain_sqlite(folder: str, jobs: int) -> float:
    variables = {"DATA_DIR": folder, "EXECUTION": "embedded"}
    with on_docmill.queue_on("", **variables) as queue:
        upgrade()
        queue.enqueue(on_docmill.new_jobs(jobs))

        def is_done() -> bool:
            live = "SELECT 1 FROM document_processing_jobs WHERE status IN ('PENDING', 'PROCESSING') LIMIT 1"
            with db.engine.connect().execution_options(docmill_writes=False) as connection:
                return connection.exec_driver_sql(live).first() is None

        with Workers(OURS, "", 1, BENCH_SETTINGS=json.dumps({"DATA_DIR": folder})) as workers:
            began_at = workers.go()
            return jobs / (_processes.wait_until(is_done) - began_at)


def _drain_huey(folder: str, jobs: int, threads: int) -> float | None:
    try:
        huey = import_module("huey")
    except ModuleNotFoundError:
        return None
    queue = huey.SqliteHuey(filename=str(Path(folder) / "huey.db"))
    task = queue.task()(_nothing)
    for _ in range(jobs):
        task()
    consumer = queue.create_consumer(workers=threads, periodic=False)
    began_at = time.perf_counter()
    consumer.start()
    took = _processes.wait_until(lambda: queue.pending_count() == 0) - began_at
    consumer.stop(graceful=True)
    return jobs / took


def _huey_pickups(folder: str, number: int) -> list[float] | None:
    try:
        huey = import_module("huey")
    except ModuleNotFoundError:
        return None
    began = _Began()
    queue = huey.SqliteHuey(filename=str(Path(folder) / "huey.db"))
    task = queue.task()(began.now)
    consumer = queue.create_consumer(workers=1, periodic=False)
    consumer.start()
    found = [began.after(task) for _ in range(number)]
    consumer.stop(graceful=True)
    return found


def _nothing() -> None:
    """A job."""


def embedded(size: Size) -> None:
    """Pickup of one job by the worker inside of the process that enqueues it, on SQLite; beside huey, which polls."""
    with tempfile.TemporaryDirectory() as folder:
        milliseconds("pickup docmill, embedded", _embedded_pickups(folder, size.pickups))
    with tempfile.TemporaryDirectory() as folder:
        if (theirs := _huey_pickups(folder, size.pickups // 3)) is not None:
            milliseconds("pickup huey, SQLite", theirs)


def _embedded_pickups(folder: str, number: int) -> list[float]:
    began = _Began()
    app = create_app(on_docmill.settings("", DATA_DIR=folder, EXECUTION="embedded"))
    with app.app_context():
        upgrade()
        jobs = on_docmill.new_jobs(number)
        workshop = Workshop(app, print, handlers={on_docmill.STAGE: began.ordinary}, light={})
        workshop.start()
        queue: SqlJobQueue = app.extensions["docmill"].queue
        found = [began.after(partial(queue.enqueue, [job])) for job in jobs]
        workshop.drain()
        db.engine.dispose()
    return found


class _Began:
    """Waits for one job after the other."""

    def __init__(self) -> None:
        self._at = 0.0
        self._event = threading.Event()
        self._pause = threading.Event()

    def now(self) -> None:
        """A job begins."""
        self._at = time.perf_counter()
        self._event.set()

    def ordinary(self, context: StageContext) -> None:
        """A job of ours begins, and ends."""
        self.now()
        lifecycle.succeed_run(context.queue, context.lease)

    def after(self, enqueue: Callable[[], object]) -> float:
        """The seconds from just before that to the beginning of its job; the worker is idle before."""
        self._pause.wait(_IDLE_SECONDS)
        self._event.clear()
        enqueued_at = time.perf_counter()
        enqueue()
        assert self._event.wait(_processes.PATIENCE_SECONDS)
        return self._at - enqueued_at


_IDLE_SECONDS = 0.03
