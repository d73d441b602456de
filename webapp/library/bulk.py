"""Changes of many documents at once: an operation that a job of the queue works off, batch by batch.

Each batch is one transaction, with its place as the job's checkpoint and a row for each document (`OperationItem`):
what undoes the change, or why there was none. So a crash costs a batch at most, and nothing is done twice.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Table, func, insert, select, update

from webapp.batches import batches
from webapp.clock import new_id
from webapp.db import session, transaction
from webapp.db.bounded import COUNTED_MAX, Count, up_to_most
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.operation_model import BulkOperation, OperationItem
from webapp.documents.states import OperationState
from webapp.jobs.queue import JobQueue, NewJob
from webapp.jobs.states import Priority
from webapp.library import batch_bounds, bulk_actions, selection
from webapp.library.bulk_actions import BulkWork, Change
from webapp.library.rule_effects import Gifts
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.runs import operations
from webapp.runs.stages import BULK, EXPORT

_operations, _items = cast(Table, BulkOperation.__table__), cast(Table, OperationItem.__table__)
_documents = cast(Table, Document.__table__)

IDS_MAX = 10_000
BATCH = 100
# A person waits for so few; more wait behind what people are waiting for.
_FEW = 200
# Its attempts are lost with processes alone: what went wrong with a document is said at that document.
_ATTEMPTS = 25
_IDS_PER_STATEMENT = 500
# The place of an operation that is at its first document.
_BEFORE_ALL = UUID(int=0)
# In `result`: the container whose parts follow it.
_CONTAINER = "container"
_ENDED_EARLY = (OperationState.STOPPED, OperationState.FAILED)


class BulkAction(StrEnum):
    """What can be done with many documents."""

    TAG = "tag"
    UNTAG = "untag"
    DELETE = "delete"
    RESTORE = "restore"
    REPROCESS = "reprocess"
    EXPORT = "export"
    RULE = "rule"
    """Give documents what a rule gives."""
    UNRULE = "unrule"
    TAG_FOLDERS = "tag_folders"
    """Give documents that have a folder its name as a tag."""


# Parts follow their container into the bin and out of it.
_MOVES = {BulkAction.DELETE, BulkAction.RESTORE}
_UNDONE_BY = {
    BulkAction.TAG: BulkAction.UNTAG,
    BulkAction.UNTAG: BulkAction.TAG,
    BulkAction.DELETE: BulkAction.RESTORE,
    BulkAction.RESTORE: BulkAction.DELETE,
    BulkAction.RULE: BulkAction.UNRULE,
    BulkAction.TAG_FOLDERS: BulkAction.UNTAG,
}


@dataclass(frozen=True)
class BulkRequest:
    """Which documents are meant, named or matching, and what is to be done with them."""

    action: BulkAction
    ids: Sequence[UUID] | None = None
    matching: Matching = field(default_factory=Matching)
    tags: Sequence[str] = ()
    gifts: Gifts | None = None
    """What the rule gives that is applied."""

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
            **({"rule": self.gifts.as_json()} if self.gifts else {}),
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
    if request.action is BulkAction.EXPORT and request.is_whole:
        everything = select(_documents.c.id).where(_documents.c.org_id == org_id)
        return Count.of(session().scalar(select(up_to_most(everything))))
    if request.ids is None:
        return selection.count(org_id, request.matching)
    number = sum(len(_there(org_id, request.action, part)) for part in batches(request.ids, _IDS_PER_STATEMENT))
    return Count(min(number, COUNTED_MAX), number > COUNTED_MAX)


def begin(queue: JobQueue, org_id: UUID, request: BulkRequest, by: str, counted: Count | None = None) -> UUID:
    """Queue an operation; its id. `counted` where the documents are counted already."""
    with transaction(org_id):
        number = (counted or count(org_id, request)).number
        return _add(queue, org_id, request.action, number, by, wanted=request.as_json())


def undo(queue: JobQueue, org_id: UUID, operation_id: UUID, by: str) -> UUID | None:
    """Queue an operation that undoes another; None where it can't be undone, has not ended, or was undone already."""
    with transaction(org_id):
        row = operations.row_of(org_id, operation_id, is_locked=True)
        if row is None or not may_be_undone(org_id, row):
            return None
        number = session().scalar(select(func.count()).select_from(_left(org_id, operation_id).subquery())) or 0
        action = _UNDONE_BY[BulkAction(row.action)]
        return _add(queue, org_id, action, number, by, wanted={}, undo_of=operation_id)


def may_be_undone(org_id: UUID, row: Any) -> bool:
    """Whether an operation has changed documents in a way that can be undone, and nobody has done so.

    What is left of an undo that was stopped, or has failed, can be undone by another one.
    """
    if row.action not in _UNDONE_BY or row.finished_at is None or row.done == row.failed:
        return False
    o = _operations.c
    undone = select(o.id).where(o.org_id == org_id, o.undo_of == row.id, o.state.not_in(_ENDED_EARLY))
    return session().scalar(undone) is None


def _left(org_id: UUID, operation_id: UUID, undoing: UUID | None = None) -> Select[UUID]:
    """The documents that an operation has changed, without those that an earlier undo has changed back."""
    o, i, other = _operations.c, _items.c, _items.alias("other").c
    earlier = select(o.id).where(o.org_id == org_id, o.undo_of == operation_id)
    if undoing is not None:
        earlier = earlier.where(o.id != undoing)
    undos = list(session().scalars(earlier))
    found = select(i.document_id).where(i.org_id == org_id, i.operation_id == operation_id, i.error.is_(None))
    if not undos:
        return found
    undone = select(other.document_id).where(
        other.operation_id.in_(undos), other.document_id == i.document_id, other.error.is_(None)
    )
    return found.where(~undone.exists())


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
    """An operation's row, and whether it can be resumed; None where there is none."""
    row = operations.row_of(org_id, operation_id)
    return None if row is None else (row, operations.may_resume(queue, org_id, row))


@dataclass(frozen=True)
class Failure:
    """A document that an operation could not change, and the code of the reason."""

    id: UUID
    filename: str
    reason: str
    is_binned: bool


def failures(org_id: UUID, operation_id: UUID, limit: int) -> list[Failure]:
    """The first documents that an operation could not change."""
    of_it = _items.c.org_id == org_id, _items.c.operation_id == operation_id, _items.c.error.is_not(None)
    rows = select(_items.c.document_id, _documents.c.filename, _items.c.error, _documents.c.deleted_at.is_not(None))
    rows = rows.join(_documents, _documents.c.id == _items.c.document_id).where(*of_it)
    found = session().execute(rows.order_by(_items.c.document_id).limit(limit))
    return [Failure(row[0], row[1], row[2], bool(row[3])) for row in found]


def newest(org_id: UUID, limit: int) -> Sequence[Any]:
    """An org's last operations, the newest first."""
    o = _operations.c
    # Not all of `wanted`, which may name thousands of documents.
    rows = select(o.id, o.action, o.done, o.requested_by, o.created_at, o.wanted["tags"].label("tags"))
    rows = rows.add_columns(o.wanted["rule"]["name"].as_string().label("rule"))
    return session().execute(rows.where(o.org_id == org_id).order_by(o.id.desc()).limit(limit)).all()


def stop(org_id: UUID, operation_id: UUID) -> bool:
    """End an operation after the batch that is being done; False where it had ended."""
    with transaction(org_id):
        row = operations.row_of(org_id, operation_id)
        # An import is done by a command, which nothing but its process stops.
        is_ours = row is not None and row.action in set(BulkAction)
        return is_ours and operations.end(org_id, operation_id, OperationState.STOPPED)


def do_batch(queue: JobQueue, max_attempts: int, org_id: UUID, operation_id: UUID, after: UUID | None) -> UUID | None:
    """Do the next batch behind this document, in the caller's transaction; the last one of it, None at the end."""
    row = operations.row_of(org_id, operation_id, is_locked=True)
    if row is None:
        return None
    work = BulkWork(queue, org_id, max_attempts, row.requested_by)
    if (container_id := open_container(row)) is not None:
        # Also where somebody has stopped the operation: no container is left with half of what lies in it.
        if not bulk_actions.follow(work, row.action, container_id):
            session().execute(update(_operations).where(_operations.c.id == row.id).values(result=None))
        return after or _BEFORE_ALL
    if row.finished_at is not None:
        return None
    ids = _next(org_id, row, after)
    if not ids:
        operations.end(org_id, operation_id, OperationState.SUCCEEDED)
        return None
    action = BulkAction(row.action)
    there = _there(org_id, action, ids, row.created_at)
    some = _bounded(org_id, action, there)
    last = ids[-1] if len(some) == len(there) else some[-1]
    if row.undo_of:
        looked_at = [each for each in ids if each <= last]
        changes = bulk_actions.undo(work, action, some, _undos(org_id, row.undo_of, looked_at))
    else:
        looked_at = list(some)
        changes = bulk_actions.apply(work, action, some, row.wanted)
    _note(org_id, row, len(looked_at), changes)
    return last


def open_container(row: Any) -> UUID | None:
    """The container whose parts an operation lets follow it at present; None where it is at none."""
    found = (row.result or {}).get(_CONTAINER) if row.action in _MOVES else None
    return UUID(found) if found else None


def begin_container(
    queue: JobQueue, org_id: UUID, action: BulkAction, container_id: UUID, by: str, undo: Mapping[str, Any]
) -> UUID:
    """Queue the operation by which parts follow a container that was deleted or restored just now; its id."""
    with transaction(org_id):
        # The container itself is done already: where somebody brings it back meanwhile, it stays.
        operation_id = _add(queue, org_id, action, 1, by, wanted=BulkRequest(action, []).as_json())
        row = operations.row_of(org_id, operation_id)
        _note(org_id, row, 1, {container_id: Change(undo, is_begun=True)})
        return operation_id


def _bounded(org_id: UUID, action: BulkAction, ids: Sequence[UUID]) -> Sequence[UUID]:
    match action:
        case BulkAction.DELETE:
            return batch_bounds.of_library(org_id, ids)
        case BulkAction.RESTORE:
            return batch_bounds.of_bin(org_id, ids)
    return ids


def _note(org_id: UUID, row: Any, looked_at: int, changes: Mapping[UUID, Change]) -> None:
    """Write down what became of each document, and the numbers."""
    if changes:
        own: dict[str, Any] = {"org_id": org_id, "operation_id": row.id}
        session().execute(
            insert(_items),
            [own | {"document_id": id_, "undo": each.undo, "error": each.error} for id_, each in changes.items()],
        )
    failed = sum(each.error is not None for each in changes.values())
    change = update(_operations).where(_operations.c.id == row.id)
    numbers: dict[str, Any] = {"done": row.done + looked_at, "failed": row.failed + failed}
    begun = [id_ for id_, each in changes.items() if each.is_begun]
    if begun:
        numbers["result"] = {_CONTAINER: str(begun[0])}
    session().execute(change.values(**numbers, state=OperationState.RUNNING))


def _next(org_id: UUID, row: Any, after: UUID | None) -> list[UUID]:
    """The next documents in the order of their ids."""
    if row.undo_of is not None:
        found = _left(org_id, row.undo_of, row.id)
        if after is not None:
            found = found.where(_items.c.document_id > after)
        return list(session().scalars(found.order_by(_items.c.document_id).limit(BATCH)))
    ids: list[str] | None = row.wanted.get("ids")
    if ids is None:
        return selection.ids(org_id, BulkRequest.of(row.action, row.wanted).matching, after=after, limit=BATCH)
    # They are sorted, as texts just as they are as ids.
    begin = bisect_right(ids, str(after)) if after else 0
    return [UUID(each) for each in ids[begin : begin + BATCH]]


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
