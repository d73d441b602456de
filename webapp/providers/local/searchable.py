"""Makes searchable PDFs on this machine, in a sandboxed child; one at a time, and few wait."""

import tempfile
from pathlib import Path
from typing import BinaryIO

from webapp.provider_errors import ParserCrashed
from webapp.providers.local.drawing_seats import DrawingSeats, SeatLimits
from webapp.sandbox.call import ChildLimits
from webapp.sandbox.sandbox import Sandbox

JOB = "webapp.readers.pictures.searchable:make"
MEMORY_BYTES = 1024 << 20
FILE_BYTES_MAX = 2 << 30
EVERYBODY, ONE_ORG = SeatLimits(at_once=1, places=6), SeatLimits(at_once=1, places=3)
WAIT_SECONDS = 20.0


class LocalSearchablePdfs:
    """A SearchablePdfMaker on pdfium and Pillow."""

    def __init__(self, *, requires_locks: bool = False) -> None:
        limits = ChildLimits(memory_bytes=MEMORY_BYTES, file_bytes=FILE_BYTES_MAX, requires_locks=requires_locks)
        self._sandbox = Sandbox((JOB.partition(":")[0],), limits)
        self._seats = DrawingSeats(EVERYBODY, ONE_ORG)

    def close(self) -> None:
        """End the child's process."""
        self._sandbox.close()

    def make(
        self, source: Path, words: Path, *, is_pdf: bool, pages_max: int, timeout_seconds: float, org: str = ""
    ) -> BinaryIO:
        """Make one and open it; it is gone once it is closed."""
        with self._seats.seat(org, WAIT_SECONDS), tempfile.TemporaryDirectory(prefix="docmill-") as folder:
            target = Path(folder, "searchable.pdf")
            target.touch()
            arguments = {"source": str(source.absolute()), "words": str(words.absolute()), "target": str(target)}
            written = self._sandbox.run(
                JOB,
                {**arguments, "is_pdf": is_pdf, "pages_max": pages_max},
                timeout_seconds=timeout_seconds,
                readable=(source, words),
                writable=target,
            )
            if not isinstance(written, int) or written < 1:
                raise ParserCrashed("no page got its words")
            # The name goes with the folder, the content with the last handle.
            return target.open("rb")
