"""Files that are being written, before a blob store takes them in, and parts of such files."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def temporary_file(folder: Path, prefix: str) -> Iterator[Path]:
    """An empty file to write to; it is removed unless the blob store has moved it."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=prefix, delete=False) as file:
        path = Path(file.name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


class PartOfFile(io.RawIOBase):
    """Some bytes of a file, to be read once from the first to the last."""

    def __init__(self, path: Path, offset: int, size: int) -> None:
        super().__init__()
        self._left = size
        self._file = path.open("rb")
        self._file.seek(offset)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
