"""The checksum of what packed blocks unfold to, which tells whether a password was the right one."""

import bz2
import lzma
import zipfile
import zlib
from typing import Protocol

from webapp.readers.archives.seven_zip.coders import lzma_filter
from webapp.readers.locked.zip_ciphers import NotOpened

_BLOCK_BYTES = 1 << 20
# What unfolds to more than that is looked at no further: the unpacking refuses it.
_LARGE_BYTES, _RATIO_MAX = 4 << 20, 1_100
_BROKEN = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, IndexError)
_LZMA_HEADER_BYTES, _LZMA_PROPERTIES_BYTES = 4, 5


class _Unfolder(Protocol):
    def feed(self, block: bytes, checksum: "Checksum") -> None:
        """Unfold a block."""


class Checksum:
    """Counts what a file unfolds to, and its CRC."""

    def __init__(self, method: int) -> None:
        self.value = 0
        self.unfolded = self.folded = 0
        self._unfolder = _UNFOLDERS[method]() if method in _UNFOLDERS else None

    @property
    def is_known(self) -> bool:
        """Whether the file could be unfolded, to its end."""
        return self._unfolder is not None

    def feed(self, block: bytes) -> None:
        """Go on with the next packed bytes; NotOpened where they are none."""
        self.folded += len(block)
        if self._unfolder is None:
            return
        try:
            self._unfolder.feed(block, self)
        except _BROKEN as error:
            raise NotOpened from error
        if self.unfolded > _LARGE_BYTES and self.unfolded > _RATIO_MAX * self.folded:
            self._unfolder = None

    def add(self, data: bytes) -> bool:
        """Count unfolded bytes; returns whether more of them are wanted."""
        self.unfolded += len(data)
        self.value = zlib.crc32(data, self.value)
        return self.unfolded <= max(_LARGE_BYTES, _RATIO_MAX * self.folded)


class _Stored:
    def feed(self, block: bytes, checksum: Checksum) -> None:
        checksum.add(block)


class _Deflated:
    def __init__(self) -> None:
        self._unfold = zlib.decompressobj(-zlib.MAX_WBITS)

    def feed(self, block: bytes, checksum: Checksum) -> None:
        while True:
            data = self._unfold.decompress(block, _BLOCK_BYTES)
            block = self._unfold.unconsumed_tail
            # After a full block there may be more, although it has consumed all.
            if not checksum.add(data) or (not block and len(data) < _BLOCK_BYTES):
                return


class _Other:
    """bzip2 and LZMA, which keep by themselves what they were given and is not unfolded yet."""

    def __init__(self, unfold: bz2.BZ2Decompressor | lzma.LZMADecompressor | None) -> None:
        self._unfold = unfold

    def feed(self, block: bytes, checksum: Checksum) -> None:
        if self._unfold is None or self._unfold.eof:
            return
        while checksum.add(self._unfold.decompress(block, _BLOCK_BYTES)):
            block = b""
            if self._unfold.needs_input or self._unfold.eof:
                return


class _Bzip2(_Other):
    def __init__(self) -> None:
        super().__init__(bz2.BZ2Decompressor())


class _Lzma(_Other):
    """LZMA, which begins with its properties."""

    def __init__(self) -> None:
        super().__init__(None)
        self._head = b""

    def feed(self, block: bytes, checksum: Checksum) -> None:
        if self._unfold is None:
            self._head += block
            begins = _LZMA_HEADER_BYTES + _LZMA_PROPERTIES_BYTES
            if len(self._head) < begins:
                return
            properties, block = self._head[_LZMA_HEADER_BYTES:begins], self._head[begins:]
            self._unfold = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[lzma_filter(properties)])
        super().feed(block, checksum)


_UNFOLDERS: dict[int, type[_Unfolder]] = {
    zipfile.ZIP_STORED: _Stored,
    zipfile.ZIP_DEFLATED: _Deflated,
    zipfile.ZIP_BZIP2: _Bzip2,
    zipfile.ZIP_LZMA: _Lzma,
}
