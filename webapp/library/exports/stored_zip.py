"""The file of an export as one stream, of blobs that lie one after the other."""

import io
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, BinaryIO, cast

from webapp.library.exports.operation import ExportPart
from webapp.providers.ports import BlobStore

_BUFFER_BYTES = 1 << 20


class _Joined(io.RawIOBase):
    """Reads parts as if they were one file. One blob is open at a time."""

    def __init__(self, blobs: BlobStore, parts: Sequence[ExportPart]) -> None:
        super().__init__()
        self._blobs, self._parts = blobs, parts
        self._starts = [0, *accumulate(part.size_bytes for part in parts)]
        self._at = 0
        self._number = -1
        self._open: BinaryIO | None = None

    def readinto(self, buffer: Any) -> int:
        """Read from where it stands to the end of a part, at most."""
        if self._at >= self._starts[-1]:
            return 0
        number = bisect_right(self._starts, self._at) - 1
        file = self._part(number)
        file.seek(self._at - self._starts[number])
        wanted = min(len(buffer), self._starts[number + 1] - self._at)
        data = file.read(wanted)
        if not data:
            raise OSError("a part of the export is shorter than it was")
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._starts[-1]}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def check(self) -> None:
        """Open the first part: that it is gone is found before anything is sent."""
        self._part(0)

    def close(self) -> None:
        """Close the part that is open."""
        if self._open is not None:
            self._open.close()
            self._open = None
        super().close()

    def _part(self, number: int) -> BinaryIO:
        if self._open is None or number != self._number:
            if self._open is not None:
                self._open.close()
            self._open, self._number = self._blobs.open(self._parts[number].path), number
        return self._open


def open_parts(blobs: BlobStore, parts: Sequence[ExportPart]) -> BinaryIO:
    """The file, open for reading from any place; BlobMissing where its first part is gone."""
    joined = _Joined(blobs, parts)
    if parts:
        joined.check()
    return cast(BinaryIO, io.BufferedReader(joined, _BUFFER_BYTES))
