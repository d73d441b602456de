"""Waits for a remote extractor, so that it can be held to what every extractor promises."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webapp.clock import monotonic
from webapp.pipeline.page_windows import joined
from webapp.provider_errors import TimedOut
from webapp.providers.ports import Done, Failed, KeptParts, RemoteExtractor, Window
from webapp.readers.extraction import Extraction

PAUSE_SECONDS = 0.01


@dataclass
class PolledExtractor:
    """An Extractor around a remote one: asks for each window, and waits."""

    remote: RemoteExtractor

    def __post_init__(self) -> None:
        self.name = self.remote.name
        self.version = self.remote.version

    def options_key(self) -> str:
        return self.remote.options_key()

    def accepts(self, content_type: str) -> bool:
        return self.remote.accepts(content_type)

    def check(self) -> None:
        self.remote.check()

    def extract(
        self,
        source: Path,
        content_type: str,
        *,
        timeout_seconds: float,
        progress: Callable[[float], None],
        parts: KeptParts | None = None,
    ) -> Extraction:
        deadline = monotonic() + timeout_seconds
        windows = self.remote.windows(source, content_type, timeout_seconds=timeout_seconds)
        answers: list[Extraction] = []
        for window in windows:
            operation = self.remote.start(source, content_type, window)
            answers.append(self.remote.read(self._answer(operation, deadline), window))
            progress(len(answers) / len(windows))
        return joined(answers, windows)

    def parts(self, source: Path, content_type: str) -> dict[Window, Extraction]:
        """Each window's own extraction."""
        windows = self.remote.windows(source, content_type, timeout_seconds=30)
        found = {}
        for window in windows:
            operation = self.remote.start(source, content_type, window)
            found[window] = self.remote.read(self._answer(operation, monotonic() + 30), window)
        return found

    def _answer(self, operation: str, deadline: float) -> bytes:
        pause = threading.Event()
        while monotonic() < deadline:
            polled = self.remote.poll(operation)
            if isinstance(polled, Done):
                return polled.answer
            if isinstance(polled, Failed):
                raise polled.error
            pause.wait(min(polled.retry_after_seconds or PAUSE_SECONDS, 2))
        raise TimedOut("nobody waits any longer")
