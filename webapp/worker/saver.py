"""Stores what running attempts have done so far, so that people see a long step soon after it began."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from webapp.db.errors import DATABASE_ERRORS
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import ProviderError
from webapp.worker.threads import Guarded

_log = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 0.05


class Saver:
    """A thread that saves for all attempts of this process, with a database session of its own."""

    def __init__(self, on_broken: Callable[[str], None]) -> None:
        self._lock = threading.Lock()
        self._running: list[StageContext] = []
        self._has_work = threading.Event()
        self._ending = threading.Event()
        self._thread = Guarded("saver", self._save_on, on_broken)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; attempts store the rest themselves."""
        self._ending.set()
        self._has_work.set()

    @contextmanager
    def watch(self, context: StageContext) -> Iterator[None]:
        """Save for this attempt while it runs."""
        with self._lock:
            self._running.append(context)
            self._has_work.set()
        try:
            yield
        finally:
            self._leave(context)

    def save(self) -> None:
        """Save for each attempt that has not saved for a while."""
        with self._lock:
            running = list(self._running)
            if not running:
                self._has_work.clear()
        for context in running:
            try:
                context.save_if_due()
            except LeaseLost:
                self._leave(context)
            except (ProviderError, *DATABASE_ERRORS) as error:
                # The attempt will get the same error if it does not pass.
                _log.info("job %s: its steps are stored later: %s", context.lease.job_id, type(error).__name__)

    def _leave(self, context: StageContext) -> None:
        with self._lock:
            self._running = [each for each in self._running if each is not context]

    def _save_on(self) -> None:
        while not self._ending.wait(LOOK_EVERY_SECONDS):
            self._has_work.wait()
            self.save()
