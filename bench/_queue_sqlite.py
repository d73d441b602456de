"""The queue inside of one process, on SQLite, beside huey's."""

import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from flask_migrate import upgrade

from bench import _processes
from bench._figures import Size, milliseconds
from bench._peers import on_docmill
from webapp.app import create_app
from webapp.db import db
from webapp.jobs.sql import SqlJobQueue
from webapp.pipeline.steps import StageContext
from webapp.runs import lifecycle
from webapp.worker.process import WorkerProcess


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
        workshop = WorkerProcess(app.extensions["docmill"], print, handlers={on_docmill.STAGE: began.ordinary})
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
