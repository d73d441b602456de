"""The members of a zip file, counted while they unfold: what its directory says of their sizes is not believed."""

import posixpath
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from webapp.provider_errors import BadInput, FailureCode

BLOCK_BYTES = 1 << 18
# Spaces and zeros fold best, to a thousandth; documents of any length stay far below this.
_LARGE_BYTES, _RATIO_MAX = 4 << 20, 400
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError, RuntimeError)


@dataclass(frozen=True)
class MemberLimits:
    """How much is read of one zip file."""

    members: int
    member_bytes: int
    total_bytes: int


class ZipMembers:
    """The members of a file, by their names; `what` it is, as errors name it: "book"."""

    def __init__(self, source: Path, limits: MemberLimits, what: str) -> None:
        self._limits, self._what = limits, what
        try:
            self._zip = zipfile.ZipFile(source)
        except _BROKEN as error:
            raise BadInput("no readable archive", code=FailureCode.CORRUPT) from error
        if len(self._zip.infolist()) > limits.members:
            raise BadInput(f"more than {limits.members} files in one {what}", code=FailureCode.TOO_LARGE)
        self._members = {self.key(info.filename): info for info in self._zip.infolist()}
        self._left = limits.total_bytes

    @property
    def names(self) -> Iterable[str]:
        """The names of all members."""
        return self._members

    @staticmethod
    def key(name: str) -> str:
        """The name by which a member is found."""
        return name

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return self.key(name) in self._members

    def read(self, name: str) -> bytes:
        """A member's content; BadInput where it is missing, broken, encrypted or too large."""
        info = self._members.get(self.key(name))
        if info is None:
            raise BadInput(f"a part of the {self._what} is missing", code=FailureCode.CORRUPT)
        if info.flag_bits & 1:
            raise BadInput(f"the {self._what} is encrypted", code=FailureCode.ENCRYPTED)
        try:
            with self._zip.open(info) as member:
                return self._unfold(member, info.compress_size)
        except _BROKEN as error:
            raise BadInput(f"a part of the {self._what} is broken", code=FailureCode.CORRUPT) from error

    def _unfold(self, member: Any, folded_bytes: int) -> bytes:
        data = bytearray()
        while block := member.read(BLOCK_BYTES):
            data += block
            self._left -= len(block)
            is_bomb = len(data) > _LARGE_BYTES and len(data) > _RATIO_MAX * folded_bytes
            if is_bomb or len(data) > self._limits.member_bytes or self._left < 0:
                raise BadInput(f"the {self._what} unfolds to more than is read", code=FailureCode.TOO_LARGE)
        return bytes(data)


def inside(folder: str, address: str) -> str:
    """The name of the member that an address means; one that leads out of the file is the name of nothing."""
    path = unquote(address.partition("#")[0])
    return posixpath.normpath(posixpath.join(folder, path)).lstrip("/") if path else ""
