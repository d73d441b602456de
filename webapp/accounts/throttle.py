"""Slows down guessing: failed sign-ins are counted by address, by e-mail and by both.

The counts live in this process: they are gone after a restart, and with several web processes
each has its own. That bounds guessing well enough for a hash as slow as argon2, and needs no
write to the database from people who have not signed in.
"""

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

from webapp.clock import monotonic

WINDOW_SECONDS = 900.0
_KEYS_MAX = 20_000


@dataclass(frozen=True)
class Limits:
    """Failures within the window. One e-mail from many addresses is allowed most: its owner must get in."""

    pair: int = 5
    address: int = 30
    email: int = 100


class SignInThrottle:
    """Counts an attempt before it is checked, so that many at once don't slip through together."""

    def __init__(self, limits: Limits | None = None, time: Callable[[], float] = monotonic) -> None:
        self._limits = limits or Limits()
        self._time = time
        self._lock = threading.Lock()
        self._attempts: OrderedDict[tuple[str, ...], deque[float]] = OrderedDict()

    def admit(self, email: str, address: str) -> int | None:
        """Count an attempt; the seconds to wait where there were too many, and then it is not counted."""
        moment = self._time()
        with self._lock:
            waits = [self._wait(key, most, moment) for key, most in self._keys(email, address)]
            if any(waits):
                return math.ceil(max(waits))
            for key, _ in self._keys(email, address):
                self._count(key, moment)
        return None

    def forgive(self, email: str, address: str) -> None:
        """The attempt was right: it and the failures before it no longer count against this pair."""
        with self._lock:
            for key, _ in self._keys(email, address):
                attempts = self._attempts.get(key)
                if attempts:
                    attempts.pop()
            self._attempts.pop(("pair", email, address), None)

    def _keys(self, email: str, address: str) -> tuple[tuple[tuple[str, ...], int], ...]:
        return (
            (("pair", email, address), self._limits.pair),
            (("address", address), self._limits.address),
            (("email", email), self._limits.email),
        )

    def _wait(self, key: tuple[str, ...], most: int, moment: float) -> float:
        attempts = self._attempts.get(key)
        while attempts and attempts[0] <= moment - WINDOW_SECONDS:
            attempts.popleft()
        return attempts[-most] + WINDOW_SECONDS - moment if attempts and len(attempts) >= most else 0.0

    def _count(self, key: tuple[str, ...], moment: float) -> None:
        self._attempts.setdefault(key, deque()).append(moment)
        self._attempts.move_to_end(key)
        # A flood of invented addresses pushes out the oldest counts, never the machine.
        while len(self._attempts) > _KEYS_MAX:
            self._attempts.popitem(last=False)
