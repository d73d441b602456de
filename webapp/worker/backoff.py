"""Pauses that double while something keeps failing, so that a database that is away is not flooded.

They have jitter, so that processes that lost their connections together don't all come back at once.
"""

import random
import threading
from dataclasses import dataclass, field

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 15.0
_SPREAD = 0.25


def spread(seconds: float) -> float:
    """So many seconds, plus or minus a quarter at random."""
    return seconds * (1 + _SPREAD * (2 * random.random() - 1))  # noqa: S311 - nothing secret about it


@dataclass
class Backoff:
    """Counts consecutive failures, and pauses longer after each."""

    seconds: float = FIRST_SECONDS
    _never: threading.Event = field(default_factory=threading.Event)

    def pause(self, until: threading.Event | None = None) -> None:
        """Wait twice as long as the last time; ends early when `until` is set."""
        (until or self._never).wait(spread(self.seconds))
        self.seconds = min(LONGEST_SECONDS, self.seconds * 2)

    def reset(self) -> None:
        """Forget the failures: something worked."""
        self.seconds = FIRST_SECONDS
