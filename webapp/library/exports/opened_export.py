"""Reads an export that somebody brings: nothing in it is believed before it was checked."""

import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import IO, Self
from uuid import UUID

from webapp.library.exports.document_members import LIBRARY
from webapp.library.exports.manifest import MANIFEST, SUMS, Manifest
from webapp.library.exports.rows import DamagedExport

_BLOCK_BYTES = 1 << 20
_MANIFEST_BYTES_MAX = 1 << 16
_LINE_OF_SUM_MAX = 1 << 17
LINE_BYTES_MAX = 256 << 20
"""One row, such as a table of a large workbook."""
# Deflate makes no more of a byte than this.
_RATIO_MAX = 1032
_OF_DOCUMENT = re.compile(rf"{LIBRARY}([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})\.jsonl")
_OF_CONNECTIONS = re.compile(rf"{LIBRARY}connections-\d{{5,9}}\.jsonl")
_ENCRYPTED = 0x1
_TOP = ("files/", "text/", "searchable/", "documents/", LIBRARY)
_UNSAFE = re.compile(r"[\x00-\x1f\\:]|(^|/)\.{0,2}(/|$)")


class NoExport(Exception):
    """The file is no ZIP, or no export of Docmill."""


class OpenedExport:
    """An export that is open for reading; its members are read as streams."""

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
            raise NoExport from error
        self._archive_bytes = path.stat().st_size
        try:
            self.manifest = self._manifest()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def _manifest(self) -> Manifest:
        if MANIFEST not in self._zip.NameToInfo:
            raise NoExport
        if self._zip.getinfo(MANIFEST).file_size > _MANIFEST_BYTES_MAX:
            raise DamagedExport(f"{MANIFEST} is too large")
        with self.open(MANIFEST) as file:
            return Manifest.read(self._read(MANIFEST, file, _MANIFEST_BYTES_MAX))

    def check(self, note: Callable[[int], None] = lambda size: None) -> None:
        """Compare all members with what is said of them; DamagedExport. `note` is told how many bytes were read."""
        members = [info for info in self._zip.infolist() if info.filename != SUMS]
        self._check_directory(members)
        with self.open(SUMS) as sums:
            for info in members:
                line = sums.readline(_LINE_OF_SUM_MAX)
                self._check_member(info, line.decode("utf-8", "replace").rstrip("\n"))
                note(info.file_size)
            if sums.read(1):
                raise DamagedExport(f"{SUMS} names members that are not there")

    def _check_directory(self, members: list[zipfile.ZipInfo]) -> None:
        if SUMS not in self._zip.NameToInfo:
            raise DamagedExport(f"{SUMS} is missing")
        infos = self._zip.infolist()
        if len({info.filename for info in infos}) != len(infos):
            raise DamagedExport("a name occurs twice")
        for info in infos:
            is_known = info.filename in {MANIFEST, SUMS} or info.filename.startswith(_TOP)
            if not is_known or _UNSAFE.search(info.filename):
                raise DamagedExport(f"a member has an impossible name: {info.filename[:100]!r}")
            is_packed = info.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
            if info.flag_bits & _ENCRYPTED or not is_packed:
                raise DamagedExport(f"{info.filename} is packed in another way than an export")
            if info.file_size > _RATIO_MAX * (info.compress_size + 1):
                raise DamagedExport(f"{info.filename} has an impossible size")
        # Members that share their bytes would unfold to more than any file could hold.
        if sum(info.compress_size for info in infos) > self._archive_bytes:
            raise DamagedExport("members overlap")
        said = self.manifest
        found = [info for info in members if info.filename != MANIFEST]
        if (len(found), sum(info.file_size for info in found)) != (said.members, said.size_bytes):
            raise DamagedExport("members are missing, or there are too many")
        if len(list(self.documents())) != said.documents:
            raise DamagedExport("documents are missing, or there are too many")

    def _check_member(self, info: zipfile.ZipInfo, line: str) -> None:
        content_hash = hashlib.sha256()
        try:
            with self._zip.open(info) as file:
                while block := file.read(_BLOCK_BYTES):
                    content_hash.update(block)
        except _READ_ERRORS as error:
            raise DamagedExport(f"{info.filename} is damaged") from error
        if line != f"{content_hash.hexdigest()}  {info.filename}":
            raise DamagedExport(f"{info.filename} is not what its checksum says")

    def open(self, name: str) -> IO[bytes]:
        """A member, as a stream; DamagedExport where there is none."""
        try:
            return self._zip.open(name)
        except (KeyError, *_READ_ERRORS) as error:
            raise DamagedExport(f"{name[:100]} is missing or damaged") from error

    def size_of(self, name: str) -> int:
        """How long a member is; DamagedExport where there is none."""
        if name not in self._zip.NameToInfo:
            raise DamagedExport(f"{name[:100]} is missing")
        return self._zip.getinfo(name).file_size

    def documents(self) -> Iterator[tuple[UUID, str]]:
        """The documents and the members with their rows, in the order in which they were written."""
        for name in self._zip.NameToInfo:
            if found := _OF_DOCUMENT.fullmatch(name):
                yield UUID(found[1]), name

    def connections(self) -> list[str]:
        """The members with the connections of documents."""
        return [name for name in self._zip.NameToInfo if _OF_CONNECTIONS.fullmatch(name)]

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return name in self._zip.NameToInfo

    def lines(self, name: str) -> Generator[bytes]:
        """The lines of a member; whoever does not read them all closes this."""
        with self.open(name) as file:
            while line := self._line(name, file):
                yield line

    def _line(self, name: str, file: IO[bytes]) -> bytes:
        try:
            line = file.readline(LINE_BYTES_MAX + 1)
        except _READ_ERRORS as error:
            raise DamagedExport(f"{name} is damaged") from error
        if len(line) > LINE_BYTES_MAX:
            raise DamagedExport(f"{name} has a line that is too long")
        return line

    def _read(self, name: str, file: IO[bytes], most: int) -> bytes:
        try:
            return file.read(most + 1)
        except _READ_ERRORS as error:
            raise DamagedExport(f"{name} is damaged") from error


_READ_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
