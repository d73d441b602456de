"""Threads whose attempt goes on long after its run's time, since native code never returns.

No thread can be killed. The watchdog ends the run and with it the lease, so the attempt can write
nothing any more; here its seat is given to another thread.
"""

import threading
from dataclasses import dataclass

from webapp.clock import monotonic
from webapp.worker.attempt import Claimed
from webapp.worker.heartbeat import Seat

# Between two steps an attempt sees by itself that its time is over, and then needs a moment to store that.
GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class _Sitting:
    seat: Seat
    deadline: float


class Overruns:
    """Which thread works on which job, and until when."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sitting: dict[threading.Thread, _Sitting] = {}
        self._given_up: set[threading.Thread] = set()

    def begin(self, claimed: Claimed, seat: Seat) -> None:
        """The present thread makes this attempt."""
        with self._lock:
            self._sitting[threading.current_thread()] = _Sitting(seat, claimed.deadline)

    def end(self) -> None:
        """The present thread is through with it."""
        with self._lock:
            self._sitting.pop(threading.current_thread(), None)

    def is_given_up(self) -> bool:
        """Whether the present thread came too late, and has lost its place to another."""
        return threading.current_thread() in self._given_up

    def leave(self) -> bool:
        """The present thread ends; says whether it still had its place."""
        with self._lock:
            self._sitting.pop(threading.current_thread(), None)
            had_seat = threading.current_thread() not in self._given_up
            self._given_up.discard(threading.current_thread())
        return had_seat

    def give_up(self) -> list[tuple[threading.Thread, Seat]]:
        """The threads whose time was over a while ago, and their seats: both are given up from now on."""
        late = monotonic() - GRACE_SECONDS
        with self._lock:
            lost = [(thread, one.seat) for thread, one in self._sitting.items() if one.deadline < late]
            for thread, _ in lost:
                del self._sitting[thread]
                self._given_up.add(thread)
        return lost

    @property
    def lost(self) -> int:
        """How many threads never came back so far."""
        return len(self._given_up)
