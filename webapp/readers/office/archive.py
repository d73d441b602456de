"""The zip file that an Office document is: its members, checked and counted while they unfold."""

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from webapp.provider_errors import BadInput, FailureCode

FILE_BYTES_MAX = 256 << 20
MEMBERS_MAX = 10_000
DIRECTORY_BYTES_MAX = 4 << 20
PART_BYTES_MAX = 64 << 20
TOTAL_BYTES_MAX = 512 << 20
# Spaces and zeros fold best, to a thousandth; documents of any length stay far below this.
LARGE_BYTES, RATIO_MAX = 4 << 20, 400
BLOCK_BYTES = 1 << 18

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCKED_STREAM = "EncryptedPackage".encode("utf-16-le")
_DIRECTORY_END, _DIRECTORY_END_BYTES, _COMMENT_BYTES_MAX = b"PK\x05\x06", 22, 1 << 16
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError, RuntimeError)


class Archive:
    """Members by their names, in whatever case; what the directory says of their sizes is not believed."""

    def __init__(self, source: Path) -> None:
        _refuse_unreadable(source)
        self.source = source
        try:
            self._zip = zipfile.ZipFile(source)
        except _BROKEN as error:
            raise BadInput("no readable archive", code=FailureCode.CORRUPT) from error
        if len(self._zip.infolist()) > MEMBERS_MAX:
            raise BadInput(f"more than {MEMBERS_MAX} files in one document", code=FailureCode.TOO_LARGE)
        self._members = {_key(info.filename): info for info in self._zip.infolist()}
        self._left = TOTAL_BYTES_MAX

    def has(self, name: str) -> bool:
        return _key(name) in self._members

    def names(self, start: str, end: str = "") -> Iterator[str]:
        """The names of members that begin and end so, in lower case."""
        return (name for name in self._members if name.startswith(start) and name.endswith(end))

    def read(self, name: str) -> bytes:
        """A member's content; BadInput where it is missing, broken, encrypted or too large."""
        info = self._members.get(_key(name))
        if info is None:
            raise BadInput("a part of the document is missing", code=FailureCode.CORRUPT)
        if info.flag_bits & 1:
            raise BadInput("the document is encrypted", code=FailureCode.ENCRYPTED)
        try:
            with self._zip.open(info) as member:
                return self._unfold(member, info.compress_size)
        except _BROKEN as error:
            raise BadInput("a part of the document is broken", code=FailureCode.CORRUPT) from error

    def read_if_there(self, name: str) -> bytes | None:
        """A member's content, or None where the document has no such part."""
        return self.read(name) if self.has(name) else None

    def _unfold(self, member: Any, folded_bytes: int) -> bytes:
        data = bytearray()
        while block := member.read(BLOCK_BYTES):
            data += block
            self._left -= len(block)
            is_bomb = len(data) > LARGE_BYTES and len(data) > RATIO_MAX * folded_bytes
            if is_bomb or len(data) > PART_BYTES_MAX or self._left < 0:
                raise BadInput("the document unfolds to more than is read", code=FailureCode.TOO_LARGE)
        return bytes(data)


def inside(folder: str, address: str) -> str:
    """The name of the member that an address within a document means; one that leads out is the name of nothing."""
    path = unquote(address.partition("#")[0])
    return posixpath.normpath(posixpath.join(folder, path)).lstrip("/") if path else ""


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _refuse_unreadable(source: Path) -> None:
    """Refuse what is no zip file, what is locked by a password, and a directory that is itself a flood."""
    size = source.stat().st_size
    if size > FILE_BYTES_MAX:
        raise BadInput(f"more than {FILE_BYTES_MAX} bytes", code=FailureCode.TOO_LARGE)
    with source.open("rb") as file:
        if file.read(len(_OLE)) == _OLE:
            raise _why_not(_OLE + file.read())
        file.seek(max(0, size - _DIRECTORY_END_BYTES - _COMMENT_BYTES_MAX))
        end = file.read()
    found = end.rfind(_DIRECTORY_END)
    directory_bytes = int.from_bytes(end[found + 12 : found + 16], "little") if found >= 0 else 0
    # All ones mean that the size stands elsewhere, in a record for files beyond 4 GB.
    if DIRECTORY_BYTES_MAX < directory_bytes < 0xFFFFFFFF:
        raise BadInput("the list of the document's files is too long", code=FailureCode.TOO_LARGE)


def _why_not(data: bytes) -> BadInput:
    """What is wrong with a file in the container of old Office versions; new ones put locked documents into it, too."""
    if _LOCKED_STREAM in data:
        return BadInput("the document is locked by a password", code=FailureCode.ENCRYPTED)
    return BadInput("a file of an old Office version", code=FailureCode.UNSUPPORTED)
