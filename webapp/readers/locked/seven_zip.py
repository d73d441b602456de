"""7z archives in which files, and perhaps their names, are locked by a password.

The copy has the same folders, packed as they were: only their encryption is undone, and the coder that says so is
replaced by the one that copies. So the copy is no larger than the archive, and what unfolds without end is found where
it is unpacked. A folder that the password does not open stays locked in the copy.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import BinaryIO

from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import AES as AES_CIPHER

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import Damaged
from webapp.readers.archives.seven_zip.coders import BROKEN, PACKERS, Blocks, UnknownMethod, check_known, unfolded
from webapp.readers.archives.seven_zip.directory import AES, COPY, SIGNATURE, Coder, Directory, Folder, Stream
from webapp.readers.archives.seven_zip.read import HEADER_BYTES, blocks_at, read_directory

# Programs take 19; each one more doubles the time.
_CYCLES_MAX, _NO_CYCLES, _AT_ONCE = 22, 0x3F, 1 << 12
_BLOCK, _KEY_BYTES = 16, 32
# So much of a file is unfolded to see whether the password fits; a wrong one shows long before.
_LOOKED_AT_BYTES = 256 << 20
_VERSION = b"\0\4"


def open_seven_zip(source: Path, target: Path, password: str) -> None:
    """Write the archive without the locks that the password opens; BadInput where it opens none."""
    lock = _Lock(password)
    with source.open("rb") as file, target.open("w+b") as out:
        directory = _directory(file, lock)
        opened = _opened(file, directory, lock)
        if not any(opened) and not lock.was_used_for_names:
            raise _nothing_opened(directory)
        _write(file, out, directory, opened, lock)


class _Lock:
    """The password, and the keys that are made of it."""

    def __init__(self, password: str) -> None:
        self._password = password.encode("utf-16-le")
        self.was_used_for_names = False
        self.key = cache(self._key)

    def decrypt(self, coder: Coder, blocks: Blocks) -> Iterator[bytes]:
        """Undo the encryption; UnknownMethod where it is none that is known."""
        cycles, salt, vector = _settings(coder.properties)
        cipher = Cipher(AES_CIPHER(self.key(cycles, salt)), modes.CBC(vector)).decryptor()
        for block in blocks:
            yield cipher.update(block)

    def _key(self, cycles: int, salt: bytes) -> bytes:
        if cycles == _NO_CYCLES:
            return (salt + self._password)[:_KEY_BYTES].ljust(_KEY_BYTES, b"\0")
        hashed, always = hashlib.sha256(), salt + self._password
        for begins in range(0, 1 << cycles, _AT_ONCE):
            numbers = range(begins, min(begins + _AT_ONCE, 1 << cycles))
            hashed.update(b"".join([always + number.to_bytes(8, "little") for number in numbers]))
        return hashed.digest()


def _settings(properties: bytes) -> tuple[int, bytes, bytes]:
    """How often is hashed, the salt, and what the first block is mixed with."""
    if len(properties) < 2:
        raise UnknownMethod
    first, second = properties[:2]
    cycles, salt_bytes = first & 0x3F, (first >> 7 & 1) + (second >> 4)
    vector_bytes = (first >> 6 & 1) + (second & 0x0F)
    if (cycles > _CYCLES_MAX and cycles != _NO_CYCLES) or len(properties) < 2 + salt_bytes + vector_bytes:
        raise UnknownMethod
    salt, vector = properties[2 : 2 + salt_bytes], properties[2 + salt_bytes : 2 + salt_bytes + vector_bytes]
    return cycles, salt, vector.ljust(_BLOCK, b"\0")


def _directory(file: BinaryIO, lock: _Lock) -> Directory:
    """The directory; where only the password opens it, one that is damaged was opened by a wrong one."""
    try:
        return read_directory(file)
    except BadInput as error:
        if error.code != FailureCode.ENCRYPTED:
            raise
    lock.was_used_for_names = True
    return _locked_directory(file, lock)


def _locked_directory(file: BinaryIO, lock: _Lock) -> Directory:
    try:
        return read_directory(file, lock.decrypt)
    except BadInput as error:
        raise _wrong() if error.code == FailureCode.CORRUPT else error from None


def _wrong() -> BadInput:
    return BadInput("the password opens no file in the archive", code=FailureCode.WRONG_PASSWORD)


def _nothing_opened(directory: Directory) -> BadInput:
    locked = [folder for folder in directory.folders if folder.is_locked]
    if any(map(_can_be_looked_at, locked)):
        return _wrong()
    message = "no file in the archive is locked in a way that is known here"
    return BadInput(message, code=FailureCode.LOCK_UNKNOWN)


def _opened(file: BinaryIO, directory: Directory, lock: _Lock) -> list[bool]:
    """Which folders the password opens. What it opens can't always be looked at: then the others speak for it."""
    first = {stream.folder: stream for stream in reversed(directory.streams) if stream.size}
    places = directory.packed_places()
    fits = lock.was_used_for_names
    found: list[bool | None] = []
    for number, folder in enumerate(directory.folders):
        is_opened: bool | None = False
        if folder.is_locked:
            known = _can_be_looked_at(folder) and number in first
            is_opened = _is_opened(file, folder, places[number][0], first[number], lock) if known else None
        fits = fits or bool(is_opened)
        found.append(is_opened)
    return [fits and _is_undone(directory.folders[at]) if each is None else each for at, each in enumerate(found)]


def _can_be_looked_at(folder: Folder) -> bool:
    try:
        check_known(folder)
    except UnknownMethod:
        return False
    return _is_undone(folder)


def _is_undone(folder: Folder) -> bool:
    """Whether its encryption can be undone: it is the first that unpacks, and of the usual kind."""
    try:
        for _, coder in _locks(folder):
            _settings(coder.properties)
    except UnknownMethod:
        return False
    return True


def _locks(folder: Folder) -> Iterator[tuple[int, Coder]]:
    """The coders that encrypt, each with the number of the packed bytes that it reads; UnknownMethod."""
    if any(coder.outputs != 1 for coder in folder.coders):
        raise UnknownMethod
    reads = 0
    for coder in folder.coders:
        if coder.id == AES:
            if coder.inputs != 1 or reads not in folder.packed:
                raise UnknownMethod
            yield folder.packed.index(reads), coder
        reads += coder.inputs


def _is_opened(file: BinaryIO, folder: Folder, place: tuple[int, int], stream: Stream, lock: _Lock) -> bool:
    """Whether the first file in the folder comes out as its checksum says."""
    crc, left = 0, stream.size
    # What is packed ends soon with a wrong password; what is not has to be compared as a whole.
    may_stop = any(coder.id in PACKERS for coder in folder.coders)
    try:
        for block in unfolded(folder, blocks_at(file, *place), lock.decrypt):
            crc = zlib.crc32(block[:left], crc)
            left -= len(block)
            if left <= 0 or (may_stop and stream.size - left > _LOOKED_AT_BYTES):
                break
    except (Damaged, UnknownMethod, *BROKEN):
        return False
    return left > 0 or stream.crc is None or crc == stream.crc


def _write(file: BinaryIO, out: BinaryIO, directory: Directory, opened: Sequence[bool], lock: _Lock) -> None:
    out.write(bytes(HEADER_BYTES))
    sizes: list[int] = []
    folders: list[Folder] = []
    for folder, places, is_opened in zip(directory.folders, directory.packed_places(), opened, strict=True):
        undone = dict(_locks(folder)) if is_opened else {}
        for number, place in enumerate(places):
            coder = undone.get(number)
            blocks = blocks_at(file, *place)
            sizes.append(_copied(out, lock.decrypt(coder, blocks) if coder else blocks, _limit(folder, coder)))
        folders.append(_without_locks(folder) if is_opened else folder)
    header = _header(replace(directory, folders=tuple(folders), packed_sizes=tuple(sizes), packed_at=0))
    begins = out.tell()
    out.write(header)
    start = struct.pack("<QQL", begins - HEADER_BYTES, len(header), zlib.crc32(header))
    out.seek(0)
    out.write(SIGNATURE + _VERSION + struct.pack("<L", zlib.crc32(start)) + start)


def _limit(folder: Folder, coder: Coder | None) -> int | None:
    """How many bytes a coder that encrypts gives: what was packed is longer, by what fills its last block."""
    return folder.sizes[folder.coders.index(coder)] if coder else None


def _copied(out: BinaryIO, blocks: Blocks, limit: int | None) -> int:
    begins = out.tell()
    try:
        out.writelines(blocks)
    except Damaged:
        raise BadInput("the end of the archive is missing", code=FailureCode.CORRUPT) from None
    size = out.tell() - begins
    if limit is None:
        return size
    if limit > size:
        raise BadInput("the end of the archive is missing", code=FailureCode.CORRUPT)
    out.seek(begins + limit)
    out.truncate()
    return limit


def _without_locks(folder: Folder) -> Folder:
    return replace(folder, coders=tuple(Coder(COPY) if coder.id == AES else coder for coder in folder.coders))


def _number(value: int) -> bytes:
    """A number as headers have it: as many ones as its first byte begins with, so many bytes follow."""
    for more in range(8):
        if value < 1 << 7 * (more + 1):
            first = (0xFF << 8 - more & 0xFF) | value >> 8 * more
            return bytes([first]) + (value & ((1 << 8 * more) - 1)).to_bytes(more, "little")
    return b"\xff" + value.to_bytes(8, "little")


def _header(directory: Directory) -> bytes:
    """The directory, not packed. What it says of streams and files is as it was."""
    sizes, folders = directory.packed_sizes, directory.folders
    packed = b"\6" + _number(0) + _number(len(sizes)) + b"\x09" + b"".join(map(_number, sizes)) + b"\0"
    described = b"\7\x0b" + _number(len(folders)) + b"\0" + b"".join(map(_folder, folders))
    unfolded_sizes = b"\x0c" + b"".join(_number(size) for folder in folders for size in folder.sizes)
    told = [folder.crc for folder in folders]
    crcs = b"".join(struct.pack("<L", crc) for crc in told if crc is not None)
    checksums = b"\x0a\0" + _bits([crc is not None for crc in told]) + crcs if crcs else b""
    streams = packed + described + unfolded_sizes + checksums + b"\0" + directory.streams_part + b"\0"
    return b"\1\4" + streams + directory.files_part + b"\0"


def _folder(folder: Folder) -> bytes:
    coders = b"".join(map(_coder, folder.coders))
    binds = b"".join(_number(read) + _number(written) for read, written in folder.binds)
    packed = b"".join(map(_number, folder.packed)) if len(folder.packed) > 1 else b""
    return _number(len(folder.coders)) + coders + binds + packed


def _coder(coder: Coder) -> bytes:
    is_simple = (coder.inputs, coder.outputs) == (1, 1)
    flags = len(coder.id) | (0 if is_simple else 0x10) | (0x20 if coder.properties else 0)
    streams = b"" if is_simple else _number(coder.inputs) + _number(coder.outputs)
    properties = _number(len(coder.properties)) + coder.properties if coder.properties else b""
    return bytes([flags]) + coder.id + streams + properties


def _bits(truths: Sequence[bool]) -> bytes:
    packed = bytearray((len(truths) + 7) // 8)
    for number, is_so in enumerate(truths):
        packed[number // 8] |= 0x80 >> number % 8 if is_so else 0
    return bytes(packed)
