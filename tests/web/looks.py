"""Acting in the middle of an answer: right before its n-th look at the database or at a blob."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection, event

from webapp.db import db
from webapp.providers.local.blob import LocalBlobStore


def elsewhere(act: Callable[[], None]) -> None:
    """In another thread, as another process would."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(act).result()


class Looks:
    """Counts the moments at which the thread of the test looks at something, and acts at the n-th."""

    def __init__(self) -> None:
        self.seen = 0
        self._number, self._act = 0, _nothing
        self._thread = threading.get_ident()

    def before(self, number: int, act: Callable[[], None]) -> None:
        """Count anew, and act right before the n-th look."""
        self.seen, self._number, self._act = 0, number, act

    def note(self, connection: Connection | None = None, *_: Any) -> None:
        """One more, unless it is part of a write: nobody else can publish inside of that."""
        writes = connection is not None and connection.get_execution_options().get("docmill_writes", True)
        if threading.get_ident() == self._thread and not writes:
            self.seen += 1
            if self.seen == self._number:
                self._act()


def _nothing() -> None:
    pass


@contextmanager
def watched(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Looks]:
    """The statements and the opened blobs of this thread."""
    looks, open_blob = Looks(), LocalBlobStore.open

    def opened(store: LocalBlobStore, path: str) -> Any:
        looks.note()
        return open_blob(store, path)

    with app.app_context():
        engine = db.engine
    monkeypatch.setattr(LocalBlobStore, "open", opened)
    event.listen(engine, "before_cursor_execute", looks.note)
    try:
        yield looks
    finally:
        event.remove(engine, "before_cursor_execute", looks.note)
