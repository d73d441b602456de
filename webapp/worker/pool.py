"""Claimer threads: each takes a job, makes an attempt, and takes the next."""

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from webapp.clock import monotonic
from webapp.database_errors import DATABASE_ERRORS
from webapp.pipeline import lifecycle
from webapp.worker.attempt import Attempts, Claimed
from webapp.worker.backoff import Backoff
from webapp.worker.heartbeat import Heartbeat, Seat
from webapp.worker.strays import Strays
from webapp.worker.threads import AppContext, Guarded, yield_to_others

_log = logging.getLogger(__name__)

_LONGEST_CLAIM_SECONDS = 2.0


@dataclass(frozen=True)
class PoolSize:
    """How many threads, and how often they look by themselves."""

    threads: int
    poll_seconds: float


class Pool:
    """The threads of one process. `worker` is the name under which it holds its jobs."""

    def __init__(
        self,
        worker: str,
        attempts: Attempts,
        app_context: AppContext,
        size: PoolSize,
        on_broken: Callable[[str], None],
        may_work: Callable[[], bool] = lambda: True,
    ) -> None:
        settings = attempts.services.settings
        self._worker = worker
        self._attempts = attempts
        self._may_work = may_work
        self._app_context = app_context
        self._poll_seconds = size.poll_seconds
        self._draining = threading.Event()
        self._bell = threading.Event()
        self._scouting = threading.Lock()
        self._backoff = Backoff()
        # Signal handlers put things in here, and a SimpleQueue is the one thing that lets them.
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._heartbeat = Heartbeat(
            attempts.services.queue,
            app_context,
            every_seconds=settings.heartbeat_seconds,
            zombie_after_seconds=settings.zombie_after_seconds,
            on_broken=on_broken,
            strays=Strays(attempts.services.queue, worker),
            on_freed=self.wake,
        )
        self._threads = [Guarded(f"claimer-{number}", self._work, on_broken) for number in range(size.threads)]

    def start(self) -> None:
        """Begin to work."""
        self._heartbeat.start()
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for work now, not at the next poll."""
        self._bell.set()

    def doubt(self) -> None:
        """Others may have taken jobs of ours: find out soon."""
        self._heartbeat.doubt()

    def check(self) -> None:
        """Call every few seconds from a thread that needs no database: are the heartbeats heard?"""
        self._heartbeat.check()

    def hurry(self) -> None:
        """Cut a drain short. Safe to call from a signal handler."""
        self._news.put("hurry")

    def drain(self, seconds: float) -> bool:
        """Take nothing new, let what is at work come to a good end, hand the rest back.

        Says whether all threads have ended. One that has not is deep inside a step, whose result
        nobody will take.
        """
        self._draining.set()
        self._bell.set()
        if not self._attempts.policy.drains_whole_jobs:
            self._heartbeat.ask_to_stop()
        ended = self._wait_for_threads(seconds)
        self._heartbeat.ask_to_stop()
        self._release_rest()
        self._heartbeat.stop()
        return ended

    def _work(self) -> None:
        yield_to_others()
        try:
            while (taken := self._next()) is not None:
                claimed, seat = taken
                with self._app_context():
                    self._attempts.run(claimed, seat.stopping)
                self._heartbeat.let_go(seat)
                # An ended run may have let the next one of its document go.
                self.wake()
        finally:
            self._news.put("ended")

    def _next(self) -> tuple[Claimed, Seat] | None:
        """The next job; None in a drain. One thread looks at a time, the others sleep behind it."""
        with self._scouting:
            while not self._draining.is_set():
                self._bell.clear()
                claimed = self._claim()
                if claimed:
                    return claimed, self._take_seat(claimed)
                self._bell.wait(self._poll_seconds)
        return None

    def _claim(self) -> Claimed | None:
        if not (self._heartbeat.is_well and self._may_work()):
            return None
        try:
            with self._app_context():
                claimed = self._attempts.claim(self._worker)
        except DATABASE_ERRORS as error:
            _log.warning("cannot look for work: %s", type(error).__name__)
            self._heartbeat.doubt()
            self._backoff.pause(self._draining)
            return None
        self._backoff.reset()
        return claimed[0] if claimed else None

    def _take_seat(self, claimed: Claimed) -> Seat:
        seat = self._heartbeat.hold(claimed.lease)
        # A drain that began during the claim has not seen this seat.
        if self._draining.is_set() and not self._attempts.policy.drains_whole_jobs:
            seat.stopping.set()
        return seat

    def _wait_for_threads(self, seconds: float) -> bool:
        deadline, working = monotonic() + seconds, len(self._threads)
        while working:
            try:
                news = self._news.get(timeout=max(0.0, deadline - monotonic()))
            except queue.Empty:
                return False
            if news == "hurry":
                return False
            working -= 1
        return True

    def _release_rest(self) -> None:
        # Whoever is in the middle of a claim has a seat a moment later.
        if self._scouting.acquire(timeout=_LONGEST_CLAIM_SECONDS):
            self._scouting.release()
        for seat in self._heartbeat.seats():
            try:
                with self._app_context():
                    lifecycle.release_job(self._attempts.services.queue, seat.lease)
            except DATABASE_ERRORS as error:
                # Then the watchdog of another process gives it back, later.
                _log.warning("job %s could not be handed back: %s", seat.lease.job_id, type(error).__name__)
