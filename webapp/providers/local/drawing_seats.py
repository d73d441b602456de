"""How many pages are drawn at once and how many requests wait, and each org's share of both."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from webapp.provider_errors import Busy


@dataclass(frozen=True)
class SeatLimits:
    """How many draw at once, and how many draw or wait."""

    at_once: int
    places: int


class DrawingSeats:
    """Limits requests for pictures, each of which occupies a thread: few may wait, and no org takes all places."""

    def __init__(self, everybody: SeatLimits, one_org: SeatLimits) -> None:
        self._everybody = everybody
        self._one_org = one_org
        self._changed = threading.Condition()
        self._drawing: Counter[str] = Counter()
        self._present: Counter[str] = Counter()

    @contextmanager
    def seat(self, org: str, wait_seconds: float) -> Iterator[None]:
        """Wait for a seat; Busy where too many wait, or none came free in time."""
        with self._changed:
            if self._present.total() >= self._everybody.places or self._present[org] >= self._one_org.places:
                raise Busy("too many pictures are asked for at once")
            self._present[org] += 1
            try:
                if not self._changed.wait_for(lambda: self._is_free_for(org), wait_seconds):
                    raise Busy("no picture could be begun in time")
                self._drawing[org] += 1
            except BaseException:
                self._leave(self._present, org)
                raise
        try:
            yield
        finally:
            with self._changed:
                self._leave(self._drawing, org)
                self._leave(self._present, org)

    def _is_free_for(self, org: str) -> bool:
        return self._drawing.total() < self._everybody.at_once and self._drawing[org] < self._one_org.at_once

    def _leave(self, counts: Counter[str], org: str) -> None:
        counts[org] -= 1
        # No count is kept of orgs that are not there.
        if not counts[org]:
            del counts[org]
        self._changed.notify_all()
