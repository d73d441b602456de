"""Adds one document of an export: its blobs first, then all its rows in one transaction."""

import json
import re
import shutil
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, insert, select
from sqlalchemy.dialects import postgresql

from webapp.batches import batches
from webapp.clock import new_id
from webapp.db import session
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import DocumentStatus, RunTrigger
from webapp.documents.tag_model import DocumentTag, Tag
from webapp.jobs.states import Priority
from webapp.library import names
from webapp.library.exports import rows
from webapp.library.exports.opened_export import OpenedExport
from webapp.library.exports.rows import DamagedExport, Line
from webapp.library.usage import add_stored
from webapp.provider_errors import BlobExists
from webapp.runs import lifecycle
from webapp.search import hidden, vector_cache, word_rows
from webapp.search.model import Chunk
from webapp.services import Services

_documents, _tags = cast(Table, Document.__table__), cast(Table, Tag.__table__)
_ROWS_AT_ONCE = 500
_BLOCK_BYTES = 1 << 20
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_OWN_BLOB = re.compile(rf"documents/({_ID})/(?:original|opened-{_ID}|{_ID}/{_NAME})")
_ANSWERS = re.compile(r"extractions/([0-9a-f]{64})(?:-[0-9a-f]{32})?/")
_ANSWER = re.compile(rf"{_ANSWERS.pattern}{_NAME}(?:/{_NAME}){{0,5}}")


class SameFile(Exception):
    """Another document of the org has the same file, and only one may have it."""


@dataclass
class ImportTarget:
    """Where an export is added to."""

    services: Services
    org_id: UUID
    export: OpenedExport
    tag_ids: dict[UUID, UUID] = field(default_factory=dict)
    """The ids that tags have here, by those that they have in the export."""


@dataclass(frozen=True)
class ExportedDocument:
    """What the first two lines about a document say."""

    id: UUID
    member: str
    blobs: Mapping[str, str]
    row: Mapping[str, Any]

    @property
    def parent_id(self) -> UUID | None:
        """The container that it lies in."""
        return cast("UUID | None", self.row["parent_id"])


def read_head(target: ImportTarget, document_id: UUID, member: str) -> ExportedDocument:
    """Read what a document is; DamagedExport."""
    with closing(target.export.lines(member)) as lines:
        first, second = next(lines, b""), next(lines, b"")
    try:
        head = json.loads(first)
        blobs = head["blobs"]
        is_its_own = head["document"] == str(document_id) and isinstance(blobs, dict)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedExport(f"{member} does not say what it is") from error
    table, row = rows.read_line(second)
    if not is_its_own or table != Document.__tablename__:
        raise DamagedExport(f"{member} is about another document")
    read = rows.BY_NAME[table].row(row, target.org_id)
    found = ExportedDocument(document_id, member, blobs, read)
    _check(found, target.org_id)
    return found


def _check(found: ExportedDocument, org_id: UUID) -> None:
    """Its blobs lie where blobs of such a document lie, and nowhere else."""
    row = found.row
    own = f"{org_id}/"
    for path in found.blobs:
        match = _OWN_BLOB.fullmatch(path)
        if not (match and match[1] == str(found.id)) and not _ANSWER.fullmatch(path):
            raise DamagedExport(f"{found.member} has a blob in an impossible place")
    folder = row["answers_folder"]
    if folder is not None and not _ANSWERS.fullmatch(folder.removeprefix(own)):
        raise DamagedExport(f"{found.member} has an impossible folder of answers")
    for path in (row["blob_path"], row["opened_path"]):
        inside = path.removeprefix(own) if path else None
        match = _OWN_BLOB.fullmatch(inside) if inside else None
        if inside and not (match and match[1] == str(found.id)) and not _ANSWER.fullmatch(inside):
            raise DamagedExport(f"{found.member} has a file in an impossible place")
    if row["id"] != found.id:
        raise DamagedExport(f"{found.member} is about another document")


def put_blobs(target: ImportTarget, found: ExportedDocument) -> None:
    """Store its blobs; those that are there already, of an import that was interrupted or of other parts, stay."""
    blobs = target.services.providers.blobs
    for inside, member in found.blobs.items():
        path = f"{target.org_id}/{inside}"
        if not isinstance(member, str):
            raise DamagedExport(f"{found.member} has a blob without a name")
        if blobs.exists(path) and blobs.size(path) == target.export.size_of(member):
            continue
        incoming = blobs.incoming() / f"import-{new_id().hex}"
        try:
            with target.export.open(member) as source, incoming.open("xb") as copy:
                shutil.copyfileobj(source, copy, _BLOCK_BYTES)
            try:
                blobs.put_file(path, incoming)
            except BlobExists:
                blobs.delete(path)
                blobs.put_file(path, incoming)
        finally:
            incoming.unlink(missing_ok=True)


def add_rows(target: ImportTarget, found: ExportedDocument, *, has_parent: bool) -> bool:
    """Add all its rows, in the caller's transaction; whether work on it was queued. SameFile, DamagedExport."""
    org_id = target.org_id
    row = dict(found.row)
    if not has_parent:
        # The container is not in the export, so it is a document like any other here.
        row |= {"parent_id": None, "part_number": None, "path_in_parent": None}
    if row["deleted_with"] is not None and not has_parent:
        row["deleted_with"] = found.id
    if row["parent_id"] is None and row["deleted_at"] is None and _has_file(org_id, row["sha256"]):
        raise SameFile
    session().execute(insert(_documents), row)
    add_stored(org_id, row["size_bytes"])
    has_runs = False
    with closing(_following(target, found)) as following:
        for name, lines in groupby(following, key=lambda line: line[0]):
            has_runs = has_runs or name == ProcessingRun.__tablename__
            for part in batches((line[1] for line in lines), _ROWS_AT_ONCE):
                _add(target, found, name, part)
    _index(org_id, found.id, is_in_bin=row["deleted_at"] is not None)
    if row["status"] != DocumentStatus.PROCESSING:
        return False
    _queue(target, found, has_runs=has_runs)
    return True


def _has_file(org_id: UUID, sha256: str) -> bool:
    d = _documents.c
    same = d.org_id == org_id, d.sha256 == sha256, d.parent_id.is_(None), d.deleted_at.is_(None)
    return session().scalar(select(d.id).where(*same).limit(1)) is not None


def _following(target: ImportTarget, found: ExportedDocument) -> Generator[Line]:
    """The rows behind that of the document itself."""
    with closing(target.export.lines(found.member)) as lines:
        for data in islice(lines, 2, None):
            yield rows.read_line(data)


def _add(target: ImportTarget, found: ExportedDocument, name: str, part: list[dict[str, Any]]) -> None:
    table = rows.BY_NAME[name]
    read = [table.row(row, target.org_id) for row in part]
    if name == Tag.__tablename__:
        target.tag_ids |= add_tags(target.org_id, read)
        return
    if any(row.get("document_id") != found.id for row in read):
        raise DamagedExport(f"{found.member} has rows about something else")
    if name == DocumentTag.__tablename__:
        for row in read:
            if row["tag_id"] not in target.tag_ids:
                raise DamagedExport(f"{found.member} has a tag without a name")
            row["tag_id"] = target.tag_ids[row["tag_id"]]
    own = f"{target.org_id}/"
    for row in read:
        if (
            "path" in row
            and row["path"].removeprefix(own) not in found.blobs
            and not _OWN_BLOB.fullmatch(row["path"].removeprefix(own))
        ):
            raise DamagedExport(f"{found.member} has an artifact in an impossible place")
    session().execute(insert(table.table), read)
    if name == Chunk.__tablename__:
        _keep_vectors(target.org_id, read)


def add_tags(org_id: UUID, read: list[dict[str, Any]]) -> dict[UUID, UUID]:
    """Add tags; the ids that they have here. One that is there already, in other letters, stays."""
    session().execute(postgresql.insert(_tags).on_conflict_do_nothing(), read)
    words = [row["word"] for row in read]
    asked = select(_tags.c.word, _tags.c.id).where(_tags.c.org_id == org_id, _tags.c.word.in_(words))
    known = {row.word: row.id for row in session().execute(asked)}
    return {row["id"]: known[row["word"]] for row in read if row["word"] in known}


def _keep_vectors(org_id: UUID, read: list[dict[str, Any]]) -> None:
    """Vectors are paid for where a service makes them: a later run finds those of the same texts."""
    by_model: dict[str, dict[str, Any]] = {}
    for row in read:
        if row["embedding"] is not None and row["embedding_model"] is not None:
            by_model.setdefault(row["embedding_model"], {})[row["text_sha256"]] = row["embedding"]
    for model, vectors in by_model.items():
        vector_cache.save(org_id, model, vectors)


def _index(org_id: UUID, document_id: UUID, *, is_in_bin: bool) -> None:
    """Let it be found by its names and by the words of its passages, unless it lies in the bin."""
    word_rows.write_all(session().connection(), org_id, document_id)
    if is_in_bin:
        hidden.hide(org_id, [document_id])
    else:
        names.remember(org_id, [document_id])


def _queue(target: ImportTarget, found: ExportedDocument, *, has_runs: bool) -> None:
    """Begin the work anew that was going on when the export was made."""
    queue, attempts = target.services.queue, target.services.settings.queue.job_max_attempts
    if has_runs:
        lifecycle.queue_run(
            queue, target.org_id, found.id, RunTrigger.REPROCESS, max_attempts=attempts, priority=Priority.BULK
        )
        return
    lifecycle.queue_first_run(
        queue,
        target.org_id,
        found.id,
        found.row["content_type"],
        max_attempts=attempts,
        priority=Priority.BULK,
    )
