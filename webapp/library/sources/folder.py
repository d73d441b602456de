"""A watched folder. It is read by descriptors from SOURCE_FOLDERS down, so that no link leads out of it."""

import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any

from webapp.documents.source_model import Source
from webapp.library.folders import clean_folder
from webapp.library.sources.ledger import FOLDER_VERSION, Sighting
from webapp.library.sources.places import AllowedFolder, Opened, allowed_folder
from webapp.library.sources.trouble import ItemFailed, ItemReason, SourceFailed, SourceTrouble
from webapp.services import Services

FILES_MAX = 100_000
DEPTH_MAX = 20
TAKEN = "taken"
"""The folder in a watched folder where files are moved to."""
_NAMES_MAX = 1_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TEMPORARY = re.compile(
    r"^~\$|^\.~lock\.|~$|\.(part|partial|tmp|temp|crdownload|download|filepart|swp|!ut|opdownload)$", re.IGNORECASE
)
# While a file is checked before it is moved or deleted, no other program knows its name.
_PRIVATE = re.compile(r"^docmill-[0-9a-f]{8}-")
# Some file systems allow no more than 143 bytes.
_PRIVATE_BYTES_MAX = 100
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)


class FolderPlace:
    """A watched folder, opened for a poll."""

    mark: dict[str, Any] | None = None

    def __init__(self, services: Services, source: Source) -> None:
        self.still_seconds = services.settings.sources.still_seconds
        self.is_whole = True
        self.trouble: SourceTrouble | None = None
        self._after_taking = source.after_taking
        self._folder = allowed_folder(services.settings, str(source.place["path"]))
        self._paths: dict[str, tuple[str, str]] = {}

    def look(self) -> Iterator[Sighting]:
        """Walk through the folder and those in it."""
        self._paths.clear()
        waiting: list[str] = [""]
        while waiting:
            way = waiting.pop()
            for seen, path, is_folder in self._list(way):
                if is_folder and seen is None:
                    waiting.append(path)
                elif seen is not None:
                    self._paths[seen.key] = (path, seen.version)
                    yield seen
                if len(self._paths) >= FILES_MAX:
                    self.is_whole, self.trouble = False, SourceTrouble.TOO_MANY_FILES
                    return

    def is_there(self, key: str) -> bool:
        """Whether this file was seen."""
        return key in self._paths

    @contextmanager
    def open(self, item: Any) -> Iterator[Opened]:
        """Open a file in the version that is to be taken."""
        folder, name = os.path.split(self._path(item))
        with _translated(), self._opened(folder) as at:
            number = _open_file(name, at)
        with os.fdopen(number, "rb", buffering=0) as file:

            def check() -> None:
                if _version(os.fstat(number)) != item.version:
                    raise ItemFailed(ItemReason.CHANGED)

            check()
            yield Opened(file, *self._called(item), check)

    def _called(self, item: Any) -> tuple[str, str | None]:
        """What the document of a file is called, and its folder."""
        folder, name = os.path.split(self._path(item))
        return shown(_PRIVATE.sub("", name)), clean_folder(shown(folder))

    def settle(self, item: Any) -> bool:
        """Move or delete a file that was taken, unless it has changed since: then it is another one."""
        path = self._path(item)
        if self._after_taking == "leave":
            return False
        folder, name = os.path.split(path)
        is_moved = self._after_taking == "move"
        try:
            with self._opened(folder) as at:
                return self._take_away(at, folder, name, item.version)
        except OSError as error:
            raise ItemFailed(ItemReason.CANT_MOVE if is_moved else ItemReason.CANT_DELETE) from error

    def close(self) -> None:
        """There is nothing to close: a folder is opened for each use."""

    def _take_away(self, at: int, folder: str, name: str, version: str) -> bool:
        """Move or delete a file if it is the one that was taken; whether it was.

        A new one may be renamed into its place at any moment. So the file gets a name first that nobody else knows, and
        is looked at again under it. It is an ordinary name: what a process leaves there that dies is found by the next
        poll.
        """
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or _version(found) != version:
            return False
        private = _private_name(name)
        os.rename(name, private, src_dir_fd=at, dst_dir_fd=at)
        is_gone = False
        try:
            if _is_version(private, at, version):
                if self._after_taking == "move":
                    self._move(at, folder, private, name)
                else:
                    os.unlink(private, dir_fd=at)
                is_gone = True
        finally:
            if not is_gone:
                _rename_back(at, private, name)
        return is_gone

    def _move(self, at: int, folder: str, private: str, name: str) -> None:
        with self._opened("") as root:
            there = self._make(root, [TAKEN, *PurePosixPath(folder).parts])
            try:
                free = _free_name(there, _PRIVATE.sub("", name))
                os.rename(private, free, src_dir_fd=at, dst_dir_fd=there)
            finally:
                os.close(there)

    def _make(self, root: int, way: list[str]) -> int:
        """Open the folder at the end of this way, and make what is missing of it."""
        at = os.dup(root)
        for part in way:
            try:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
                deeper = os.open(part, _FOLDER, dir_fd=at)
            finally:
                os.close(at)
            at = deeper
        return at

    def _path(self, item: Any) -> str:
        path, version = self._paths.get(item.key, ("", ""))
        if not path:
            # In a folder that can't be read now it may well be there.
            raise ItemFailed(ItemReason.GONE, is_final=True) if self.is_whole else ItemFailed(ItemReason.UNREADABLE)
        if version != item.version:
            raise ItemFailed(ItemReason.CHANGED)
        return path

    def _list(self, way: str) -> Iterator[tuple[Sighting | None, str, bool]]:
        """What lies in a folder: what was seen, its path, and whether it is a folder to be walked through."""
        try:
            with self._opened(way) as at, os.scandir(at) as entries:
                for entry in entries:
                    path = f"{way}/{entry.name}" if way else entry.name
                    if path == TAKEN and self._after_taking == "move":
                        continue
                    with suppress(FileNotFoundError):
                        yield self._see(path, entry)
        except SourceFailed:
            if not way:
                raise
            self.is_whole = False
        except OSError:
            if not way:
                raise SourceFailed(SourceTrouble.FOLDER_UNREADABLE) from None
            # A folder in it that can't be read: the others can.
            self.is_whole = False

    def _see(self, path: str, entry: "os.DirEntry[str]") -> tuple[Sighting | None, str, bool]:
        found = entry.stat(follow_symlinks=False)
        is_folder = stat.S_ISDIR(found.st_mode)
        skip = _why_not(path, entry.name, found)
        if is_folder and skip is None:
            return None, path, True
        version = FOLDER_VERSION if is_folder else _version(found)
        key = hashlib.sha256(os.fsencode(path)).hexdigest()
        size = None if is_folder else found.st_size
        return Sighting(key, version, shown(path) + ("/" if is_folder else ""), size, skip), path, is_folder

    @contextmanager
    def _opened(self, way: str) -> Iterator[int]:
        """The descriptor of a folder within; no link is followed below SOURCE_FOLDERS."""
        at = open_folder(self._folder)
        try:
            for part in PurePosixPath(way).parts:
                deeper = os.open(part, _FOLDER, dir_fd=at)
                os.close(at)
                at = deeper
            yield at
        finally:
            os.close(at)


def open_folder(folder: AllowedFolder) -> int:
    """The descriptor of a folder that may be watched; SourceFailed."""
    try:
        at = os.open(folder.base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in folder.way:
            try:
                deeper = os.open(part, _FOLDER, dir_fd=at)
            finally:
                os.close(at)
            at = deeper
    except OSError as error:
        is_missing = error.errno in _GONE
        raise SourceFailed(SourceTrouble.FOLDER_MISSING if is_missing else SourceTrouble.FOLDER_UNREADABLE) from error
    return at


def shown(path: str) -> str:
    """A path as text that every database can store; bytes that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _version(found: os.stat_result) -> str:
    return f"{found.st_size}-{found.st_mtime_ns}"


def _why_not(path: str, name: str, found: os.stat_result) -> ItemReason | None:
    """Why a file or folder is not taken, as far as its name and its kind tell."""
    is_folder, is_file = stat.S_ISDIR(found.st_mode), stat.S_ISREG(found.st_mode)
    checks = (
        (stat.S_ISLNK(found.st_mode), ItemReason.LINK),
        (not is_file and not is_folder, ItemReason.NO_FILE),
        (bool(_TEMPORARY.search(name)), ItemReason.TEMPORARY),
        (name.startswith("."), ItemReason.HIDDEN),
        (is_folder and path == TAKEN, ItemReason.TAKEN_FOLDER),
        (is_folder and path.count("/") + 1 >= DEPTH_MAX, ItemReason.TOO_DEEP),
        (is_file and found.st_size == 0, ItemReason.EMPTY),
    )
    return next((reason for is_so, reason in checks if is_so), None)


def _open_file(name: str, at: int) -> int:
    """The descriptor of a file; ItemFailed for anything else, which would open, too."""
    number = os.open(name, _FILE, dir_fd=at)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise ItemFailed(ItemReason.NO_FILE, is_final=True)
    except BaseException:
        os.close(number)
        raise
    return number


def _is_version(name: str, at: int, version: str) -> bool:
    """Whether a file is in this version. It is opened, since a network drive may remember how a name was before."""
    try:
        number = _open_file(name, at)
    except ItemFailed:
        return False
    try:
        return _version(os.fstat(number)) == version
    finally:
        os.close(number)


def _private_name(name: str) -> str:
    kept = _PRIVATE.sub("", name)
    while len(os.fsencode(kept)) > _PRIVATE_BYTES_MAX:
        kept = kept[1:]
    return f"docmill-{secrets.token_hex(4)}-{kept}"


def _rename_back(at: int, private: str, name: str) -> None:
    """Give a file its name back, unless another file has it by now: nothing is ever replaced.

    Where the file system knows no links, it keeps its private name; a poll takes it under that, too.
    """
    with suppress(OSError):
        os.link(private, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
        os.unlink(private, dir_fd=at)


def _free_name(at: int, name: str) -> str:
    """The name, or "scan (2).pdf" where another file has it already."""
    stem, dot, ending = name.rpartition(".")
    for number in range(1, _NAMES_MAX):
        candidate = name if number == 1 else (f"{stem} ({number}).{ending}" if stem and dot else f"{name} ({number})")
        try:
            os.stat(candidate, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return candidate
    raise FileExistsError(errno.EEXIST, "too many files of one name")


@contextmanager
def _translated() -> Iterator[None]:
    """What the system says of a file, as what becomes of its item."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ItemFailed(ItemReason.LINK, is_final=True) from error
        if error.errno in _GONE:
            raise ItemFailed(ItemReason.GONE, is_final=True) from error
        raise ItemFailed(ItemReason.UNREADABLE) from error
