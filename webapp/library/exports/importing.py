"""Brings an export into an empty org: the same documents with the same ids, and nothing is read or paid for again.

Each document is one transaction, so an import that was interrupted goes on where it was when it is run again.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, insert, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DataError, IntegrityError

from webapp.accounts import audit
from webapp.accounts.audit import COMMAND_LINE, Action
from webapp.batches import batches
from webapp.clock import new_id, now
from webapp.db import reading, session, transaction
from webapp.documents.model import Document
from webapp.documents.operation_model import BulkOperation
from webapp.documents.rule_model import RuleApplication
from webapp.documents.states import OperationState, WebhookEvent
from webapp.documents.tag_model import Tag
from webapp.jobs.queue import JobQueue
from webapp.library.exports import added_document, rows
from webapp.library.exports.added_document import ExportedDocument, ImportTarget, SameFile
from webapp.library.exports.document_members import LIBRARY
from webapp.library.exports.opened_export import OpenedExport
from webapp.library.exports.rows import DamagedExport, Line
from webapp.runs import outbox
from webapp.search.answer_model import AnswerSource
from webapp.search.model import Chunk
from webapp.services import Services

_documents, _operations = cast(Table, Document.__table__), cast(Table, BulkOperation.__table__)
_chunks = cast(Table, Chunk.__table__)
IMPORT = "import"
_ROWS_AT_ONCE = 500
_ABOUT_DOCUMENTS = (AnswerSource.__tablename__, RuleApplication.__tablename__)
_OF_ORG = f"{LIBRARY}org.jsonl"


class NotEmpty(Exception):
    """The org has documents, or another import was begun in it."""


class TakenElsewhere(Exception):
    """A document of the export is in another org of this installation."""


@dataclass
class Imported:
    """What became of the documents of an export."""

    added: int = 0
    there: int = 0
    """Added by an earlier try."""
    left_out: int = 0
    """Parts without their container, whose file another document has."""
    queued: int = 0
    """Those whose processing begins anew."""


def import_export(
    services: Services, org_id: UUID, export: OpenedExport, note: Callable[[Imported], None] = lambda done: None
) -> Imported:
    """Add all that an export has to an org; `note` is called after each document.

    NotEmpty, TakenElsewhere, DamagedExport: what was added until then stays, and can be gone on with.
    """
    operation_id = _begin(org_id, export)
    target, done = ImportTarget(services, org_id, export), Imported()
    later: list[tuple[UUID, str]] = []
    known = {document_id for document_id, _ in export.documents()}
    for document_id, member in export.documents():
        if not _add(target, operation_id, document_id, member, done, known):
            later.append((document_id, member))
        note(done)
    while later:
        left = [each for each in later if not _add(target, operation_id, *each, done, known)]
        if len(left) == len(later):
            raise DamagedExport("containers lie in each other")
        later = left
        note(done)
    for name in export.connections():
        _add_connections(target, name)
    if export.has(_OF_ORG):
        _add_of_org(target)
    _end(services.queue, org_id, operation_id, done)
    return done


def _begin(org_id: UUID, export: OpenedExport) -> UUID:
    """The operation of this import: a new one, or the one of an earlier try."""
    o = _operations.c
    own = o.org_id == org_id, o.action == IMPORT, o.finished_at.is_(None)
    with transaction(org_id):
        for row in session().execute(select(o.id, o.wanted).where(*own)):
            if row.wanted.get("export") == export.manifest.id:
                return cast(UUID, row.id)
        if session().scalar(select(_documents.c.id).where(_documents.c.org_id == org_id).limit(1)) is not None:
            raise NotEmpty
        operation_id = new_id()
        new: dict[str, Any] = {"id": operation_id, "org_id": org_id, "action": IMPORT}
        wanted = {"export": export.manifest.id, "from": export.manifest.org}
        numbers = {"state": OperationState.RUNNING, "matched": export.manifest.documents, "done": 0, "failed": 0}
        more = {"wanted": wanted, "requested_by": COMMAND_LINE.name, "job_id": new_id()}
        session().execute(insert(_operations), new | numbers | more)
        target, documents = f"bulk:{operation_id}", export.manifest.documents
        audit.record(org_id, COMMAND_LINE, Action.LIBRARY_IMPORTED, target, documents=documents)
        return operation_id


def _add(
    target: ImportTarget, operation_id: UUID, document_id: UUID, member: str, done: Imported, known: set[UUID]
) -> bool:
    """Add a document; False where the container that it lies in has to come first."""
    with reading(everywhere=True):
        owner = session().scalar(select(_documents.c.org_id).where(_documents.c.id == document_id))
    if owner is not None:
        if owner != target.org_id:
            raise TakenElsewhere
        done.there += 1
        return True
    found = added_document.read_head(target, document_id, member)
    has_parent = found.parent_id in known
    if has_parent and not _is_there(target.org_id, cast(UUID, found.parent_id)):
        return False
    added_document.put_blobs(target, found)
    try:
        _store(target, operation_id, found, done, has_parent=has_parent)
    except SameFile:
        done.left_out += 1
        # What lies in it is added without it.
        known.discard(document_id)
    except (IntegrityError, DataError) as error:
        raise DamagedExport(f"{member} has rows that can't be") from error
    return True


def _store(
    target: ImportTarget, operation_id: UUID, found: ExportedDocument, done: Imported, *, has_parent: bool
) -> None:
    o = _operations.c
    with transaction(target.org_id):
        is_queued = added_document.add_rows(target, found, has_parent=has_parent)
        counted = update(_operations).where(o.org_id == target.org_id, o.id == operation_id)
        session().execute(counted.values(done=o.done + 1))
    done.added += 1
    done.queued += is_queued


def _is_there(org_id: UUID, document_id: UUID) -> bool:
    d = _documents.c
    with reading(org_id):
        return session().scalar(select(d.id).where(d.org_id == org_id, d.id == document_id)) is not None


def _add_connections(target: ImportTarget, name: str) -> None:
    """Add those whose both ends are there; each commit has some."""
    with closing(target.export.lines(name)) as lines:
        for part in batches(map(rows.read_line, lines), _ROWS_AT_ONCE):
            _add_some_connections(target, name, part)


def _add_some_connections(target: ImportTarget, name: str, part: list[Line]) -> None:
    if any(table != rows.CONNECTIONS.name for table, _ in part):
        raise DamagedExport(f"{name} has other rows than connections")
    read = [rows.CONNECTIONS.row(row, target.org_id) for _, row in part]
    ends = {row[end] for row in read for end in ("source_chunk_id", "target_chunk_id")}
    with _transaction(target.org_id, name):
        asked = select(_chunks.c.id).where(_chunks.c.org_id == target.org_id, _chunks.c.id.in_(ends))
        there = set(session().scalars(asked))
        both = [row for row in read if {row["source_chunk_id"], row["target_chunk_id"]} <= there]
        if both:
            session().execute(postgresql.insert(rows.CONNECTIONS.table).on_conflict_do_nothing(), both)


def _add_of_org(target: ImportTarget) -> None:
    with closing(target.export.lines(_OF_ORG)) as lines:
        for name, some in groupby(map(rows.read_line, lines), key=lambda line: line[0]):
            if name not in rows.OF_ORG:
                raise DamagedExport(f"{_OF_ORG} has rows that belong elsewhere")
            for part in batches((row for _, row in some), _ROWS_AT_ONCE):
                _add_some_of_org(target, name, part)


def _add_some_of_org(target: ImportTarget, name: str, part: list[dict[str, Any]]) -> None:
    read = [rows.BY_NAME[name].row(row, target.org_id) for row in part]
    with _transaction(target.org_id, _OF_ORG):
        if name == Tag.__tablename__:
            added_document.add_tags(target.org_id, read)
            return
        if any(row.get("private_to") is not None for row in read):
            raise DamagedExport(f"{_OF_ORG} has views of people")
        if name in _ABOUT_DOCUMENTS:
            read = _of_documents_there(target.org_id, read)
        if read:
            table = rows.BY_NAME[name].table
            session().execute(postgresql.insert(table).on_conflict_do_nothing(), read)


def _of_documents_there(org_id: UUID, read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    d = _documents.c
    asked = select(d.id).where(d.org_id == org_id, d.id.in_({row["document_id"] for row in read}))
    there = set(session().scalars(asked))
    return [row for row in read if row["document_id"] in there]


@contextmanager
def _transaction(org_id: UUID, name: str) -> Iterator[None]:
    """A transaction for rows of this member; DamagedExport where the database refuses them."""
    try:
        with transaction(org_id):
            yield
    except (IntegrityError, DataError) as error:
        raise DamagedExport(f"{name} has rows that can't be") from error


def _end(queue: JobQueue, org_id: UUID, operation_id: UUID, done: Imported) -> None:
    o = _operations.c
    with transaction(org_id):
        ended = update(_operations).where(o.org_id == org_id, o.id == operation_id)
        values = {"state": OperationState.SUCCEEDED, "finished_at": now(), "failed": done.left_out}
        session().execute(ended.values(values))
        outbox.announce(queue, org_id, WebhookEvent.IMPORT_DONE, lambda: _described(operation_id, done))


def _described(operation_id: UUID, done: Imported) -> dict[str, Any]:
    """What webhooks are told of an import."""
    numbers = {"documents": done.added + done.there, "left_out": done.left_out, "queued": done.queued}
    return {"import": {"id": str(operation_id), **numbers, "url": f"/bulk/{operation_id}"}}
