"""The members of a 7z archive, in the order of its directory."""

import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import BLOCK_BYTES, Damaged, EndsEarly, Member, Obstacle, UnpackLimits, member
from webapp.readers.archives.seven_zip.coders import Blocks, Decrypt, UnknownMethod, check_known, unfolded
from webapp.readers.archives.seven_zip.directory import (
    ENCODED,
    Directory,
    Folder,
    Item,
    Stream,
    damaged,
    first_header,
    parse,
)

DIRECTORY_BYTES_MAX = 16 << 20
HEADER_BYTES = 32
# A directory is packed once; a second time is allowed, and done by nobody.
_PACKED_TIMES_MAX = 2
_HAS_UNIX_MODE, _REPARSE_POINT = 0x8000, 0x400
_KIND_OF_FILE, _REGULAR = 0o170000, 0o100000


def seven_zip_members(source: Path, limits: UnpackLimits) -> Iterator[Member]:
    """The files of the archive; EndsEarly where its folders unfold to more than is unpacked, or than is honest."""
    with source.open("rb") as file:
        directory = read_directory(file)
        reader = _Reader(file, directory, limits)
        for item in directory.items:
            yield reader.member(item)


def read_directory(file: BinaryIO, decrypt: Decrypt | None = None) -> Directory:
    """The directory, unpacked where it is packed; BadInput. `decrypt` undoes its lock, where there is one."""
    file.seek(0)
    at, size, crc = first_header(file.read(HEADER_BYTES))
    if size == 0:
        return Directory()
    data = _at(file, at, size)
    if zlib.crc32(data) != crc:
        raise damaged()
    for _ in range(_PACKED_TIMES_MAX):
        if data[0] != ENCODED:
            break
        data = _unpacked_directory(file, parse(data), decrypt)
    found = parse(data)
    if data[0] == ENCODED:
        raise damaged()
    return found


def _at(file: BinaryIO, at: int, size: int) -> bytes:
    if size > DIRECTORY_BYTES_MAX:
        raise BadInput("the list of the archive's files is too long", code=FailureCode.TOO_LARGE)
    if at > file.seek(0, 2):
        raise damaged("the end of the archive is missing")
    file.seek(HEADER_BYTES + at)
    data = file.read(size)
    if len(data) < size:
        raise damaged("the end of the archive is missing")
    return data


def _unpacked_directory(file: BinaryIO, packed: Directory, decrypt: Decrypt | None) -> bytes:
    if len(packed.folders) != 1 or not packed.folders[0].packed:
        raise damaged()
    folder = packed.folders[0]
    if folder.is_locked and decrypt is None:
        raise BadInput("the names of the archive's files are locked", code=FailureCode.ENCRYPTED)
    if not 0 < folder.size <= DIRECTORY_BYTES_MAX:
        raise BadInput("the list of the archive's files is too long", code=FailureCode.TOO_LARGE)
    try:
        check_known(folder)
        (place, *_), *_ = packed.packed_places()
        data = b"".join(unfolded(folder, blocks_at(file, *place), decrypt))
    except (Damaged, UnknownMethod) as error:
        raise damaged() from error
    if not data or (folder.crc is not None and zlib.crc32(data) != folder.crc):
        raise damaged()
    return data


def blocks_at(file: BinaryIO, at: int, size: int) -> Iterator[bytes]:
    """Bytes of the archive, from a place behind its first header on."""
    place = HEADER_BYTES + at
    while size > 0:
        # Others read the file between two blocks.
        file.seek(place)
        block = file.read(min(size, BLOCK_BYTES))
        if not block:
            raise Damaged
        place += len(block)
        size -= len(block)
        yield block


class _Reader:
    """Reads files out of folders, each folder once as long as the files are read in their order."""

    def __init__(self, file: BinaryIO, directory: Directory, limits: UnpackLimits) -> None:
        self._file, self._directory, self._limits = file, directory, limits
        self._places = directory.packed_places()
        self._obstacles = [_obstacle(folder) for folder in directory.folders]
        self._total = 0
        self._folder, self._at, self._rest = -1, 0, b""
        self._blocks: Iterator[bytes] = iter(())

    def member(self, item: Item) -> Member:
        """A file of the archive, whose content is read when it is asked for."""
        obstacle = Obstacle.LINK if _is_link(item.attributes) else None
        if item.stream is None:
            return member(item.name, 0, tuple, obstacle=obstacle)
        obstacle = self._obstacles[item.stream.folder] or obstacle
        return member(item.name, item.stream.size, partial(self._content, item.stream), obstacle=obstacle)

    def _content(self, stream: Stream) -> Iterator[bytes]:
        if stream.folder != self._folder or stream.begins < self._at:
            self._begin(stream.folder)
        for _ in self._next(stream.begins - self._at):
            pass
        crc = 0
        for block in self._next(stream.size):
            crc = zlib.crc32(block, crc)
            yield block
        if stream.crc is not None and crc != stream.crc:
            raise Damaged

    def _begin(self, number: int) -> None:
        folder, (place, *_) = self._directory.folders[number], self._places[number]
        self._folder, self._at, self._rest = number, 0, b""
        self._blocks = self._counted(unfolded(folder, blocks_at(self._file, *place)), place[1])

    def _next(self, size: int) -> Iterator[bytes]:
        while size > 0:
            block = self._rest or next(self._blocks, b"")
            if not block:
                raise Damaged
            block, self._rest = block[:size], block[size:]
            self._at += len(block)
            size -= len(block)
            yield block

    def _counted(self, blocks: Blocks, packed_bytes: int) -> Iterator[bytes]:
        size = 0
        for block in blocks:
            size += len(block)
            self._total += len(block)
            if self._limits.is_flood(size, packed_bytes):
                raise EndsEarly(Obstacle.FLOOD)
            if self._total > self._limits.total_bytes + self._limits.member_bytes:
                raise EndsEarly(Obstacle.TOO_LARGE)
            if block:
                yield block


def _obstacle(folder: Folder) -> Obstacle | None:
    if folder.is_locked:
        return Obstacle.ENCRYPTED
    try:
        check_known(folder)
    except UnknownMethod:
        return Obstacle.UNKNOWN_METHOD
    return None


def _is_link(attributes: int) -> bool:
    """Whether it only points to another file, or is none: a device, a pipe."""
    if attributes & _REPARSE_POINT:
        return True
    return bool(attributes & _HAS_UNIX_MODE) and (attributes >> 16) & _KIND_OF_FILE not in {0, _REGULAR}
