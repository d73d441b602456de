"""The parts of containers: files that lie in an archive or hang on a mail, each a document of its own.

They are added in batches by the worker that unpacks the container: first their files are stored (`store`), then their
rows are inserted with their runs, in the worker's transaction (`add`).
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, func, insert, select

from webapp.clock import new_id
from webapp.config import Settings
from webapp.db import reading, session
from webapp.documents import blob_layout
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.states import DocumentStatus
from webapp.jobs.queue import JobQueue
from webapp.jobs.states import Priority
from webapp.library import contents, names
from webapp.library.contents import Home
from webapp.library.filenames import clean_filename
from webapp.library.intake import IncomingFile
from webapp.library.usage import add_stored, stored_bytes
from webapp.provider_errors import BadInput, BlobExists, FailureCode
from webapp.providers.ports import BlobStore
from webapp.readers.sniff import sniff
from webapp.runs import lifecycle

PATH_CHARACTERS_MAX = 1_000
_documents = cast(Table, Document.__table__)


@dataclass(frozen=True)
class TreeLimits:
    """How much may lie in one uploaded container, with all that lies in the containers within it."""

    files: int = 10_000
    bytes: int = 2 << 30
    depth: int = 3
    org_bytes: int = 0
    """How much its org may store; 0 for any amount."""

    @classmethod
    def of(cls, settings: Settings) -> "TreeLimits":
        """As the settings say."""
        found = settings.containers
        return cls(found.unpack_files_max, found.unpack_bytes_max, found.unpack_depth, settings.limits.org_bytes_max)


class HomeGone(Exception):
    """A document whose file a new part was to share was deleted meanwhile: the files have to be stored again."""


@dataclass(frozen=True)
class ContainerDocument:
    """The document that parts are added to, how its parts are processed, and how much may lie in it."""

    org_id: UUID
    id: UUID
    max_attempts: int
    limits: TreeLimits


@dataclass(frozen=True)
class NewPart:
    """A file of a container: its place there, the name that it has there, and its bytes."""

    number: int
    path: str
    file: IncomingFile


@dataclass(frozen=True)
class StoredPart:
    """A part whose file is stored, and which has no row yet."""

    id: UUID
    number: int
    path: str
    content_type: str
    size_bytes: int
    sha256: str
    home: Home


def store(blobs: BlobStore, container: ContainerDocument, parts: Sequence[NewPart]) -> list[StoredPart]:
    """Store the files of parts, each content once; what is left behind where no rows follow is swept some day."""
    with reading(container.org_id):
        homes = contents.homes(container.org_id, {part.file.sha256 for part in parts})
    stored = []
    for part in parts:
        part_id, sha256 = new_id(), part.file.sha256
        home = homes.get(sha256) or Home(blob_layout.new_answers_folder(container.org_id, part_id, sha256))
        if not home.has_file:
            part.file.close()
            # Where it exists, an earlier attempt stored the same bytes.
            with suppress(BlobExists):
                blobs.put_file(home.blob_path, part.file.path)
            home = Home(home.answers_folder, home.owner_id, has_file=True)
        homes[sha256] = home
        kind = sniff(part.file.head, part.path)
        stored.append(
            StoredPart(part_id, part.number, part.path, kind.content_type, part.file.size_bytes, sha256, home)
        )
    return stored


def add(queue: JobQueue, container: ContainerDocument, parts: Sequence[StoredPart]) -> None:
    """Insert the rows of parts with their runs, in the caller's transaction; HomeGone, and BadInput for a full org."""
    owners = {part.home.owner_id for part in parts if part.home.owner_id is not None}
    if not contents.hold(container.org_id, owners | {container.id}):
        raise HomeGone
    session().execute(insert(_documents), [_row(container, part) for part in parts])
    _count_stored(container, parts)
    for part in parts:
        names.add(container.org_id, part.id, clean_filename(part.path))
        lifecycle.queue_first_run(
            queue,
            container.org_id,
            part.id,
            part.content_type,
            max_attempts=container.max_attempts,
            # A person's next upload does not wait for thousands of parts.
            priority=Priority.BULK,
        )


def numbers(org_id: UUID, parent_id: UUID, among: Collection[int]) -> set[int]:
    """The places, of these, whose parts have rows already."""
    d = _documents.c
    rows = select(d.part_number).where(d.org_id == org_id, d.parent_id == parent_id, d.part_number.in_(among))
    return set(session().scalars(rows))


@dataclass(frozen=True)
class Tree:
    """What lies in an uploaded container by now, on all levels; `depth` is that of one document in it."""

    depth: int
    files: int
    bytes: int


def tree(org_id: UUID, document_id: UUID) -> Tree:
    """What lies in the uploaded container that a document lies in, or is."""
    d, depth, root = _documents.c, 0, document_id
    while (above := session().scalar(select(d.parent_id).where(d.org_id == org_id, d.id == root))) is not None:
        depth, root = depth + 1, above
    inner = _documents.alias("inner")
    outer = select(d.id, d.size_bytes).where(d.org_id == org_id, d.parent_id == root).cte("below", recursive=True)
    below = outer.union_all(select(inner.c.id, inner.c.size_bytes).where(inner.c.parent_id == outer.c.id))
    files, size = session().execute(select(func.count(below.c.id), func.sum(below.c.size_bytes))).one()
    return Tree(depth, files, int(size or 0))


def page(org_id: UUID, parent_id: UUID, *, start: int = 0, limit: int = 50) -> list[UUID]:
    """The parts of a container, in its order, from a place there on."""
    d = _documents.c
    rows = select(d.id).where(d.org_id == org_id, d.parent_id == parent_id, d.part_number >= start, in_library)
    return list(session().scalars(rows.order_by(d.part_number).limit(limit)))


def container_names(org_id: UUID, ids: Collection[UUID]) -> dict[UUID, str]:
    """The names of the files of these containers."""
    if not ids:
        return {}
    d = _documents.c
    rows = select(d.id, d.filename).where(d.org_id == org_id, d.id.in_(ids))
    return {row.id: row.filename for row in session().execute(rows)}


def _row(container: ContainerDocument, part: StoredPart) -> dict[str, Any]:
    return {
        "id": part.id,
        "org_id": container.org_id,
        "parent_id": container.id,
        "part_number": part.number,
        "path_in_parent": part.path,
        "filename": clean_filename(part.path),
        "content_type": part.content_type,
        "size_bytes": part.size_bytes,
        "sha256": part.sha256,
        "blob_path": part.home.blob_path,
        "answers_folder": part.home.answers_folder,
        "status": DocumentStatus.PROCESSING,
    }


def _count_stored(container: ContainerDocument, parts: Sequence[StoredPart]) -> None:
    """Add them to what their org stores; BadInput where that is too much."""
    add_stored(container.org_id, sum(part.size_bytes for part in parts))
    most = container.limits.org_bytes
    if most and stored_bytes(container.org_id) > most:
        raise BadInput(f"the org may store {most} bytes", code=FailureCode.ORG_FULL)
