"""Requests that a process end, made by signals and threads; the main thread waits for them."""

import queue
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

from webapp.clock import monotonic

# A terminal and a process manager often both send a signal for the same request.
SAME_REQUEST_SECONDS = 1.0


class Shutdown:
    """Waits for the first request to end; a later signal calls `on_hurry`."""

    def __init__(self) -> None:
        # A SimpleQueue, since its `put` may interrupt its own `get`; an Event's `set` may not.
        self._requests: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._signalled_at: float | None = None
        self.on_hurry: Callable[[], None] = lambda: None
        self.reason: str | None = None
        self.failure: str | None = None

    def listen(self) -> None:
        """Handle SIGTERM and SIGINT from now on."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first signal asks the process to end, a second one to do so at once."""
        if self._signalled_at is None:
            self._signalled_at = monotonic()
            self.request(signal.Signals(number).name)
        elif monotonic() - self._signalled_at >= SAME_REQUEST_SECONDS:
            self.on_hurry()

    def request(self, why: str) -> None:
        """Ask the process to end. From any thread."""
        self._requests.put(why)

    def on_broken(self, why: str) -> None:
        """Ask the process to end, since something that it needs has ended."""
        self.failure = why
        self.request(why)

    def wait(self, seconds: float) -> bool:
        """Wait for a request; False if none came within so many seconds. For one thread only."""
        with suppress(queue.Empty):
            self.reason = self.reason or self._requests.get(timeout=seconds)
        return self.reason is not None
