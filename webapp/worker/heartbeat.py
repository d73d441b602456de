"""Renews the leases of all jobs of this process in one statement, and stops attempts whose lease is lost."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from webapp.clock import monotonic
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.jobs.queue import JobQueue, Lease
from webapp.worker.threads import Guarded

_log = logging.getLogger(__name__)

# After this share of ZOMBIE_AFTER_SECONDS without a heartbeat we stop our attempts, before others may take the jobs.
STOP_AFTER_SHARE = 1 / 3
# After so long without an answer the connection counts as dead.
HUNG_AFTER_SECONDS = 60.0
_RETRY_SECONDS = 1.0
_LONGEST_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Seat:
    """A place for one job in this process, and the flag that asks its attempt to stop between two steps."""

    lease: Lease
    stopping: threading.Event = field(default_factory=threading.Event)


class Heartbeat:
    """The heartbeat thread, and the jobs whose leases it renews.

    While heartbeats fail, no job may be claimed (`is_well`); after too long a time without one, the attempts are asked
    to stop. When a database that was away is back, the process goes on; where a heartbeat hangs, or fails for another
    reason, `check` reports that the process is broken.
    """

    def __init__(
        self,
        queue: JobQueue,
        *,
        every_seconds: float,
        zombie_after_seconds: float,
        on_broken: Callable[[str], None],
    ) -> None:
        self._queue = queue
        self._every_seconds = every_seconds
        self._stop_after_seconds = max(zombie_after_seconds * STOP_AFTER_SHARE, every_seconds * 2)
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self._seats: dict[UUID, Seat] = {}
        self._is_failing = False
        self._woken = threading.Event()
        self._ending = threading.Event()
        # The last success; the last answer, if only "the database is away"; the last `check`.
        self._beat_at = self._answered_at = self._checked_at = monotonic()
        self._thread = Guarded("heartbeat", self._run, on_broken)

    def start(self) -> None:
        """Start the thread."""
        self._beat_at = self._answered_at = self._checked_at = monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Stop renewing leases."""
        self._ending.set()
        self._woken.set()
        # With a limit: the thread may hang in a dead connection.
        self._thread.join(_LONGEST_STOP_SECONDS)

    @property
    def is_well(self) -> bool:
        """Whether a heartbeat succeeded recently: only then may more jobs be claimed."""
        return not self._is_failing and monotonic() - self._beat_at < self._stop_after_seconds

    def hold(self, lease: Lease) -> Seat:
        """Add a job: its lease is renewed from now on."""
        seat = Seat(lease)
        with self._lock:
            self._seats[lease.job_id] = seat
        return seat

    def let_go(self, seat: Seat) -> None:
        """Remove a job: its lease has ended."""
        with self._lock:
            self._seats.pop(seat.lease.job_id, None)

    def seats(self) -> list[Seat]:
        """The jobs of this process."""
        with self._lock:
            return list(self._seats.values())

    def ask_to_stop(self) -> None:
        """Ask every attempt to stop after its step."""
        for seat in self.seats():
            seat.stopping.set()

    def beat(self) -> None:
        """Renew all leases; ask attempts whose lease is lost to stop."""
        seats = self.seats()
        renewed = self._queue.heartbeat([seat.lease for seat in seats])
        for seat in seats:
            if seat.lease.job_id not in renewed:
                seat.stopping.set()

    def beat_soon(self) -> None:
        """Send a heartbeat now instead of at the usual time: others may have taken our jobs."""
        self._woken.set()

    def check(self) -> None:
        """Report a heartbeat that hangs. Call it every few seconds, from a thread that does not use the database."""
        now, last_check_at = monotonic(), self._checked_at
        self._checked_at = now
        if now - last_check_at >= self._stop_after_seconds:
            # This process was frozen, so no heartbeat could be sent.
            self._answered_at = now
            self.beat_soon()
        if now - self._beat_at < self._stop_after_seconds:
            return
        self.ask_to_stop()
        if now - self._answered_at >= max(self._stop_after_seconds, HUNG_AFTER_SECONDS):
            self._on_broken(f"no heartbeat has succeeded for {now - self._beat_at:.0f} s")

    def _run(self) -> None:
        while self._is_time():
            try:
                self.beat()
            except DATABASE_ERRORS as error:
                self._is_failing = True
                _log.warning("a heartbeat failed: %s", type(error).__name__)
                if trouble_of(error) is not None:
                    self._answered_at = monotonic()
            else:
                self._beat_at = self._answered_at = monotonic()
                self._is_failing = False

    def _is_time(self) -> bool:
        """Wait until the next heartbeat is due; False if the process ends."""
        self._woken.wait(min(self._every_seconds, _RETRY_SECONDS) if self._is_failing else self._every_seconds)
        self._woken.clear()
        return not self._ending.is_set()
