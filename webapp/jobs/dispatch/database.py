"""Dispatch by the database alone: its claim, and LISTEN and NOTIFY."""

from collections.abc import Collection, Mapping
from uuid import UUID

from webapp.clock import monotonic
from webapp.jobs.queue import Lease, WorkerQueue
from webapp.jobs.wakeup import Sleeper

# As often as an idle worker polls.
WAKE_DELAYED_EVERY_SECONDS = 1.0
LISTEN_AGAIN_SECONDS = 1.0


class DatabaseDispatch:
    """Claims from the database, and sleeps until it announces jobs. See `Dispatch` for what each method promises."""

    def __init__(self, queue: WorkerQueue) -> None:
        self._queue = queue
        self._sleeper = Sleeper()
        self._is_busy = False
        self._wake_delayed_at = monotonic()

    def claim(self, worker: str, limit: int, *, seats: Mapping[UUID, int], stages: Collection[str]) -> list[Lease]:
        if self._is_busy and self._sleeper.is_asleep():
            self._sleeper.get_up()
        if monotonic() >= self._wake_delayed_at:
            self._queue.wake_delayed()
            self._wake_delayed_at = monotonic() + WAKE_DELAYED_EVERY_SECONDS
        leases = self._queue.claim(worker, limit, seats=seats, stages=stages)
        self._is_busy = len(leases) > 1
        return leases

    def wait(self, seconds: float) -> None:
        if not self._sleeper.is_asleep():
            self._sleeper.fall_asleep()
            if self._sleeper.is_asleep():
                # Due jobs are looked for once more before the first sleep.
                return
            # Nobody can wake it: the lock was not free for a moment, or the database is away.
            seconds = min(seconds, LISTEN_AGAIN_SECONDS)
        self._sleeper.wait(seconds)

    def wake(self) -> None:
        self._sleeper.wake()

    def ended(self, lease: Lease) -> None:
        # The row says so already.
        pass

    def stop_listening(self) -> None:
        """Close the connection on which jobs are announced; the next `wait` opens one again."""
        self._sleeper.stop_listening()

    def close(self) -> None:
        self._sleeper.close()
