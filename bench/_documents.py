"""The process that works off queued documents for `bench.documents`, and counts what that costs.

It prints "ready" once model and sandbox are loaded, begins at a line on its input, and prints its counts as JSON.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from sqlalchemy import Engine, event, select
from sqlalchemy.engine import Connection

from bench._documents_loop import warm_up
from webapp.app import create_app
from webapp.db import db, reading
from webapp.documents.model import Document
from webapp.documents.states import DocumentStatus
from webapp.jobs.sql import SqlJobQueue
from webapp.worker.embedded import EmbeddedHost
from webapp.worker.process import WorkerProcess

OF_THE_QUEUE = ("claim", "heartbeat", "complete")
LOOK_EVERY_SECONDS = 0.25


class Counts:
    """What this process does, counted where it happens; threads count beside each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: Counter[str] = Counter()
        self._queue_seconds = 0.0
        self._changes: dict[int, int] = {}

    def add(self, what: str, seconds: float = 0.0) -> None:
        """One more."""
        with self._lock:
            self._found[what] += 1
            self._queue_seconds += seconds

    def taken(self) -> dict[str, float]:
        """The counts since the last call."""
        with self._lock:
            found = {**self._found, "queue_seconds": self._queue_seconds}
            self._found, self._queue_seconds = Counter(), 0.0
        return found

    def watch(self) -> None:
        """Count syncs of files, SQLite's commits that wrote something, and the time inside of the queue."""
        os.fsync = self._counted(os.fsync, "syncs")
        event.listen(Engine, "commit", self._committed)
        for name in OF_THE_QUEUE:
            setattr(SqlJobQueue, name, self._timed(getattr(SqlJobQueue, name)))

    def _counted(self, call: Callable[..., Any], what: str) -> Any:
        def counted(*given: Any) -> Any:
            self.add(what)
            return call(*given)

        return counted

    def _timed(self, call: Callable[..., Any]) -> Any:
        @wraps(call)
        def timed(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                self.add("queue_calls", time.perf_counter() - began)

        return timed

    def _committed(self, connection: Connection) -> None:
        changes = getattr(connection.connection.driver_connection, "total_changes", None)
        if changes is not None and self._changes.get(id(connection.connection.driver_connection)) != changes:
            self._changes[id(connection.connection.driver_connection)] = changes
            self.add("commits")


def main() -> None:
    """Work until no document is waiting any more."""
    counts = Counts()
    counts.watch()
    app = create_app()
    services = app.extensions["docmill"]
    warm_up(services.providers.extractor, services.providers.embedder)
    is_embedded = services.settings.is_embedded
    print("ready", flush=True)
    sys.stdin.readline()
    counts.taken()
    began, cpu = time.time(), time.process_time()
    with app.app_context():
        work: Any = EmbeddedHost(services) if is_embedded else WorkerProcess(services, print)
        work.start()
        pause = threading.Event()
        while _waiting():
            pause.wait(LOOK_EVERY_SECONDS)
        found = counts.taken()
        print(json.dumps({"began": began, "cpu": time.process_time() - cpu, **found}), flush=True)
        (work.stop if is_embedded else work.drain)()
        db.engine.dispose()
    os._exit(0)


def _waiting() -> bool:
    with reading(everywhere=True) as session:
        waiting = select(Document.id).where(Document.status == DocumentStatus.PROCESSING).limit(1)
        return session.scalar(waiting) is not None


if __name__ == "__main__":
    main()
