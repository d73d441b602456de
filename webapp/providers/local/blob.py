"""Blobs in a folder of this machine: atomic, and on the disk before anything is answered.

root/store/…      the blobs, each under its own path
root/incoming/…   files on their way in; the same filesystem, so arriving is a rename
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from webapp.clock import monotonic
from webapp.provider_errors import BlobExists, BlobMissing, FailureCode, ProviderError, ProviderUnavailable
from webapp.providers.blob_paths import checked_folder, checked_path
from webapp.providers.incoming import PRIVATE, make_folder, sweep
from webapp.providers.ports import BlobInfo

COPY_BYTES = 1 << 20
# More than a filesystem keeps inside of a folder's own entry, so that it needs real space.
PROBE = bytes(64 << 10)
LASTING_LEVELS = 2
PLACE_TRIES = 50
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR)
# What filesystems without hard links answer; the copy goes another way then.
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


class LocalBlobStore:
    """A BlobStore in a folder."""

    name = "local"

    def __init__(self, root: Path, *, free_min_bytes: int = 0) -> None:
        self._free_min_bytes = free_min_bytes
        self._written_at = float("-inf")
        self._blobs = make_folder(root / "store").resolve()
        self._incoming = make_folder(root / "incoming").resolve()
        self._durable: set[Path] = set()

    def put_file(self, path: str, source: Path) -> None:
        """Take a file in: a rename where it lies on the same filesystem, else a copy."""
        target = self._target(path)
        with _translated(path):
            try:
                _sync_file(source)
                self._place(source, target, replace=False)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                self._copy_in(source, target)
            source.unlink(missing_ok=True)

    def put_bytes(self, path: str, data: bytes, *, durably: bool = True) -> None:
        """Store small content, replacing what was there; not synced to the disk unless `durably`."""
        target = self._target(path)
        with _translated(path), self._draft() as draft:
            with draft.open("xb") as file:
                file.write(data)
                if durably:
                    _sync(file)
            self._place(draft, target, replace=True, durably=durably)

    def open(self, path: str) -> BinaryIO:
        """Open a blob for reading."""
        target = self._target(path)
        with _translated(path):
            return target.open("rb")

    def read_bytes(self, path: str) -> bytes:
        """Read a whole blob."""
        with self.open(path) as file:
            return file.read()

    def exists(self, path: str) -> bool:
        """Say whether there is a blob at this path."""
        return self._target(path).is_file()

    def size(self, path: str) -> int:
        """Give a blob's length in bytes."""
        target = self._target(path)
        with _translated(path):
            if not target.is_file():
                raise BlobMissing(f"no blob {path}")
            return target.stat().st_size

    def delete(self, path: str) -> None:
        """Remove a blob, and the folders that it leaves empty."""
        target = self._target(path)
        with _translated(path):
            if target.is_file():
                target.unlink(missing_ok=True)
                self._prune(target.parent)

    def delete_prefix(self, prefix: str) -> int:
        """Remove all blobs below a folder and count them."""
        if not prefix:
            raise ValueError("a prefix is needed: this would empty the store")
        folder = self._blobs / checked_folder(prefix)
        deleted = 0
        with _translated(prefix):
            for file in sorted(self._files(folder)):
                file.unlink(missing_ok=True)
                deleted += 1
                self._prune(file.parent)
        return deleted

    def list(self, prefix: str = "") -> Iterator[BlobInfo]:
        """Walk the blobs below a folder, sorted by path."""
        folder = self._blobs / checked_folder(prefix)
        with _translated(prefix):
            for file in sorted(self._files(folder), key=lambda file: file.relative_to(self._blobs).as_posix()):
                # Deleted since the walk: then it is in no listing.
                with suppress(FileNotFoundError):
                    state = file.stat()
                    modified = datetime.fromtimestamp(state.st_mtime, UTC)
                    yield BlobInfo(file.relative_to(self._blobs).as_posix(), state.st_size, modified)

    @contextmanager
    def local_copy(self, path: str) -> Iterator[Path]:
        """Give the path of the blob's own file: nothing has to be copied."""
        if not self.exists(path):
            raise BlobMissing(f"no blob {path}")
        yield self._target(path)

    def incoming(self) -> Path:
        """Give the folder for uploads on their way in."""
        return self._incoming

    def sweep_incoming(self, older_than_seconds: float) -> int:
        """Remove what broken uploads left."""
        with _translated("incoming"):
            return sweep(self._incoming, older_than_seconds)

    def check(self) -> None:
        """Write and remove a little: a full or read-only disk shows here."""
        with _translated("the folder of the blobs"), self._draft() as draft:
            draft.write_bytes(PROBE)
            if not self._blobs.is_dir():
                raise FileNotFoundError(errno.ENOENT, "no folder of blobs")

    def check_space(self, size_bytes: int = 0, *, recent_seconds: float = 0.0) -> None:
        """Look at the disk's free space, and write and remove a little unless that went well so recently."""
        check_free(self._incoming, self._free_min_bytes + size_bytes)
        if monotonic() - self._written_at < recent_seconds:
            return
        try:
            self.check()
            self._written_at = monotonic()
        except BlobMissing as error:
            message = "the folder of the blobs is gone"
            raise ProviderUnavailable(message, code=FailureCode.STORAGE_UNAVAILABLE) from error

    def _target(self, path: str) -> Path:
        target = self._blobs / checked_path(path)
        # The names can't climb; a link that somebody laid into the folder could.
        if not target.resolve().is_relative_to(self._blobs):
            raise ValueError(f"not a blob path: {path[:80]!r}")
        return target

    @contextmanager
    def _draft(self) -> Iterator[Path]:
        draft = self._incoming / f"draft-{uuid4().hex}"
        try:
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    def _copy_in(self, source: Path, target: Path) -> None:
        with self._draft() as draft:
            with source.open("rb") as original, draft.open("xb") as copy:
                shutil.copyfileobj(original, copy, COPY_BYTES)
                _sync(copy)
            self._place(draft, target, replace=False)

    def _place(self, file: Path, target: Path, *, replace: bool, durably: bool = True) -> None:
        for attempt in range(PLACE_TRIES):
            try:
                self._make_folders(target.parent)
                if replace:
                    file.replace(target)
                else:
                    _link(file, target)
                break
            except FileNotFoundError:
                # A deletion pruned the folder between our two steps: make it again.
                if attempt == PLACE_TRIES - 1 or not file.exists():
                    raise
        if durably:
            self._make_durable(target)

    def _make_durable(self, target: Path) -> None:
        """Sync the folders above, all the way up: another process may have made one and not synced it yet.

        What is never removed again needs that once; each sync that is spared is some milliseconds of an upload.
        """
        for entry in (target, *target.parents):
            if entry == self._blobs or entry in self._durable:
                return
            _sync_folder(entry.parent)
            if entry != target and self._is_lasting(entry):
                self._durable.add(entry)

    def _make_folders(self, folder: Path) -> None:
        if folder == self._blobs.parent or folder.is_dir():
            return
        self._make_folders(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=PRIVATE)

    def _files(self, folder: Path) -> Iterator[Path]:
        for parent, _, names in os.walk(folder):
            for name in names:
                yield Path(parent, name)

    def _is_lasting(self, folder: Path) -> bool:
        """The two upper levels (an org, a kind of blob) stay, even when they are empty."""
        return len(folder.parts) - len(self._blobs.parts) <= LASTING_LEVELS

    def _prune(self, folder: Path) -> None:
        with suppress(OSError):
            while not self._is_lasting(folder):
                folder.rmdir()
                folder = folder.parent


def check_free(folder: Path, bytes_min: int) -> None:
    """Raise ProviderUnavailable unless the disk of this folder has so many bytes free."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        message = f"the disk of the blobs: {error.strerror}"
        raise ProviderUnavailable(message, code=FailureCode.STORAGE_UNAVAILABLE) from error
    if free < bytes_min:
        raise ProviderUnavailable("the disk of the blobs has too little free space", code=FailureCode.STORAGE_FULL)


def _link(file: Path, target: Path) -> None:
    """Put a file at a free path; FileExistsError, decided by the kernel, if it is taken."""
    try:
        target.hardlink_to(file)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if target.exists():
            raise FileExistsError(errno.EEXIST, "taken") from error
        file.rename(target)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Turn the system's errors into ours; the message never names a place on this machine."""
    try:
        yield
    except OSError as error:
        raise _blob_error(error, what) from error


def _blob_error(error: OSError, what: str) -> ProviderError:
    if isinstance(error, FileExistsError):
        return BlobExists(f"there is a blob {what} already")
    if error.errno in ABSENT:
        return BlobMissing(f"no blob {what}")
    code = FailureCode.STORAGE_FULL if error.errno in FULL else FailureCode.STORAGE_UNAVAILABLE
    return ProviderUnavailable(f"{what}: {error.strerror}", code=code)
