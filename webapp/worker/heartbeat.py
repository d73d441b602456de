"""Says for all jobs of this process at once that their worker lives, and hears which are lost."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from webapp.clock import monotonic
from webapp.database_errors import DATABASE_ERRORS, trouble_of
from webapp.jobs.queue import JobQueue, Lease
from webapp.worker.strays import STRAY_AFTER_SECONDS, Strays
from webapp.worker.threads import AppContext, Guarded

_log = logging.getLogger(__name__)

# A part of the limit at which others take our jobs, small enough to end before they begin.
BLIND_PART = 1 / 3
_LONGEST_END_SECONDS = 5.0
# A beat that has not come back for so long will not: its connection is dead, and nobody said so.
HUNG_AFTER_SECONDS = 60.0


@dataclass(frozen=True)
class Seat:
    """A job in this process's hands, and the flag that asks its attempt to stop between two steps."""

    lease: Lease
    stopping: threading.Event = field(default_factory=threading.Event)


class Heartbeat:
    """One thread, one statement for all leases.

    While beats fail, no new job is taken. When none has been heard for so long that others will
    soon take our jobs away, they are let go. A database that is away comes back, and then the process
    goes on; where a beat hangs or cannot be written at all, it is of no use any more: `check` says so.
    """

    def __init__(
        self,
        queue: JobQueue,
        app_context: AppContext,
        *,
        every_seconds: float,
        zombie_after_seconds: float,
        on_broken: Callable[[str], None],
        strays: Strays | None = None,
        on_freed: Callable[[], None] = lambda: None,
    ) -> None:
        self._queue = queue
        self._strays = strays
        self._on_freed = on_freed
        self._is_doubtful = False
        self._woken = threading.Event()
        self._app_context = app_context
        self._every_seconds = every_seconds
        self._blind_after_seconds = max(zombie_after_seconds * BLIND_PART, every_seconds * 2)
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self._seats: dict[UUID, Seat] = {}
        self._ending = threading.Event()
        self._heard_at = self._waited_at = self._checked_at = monotonic()
        self._is_failing = False
        self._thread = Guarded("heartbeat", self._beat_on, on_broken)

    def start(self) -> None:
        """Begin to beat."""
        self._heard_at = self._waited_at = self._checked_at = monotonic()
        self._thread.start()

    def stop(self) -> None:
        """End; nobody vouches for leases from here on."""
        self._ending.set()
        self._woken.set()
        # It may hang in a dead connection, and then there is nothing to wait for.
        self._thread.join(_LONGEST_END_SECONDS)

    @property
    def is_well(self) -> bool:
        """Whether the last beat was heard, and not too long ago: only then may more work be taken."""
        return not self._is_failing and monotonic() - self._heard_at < self._blind_after_seconds

    def doubt(self) -> None:
        """A claim went wrong, or others may have taken jobs of ours: look soon who holds what."""
        self._is_doubtful = True
        self._woken.set()

    def check(self) -> None:
        """Call now and then from a thread that needs no database: a beat may also hang without failing."""
        present, last = monotonic(), self._checked_at
        self._checked_at = present
        if present - last >= self._blind_after_seconds:
            # We were frozen ourselves: no beat had a chance since then. What was lost meanwhile is found out soon.
            self._waited_at = present
            self.doubt()
        if present - self._heard_at < self._blind_after_seconds:
            return
        self.ask_to_stop()
        if present - self._waited_at >= max(self._blind_after_seconds, HUNG_AFTER_SECONDS):
            self._on_broken(f"no heartbeat has been heard for {present - self._heard_at:.0f} s")

    def hold(self, lease: Lease) -> Seat:
        """Keep this lease alive from now on."""
        seat = Seat(lease)
        with self._lock:
            self._seats[lease.job_id] = seat
        return seat

    def hold_many(self, leases: Sequence[Lease], stopping: threading.Event) -> None:
        """Keep these alive, too; they share a flag."""
        seats = {lease.job_id: Seat(lease, stopping) for lease in leases}
        with self._lock:
            self._seats.update(seats)

    def let_go_many(self, job_ids: Iterable[UUID]) -> None:
        """These have ended, one way or the other."""
        with self._lock:
            for job_id in job_ids:
                self._seats.pop(job_id, None)

    def let_go(self, seat: Seat) -> None:
        """The lease has ended, one way or the other."""
        with self._lock:
            self._seats.pop(seat.lease.job_id, None)

    def seats(self) -> list[Seat]:
        """The jobs in this process's hands."""
        with self._lock:
            return list(self._seats.values())

    def ask_to_stop(self) -> None:
        """Ask every attempt to stop after its step."""
        for seat in self.seats():
            seat.stopping.set()

    def beat(self) -> None:
        """Renew all leases; an attempt whose lease is gone is asked to stop early."""
        seats = self.seats()
        with self._app_context():
            held = self._queue.heartbeat([seat.lease for seat in seats])
        for seat in seats:
            if seat.lease.job_id not in held:
                seat.stopping.set()

    def find_strays(self) -> None:
        """Give back what a claim has taken that was never heard of."""
        if self._strays is None:
            return
        known = {seat.lease.lease_id for seat in self.seats()}
        with self._app_context():
            found = self._strays.release(known)
        self._is_doubtful = self._strays.are_suspected
        if found:
            self._on_freed()

    def _is_time(self) -> bool:
        """After a while, or soon where something is in doubt; False when it is time to end."""
        soon = min(self._every_seconds, STRAY_AFTER_SECONDS)
        self._woken.wait(soon if self._is_doubtful or self._is_failing else self._every_seconds)
        self._woken.clear()
        return not self._ending.is_set()

    def _beat_on(self) -> None:
        while self._is_time():
            try:
                self.beat()
                self.find_strays()
            except DATABASE_ERRORS as error:
                self._is_failing = True
                _log.warning("a heartbeat failed: %s", type(error).__name__)
                if trouble_of(error) is not None:
                    self._waited_at = monotonic()
            else:
                self._heard_at = self._waited_at = monotonic()
                self._is_failing = False
