"""Waits that double while something stays broken, so that a dead database is not hammered.

They are spread by chance, so that processes that lost it together don't all come back at once.
"""

import random
import threading
from dataclasses import dataclass, field

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 15.0
_SPREAD = 0.25


def spread(seconds: float) -> float:
    """So long, give or take a quarter."""
    return seconds * (1 + _SPREAD * (2 * random.random() - 1))  # noqa: S311 - nothing secret about it


@dataclass
class Backoff:
    """Counts failures in a row."""

    seconds: float = FIRST_SECONDS
    _never: threading.Event = field(default_factory=threading.Event)

    def pause(self, until: threading.Event | None = None) -> None:
        """Wait, twice as long as the last time; a set `until` ends it early."""
        (until or self._never).wait(spread(self.seconds))
        self.seconds = min(LONGEST_SECONDS, self.seconds * 2)

    def reset(self) -> None:
        """Something worked."""
        self.seconds = FIRST_SECONDS
