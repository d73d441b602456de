"""Changes of many documents at once: an operation that a job of the queue works off, batch by batch.

Each batch is one transaction, with its place as the job's checkpoint and a row for each document (`OperationItem`):
what undoes the change, or why there was none. So a crash costs a batch at most, and nothing is done twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, func, insert, select, update

from webapp.clock import new_id, now
from webapp.db import session, transaction
from webapp.db.bounded import COUNTED_MAX, Count
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.operation_model import BulkOperation, OperationItem
from webapp.jobs.queue import JobQueue, NewJob
from webapp.jobs.states import Priority
from webapp.library import bulk_actions, selection
from webapp.library.bulk_actions import BulkWork
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.runs.stages import BULK, EXPORT

_operations, _items = cast(Table, BulkOperation.__table__), cast(Table, OperationItem.__table__)
_documents = cast(Table, Document.__table__)

IDS_MAX = 10_000
BATCH = 100
# A person waits for so few; more wait behind what people are waiting for.
_FEW = 200
# Its attempts are lost with processes alone: what went wrong with a document is said at that document.
_ATTEMPTS = 25


class BulkAction(StrEnum):
    """What can be done with many documents."""

    TAG = "tag"
    UNTAG = "untag"
    DELETE = "delete"
    RESTORE = "restore"
    REPROCESS = "reprocess"
    EXPORT = "export"


_UNDONE_BY = {
    BulkAction.TAG: BulkAction.UNTAG,
    BulkAction.UNTAG: BulkAction.TAG,
    BulkAction.DELETE: BulkAction.RESTORE,
    BulkAction.RESTORE: BulkAction.DELETE,
}


class OperationState(StrEnum):
    """How far an operation is."""

    QUEUED = "QUEUED"
    """Its job has not begun."""
    RUNNING = "RUNNING"
    """Some of its documents are done."""
    SUCCEEDED = "SUCCEEDED"
    """All documents were looked at; some may have failed."""
    FAILED = "FAILED"
    """Its job has failed for good."""
    STOPPED = "STOPPED"
    """A person has stopped it: what was done stays done."""


@dataclass(frozen=True)
class BulkRequest:
    """Which documents are meant, named or matching, and what is to be done with them."""

    action: BulkAction
    ids: Sequence[UUID] | None = None
    matching: Matching = field(default_factory=Matching)
    tags: Sequence[str] = ()

    @property
    def is_whole(self) -> bool:
        """Whether no condition is named: an export is of everything then, also of the bin."""
        return self.ids is None and self.matching == Matching()

    def as_json(self) -> dict[str, Any]:
        """As its row keeps it."""
        status = self.matching.status
        return {
            "ids": None if self.ids is None else [str(each) for each in sorted(set(self.ids))],
            "query": self.matching.q,
            "folder": self.matching.folder,
            "status": status.value if status else None,
            "tags": list(self.tags),
        }

    @classmethod
    def of(cls, action: str, wanted: Mapping[str, Any]) -> "BulkRequest":
        """What a row keeps."""
        ids, status = wanted.get("ids"), wanted.get("status")
        matching = Matching(StatusFilter(status) if status else None, wanted.get("query", ""), wanted.get("folder"))
        return cls(
            BulkAction(action),
            None if ids is None else [UUID(each) for each in ids],
            matching,
            tuple(wanted.get("tags", ())),
        )


def count(org_id: UUID, request: BulkRequest) -> Count:
    """How many documents are meant."""
    if request.ids is None:
        return selection.count(org_id, request.matching)
    number = 0
    for start in range(0, len(request.ids), BATCH):
        number += len(_there(org_id, request.action, list(request.ids[start : start + BATCH])))
    return Count(min(number, COUNTED_MAX), number > COUNTED_MAX)


def begin(queue: JobQueue, org_id: UUID, request: BulkRequest, by: str) -> UUID:
    """Queue an operation; its id."""
    with transaction(org_id):
        number = count(org_id, request).number
        return _add(queue, org_id, request.action, number, by, wanted=request.as_json())


def undo(queue: JobQueue, org_id: UUID, operation_id: UUID, by: str) -> UUID | None:
    """Queue an operation that undoes another; None where it can't be undone, has not ended, or was undone already."""
    with transaction(org_id):
        row = _row(org_id, operation_id, is_locked=True)
        if row is None or not may_be_undone(org_id, row):
            return None
        of_it = _items.c.org_id == org_id, _items.c.operation_id == operation_id, _items.c.error.is_(None)
        number = session().scalar(select(func.count()).select_from(_items).where(*of_it)) or 0
        action = _UNDONE_BY[BulkAction(row.action)]
        return _add(queue, org_id, action, number, by, wanted={}, undo_of=operation_id)


def may_be_undone(org_id: UUID, row: Any) -> bool:
    """Whether an operation has changed documents in a way that can be undone, and nobody has done so."""
    if row.action not in _UNDONE_BY or row.finished_at is None or row.done == row.failed:
        return False
    undone = select(_operations.c.id).where(_operations.c.org_id == org_id, _operations.c.undo_of == row.id)
    return session().scalar(undone) is None


def _add(
    queue: JobQueue,
    org_id: UUID,
    action: BulkAction,
    matched: int,
    by: str,
    *,
    wanted: Mapping[str, Any],
    undo_of: UUID | None = None,
) -> UUID:
    operation_id = new_id()
    job = NewJob(
        org_id=org_id,
        run=None,
        stage=EXPORT if action is BulkAction.EXPORT else BULK,
        max_attempts=_ATTEMPTS,
        priority=Priority.PERSON if matched <= _FEW else Priority.BULK,
        operation_id=operation_id,
    )
    row = {"id": operation_id, "org_id": org_id, "action": action, "state": OperationState.QUEUED, "wanted": wanted}
    more = {"matched": matched, "done": 0, "failed": 0, "undo_of": undo_of, "requested_by": by, "job_id": job.id}
    session().execute(insert(_operations), row | more)
    queue.enqueue([job])
    return operation_id


def find(queue: JobQueue, org_id: UUID, operation_id: UUID) -> Any:
    """An operation's row and its state, which is FAILED where its job is; None where there is none."""
    row = _row(org_id, operation_id)
    if row is None:
        return None
    state = OperationState(row.state)
    if row.finished_at is None:
        job = queue.get(row.job_id)
        state = OperationState.FAILED if job is None or job.completed_at is not None else state
    return row, state


def failures(org_id: UUID, operation_id: UUID, limit: int) -> list[tuple[UUID, str, str]]:
    """The first documents that an operation could not change: id, file name and the code of the reason."""
    of_it = _items.c.org_id == org_id, _items.c.operation_id == operation_id, _items.c.error.is_not(None)
    rows = select(_items.c.document_id, _documents.c.filename, _items.c.error)
    rows = rows.join(_documents, _documents.c.id == _items.c.document_id).where(*of_it)
    return [(row[0], row[1], row[2]) for row in session().execute(rows.order_by(_items.c.document_id).limit(limit))]


def newest(org_id: UUID, limit: int) -> Sequence[Any]:
    """An org's last operations, the newest first."""
    rows = select(_operations).where(_operations.c.org_id == org_id)
    return session().execute(rows.order_by(_operations.c.id.desc()).limit(limit)).all()


def stop(org_id: UUID, operation_id: UUID) -> bool:
    """End an operation after the batch that is being done; False where it had ended."""
    with transaction(org_id):
        return _end(org_id, operation_id, OperationState.STOPPED)


def _end(org_id: UUID, operation_id: UUID, state: OperationState) -> bool:
    o = _operations.c
    change = update(_operations).where(o.org_id == org_id, o.id == operation_id, o.finished_at.is_(None))
    return session().execute(change.values(state=state, finished_at=now()).returning(o.id)).first() is not None


def do_batch(queue: JobQueue, max_attempts: int, org_id: UUID, operation_id: UUID, after: UUID | None) -> UUID | None:
    """Do the next batch behind this document, in the caller's transaction; the last one of it, None at the end."""
    row = _row(org_id, operation_id, is_locked=True)
    if row is None or row.finished_at is not None:
        return None
    ids = _next(org_id, row, after)
    if not ids:
        _end(org_id, operation_id, OperationState.SUCCEEDED)
        return None
    action = BulkAction(row.action)
    undos = _undos(org_id, row.undo_of, ids) if row.undo_of else {}
    there = _there(org_id, action, ids, row.created_at)
    work = BulkWork(queue, org_id, max_attempts, row.requested_by)
    changes = bulk_actions.apply(work, action, there, row.wanted.get("tags", ()), undos)
    if changes:
        own: dict[str, Any] = {"org_id": org_id, "operation_id": operation_id}
        session().execute(
            insert(_items),
            [own | {"document_id": id_, "undo": each.undo, "error": each.error} for id_, each in changes.items()],
        )
    failed = sum(each.error is not None for each in changes.values())
    change = update(_operations).where(_operations.c.id == operation_id)
    numbers = {"done": row.done + len(there), "failed": row.failed + failed}
    session().execute(change.values(**numbers, state=OperationState.RUNNING))
    return ids[-1]


def _next(org_id: UUID, row: Any, after: UUID | None) -> list[UUID]:
    """The next documents in the order of their ids."""
    if row.undo_of is not None:
        of_it = _items.c.org_id == org_id, _items.c.operation_id == row.undo_of, _items.c.error.is_(None)
        found = select(_items.c.document_id).where(*of_it)
        if after is not None:
            found = found.where(_items.c.document_id > after)
        return list(session().scalars(found.order_by(_items.c.document_id).limit(BATCH)))
    request = BulkRequest.of(row.action, row.wanted)
    if request.ids is None:
        return selection.ids(org_id, request.matching, after=after, limit=BATCH)
    return [each for each in request.ids if after is None or each > after][:BATCH]


def _there(org_id: UUID, action: BulkAction, ids: Sequence[UUID], until: Any = None) -> list[UUID]:
    """Those of these documents that can be meant, in the order of their ids: none that came after the request."""
    d = _documents.c
    lies: ColumnElement[bool] = in_library if action is not BulkAction.RESTORE else d.deleted_with == d.id
    found = select(d.id).where(d.org_id == org_id, d.id.in_(ids), lies)
    if until is not None:
        found = found.where(d.created_at <= until)
    return list(session().scalars(found.order_by(d.id)))


def _undos(org_id: UUID, operation_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Mapping[str, Any]]:
    of_it = _items.c.org_id == org_id, _items.c.operation_id == operation_id, _items.c.document_id.in_(ids)
    rows = session().execute(select(_items.c.document_id, _items.c.undo).where(*of_it))
    return {row.document_id: row.undo or {} for row in rows}


def _row(org_id: UUID, operation_id: UUID, *, is_locked: bool = False) -> Any:
    o = _operations.c
    found = select(_operations).where(o.org_id == org_id, o.id == operation_id)
    return session().execute(found.with_for_update() if is_locked else found).one_or_none()
