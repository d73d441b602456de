"""Local copies of blobs that are used again and again: fetched once, kept for a while, and few."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from webapp.clock import monotonic

KEEP_SECONDS = 60.0
KEPT_MAX = 4


@dataclass
class _Copy:
    """A blob's copy; `users` counts those who use it, and `gone` gives it back."""

    ready: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    used_at: float = 0.0
    place: Path | None = None
    gone: AbstractContextManager[Path] | None = None


class BlobCopies:
    """Shares the copies that `local_copy` makes. A blob's content never changes, so a copy stays good."""

    def __init__(
        self,
        local_copy: Callable[[str], AbstractContextManager[Path]],
        *,
        keep_seconds: float = KEEP_SECONDS,
        kept_max: int = KEPT_MAX,
    ) -> None:
        self._local_copy = local_copy
        self._keep_seconds = keep_seconds
        self._kept_max = kept_max
        self._lock = threading.Lock()
        self._copies: dict[str, _Copy] = {}
        self._timer: threading.Timer | None = None

    @contextmanager
    def use(self, path: str) -> Iterator[Path]:
        """Give a copy for the time of the `with`; many may use it at once, and all wait while it is fetched."""
        with self._lock:
            copy = self._copies.setdefault(path, _Copy())
            copy.users += 1
        try:
            yield self._fetched(path, copy)
        finally:
            with self._lock:
                copy.users -= 1
                copy.used_at = monotonic()
            self.drop_unused()
            self._look_later()

    def drop_unused(self) -> None:
        """Remove the copies that nobody has used for a while, and the oldest where there are too many."""
        with self._lock:
            idle = sorted((copy.used_at, path) for path, copy in self._copies.items() if not copy.users)
            late = monotonic() - self._keep_seconds
            spare = len(idle) - self._kept_max
            dropped = [
                self._copies.pop(path) for place, (used_at, path) in enumerate(idle) if place < spare or used_at <= late
            ]
        for copy in dropped:
            if copy.gone is not None:
                copy.gone.__exit__(None, None, None)

    def _look_later(self) -> None:
        """Have one timer, and no more, for as long as there are copies."""
        with self._lock:
            if self._timer is None and self._copies:
                self._timer = threading.Timer(self._keep_seconds, self._look)
                self._timer.daemon = True
                self._timer.start()

    def _look(self) -> None:
        with self._lock:
            self._timer = None
        self.drop_unused()
        self._look_later()

    def _fetched(self, path: str, copy: _Copy) -> Path:
        with copy.ready:
            if copy.place is None:
                gone = self._local_copy(path)
                copy.place = gone.__enter__()
                copy.gone = gone
            return copy.place
