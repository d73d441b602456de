"""Waits for a slow extractor, so that it can be held to what every extractor promises."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webapp.clock import monotonic
from webapp.providers.errors import TimedOut
from webapp.providers.ports import Answer, Ended, Extraction, SlowExtractor, Window
from webapp.providers.windows import joined

PAUSE_SECONDS = 0.01


@dataclass
class Patient:
    """An Extractor around a slow one: asks for each window, and waits."""

    slow: SlowExtractor

    def __post_init__(self) -> None:
        self.name = self.slow.name
        self.version = self.slow.version

    def options_key(self) -> str:
        return self.slow.options_key()

    def accepts(self, content_type: str) -> bool:
        return self.slow.accepts(content_type)

    def check(self) -> None:
        self.slow.check()

    def extract(
        self, source: Path, content_type: str, *, timeout_seconds: float, progress: Callable[[float], None]
    ) -> Extraction:
        deadline = monotonic() + timeout_seconds
        windows = self.slow.windows(source, content_type, timeout_seconds=timeout_seconds)
        parts: list[Extraction] = []
        for window in windows:
            operation = self.slow.start(source, content_type, window)
            parts.append(self.slow.read(self._answer(operation, deadline), window))
            progress(len(parts) / len(windows))
        return joined(parts, windows)

    def parts(self, source: Path, content_type: str) -> dict[Window, Extraction]:
        """Each window's own extraction."""
        windows = self.slow.windows(source, content_type, timeout_seconds=30)
        found = {}
        for window in windows:
            operation = self.slow.start(source, content_type, window)
            found[window] = self.slow.read(self._answer(operation, monotonic() + 30), window)
        return found

    def _answer(self, operation: str, deadline: float) -> bytes:
        pause = threading.Event()
        while monotonic() < deadline:
            polled = self.slow.poll(operation)
            if isinstance(polled, Answer):
                return polled.data
            if isinstance(polled, Ended):
                raise polled.error
            pause.wait(min(polled.retry_after_seconds or PAUSE_SECONDS, 2))
        raise TimedOut("nobody waits any longer")
