"""The members of a TAR archive, packed or not, and files that are packed alone (gzip, bzip2, xz).

They are read in one go from the beginning: what is packed can't be entered anywhere else.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import (
    BLOCK_BYTES,
    Damaged,
    EndsEarly,
    Member,
    Obstacle,
    UnpackLimits,
    counted,
    member,
)

_BROKEN = (
    tarfile.TarError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, OSError, EOFError, ValueError, OverflowError,
    IndexError, KeyError, UnicodeError, RecursionError,
)  # fmt: skip
_OPENERS: tuple[tuple[bytes, Any], ...] = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))
# For headers, and for what fills up the last block of each member.
SPARE_BYTES = 64 << 20
_HAS_NAME, _HAS_MORE = 0x08, 0x04


def tar_members(source: Path, limits: UnpackLimits) -> Iterator[Member]:
    """The files in their order; EndsEarly once they are more bytes than are unpacked."""
    with source.open("rb") as file:
        head = file.read(6)
        file.seek(0)
        opener = next((each for mark, each in _OPENERS if head.startswith(mark)), None)
        unfolded = file if opener is None else opener(file, "rb")
        folded_bytes = source.stat().st_size
        try:
            beginning = unfolded.read(tarfile.BLOCKSIZE)
        except _BROKEN as error:
            raise BadInput("no readable archive", code=FailureCode.CORRUPT) from error
        if opener is not None and not _is_tar(beginning):
            yield _alone(beginning, unfolded, source, limits)
            return
        stream = _Stream(counted(_blocks(beginning, unfolded), folded_bytes, limits, SPARE_BYTES))
        yield from _members(stream)


def _members(stream: "_Stream") -> Iterator[Member]:
    count = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|", errorlevel=1) as archive:
            for info in archive:
                if not info.isdir():
                    count += 1
                    yield _member(archive, info)
                # It keeps all members for random access, which nothing here asks for.
                archive.members = []  # type: ignore[attr-defined]  # documented for this very purpose
    except _BROKEN as error:
        if stream.ended is not None:
            raise stream.ended from error
        if not count:
            raise BadInput("no readable archive", code=FailureCode.CORRUPT) from error
        raise EndsEarly(Obstacle.DAMAGED) from error


def _member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    if not info.isreg():
        return member(info.name, info.size, tuple, obstacle=Obstacle.LINK)

    def blocks() -> Iterator[bytes]:
        try:
            opened = archive.extractfile(info)
            while opened is not None and (block := opened.read(BLOCK_BYTES)):
                yield block
        except _BROKEN as error:
            raise Damaged from error

    # The holes of a sparse file are in no byte of the archive.
    sparse: list[tuple[int, int]] | None = getattr(info, "sparse", None)
    folded = None if sparse is None else sum(size for _, size in sparse)
    return member(info.name, info.size, blocks, folded=folded)


def _alone(beginning: bytes, unfolded: Any, source: Path, limits: UnpackLimits) -> Member:
    """The one file that is packed; its name, unless the file tells it, is that of the container without its end."""

    def blocks() -> Iterator[bytes]:
        try:
            yield from _blocks(beginning, unfolded)
        except _BROKEN as error:
            raise Damaged from error

    name = _name_in_gzip(source)
    if not beginning:
        return Member(name, 0, tuple, obstacle=Obstacle.EMPTY)
    return Member(name, 1, blocks, folded=source.stat().st_size)


def _blocks(beginning: bytes, unfolded: Any) -> Iterator[bytes]:
    yield beginning
    while block := unfolded.read(BLOCK_BYTES):
        yield block


def _is_tar(beginning: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(beginning, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _name_in_gzip(source: Path) -> str:
    """The name that gzip noted; empty where there is none."""
    with source.open("rb") as file:
        head = file.read(4096)
    if not head.startswith(b"\x1f\x8b") or len(head) < 11 or head[3] & _HAS_MORE or not head[3] & _HAS_NAME:
        return ""
    name, end, _ = head[10:].partition(b"\0")
    return name.decode("utf-8", "replace") if end else ""


class _Stream(io.RawIOBase):
    """Blocks as a file that is read from its beginning to its end."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        super().__init__()
        self._blocks = blocks
        self._rest = b""
        self.ended: EndsEarly | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Read so many bytes, or fewer at the end."""
        wanted = -1 if size is None else size
        pieces, length = [self._rest], len(self._rest)
        while wanted < 0 or length < wanted:
            block = self._next()
            if not block:
                break
            pieces.append(block)
            length += len(block)
        data = b"".join(pieces)
        cut = length if wanted < 0 else wanted
        self._rest = data[cut:]
        return data[:cut]

    def _next(self) -> bytes:
        try:
            return next(self._blocks, b"")
        except EndsEarly as error:
            # tarfile knows such errors alone.
            self.ended = error
            raise OSError("the archive unfolds to more than is unpacked") from error
