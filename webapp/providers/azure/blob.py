"""Blobs in Azure Blob Storage: streamed up and down with bounded memory.

Only what is on its way lies on this machine, in `incoming`: uploads before they are sent, and
copies that a parser reads. The client retries nothing; the queue does.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast
from uuid import uuid4

from azure.core.exceptions import AzureError, HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobClient, BlobServiceClient, ContainerClient

from webapp.clock import monotonic
from webapp.provider_errors import BlobExists, BlobMissing, FailureCode, ProviderError, ProviderUnavailable
from webapp.providers.azure.errors import general_error
from webapp.providers.azure.range_reader import RangeReader
from webapp.providers.blob_paths import checked_folder, checked_path
from webapp.providers.incoming import make_folder, sweep
from webapp.providers.local.blob import FULL, check_free
from webapp.providers.ports import BlobInfo

BLOCK_BYTES = 4 << 20
CONNECT_SECONDS = 10.0
CHECK_BLOB = "check"
# A short limit for health checks.
CHECK_SECONDS = 5.0
# For so long the answer to "is there space?" is used again.
SPACE_SECONDS = 3.0
# Storage answers 409 for a blob that is there, and for a container that is still being deleted.
TAKEN = "BlobAlreadyExists"
NO_CONTAINER = frozenset({"ContainerNotFound", "ContainerBeingDeleted"})


_AWAY = FailureCode.STORAGE_UNAVAILABLE


@dataclass
class _FreeSpace:
    """The last answer about free space, and when it was asked for."""

    lock: threading.Lock
    asked_at: float = float("-inf")
    failure: ProviderError | None = None


class AzureBlobStore:
    """A BlobStore in one container of a storage account."""

    name = "azure"

    def __init__(self, service: BlobServiceClient, container: str, incoming: Path, *, free_min_bytes: int = 0) -> None:
        self._free_min_bytes = free_min_bytes
        self._space = _FreeSpace(threading.Lock())
        self._container: ContainerClient = service.get_container_client(container)
        self._incoming = make_folder(incoming).resolve()
        self._lock = threading.Lock()
        self._is_there = False

    @classmethod
    def connect(
        cls,
        incoming: Path,
        container: str,
        *,
        connection_string: str,
        account_url: str | None,
        timeout_seconds: float,
        free_min_bytes: int = 0,
    ) -> "AzureBlobStore":
        """Make the client; it connects when it is first used."""
        options: dict[str, Any] = {
            "retry_total": 0,
            "connection_timeout": min(CONNECT_SECONDS, timeout_seconds),
            "read_timeout": timeout_seconds,
            "max_block_size": BLOCK_BYTES,
            "max_single_put_size": BLOCK_BYTES,
            "max_chunk_get_size": BLOCK_BYTES,
            "max_single_get_size": BLOCK_BYTES,
        }
        if connection_string:
            service = BlobServiceClient.from_connection_string(connection_string, **options)
        else:
            from webapp.providers.azure.identity import managed_identity  # noqa: PLC0415 - 34 MB that keys don't need

            service = BlobServiceClient(str(account_url), credential=managed_identity(), **options)
        return cls(service, container, incoming, free_min_bytes=free_min_bytes)

    def put_file(self, path: str, source: Path) -> None:
        """Send a file up, block by block; it becomes visible as a whole, and replaces nothing."""
        blob = self._blob(path)
        with self._translated(path), source.open("rb") as file:
            blob.upload_blob(file, length=source.stat().st_size, overwrite=False, max_concurrency=1)
        source.unlink(missing_ok=True)

    def put_bytes(self, path: str, data: bytes, *, durably: bool = True) -> None:
        """Store small content, replacing what was there; what is answered here is durable in any case."""
        blob = self._blob(path)
        with self._translated(path):
            blob.upload_blob(data, overwrite=True, max_concurrency=1)

    def open(self, path: str) -> BinaryIO:
        """Open a blob for reading: a few megabytes of it are here at a time."""
        blob = self._blob(path)
        with self._translated(path):
            found = blob.get_blob_properties()
        reader = RangeReader(blob, found.size, found.etag, lambda: self._translated(path))
        # Seekable and binary: all that a BinaryIO needs for reading.
        return cast(BinaryIO, BufferedReader(reader, BLOCK_BYTES))

    def read_bytes(self, path: str) -> bytes:
        """Read a whole blob."""
        with self.open(path) as file:
            return file.read()

    def exists(self, path: str) -> bool:
        """Say whether there is a blob at this path."""
        blob = self._blob(path)
        with self._translated(path):
            return bool(blob.exists())

    def size(self, path: str) -> int:
        """Give a blob's length in bytes."""
        blob = self._blob(path)
        with self._translated(path):
            return int(blob.get_blob_properties().size)

    def delete(self, path: str) -> None:
        """Remove a blob."""
        blob = self._blob(path)
        with suppress(BlobMissing), self._translated(path):
            blob.delete_blob(delete_snapshots="include")

    def delete_prefix(self, prefix: str) -> int:
        """Remove all blobs below a folder and count them."""
        if not prefix:
            raise ValueError("a prefix is needed: this would empty the store")
        deleted = 0
        for info in self.list(prefix):
            self.delete(info.path)
            deleted += 1
        return deleted

    def list(self, prefix: str = "") -> Iterator[BlobInfo]:
        """Walk the blobs below a folder, sorted; Azure lists some thousands at a time."""
        folder = checked_folder(prefix)
        with self._translated(folder or "the container"):
            self._make_container()
            for found in self._container.list_blobs(name_starts_with=f"{folder}/" if folder else None):
                yield BlobInfo(found.name, int(found.size), found.last_modified)

    @contextmanager
    def local_copy(self, path: str) -> Iterator[Path]:
        """Give the path of a copy of the blob, which is removed afterwards."""
        copy = self._incoming / f"copy-{uuid4().hex}"
        try:
            self._download(path, copy)
            yield copy
        finally:
            copy.unlink(missing_ok=True)

    def incoming(self) -> Path:
        """Give the folder for uploads on their way in."""
        return self._incoming

    def sweep_incoming(self, older_than_seconds: float) -> int:
        """Remove what broken uploads left on this machine; blocks that were never committed Azure removes itself."""
        return sweep(self._incoming, older_than_seconds)

    def check(self) -> None:
        """Send one block and commit nothing: that needs the right to write, and leaves no blob behind."""
        with self._translated("the container of the blobs"):
            self._make_container()
            blob = self._container.get_blob_client(CHECK_BLOB)
            blob.stage_block("check", b"check", connection_timeout=CHECK_SECONDS, read_timeout=CHECK_SECONDS)

    def check_space(self, size_bytes: int = 0, *, recent_seconds: float = 0.0) -> None:
        """Look at this machine's disk, which uploads and copies pass through, and write a little to the container."""
        check_free(self._incoming, self._free_min_bytes + size_bytes)
        # One thread asks, and those that come meanwhile wait for what it finds.
        with self._space.lock:
            if monotonic() - self._space.asked_at >= max(SPACE_SECONDS, recent_seconds):
                self._space.failure = None
                try:
                    self.check()
                except ProviderError as error:
                    self._space.failure = error
                self._space.asked_at = monotonic()
            failure = self._space.failure
        if failure is not None:
            code = FailureCode.STORAGE_FULL if failure.code is FailureCode.STORAGE_FULL else _AWAY
            raise ProviderUnavailable(failure.message, code=code)

    def _blob(self, path: str) -> BlobClient:
        blob = self._container.get_blob_client(checked_path(path))
        with self._translated("the container of the blobs"):
            self._make_container()
        return blob

    def _make_container(self) -> None:
        with self._lock:
            if self._is_there:
                return
            try:
                self._container.create_container()
            except ResourceExistsError:
                pass
            except HttpResponseError as error:
                # Who may make no container may still be allowed to use the one that is there.
                if error.status_code != 403:
                    raise
            self._is_there = True

    def _download(self, path: str, target: Path) -> None:
        blob = self._blob(path)
        with self._translated(path), target.open("xb") as file:
            for block in blob.download_blob(max_concurrency=1).chunks():
                file.write(block)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Turn Azure's errors into ours, without its words: they may hold signatures."""
        try:
            yield
        except AzureError as error:
            raise self._error(error, what) from None
        except OSError as error:
            code = FailureCode.STORAGE_FULL if error.errno in FULL else FailureCode.STORAGE_UNAVAILABLE
            raise ProviderUnavailable(f"{what}: {error.strerror}", code=code) from error

    def _error(self, error: AzureError, what: str) -> ProviderError:
        reason = str(getattr(getattr(error, "error_code", None), "value", getattr(error, "error_code", "")))
        if reason in NO_CONTAINER:
            self._is_there = False
            return ProviderUnavailable(f"{what}: {reason}", code=FailureCode.STORAGE_UNAVAILABLE)
        if reason == TAKEN:
            return BlobExists(f"there is a blob {what} already")
        if isinstance(error, ResourceNotFoundError) or _status(error) == 412:
            # 412: it was replaced while it was read; what was begun is gone.
            return BlobMissing(f"no blob {what}")
        return general_error(error, what, FailureCode.STORAGE_UNAVAILABLE)


def _status(error: AzureError) -> int | None:
    return error.status_code if isinstance(error, HttpResponseError) else None
