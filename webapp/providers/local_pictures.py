"""Draws pages of PDFs on this machine, in sandboxed children; never many at once."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from webapp.providers.errors import ProviderUnavailable
from webapp.providers.sandbox import Sandbox
from webapp.providers.sandbox_call import Limits

MODULE = "webapp.providers.pdf_picture"
MEMORY_BYTES = 512 << 20
# More than a picture of the largest size has if nothing about it can be packed.
FILE_BYTES_MAX = 16 << 20
AT_ONCE = 2
IN_LINE_MAX = 8


class LocalPictures:
    """A PageArtist on pdfium."""

    def __init__(self, *, at_once: int = AT_ONCE, in_line_max: int = IN_LINE_MAX) -> None:
        self._sandbox = Sandbox((MODULE,), Limits(memory_bytes=MEMORY_BYTES, file_bytes=FILE_BYTES_MAX))
        # Whoever asks for pictures holds a thread that others may need: a few draw, a few wait, the rest come again.
        self._seats = threading.BoundedSemaphore(at_once)
        self._line = threading.BoundedSemaphore(at_once + in_line_max)

    def close(self) -> None:
        """End the parsers' process."""
        self._sandbox.close()

    def draw(self, source: Path, number: int, box: tuple[int, int], *, timeout_seconds: float) -> bytes | None:
        """Draw a page so that it fits a box of so many pixels; None where there is no such page."""
        deadline = time.monotonic() + timeout_seconds
        with self._seat(timeout_seconds), tempfile.TemporaryDirectory(prefix="docmill-") as folder:
            target = Path(folder, "page.png")
            target.touch()
            arguments = {"source": str(source.absolute()), "target": str(target), "number": number}
            is_drawn = self._sandbox.run(
                f"{MODULE}:draw_page",
                {**arguments, "width_max": box[0], "height_max": box[1]},
                timeout_seconds=max(0.0, deadline - time.monotonic()),
                readable=source,
                writable=target,
            )
            return target.read_bytes() if is_drawn is True else None

    @contextmanager
    def _seat(self, timeout_seconds: float) -> Iterator[None]:
        if not self._line.acquire(blocking=False):
            raise ProviderUnavailable("too many pictures are asked for at once")
        try:
            if not self._seats.acquire(timeout=timeout_seconds):
                raise ProviderUnavailable("no picture could be begun in time")
            try:
                yield
            finally:
                self._seats.release()
        finally:
            self._line.release()
