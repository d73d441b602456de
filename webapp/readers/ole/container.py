"""The container of old Office files and of Outlook's messages: streams in folders, checked before they are read."""

import logging
from collections.abc import Sequence
from pathlib import Path
from struct import unpack_from

import olefile

from webapp.provider_errors import BadInput, FailureCode

FILE_BYTES_MAX = 256 << 20
STREAMS_MAX = 50_000
WORD, POWERPOINT, MESSAGE = "WordDocument", "PowerPoint Document", "__properties_version1.0"
WORKBOOKS = ("Workbook", "Book")
LOCKED_PACKAGE = "EncryptedPackage"
_ENCRYPTED_BIT, _FLAGS_AT = 0x0100, 0x0A
# As powers of two: the sizes of sectors and of small sectors that there are, in files of either version.
_SIZES_AT, _SIZES = 30, {(9, 6), (12, 6)}
_FILEPASS, _BOUND_SHEET, _RECORDS_LOOKED_AT = 0x002F, 0x0085, 50
_ENCRYPTED_SHOW, _TOKEN_AT = 0xF3D1C4DF, 12


def is_old_container(source: Path) -> bool:
    """Whether a file begins like one."""
    with source.open("rb") as file:
        return file.read(len(olefile.MAGIC)) == bytes(olefile.MAGIC)


def refuse_odd_sectors(source: Path) -> None:
    """Refuse a file whose sectors have a size that nobody writes: the library would make room for it."""
    with source.open("rb") as file:
        head = file.read(_SIZES_AT + 4)
    if len(head) < _SIZES_AT + 4 or unpack_from("<HH", head, _SIZES_AT) not in _SIZES:
        raise BadInput("a damaged container: sectors of an unknown size")


class Container:
    """The streams of one file, by their paths."""

    def __init__(self, source: Path) -> None:
        if source.stat().st_size > FILE_BYTES_MAX:
            raise BadInput(f"more than {FILE_BYTES_MAX} bytes", code=FailureCode.TOO_LARGE)
        refuse_odd_sectors(source)
        # It writes each oddity of a damaged file to the log.
        logging.getLogger("olefile").disabled = True
        try:
            self._ole = olefile.OleFileIO(str(source))
            paths = ["/".join(path) for path in self._ole.listdir(streams=True, storages=True)]
        except (OSError, ValueError, IndexError, TypeError, RecursionError) as error:
            raise BadInput(f"a damaged container: {type(error).__name__}") from error
        if len(paths) > STREAMS_MAX:
            raise BadInput(f"more than {STREAMS_MAX} streams", code=FailureCode.TOO_LARGE)
        # Some programs write the names in small letters.
        self._by_name = {path.lower(): path for path in paths}
        self._folders: dict[str, list[str]] = {}
        for path in paths:
            self._folders.setdefault(path.rpartition("/")[0], []).append(path)

    def has(self, path: str) -> bool:
        """Whether there is such a stream or folder."""
        return path.lower() in self._by_name

    def read(self, path: str, bytes_max: int = FILE_BYTES_MAX) -> bytes:
        """The beginning of a stream; empty where it is missing or damaged."""
        found = self._by_name.get(path.lower())
        if found is None:
            return b""
        try:
            with self._ole.openstream(found) as stream:
                data: bytes = stream.read(bytes_max)
        except (OSError, ValueError, IndexError, TypeError):
            return b""
        return data

    def refuse_circles(self) -> None:
        """Refuse a file whose sectors follow each other in circles, for a library that would follow them for ever."""
        try:
            self._ole.loadminifat()
        except (OSError, ValueError, IndexError, TypeError) as error:
            raise BadInput(f"a damaged container: {type(error).__name__}") from error
        if _has_circle(self._ole.fat) or _has_circle(self._ole.minifat):
            raise BadInput("a damaged container: sectors in circles")

    def folders(self, parent: str, kind: str) -> list[str]:
        """The folders within another one whose names begin like this."""
        return [path for path in self._folders.get(parent, ()) if path.rpartition("/")[2].startswith(kind)]

    def summary(self) -> dict[str, str]:
        """Title, author and day of creation, as the file says of itself."""
        try:
            found = self._ole.get_metadata()
        # Whatever the library meets in a damaged property: the text is still worth reading.
        except Exception:  # noqa: BLE001 - see above
            return {}
        texts = {name: _text(getattr(found, name, None), found.codepage) for name in ("title", "author")}
        return {**texts, "created": str(getattr(found, "create_time", None) or "")}

    @property
    def is_locked(self) -> bool:
        """Whether a password is needed to read it."""
        if self.has(LOCKED_PACKAGE):
            return True
        if self.has(WORD):
            head = self.read(WORD, 32)
            return len(head) > _FLAGS_AT + 1 and bool(unpack_from("<H", head, _FLAGS_AT)[0] & _ENCRYPTED_BIT)
        if self.has(POWERPOINT):
            head = self.read("Current User", 20)
            return len(head) >= _TOKEN_AT + 4 and unpack_from("<I", head, _TOKEN_AT)[0] == _ENCRYPTED_SHOW
        return any(_is_locked_workbook(self.read(name, 64 << 10)) for name in WORKBOOKS if self.has(name))


def _has_circle(following: Sequence[int]) -> bool:
    """Whether one leads to another, and so on, until one comes again; each is looked at once."""
    chain_of = [-1] * len(following)
    for start in range(len(following)):
        at = start
        while at < len(following) and chain_of[at] < 0:
            chain_of[at], at = start, following[at]
        if at < len(following) and chain_of[at] == start:
            return True
    return False


def _is_locked_workbook(data: bytes) -> bool:
    """Whether a record before the list of sheets says how the others are encrypted."""
    place = 0
    for _ in range(_RECORDS_LOOKED_AT):
        if place + 4 > len(data):
            return False
        kind, length = unpack_from("<HH", data, place)
        if kind in {_FILEPASS, _BOUND_SHEET}:
            return bool(kind == _FILEPASS)
        place += 4 + length
    return False


def _text(value: object, codepage: object) -> str:
    if not isinstance(value, bytes):
        return str(value or "")
    try:
        return value.decode("utf-8" if codepage in {65001, -535} else f"cp{codepage or 1252}", "replace")
    except LookupError:
        return value.decode("cp1252", "replace")
