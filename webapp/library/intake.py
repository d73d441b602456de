"""Takes an upload in: first its blob is made durable, then document, run and job are committed.

The order is the promise. Once the rows are committed the blob is there; when anything fails
before that, neither rows nor files stay behind.
"""

import hashlib
import io
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, bindparam, select
from sqlalchemy.exc import IntegrityError

from webapp import db
from webapp.clock import new_id
from webapp.db.errors import DATABASE_ERRORS
from webapp.documents import blob_layout
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.states import RunState
from webapp.jobs.states import Priority
from webapp.library import bin as library_bin
from webapp.library import contents, further_names, moves, names, tags
from webapp.library.filenames import clean_filename
from webapp.library.usage import add_stored, stored_bytes
from webapp.provider_errors import ProviderError
from webapp.readers.filetypes import FileType
from webapp.readers.sniff import HEAD_BYTES, mismatch, sniff
from webapp.runs import lifecycle, transitions
from webapp.services import Services

_log = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 20
# Built once, and of the table rather than its class: each upload asks it, most of the time for nothing.
_documents = cast(Table, Document.__table__)
_SAME = select(_documents.c.id).where(
    _documents.c.org_id == bindparam("org_id"),
    _documents.c.sha256 == bindparam("sha256"),
    # The same bytes in a container are another document.
    _documents.c.parent_id.is_(None),
    in_library,
)


class RefusalCode(StrEnum):
    """Why an upload is refused; pages have a sentence for each."""

    EMPTY = "empty"
    TOO_LARGE = "too_large"
    ORG_FULL = "org_full"
    MISMATCH = "mismatch"


class Refused(Exception):
    """The file itself can't be taken in. `data` fills the sentence: content_type, label, bytes_max …"""

    def __init__(self, code: RefusalCode, **data: Any) -> None:
        super().__init__(code.value)
        self.code = code
        self.data: Mapping[str, Any] = data


# Who asked for the operation that moves what lies in a large container.
_UPLOAD = "an upload"


@dataclass(frozen=True)
class Terms:
    """How a file is taken in: the priority and the first checkpoint of its run, its folder and its tag.

    `beside` writes its own rows in the transaction that adds a new document; it is not called for one that is known.
    """

    priority: int = Priority.PERSON
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None
    tag: str | None = None
    beside: Callable[[UUID], None] | None = None


@dataclass(frozen=True)
class IngestedRun:
    """The run that processes an upload, as it was when the upload was answered."""

    id: UUID
    state: str


@dataclass(frozen=True)
class Ingested:
    """The result of an upload. For a file that exists already, its document; nothing was stored."""

    document: Document
    run: IngestedRun
    duplicate_of: UUID | None = None
    is_restored: bool = False
    """Whether its document lay in the bin until now."""


class IncomingFile(io.RawIOBase):
    """An upload on its way to the disk: measured and hashed while it passes, never held in memory.

    A form parser can use it as the file to write to.
    """

    def __init__(self, folder: Path, bytes_max: int) -> None:
        super().__init__()
        self.path = folder / f"upload-{new_id().hex}"
        self.size_bytes = 0
        self.head = b""
        self._bytes_max = bytes_max
        self._hash = hashlib.sha256()
        self._file = self.path.open("xb+", buffering=0)

    @property
    def sha256(self) -> str:
        """The hash of what was written, in hex."""
        return self._hash.hexdigest()

    def write(self, data: Any) -> int:
        """Append; Refused past the limit, and then nothing is left on the disk."""
        block = memoryview(data)
        if self.size_bytes + block.nbytes > self._bytes_max:
            self.discard()
            raise Refused(RefusalCode.TOO_LARGE, bytes_max=self._bytes_max)
        written = 0
        while written < block.nbytes:
            written += self._file.write(block[written:])
        self._hash.update(block)
        self.head += bytes(block[: HEAD_BYTES - len(self.head)])
        self.size_bytes += written
        return written

    def readinto(self, buffer: Any) -> int:
        """Read back what was written."""
        return self._file.readinto(buffer)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the reading position; writing always appended before that."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """Close the file; it stays on the disk until it becomes a document or is discarded."""
        if not self.closed:
            self._file.close()
        super().close()

    def discard(self) -> None:
        """Close and remove it; doing so twice is no error."""
        self.close()
        self.path.unlink(missing_ok=True)


def receive(folder: Path, source: io.BufferedIOBase | io.RawIOBase, bytes_max: int) -> IncomingFile:
    """Copy a stream to the disk block by block: for callers that have no form parser."""
    incoming = IncomingFile(folder, bytes_max)
    with _discarded_on_failure(incoming):
        while block := source.read(_BLOCK_BYTES):
            incoming.write(block)
    return incoming


def ingest(
    services: Services,
    org_id: UUID,
    incoming: IncomingFile,
    filename: str | None,
    priority: int = Priority.PERSON,
    checkpoint: Mapping[str, Any] | None = None,
    *,
    folder: str | None = None,
    tag: str | None = None,
) -> Ingested:
    """Take an upload in, as `take_in` does.

    `checkpoint` is what the run's first job is told; `folder` is shown with the document (webapp/library/folders.py),
    and a new document has the `tag`.
    """
    return take_in(services, org_id, incoming, filename, Terms(priority, checkpoint or {}, folder, tag))


def take_in(services: Services, org_id: UUID, incoming: IncomingFile, filename: str | None, terms: Terms) -> Ingested:
    """Take a file in: returns a new document with a queued run, or the one that has these bytes already.

    Whatever the outcome, the incoming file is gone afterwards. Refused says what is wrong with it.
    """
    with _discarded(incoming):
        name = clean_filename(filename)
        kind = _check(incoming, name)
        existing = _find(org_id, incoming.sha256) or _find_in_bin(services, org_id, incoming.sha256)
        document = _new_document(org_id, incoming, name, kind)
        document.folder = terms.folder
        if existing is not None:
            _keep_name(org_id, existing.document, name, terms.folder)
            return existing
        return _store(services, document, incoming, terms)


def _keep_name(org_id: UUID, known: Document, name: str, folder: str | None) -> None:
    """What the same file is called this time; nothing where it was deleted meanwhile."""
    if (name, folder or known.folder) == (known.filename, known.folder):
        return
    with suppress(transitions.DocumentMissing), db.transaction(org_id):
        further_names.add(org_id, known.id, name, folder)


def _check(incoming: IncomingFile, name: str) -> FileType:
    """What the file is. A kind that nothing here reads is accepted all the same, and kept."""
    if incoming.size_bytes == 0:
        raise Refused(RefusalCode.EMPTY, filename=name)
    kind = sniff(incoming.head, name)
    # A PDF is one whatever its name says. Text under the name of one, or of a picture, is not what its owner believes
    # to have: most often it is the page that said why a download failed.
    if mismatch(name, kind.content_type):
        raise Refused(RefusalCode.MISMATCH, filename=name, content_type=kind.content_type, label=kind.label)
    return kind


def _new_document(org_id: UUID, incoming: IncomingFile, name: str, kind: FileType) -> Document:
    document_id = new_id()
    return Document(
        id=document_id,
        org_id=org_id,
        filename=name,
        content_type=kind.content_type,
        size_bytes=incoming.size_bytes,
        sha256=incoming.sha256,
        blob_path=blob_layout.original(org_id, document_id),
        answers_folder=blob_layout.new_answers_folder(org_id, document_id, incoming.sha256),
    )


def _store(services: Services, document: Document, incoming: IncomingFile, terms: Terms) -> Ingested:
    org_id, document_id, sha256, path = document.org_id, document.id, document.sha256, document.blob_path
    incoming.close()
    try:
        services.providers.blobs.put_file(path, incoming.path)
        return _commit(services, document, terms)
    except BaseException as error:
        # An error while committing does not say what the database decided: ask it. Where it can't
        # answer, the blob stays, since a blob without rows is removed by the daily sweep.
        try:
            existing = _find(org_id, sha256)
        except DATABASE_ERRORS:
            raise error from None
        if existing is not None and existing.document.id == document_id:
            return Ingested(existing.document, existing.run)
        _remove(services, path)
        # Another upload of the same bytes was faster by a moment: its document is the answer.
        if existing is not None and isinstance(error, IntegrityError):
            return existing
        raise


def _commit(services: Services, document: Document, terms: Terms) -> Ingested:
    with db.transaction(document.org_id) as session:
        _share_answers(document)
        session.add(document)
        session.flush()
        _count_stored(services, document)
        names.add(document.org_id, document.id, document.filename)
        if terms.tag is not None:
            tags.add(document.org_id, document.id, terms.tag)
        if terms.beside is not None:
            terms.beside(document.id)
        run_id = lifecycle.queue_first_run(
            services.queue,
            document.org_id,
            document.id,
            document.content_type,
            max_attempts=services.settings.queue.job_max_attempts,
            priority=terms.priority,
            checkpoint=terms.checkpoint,
        )
        return Ingested(document, IngestedRun(run_id, RunState.QUEUED))


def _share_answers(document: Document) -> None:
    """Where a part of a container has the same bytes, what was read and paid for it holds for the upload, too."""
    home = contents.homes(document.org_id, [document.sha256]).get(document.sha256)
    if home is not None and home.owner_id is not None and contents.hold(document.org_id, [home.owner_id]):
        document.answers_folder = home.answers_folder


def _count_stored(services: Services, document: Document) -> None:
    """Add it to what its org stores; Refused where that is too much, whatever was said when its upload began."""
    add_stored(document.org_id, document.size_bytes)
    bytes_max = services.settings.limits.org_bytes_max
    if bytes_max and stored_bytes(document.org_id) > bytes_max:
        raise Refused(RefusalCode.ORG_FULL, bytes_max=bytes_max)


def _find(org_id: UUID, sha256: str) -> Ingested | None:
    with db.reading(org_id) as session:
        document_id = session.scalar(_SAME, {"org_id": org_id, "sha256": sha256})
        document = session.get(Document, document_id) if document_id else None
        run_id = transitions.newest_of(document.id) if document else None
        state = transitions.state_of(run_id) if run_id else None
        if document is None or run_id is None or state is None:
            return None
        return Ingested(document, IngestedRun(run_id, state), duplicate_of=document.id)


def _find_in_bin(services: Services, org_id: UUID, sha256: str) -> Ingested | None:
    """The document with these bytes that lay in the bin, restored."""
    with db.reading(org_id):
        document_id = library_bin.find_contents(org_id, sha256)
    if document_id is None or not _restore(services, org_id, document_id):
        # Somebody else was quicker: it is in the library again, or gone.
        return _find(org_id, sha256)
    found = _find(org_id, sha256)
    return replace(found, is_restored=True) if found is not None else None


def _restore(services: Services, org_id: UUID, document_id: UUID) -> bool:
    max_attempts = services.settings.queue.job_max_attempts
    return moves.restore(services.queue, org_id, document_id, max_attempts, _UPLOAD).is_done


def _remove(services: Services, path: str) -> None:
    try:
        services.providers.blobs.delete(path)
    except ProviderError as error:
        _log.warning("a blob of a failed upload stays behind until it is swept: %s", error.code)


@contextmanager
def _discarded(incoming: IncomingFile) -> Iterator[None]:
    try:
        yield
    finally:
        incoming.discard()


@contextmanager
def _discarded_on_failure(incoming: IncomingFile) -> Iterator[None]:
    try:
        yield
    except BaseException:
        incoming.discard()
        raise
