"""How a process learns that it should leave. Signals set a flag, the main thread does the rest."""

import queue
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from webapp.clock import monotonic

# A terminal and a process manager often send a signal each for the same wish.
ONE_WISH_SECONDS = 1.0


class Departure:
    """Waits for the first reason to leave; a later signal calls `on_hurry`."""

    def __init__(self) -> None:
        # A SimpleQueue, since its `put` may interrupt its own `get`; an Event's `set` may not.
        self._reasons: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._asked_at: float | None = None
        self.on_hurry: Callable[[], None] = lambda: None
        self.reason: str | None = None
        self.failure: str | None = None

    def listen(self) -> None:
        """Take over SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first asks to leave, a second to do so at once."""
        if self._asked_at is None:
            self._asked_at = monotonic()
            self.ask(signal.Signals(number).name)
        elif monotonic() - self._asked_at >= ONE_WISH_SECONDS:
            self.on_hurry()

    def ask(self, why: str) -> None:
        """It is time to leave."""
        self._reasons.put(why)

    def on_broken(self, why: str) -> None:
        """Something that the process cannot do without has ended."""
        self.failure = why
        self.ask(why)

    def wait(self, seconds: float) -> bool:
        """Whether it is time to leave, at once or within so long. For one thread only."""
        with suppress(queue.Empty):
            self.reason = self.reason or self._reasons.get(timeout=seconds)
        return self.reason is not None
