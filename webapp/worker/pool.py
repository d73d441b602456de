"""The worker threads of a process: each takes a claimed job, makes an attempt, and takes the next.

One of the free threads claims for all free threads, and sleeps when there is nothing to do. When it gets a job itself,
the next free thread takes over.
"""

import logging
import queue
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from webapp.clock import monotonic
from webapp.db.errors import DATABASE_ERRORS
from webapp.jobs.dispatch.interface import Dispatch
from webapp.runs import lifecycle
from webapp.worker.attempt import Attempts, Claimed
from webapp.worker.backoff import Backoff
from webapp.worker.heartbeat import Heartbeat, Seat
from webapp.worker.overrun import Overruns
from webapp.worker.threads import Guarded, yield_to_others

_log = logging.getLogger(__name__)

_LONGEST_CLAIM_SECONDS = 2.0
# Hung threads for each seat; each keeps its memory, so with more the process ends and is started again.
LOST_MAX = 2


@dataclass(frozen=True)
class PoolSize:
    """The number of threads, and their poll interval."""

    threads: int
    poll_seconds: float


class Pool:
    """The worker threads of one process. `worker` is the name in its leases (`locked_by`)."""

    def __init__(
        self,
        worker: str,
        attempts: Attempts,
        dispatch: Dispatch,
        size: PoolSize,
        on_broken: Callable[[str], None],
        *,
        may_work: Callable[[], bool] = lambda: True,
    ) -> None:
        settings = attempts.services.settings.queue
        self._worker = worker
        self._attempts = attempts
        self._may_work = may_work
        self._on_broken = on_broken
        self._overruns = Overruns()
        self._poll_seconds = size.poll_seconds
        self._draining = threading.Event()
        self._dispatch = dispatch
        self._claiming = threading.Lock()
        self._backoff = Backoff()
        self._waiting: deque[tuple[Claimed, Seat]] = deque()
        self._at_work: dict[UUID, Seat] = {}
        # A SimpleQueue, since signal handlers put things in here, which no other queue allows.
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._heartbeat = Heartbeat(
            attempts.services.queue,
            every_seconds=settings.heartbeat_seconds,
            zombie_after_seconds=settings.zombie_after_seconds,
            on_broken=on_broken,
        )
        self._check_leases_every_seconds = settings.heartbeat_seconds
        self._check_leases_at = monotonic()
        self._threads = [Guarded(f"claimer-{number}", self._work, on_broken) for number in range(size.threads)]

    def start(self) -> None:
        """Start the threads."""
        self._heartbeat.start()
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for jobs now, not at the next poll."""
        self._dispatch.wake()

    def beat_soon(self) -> None:
        """Send a heartbeat now: others may have taken our jobs."""
        self._heartbeat.beat_soon()

    def check(self) -> None:
        """Check heartbeats and hung threads. Call it every few seconds, from a thread without the database."""
        self._heartbeat.check()
        self._replace_lost()

    def _replace_lost(self) -> None:
        """Start a new thread for each seat whose thread hangs in native code."""
        for lost, seat in self._overruns.give_up():
            _log.error("job %s hangs beyond its time limit; another thread takes its seat", seat.lease.job_id)
            seat.stopping.set()
            self._heartbeat.let_go(seat)
            self._at_work.pop(seat.lease.job_id, None)
            self._dispatch.ended(seat.lease)
            place = next(number for number, thread in enumerate(self._threads) if thread is lost)
            self._threads[place] = Guarded(lost.name, self._work, self._on_broken)
            self._threads[place].start()
        if self._overruns.lost > LOST_MAX * len(self._threads):
            self._on_broken(f"{self._overruns.lost} threads never came back from their jobs")

    def hurry(self) -> None:
        """Cut a drain short. Safe to call from a signal handler."""
        self._news.put("hurry")

    def drain(self, seconds: float) -> bool:
        """Claim nothing more, let running steps (embedded: jobs) end, and hand the rest back.

        Returns whether all threads have ended. One that has not is inside a step, whose result is dropped.
        """
        self._draining.set()
        self._dispatch.wake()
        if not self._attempts.policy.drains_whole_jobs:
            self._heartbeat.ask_to_stop()
        ended = self._wait_for_threads(seconds)
        self._heartbeat.ask_to_stop()
        self._release_rest()
        self._heartbeat.stop()
        self._dispatch.close()
        return ended

    def _work(self) -> None:
        yield_to_others()
        try:
            while not self._overruns.is_given_up() and (job := self._next()) is not None:
                self._attempt(*job)
        finally:
            if self._overruns.leave():
                self._news.put("ended")

    def _next(self) -> tuple[Claimed, Seat] | None:
        """The calling thread's next job; None in a drain. One thread claims for all free ones."""
        with self._claiming:
            while not self._draining.is_set():
                if self._waiting:
                    return self._waiting.popleft()
                if not self._claim_jobs() and not self._draining.is_set():
                    self._dispatch.wait(self._poll_seconds)
            # Where a drain lets jobs finish, that includes those that are claimed already.
            finishes = self._waiting and self._attempts.policy.drains_whole_jobs
            return self._waiting.popleft() if finishes else None

    def _attempt(self, claimed: Claimed, seat: Seat) -> None:
        self._overruns.begin(claimed, seat)
        self._attempts.run(claimed, seat.stopping)
        self._overruns.end()
        if self._overruns.is_given_up():
            return
        self._heartbeat.let_go(seat)
        self._at_work.pop(claimed.lease.job_id, None)
        self._dispatch.ended(claimed.lease)
        # The next run of the document may be due now.
        self.wake()

    def _claim_jobs(self) -> bool:
        """Claim once for all free threads; returns whether there were jobs."""
        if not (self._attempts.handlers and self._heartbeat.is_well and self._may_work()):
            return False
        try:
            if monotonic() >= self._check_leases_at:
                self._release_unknown()
            free = max(1, len(self._threads) - len(self._at_work))
            seats = Counter(seat.lease.org_id for seat in self._at_work.copy().values())
            claims = self._attempts.claim(self._worker, free, seats, self._dispatch)
            self._waiting.extend((claimed, self._take_seat(claimed)) for claimed in claims)
        except DATABASE_ERRORS as error:
            _log.warning("cannot look for work: %s", type(error).__name__)
            self._check_leases_at = monotonic()
            self._backoff.pause(self._draining)
            return False
        self._backoff.reset()
        return bool(claims)

    def _release_unknown(self) -> None:
        """Hand back the jobs of a claim whose answer was lost: they are leased to this worker, but no thread has them.

        Only the claiming thread calls this, so no other claim of this process is in progress.
        """
        known = {seat.lease.lease_id for seat in self._heartbeat.seats()}
        job_queue = self._attempts.services.queue
        for lease in job_queue.held_by(self._worker):
            if lease.lease_id not in known and lifecycle.release_job(job_queue, lease):
                _log.warning("job %s was claimed, but the answer was lost; it was handed back", lease.job_id)
        self._check_leases_at = monotonic() + self._check_leases_every_seconds

    def _take_seat(self, claimed: Claimed) -> Seat:
        seat = self._heartbeat.hold(claimed.lease)
        self._at_work[claimed.lease.job_id] = seat
        # A drain that began during the claim has not asked this attempt to stop.
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
        # A claim that is in progress adds its seats before this lock is free.
        if self._claiming.acquire(timeout=_LONGEST_CLAIM_SECONDS):
            self._claiming.release()
        for seat in self._heartbeat.seats():
            try:
                lifecycle.release_job(self._attempts.services.queue, seat.lease)
            except DATABASE_ERRORS as error:
                # Another process takes the job back later.
                _log.warning("job %s could not be handed back: %s", seat.lease.job_id, type(error).__name__)
