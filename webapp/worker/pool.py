"""Claimer threads: each takes a job, makes an attempt, and takes the next.

One of the free threads is the scout: it claims for all that are free, and sleeps for them when there is
nothing to do. When it leaves with a job, the next free one is the scout.
"""

import logging
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from webapp.clock import monotonic
from webapp.database_errors import DATABASE_ERRORS
from webapp.jobs.bell import Bell
from webapp.pipeline import lifecycle
from webapp.worker.attempt import Attempts, Claimed
from webapp.worker.backoff import Backoff
from webapp.worker.heartbeat import Heartbeat, Seat
from webapp.worker.light import LightLane
from webapp.worker.overrun import Overruns
from webapp.worker.strays import Strays
from webapp.worker.threads import AppContext, Guarded, yield_to_others

_log = logging.getLogger(__name__)

_LONGEST_CLAIM_SECONDS = 2.0
# While light jobs keep a process busy, it looks for the others so often.
_LOOK_EVERY_SECONDS = 0.05
# Each keeps its memory; with so many for each seat it is better to begin anew.
LOST_MAX = 2
Turn = Callable[[], None]


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
        *,
        may_work: Callable[[], bool] = lambda: True,
        is_looked_for: Callable[[], bool] = lambda: False,
    ) -> None:
        settings = attempts.services.settings
        self._worker = worker
        self._attempts = attempts
        self._may_work = may_work
        self._is_looked_for = is_looked_for
        self._on_broken = on_broken
        self._overruns = Overruns()
        self._app_context = app_context
        self._poll_seconds = size.poll_seconds
        self._draining = threading.Event()
        self._bell = Bell()
        self._scouting = threading.Lock()
        self._backoff = Backoff()
        self._looked_at = 0.0
        self._is_busy = False
        self._waiting: deque[tuple[Claimed, Seat]] = deque()
        self._at_work: dict[UUID, Seat] = {}
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
        self._light = LightLane(worker, attempts, self._heartbeat, app_context, size.threads, on_broken)
        self._threads = [Guarded(f"claimer-{number}", self._work, on_broken) for number in range(size.threads)]

    def start(self) -> None:
        """Begin to work."""
        self._heartbeat.start()
        self._light.start()
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for work now, not at the next poll."""
        self._bell.ring()

    def doubt(self) -> None:
        """Others may have taken jobs of ours: find out soon."""
        self._heartbeat.doubt()

    def check(self) -> None:
        """Call every few seconds from a thread that needs no database: are the heartbeats heard?"""
        self._heartbeat.check()
        self._replace_lost()
        self._light.hand_back_late()

    def _replace_lost(self) -> None:
        """A thread that is lost inside of native code gives its seat to a new one."""
        for lost, seat in self._overruns.give_up():
            _log.error("job %s hangs far beyond its time; another thread takes the seat", seat.lease.job_id)
            seat.stopping.set()
            self._heartbeat.let_go(seat)
            self._at_work.pop(seat.lease.job_id, None)
            place = next(number for number, thread in enumerate(self._threads) if thread is lost)
            self._threads[place] = Guarded(lost.name, self._work, self._on_broken)
            self._threads[place].start()
        if self._overruns.lost > LOST_MAX * len(self._threads):
            self._on_broken(f"{self._overruns.lost} threads never came back from their jobs")

    def hurry(self) -> None:
        """Cut a drain short. Safe to call from a signal handler."""
        self._news.put("hurry")

    def drain(self, seconds: float) -> bool:
        """Take nothing new, let what is at work come to a good end, hand the rest back.

        Says whether all threads have ended. One that has not is deep inside a step, whose result
        nobody will take.
        """
        deadline = monotonic() + seconds
        self._draining.set()
        self._bell.ring()
        if not self._attempts.policy.drains_whole_jobs:
            self._heartbeat.ask_to_stop()
        ended = self._wait_for_threads(seconds)
        self._heartbeat.ask_to_stop()
        self._light.drain(max(_LONGEST_CLAIM_SECONDS, deadline - monotonic()))
        self._release_rest()
        self._heartbeat.stop()
        self._bell.close()
        return ended

    def _work(self) -> None:
        yield_to_others()
        try:
            while not self._overruns.is_given_up() and (turn := self._next()) is not None:
                turn()
        finally:
            if self._overruns.leave():
                self._news.put("ended")

    def _next(self) -> Turn | None:
        """What this thread does next; None in a drain. One thread looks at a time, the others sleep behind it."""
        with self._scouting:
            while not self._draining.is_set():
                if (turn := self._take()) is not None:
                    return turn
                if self._light.is_at_work:
                    self._keep_supplied()
                elif not self._look() and not self._draining.is_set():
                    self._sleep()
            # What was claimed for threads that were free is as good as begun.
            is_promised = self._waiting and self._attempts.policy.drains_whole_jobs
            return partial(self._attempt, *self._waiting.popleft()) if is_promised else None

    def _take(self) -> Turn | None:
        if self._waiting:
            return partial(self._attempt, *self._waiting.popleft())
        return self._light.run if self._light.enter() else None

    def _attempt(self, claimed: Claimed, seat: Seat) -> None:
        self._overruns.begin(claimed, seat)
        with self._app_context():
            self._attempts.run(claimed, seat.stopping)
        self._overruns.end()
        if self._overruns.is_given_up():
            return
        self._heartbeat.let_go(seat)
        self._at_work.pop(claimed.lease.job_id, None)
        # An ended run may have let the next one of its document go.
        self.wake()

    def _keep_supplied(self) -> None:
        """Others do light jobs: fetch more for them, and now and then look for other work."""
        is_due = monotonic() - self._looked_at > _LOOK_EVERY_SECONDS
        if self._light.wait_until_low() or is_due:
            self._look(is_full=is_due)
        self._light.hand_back_late()

    def _look(self, *, is_full: bool = True) -> bool:
        """Claim for all threads that are free, in one claim; whether anything came."""
        if not (self._heartbeat.is_well and self._may_work()):
            return False
        try:
            with self._app_context():
                if self._is_busy and self._bell.is_asleep():
                    self._bell.get_up()
                found = self._claim() if is_full and self._attempts.handlers else 0
                self._is_busy = self._light.fetch() or found > 1
        except DATABASE_ERRORS as error:
            _log.warning("cannot look for work: %s", type(error).__name__)
            self._heartbeat.doubt()
            self._backoff.pause(self._draining)
            return False
        self._backoff.reset()
        return found > 0 or self._is_busy

    def _claim(self) -> int:
        self._looked_at = monotonic()
        free = max(1, len(self._threads) - len(self._at_work) - self._light.runners)
        busy = Counter(seat.lease.org_id for seat in self._at_work.copy().values())
        claims = self._attempts.claim(self._worker, free, busy)
        for claimed in claims:
            self._waiting.append((claimed, self._take_seat(claimed)))
        return len(claims)

    def _sleep(self) -> None:
        """Until somebody rings, or a poll later. Who falls asleep looks once more before.

        Where others look what is due, they ring, too.
        """
        with self._app_context():
            if not self._bell.is_asleep():
                self._bell.fall_asleep()
                if self._bell.is_asleep():
                    return
            while not self._bell.wait(self._poll_seconds) and self._is_looked_for():
                pass

    def _take_seat(self, claimed: Claimed) -> Seat:
        seat = self._heartbeat.hold(claimed.lease)
        self._at_work[claimed.lease.job_id] = seat
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
