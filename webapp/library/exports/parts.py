"""Writes an export part by part: some documents, then some more, at last what all of them have in common."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from tempfile import TemporaryFile
from typing import BinaryIO, cast
from uuid import UUID

from sqlalchemy import Table, select

from webapp.db import reading, session
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.library import selection
from webapp.library.exports import rows
from webapp.library.exports.document_members import LIBRARY, Export, write_document, write_lines
from webapp.library.exports.manifest import MANIFEST, SUMS, Manifest
from webapp.library.exports.zip_writer import ZipMember, write_directory
from webapp.library.selection import Matching

_documents = cast(Table, Document.__table__)
_IDS_AT_ONCE = 100


@dataclass(frozen=True)
class ExportWish:
    """Which documents are exported: these, or those that match; without a condition all that the org has."""

    ids: Sequence[UUID] | None
    matching: Matching
    until: datetime
    """None that came later."""

    @property
    def is_whole(self) -> bool:
        """Whether this is all that an org has, with its bin and what it has beside its documents."""
        return self.ids is None and self.matching == Matching()

    def following(self, org_id: UUID, after: UUID | None) -> list[UUID]:
        """Some of the documents behind this one, in the order of their ids."""
        with reading(org_id):
            if self.is_whole:
                found = select(_documents.c.id).where(_documents.c.org_id == org_id)
                found = found if after is None else found.where(_documents.c.id > after)
                return list(session().scalars(found.order_by(_documents.c.id).limit(_IDS_AT_ONCE)))
            if self.ids is None:
                return selection.ids(org_id, self.matching, after=after, limit=_IDS_AT_ONCE)
            return [each for each in self.ids if after is None or each > after][:_IDS_AT_ONCE]

    def there(self, org_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
        """Those of them that are there and were there when the export was asked for."""
        d = _documents.c
        found = select(d.id).where(d.org_id == org_id, d.id.in_(ids), d.created_at <= self.until)
        if not self.is_whole:
            found = found.where(in_library)
        with reading(org_id):
            return list(session().scalars(found.order_by(d.id)))


@dataclass(frozen=True)
class WrittenPart:
    """What was written in one go."""

    last: UUID | None
    """Where to go on; None at the end of the documents."""
    ids: Sequence[UUID]
    missing: Sequence[UUID]
    """The documents whose file is gone."""


def write_some(
    export: Export, wanted: ExportWish, after: UUID | None, number: int, is_full: Callable[[], bool]
) -> WrittenPart:
    """Write documents until there is enough, with their connections; `number` tells the parts apart."""
    ids: list[UUID] = []
    missing: list[UUID] = []
    last, is_last = after, False
    while not is_last and not (ids and is_full()):
        following = wanted.following(export.org_id, last)
        is_last = not following
        there = set(wanted.there(export.org_id, following))
        for each in following:
            last = each
            has_file = write_document(export, each) if each in there else None
            if has_file is not None:
                ids.append(each)
                missing += [] if has_file else [each]
                if is_full():
                    break
    name = f"{LIBRARY}connections-{number:05}.jsonl"
    write_lines(export, name, lambda: _connections(export.org_id, ids), wanted.until)
    return WrittenPart(None if is_last else last, ids, missing)


def _connections(org_id: UUID, ids: Iterable[UUID]) -> Iterator[rows.Line]:
    return chain.from_iterable(rows.connections_of(org_id, each) for each in ids)


@dataclass(frozen=True)
class WholeExport:
    """What is said of an export when its documents are written."""

    id: UUID
    org: str
    wanted: ExportWish
    documents: int
    missing: int


def write_end(export: Export, whole: WholeExport, members: Callable[[], Iterator[ZipMember]], offset: int) -> None:
    """Write what follows the documents: what the org has beside them, the manifest, the checksums and the directory.

    `members` lists all that was written, also here; the file begins at `offset` in the ZIP.
    """
    at = whole.wanted.until
    if whole.wanted.is_whole:
        write_lines(export, f"{LIBRARY}org.jsonl", lambda: rows.of_org(export.org_id), at)
    count = size_bytes = 0
    for member in members():
        count, size_bytes = count + 1, size_bytes + member.size_bytes
    manifest = Manifest(
        id=str(whole.id),
        org=whole.org,
        created_at=at.isoformat(),
        is_whole=whole.wanted.is_whole,
        documents=whole.documents,
        members=count,
        size_bytes=size_bytes,
        missing=whole.missing,
    )
    export.writer.add_bytes(MANIFEST, manifest.written(), at)
    with TemporaryFile() as sums:
        for member in members():
            sums.write(f"{member.sha256}  {member.name}\n".encode())
        size = sums.tell()
        sums.seek(0)
        export.writer.add_file(SUMS, cast(BinaryIO, sums), size, at, is_packed=True)
    end = offset + export.writer.size_bytes
    write_directory(export.writer.file, members(), end)


def lines_of_members(file: BinaryIO) -> Iterator[ZipMember]:
    """The members that a `ZipWriter` has listed in a file so far. Behind all of them, writing goes on."""
    file.seek(0)
    for line in file:
        if line.startswith(b"{"):
            yield ZipMember.of_line(line)


def shared_line(path: str, member: str) -> bytes:
    """A line in such a file about a blob that several documents have, and the member that it is."""
    return json.dumps([path, member], ensure_ascii=False).encode() + b"\n"


def read_shared(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """What `shared_line` has written into a file."""
    file.seek(0)
    for line in file:
        if line.startswith(b"["):
            path, member = json.loads(line)
            yield path, member
