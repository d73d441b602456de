"""A blob as a seekable file; each read fetches a range."""

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from azure.core import MatchConditions
from azure.storage.blob import BlobClient


class RangeReader(io.RawIOBase):
    """Fetches the bytes that are read, of the version of the blob that was opened."""

    def __init__(
        self, blob: BlobClient, size: int, etag: str, translated: Callable[[], AbstractContextManager[None]]
    ) -> None:
        super().__init__()
        self._blob = blob
        self._size = size
        self._etag = etag
        self._translated = translated
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; nothing is fetched before the next read."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next range; 0 at the end."""
        view = memoryview(buffer)
        data = self._fetch(len(view))
        view[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """Read all that is left, in one stream; the inherited way would ask for 8 kB at a time."""
        return self._fetch(self._size)

    def _fetch(self, wanted: int) -> bytes:
        wanted = min(wanted, self._size - self._position)
        if wanted <= 0:
            return b""
        with self._translated():
            stream = self._blob.download_blob(
                self._position,
                wanted,
                etag=self._etag,
                match_condition=MatchConditions.IfNotModified,
                max_concurrency=1,
            )
            data: bytes = stream.readall()
        self._position += len(data)
        return data
