"""Timers that call the chores (chores.py) when they are due."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from webapp.clock import utc_now
from webapp.db.errors import DATABASE_ERRORS
from webapp.provider_errors import ProviderError
from webapp.worker.threads import with_database

_log = logging.getLogger(__name__)

_THREADS = 2


@dataclass(frozen=True)
class Timer:
    """A chore, how often it is done, and when for the first time."""

    name: str
    chore: Callable[[], object]
    every_seconds: float
    first_after_seconds: float = 0.0


class Watchdog:
    """Runs chores on time. A chore that takes longer than its interval does not overlap with itself."""

    def __init__(self, timers: list[Timer]) -> None:
        # APScheduler logs every run, and after a freeze every missed one.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        defaults = {"max_instances": 1, "coalesce": True, "misfire_grace_time": None}
        self._scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(_THREADS)}, job_defaults=defaults, timezone=UTC
        )
        do = with_database(self._do)
        for timer in timers:
            first = utc_now() + timedelta(seconds=timer.first_after_seconds)
            self._scheduler.add_job(
                do, "interval", [timer], seconds=timer.every_seconds, next_run_time=first, id=timer.name
            )

    def start(self) -> None:
        """Start the timers."""
        self._scheduler.start()

    def stop(self) -> None:
        """Start no further chore."""
        self._scheduler.shutdown(wait=False)

    def _do(self, timer: Timer) -> None:
        try:
            timer.chore()
        except (*DATABASE_ERRORS, ProviderError) as error:
            _log.warning("%s failed and is tried again later: %s", timer.name, type(error).__name__)
