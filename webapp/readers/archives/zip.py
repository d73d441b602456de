"""The members of a ZIP archive, by its directory; nothing is ever written to where a name says."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import BLOCK_BYTES, Damaged, EndsEarly, Member, Obstacle, UnpackLimits, member
from webapp.readers.encoding import decode

DIRECTORY_BYTES_MAX = 16 << 20
_DIRECTORY_END, _DIRECTORY_END_BYTES, _COMMENT_BYTES_MAX = b"PK\x05\x06", 22, 1 << 16
_BROKEN = (
    zipfile.BadZipFile, zlib.error, LZMAError, OSError, EOFError, NotImplementedError, ValueError, RuntimeError,
    IndexError,
)  # fmt: skip
IS_ENCRYPTED, IS_UTF8 = 0x1, 0x800
LOCAL_HEADER_BYTES = 30
_UNIX, _KIND_OF_FILE, _LINK = 3, 0o170000, 0o120000


def zip_members(source: Path, limits: UnpackLimits) -> Iterator[Member]:
    """The files in the order of the directory; EndsEarly once they are more bytes than are unpacked."""
    with opened_zip(source) as archive:
        infos = files_of(archive)
        left = limits.total_bytes
        for info, name in zip(infos, _names(infos), strict=True):
            blocks = _Blocks(archive, info)
            yield member(name, info.file_size, blocks, folded=info.compress_size, obstacle=_problem(info))
            left -= blocks.size
            if left < 0:
                raise EndsEarly(Obstacle.TOO_LARGE)


@contextmanager
def opened_zip(source: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, with its directory read; BadInput where there is none."""
    _refuse_long_directory(source)
    try:
        archive = zipfile.ZipFile(source)
    except _BROKEN as error:
        raise BadInput("no readable ZIP archive", code=FailureCode.CORRUPT) from error
    with archive:
        yield archive


def files_of(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files in the order of the directory; BadInput where they share their bytes."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    _refuse_overlaps(infos)
    return infos


class _Blocks:
    """The content of one member, and how much of it was read."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self._archive, self._info = archive, info
        self.size = 0

    def __call__(self) -> Iterator[bytes]:
        try:
            with self._archive.open(self._info) as opened:
                while block := opened.read(BLOCK_BYTES):
                    self.size += len(block)
                    yield block
        except _BROKEN as error:
            raise Damaged from error


def _problem(info: zipfile.ZipInfo) -> Obstacle | None:
    if info.flag_bits & IS_ENCRYPTED:
        return Obstacle.ENCRYPTED
    is_link = info.create_system == _UNIX and (info.external_attr >> 16) & _KIND_OF_FILE == _LINK
    return Obstacle.LINK if is_link else None


def _names(infos: Sequence[zipfile.ZipInfo]) -> list[str]:
    """The names; those that name no encoding are guessed together, since one program wrote them all."""
    raw = [None if info.flag_bits & IS_UTF8 else info.orig_filename.encode("cp437", "replace") for info in infos]
    unknown = [name for name in raw if name is not None and not name.isascii()]
    if not unknown:
        return [info.filename for info in infos]
    try:
        codec = decode(b"\n".join(unknown)).encoding
    except BadInput:
        codec = "cp437"
    return [
        info.filename if name is None else name.decode(codec, "replace") for name, info in zip(raw, infos, strict=True)
    ]


def _refuse_long_directory(source: Path) -> None:
    """Refuse a directory that is itself a flood: all of it is held in memory."""
    size = source.stat().st_size
    with source.open("rb") as file:
        file.seek(max(0, size - _DIRECTORY_END_BYTES - _COMMENT_BYTES_MAX))
        end = file.read()
    found = end.rfind(_DIRECTORY_END)
    directory_bytes = int.from_bytes(end[found + 12 : found + 16], "little") if found >= 0 else 0
    # All ones mean that the size is elsewhere, in a record for archives beyond 4 GB.
    if DIRECTORY_BYTES_MAX < directory_bytes < 0xFFFFFFFF:
        raise BadInput("the list of the archive's files is too long", code=FailureCode.TOO_LARGE)


def _refuse_overlaps(infos: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse members that share their bytes: no program writes such archives, but those that make floods."""
    end = 0
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise BadInput("files in the archive overlap", code=FailureCode.CORRUPT)
        end = info.header_offset + LOCAL_HEADER_BYTES + info.compress_size
