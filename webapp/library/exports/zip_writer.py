"""Writes a ZIP that is too large for memory, in parts that are stored one after the other.

Members go into a file that can be read from its beginning; what was written before it, in earlier parts, is only an
offset. The directory, which is the end of a ZIP, is written from a list of all members. Everything that Python's
`zipfile` could do here ends with a directory for each file, or keeps all members in memory.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import BinaryIO

_BLOCK_BYTES = 1 << 20
_STORED, _DEFLATED = 0, 8
# Names are UTF-8.
_FLAGS = 0x800
_VERSION, _MADE_BY = 45, (3 << 8) | 45
_MODE = 0o100644 << 16
_MOST_32, _MOST_16 = 0xFFFFFFFF, 0xFFFF
# Deflating may add some bytes to what can't be packed.
_LARGE_FROM = _MOST_32 - (16 << 20)
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_ZIP64_END = struct.Struct("<4sQ2H2L4Q")
_ZIP64_PLACE = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")


class SizeChanged(Exception):
    """A file had another size when it was read than when it was measured."""


@dataclass(frozen=True)
class ZipMember:
    """A file in the ZIP: where it begins, and what is in it."""

    name: str
    offset: int
    size_bytes: int
    packed_bytes: int
    crc: int
    method: int
    time: int
    date: int
    sha256: str

    def line(self) -> bytes:
        """As the list of members keeps it."""
        return json.dumps(asdict(self), ensure_ascii=False).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> "ZipMember":
        """What `line` has written."""
        return cls(**json.loads(line))


class ZipWriter:
    """Writes members into a file, and lists them in another one. Both are opened for writing and reading."""

    def __init__(self, file: BinaryIO, members: BinaryIO, *, offset: int = 0) -> None:
        self.file, self.members, self._offset = file, members, offset

    @property
    def size_bytes(self) -> int:
        """How much was written into the file."""
        return self.file.tell()

    def add_bytes(self, name: str, data: bytes, at: datetime) -> ZipMember:
        """Add a small file."""
        return self._add(name, iter([data]), len(data), at, is_packed=True)

    def add_file(self, name: str, file: BinaryIO, size_bytes: int, at: datetime, *, is_packed: bool) -> ZipMember:
        """Add a file of any size from where it stands; `is_packed` deflates it. SizeChanged leaves no trace."""
        return self._add(name, iter(lambda: file.read(_BLOCK_BYTES), b""), size_bytes, at, is_packed=is_packed)

    def _add(self, name: str, blocks: Iterator[bytes], size_bytes: int, at: datetime, *, is_packed: bool) -> ZipMember:
        start = self.file.tell()
        method = _DEFLATED if is_packed else _STORED
        is_large = size_bytes >= _LARGE_FROM
        empty = ZipMember(name, self._offset + start, 0, 0, 0, method, _time(at), _date(at), "")
        self.file.write(_local(empty, is_large=is_large))
        packer = zlib.compressobj(6, zlib.DEFLATED, -15) if is_packed else None
        crc, size, content_hash = 0, 0, hashlib.sha256()
        before = self.file.tell()
        for block in blocks:
            crc, size = zlib.crc32(block, crc), size + len(block)
            content_hash.update(block)
            self.file.write(packer.compress(block) if packer else block)
        if packer:
            self.file.write(packer.flush())
        if size != size_bytes:
            self.file.seek(start)
            self.file.truncate()
            raise SizeChanged(name)
        end = self.file.tell()
        sums = {"size_bytes": size, "packed_bytes": end - before, "crc": crc, "sha256": content_hash.hexdigest()}
        member = ZipMember(**{**asdict(empty), **sums})
        self.file.seek(start)
        self.file.write(_local(member, is_large=is_large))
        self.file.seek(end)
        self.members.write(member.line())
        return member


def write_directory(file: BinaryIO, members: Iterable[ZipMember], offset: int) -> None:
    """Write the end of a ZIP, whose members take so many bytes."""
    count = size = 0
    for member in members:
        size += file.write(_central(member))
        count += 1
    if count >= _MOST_16 or max(size, offset) >= _MOST_32:
        end = offset + size
        file.write(_ZIP64_END.pack(b"PK\6\6", 44, _MADE_BY, _VERSION, 0, 0, count, count, size, offset))
        file.write(_ZIP64_PLACE.pack(b"PK\6\7", 0, end, 1))
    few, small, near = min(count, _MOST_16), min(size, _MOST_32), min(offset, _MOST_32)
    file.write(_END.pack(b"PK\5\6", 0, 0, few, few, small, near, 0))


def _local(member: ZipMember, *, is_large: bool) -> bytes:
    name = member.name.encode()
    sizes = (_MOST_32, _MOST_32) if is_large else (member.packed_bytes, member.size_bytes)
    extra = struct.pack("<2H2Q", 1, 16, member.size_bytes, member.packed_bytes) if is_large else b""
    fields = (_VERSION, _FLAGS, member.method, member.time, member.date, member.crc, *sizes, len(name), len(extra))
    return _LOCAL.pack(b"PK\3\4", *fields) + name + extra


def _central(member: ZipMember) -> bytes:
    name = member.name.encode()
    large = [value for value in (member.size_bytes, member.packed_bytes, member.offset) if value >= _MOST_32]
    extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    packed, size, offset = (min(n, _MOST_32) for n in (member.packed_bytes, member.size_bytes, member.offset))
    facts = (_MADE_BY, _VERSION, _FLAGS, member.method, member.time, member.date, member.crc, packed, size)
    return _CENTRAL.pack(b"PK\1\2", *facts, len(name), len(extra), 0, 0, 0, _MODE, offset) + name + extra


def _time(at: datetime) -> int:
    return at.hour << 11 | at.minute << 5 | at.second // 2


def _date(at: datetime) -> int:
    return max(0, min(at.year, 2107) - 1980) << 9 | at.month << 5 | at.day
