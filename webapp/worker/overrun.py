"""Gives the seat of a hung thread to a new one: native code may never return.

No thread can be killed. The watchdog ends the run and with it the lease, so that the attempt can write nothing more.
"""

import threading
from dataclasses import dataclass

from webapp.clock import monotonic
from webapp.worker.attempt import Claimed
from webapp.worker.heartbeat import Seat

# An attempt that notices between two steps that its time is over needs a moment to store that.
GRACE_SECONDS = 5.0


@dataclass(frozen=True)
class _Sitting:
    seat: Seat
    deadline: float


class Overruns:
    """The threads with their seats and deadlines, and those that were given up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sitting: dict[threading.Thread, _Sitting] = {}
        self._given_up: set[threading.Thread] = set()

    def begin(self, claimed: Claimed, seat: Seat) -> None:
        """The calling thread begins this attempt."""
        with self._lock:
            self._sitting[threading.current_thread()] = _Sitting(seat, claimed.deadline)

    def end(self) -> None:
        """The calling thread has ended its attempt."""
        with self._lock:
            self._sitting.pop(threading.current_thread(), None)

    def is_given_up(self) -> bool:
        """Whether the calling thread was given up: another one has its seat."""
        return threading.current_thread() in self._given_up

    def leave(self) -> bool:
        """The calling thread ends; returns whether it still had its seat."""
        with self._lock:
            self._sitting.pop(threading.current_thread(), None)
            had_seat = threading.current_thread() not in self._given_up
            self._given_up.discard(threading.current_thread())
        return had_seat

    def give_up(self) -> list[tuple[threading.Thread, Seat]]:
        """Give up the threads that are past their deadline, and return them with their seats."""
        late = monotonic() - GRACE_SECONDS
        with self._lock:
            lost = [(thread, one.seat) for thread, one in self._sitting.items() if one.deadline < late]
            for thread, _ in lost:
                del self._sitting[thread]
                self._given_up.add(thread)
        return lost

    @property
    def lost(self) -> int:
        """How many threads were given up and have not come back."""
        return len(self._given_up)
