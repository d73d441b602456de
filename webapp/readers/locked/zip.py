"""ZIP archives in which files are locked by a password.

The copy holds the same files in the same order, packed as they were: only the locks are gone, so it is no larger than
the archive, and what unfolds without end is found where it is unpacked. A file that the password does not open stays
locked in the copy.
"""

import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.zip import IS_ENCRYPTED, IS_UTF8, LOCAL_HEADER_BYTES, files_of, opened_zip
from webapp.readers.locked.unfolding import Checksum
from webapp.readers.locked.zip_ciphers import (
    BLOCK_BYTES,
    EXTRA_OF_AES,
    NotOpened,
    UnknownLock,
    extra_fields,
    has_checksum,
    method_of,
    unlocked,
)

# What the counters of a directory hold; larger archives have another one, which is not written here.
FILES_MAX, BYTES_MAX = 0xFFFF, 0xFFFFFFFF
# Nobody locks a thousand files by other passwords than the next one.
REFUSALS_MAX = 1_000
_LOCAL, _ENTRY, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
_HAS_DESCRIPTOR, _SIZES_BEYOND_4_GB, _VERSION = 0x8, 0x0001, 63
# Programs write a password as UTF-8, or in the letters of the Windows or the console that they ran on.
_ENCODINGS = ("utf-8", "cp1252", "cp437", "cp850", "cp1251", "cp866")


def open_zip(source: Path, target: Path, password: str) -> None:
    """Write the archive without the locks that the password opens; BadInput where it opens none."""
    with opened_zip(source) as archive, source.open("rb") as file, target.open("w+b") as out:
        infos = files_of(archive)
        if len(infos) > FILES_MAX or source.stat().st_size > BYTES_MAX:
            raise BadInput("the archive is too large to be opened", code=FailureCode.TOO_LARGE)
        _Copy(file, out, passwords(password)).write(infos)


def passwords(password: str) -> list[bytes]:
    """The bytes that the password may have been for the program that locked the file."""
    found: dict[bytes, None] = {}
    for encoding in _ENCODINGS:
        with suppress(UnicodeEncodeError):
            found[password.encode(encoding)] = None
    return list(found)


class _Copy:
    """The copy that is being written."""

    def __init__(self, file: BinaryIO, out: BinaryIO, passwords: Sequence[bytes]) -> None:
        self._file, self._out, self._passwords = file, out, list(passwords)
        self._opened = self._refused = self._unknown = 0

    def write(self, infos: Sequence[zipfile.ZipInfo]) -> None:
        """Write all files, then the directory."""
        entries = [self._entry(info) for info in infos]
        if not self._opened:
            raise self._nothing_opened()
        begins = self._out.tell()
        self._out.writelines(entries)
        size = self._out.tell() - begins
        self._out.write(_END.pack(b"PK\5\6", 0, 0, len(entries), len(entries), size, begins, 0))

    def _nothing_opened(self) -> BadInput:
        if self._refused > self._unknown:
            return BadInput("the password opens no file in the archive", code=FailureCode.WRONG_PASSWORD)
        # Or what is locked is no file of an archive, as in OpenDocument files with a password.
        message = "no file in the archive is locked in a way that is known here"
        return BadInput(message, code=FailureCode.LOCK_UNKNOWN)

    def _entry(self, info: zipfile.ZipInfo) -> bytes:
        """Write a file; returns its entry in the directory."""
        begins = self._out.tell()
        name = info.orig_filename.encode("utf-8" if info.flag_bits & IS_UTF8 else "cp437", "replace")[:0xFFFF]
        # The sizes are known only later, so they are written over.
        self._out.write(bytes(_LOCAL.size))
        self._out.write(name)
        if info.flag_bits & IS_ENCRYPTED and self._is_opened(info):
            flags, method, extra = info.flag_bits & IS_UTF8, method_of(info), b""
            crc = self._crc
        else:
            self._copied(info)
            flags, method = info.flag_bits & ~_HAS_DESCRIPTOR, info.compress_type
            extra, crc = _extra_of_lock(info), info.CRC
            if info.flag_bits & _HAS_DESCRIPTOR and info.flag_bits & IS_ENCRYPTED:
                # The header has the byte that it is checked by instead of the checksum's last byte.
                flags |= _HAS_DESCRIPTOR
        size = self._out.tell() - begins - _LOCAL.size - len(name)
        common = (_VERSION, flags, method, *_moment(info), crc, size, info.file_size, len(name))
        end = self._out.tell()
        self._out.seek(begins)
        self._out.write(_LOCAL.pack(b"PK\3\4", *common, 0))
        self._out.seek(end)
        made = (info.create_system << 8) | _VERSION
        fixed = _ENTRY.pack(b"PK\1\2", made, *common, len(extra), 0, 0, 0, info.external_attr & BYTES_MAX, begins)
        return fixed + name + extra

    def _is_opened(self, info: zipfile.ZipInfo) -> bool:
        """Write the file without its lock, if one of the passwords opens it."""
        begins = self._out.tell()
        if not self._opened and self._refused >= REFUSALS_MAX:
            return False
        for password in self._passwords:
            try:
                self._crc = self._written(info, password)
            except UnknownLock:
                self._unknown += 1
                break
            except NotOpened:
                self._out.seek(begins)
                self._out.truncate()
                continue
            self._opened += 1
            # The next ones are tried with it first.
            self._passwords.remove(password)
            self._passwords.insert(0, password)
            return True
        self._refused += 1
        return False

    def _written(self, info: zipfile.ZipInfo, password: bytes) -> int:
        checksum = Checksum(method_of(info))
        for block in unlocked(info, self._at_data(info), password):
            self._out.write(block)
            checksum.feed(block)
        if not has_checksum(info):
            return checksum.value
        if checksum.is_known and checksum.value != info.CRC:
            raise NotOpened
        return info.CRC

    def _copied(self, info: zipfile.ZipInfo) -> None:
        file, left = self._at_data(info), info.compress_size
        while left > 0 and (block := file.read(min(left, BLOCK_BYTES))):
            self._out.write(block)
            left -= len(block)

    def _at_data(self, info: zipfile.ZipInfo) -> BinaryIO:
        self._file.seek(info.header_offset)
        header = self._file.read(LOCAL_HEADER_BYTES)
        if len(header) < LOCAL_HEADER_BYTES or not header.startswith(b"PK\3\4"):
            raise BadInput("a file in the archive is not where its directory says", code=FailureCode.CORRUPT)
        name_bytes, extra_bytes = struct.unpack_from("<2H", header, 26)
        self._file.seek(name_bytes + extra_bytes, 1)
        return self._file


def _moment(info: zipfile.ZipInfo) -> Iterator[int]:
    """The time and the day of a file, as they are packed."""
    year, month, day, hour, minute, second = info.date_time
    yield hour << 11 | minute << 5 | second // 2
    yield (max(0, year - 1980) << 9 | month << 5 | day) & 0xFFFF


def _extra_of_lock(info: zipfile.ZipInfo) -> bytes:
    """What a file that stays locked is opened by."""
    return b"".join(
        struct.pack("<2H", number, len(data)) + data
        for number, data in extra_fields(info.extra)
        if number == EXTRA_OF_AES
    )
