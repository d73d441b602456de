"""The rows of exports that are operations: which parts of their file are written, and how long it is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, and_, func, insert, or_, select, update

from webapp.accounts import orgs
from webapp.clock import after, now
from webapp.db import session
from webapp.documents.blob_layout import export_folder
from webapp.documents.operation_model import BulkOperation, OperationItem
from webapp.documents.states import OperationState
from webapp.jobs.model import Job
from webapp.library.bulk import BulkAction, BulkRequest
from webapp.library.exports.parts import ExportWish, WholeExport, WrittenPart

_operations, _items = cast(Table, BulkOperation.__table__), cast(Table, OperationItem.__table__)
_jobs = cast(Table, Job.__table__)
_DAY_SECONDS = 24 * 3600.0
FILE_GONE = "file_gone"
"""The code of a document whose file had been lost before."""


@dataclass(frozen=True)
class ExportPart:
    """A piece of an export's file: a blob."""

    path: str
    size_bytes: int


@dataclass(frozen=True)
class ExportProgress:
    """How much of an export's file is written."""

    parts: Sequence[ExportPart] = ()
    after: UUID | None = None
    """The last document that is in it."""
    has_all: bool = False
    """Whether all documents are in it, and only its end is missing."""

    @property
    def size_bytes(self) -> int:
        """How long the file is so far."""
        return sum(part.size_bytes for part in self.parts)

    @classmethod
    def of(cls, row: Any) -> "ExportProgress":
        """What an operation's row says."""
        found = row.result or {}
        parts = [ExportPart(f"{row.org_id}/{path}", size) for path, size in found.get("parts", ())]
        place = found.get("after")
        return cls(parts, UUID(place) if place else None, found.get("has_all") is True)

    def as_json(self) -> dict[str, Any]:
        """As the row keeps it."""
        parts = [[part.path.partition("/")[2], part.size_bytes] for part in self.parts]
        return {"parts": parts, "after": str(self.after) if self.after else None, "has_all": self.has_all}


def running(org_id: UUID, operation_id: UUID) -> Any:
    """The row of an export that has not ended; None where there is none."""
    o = _operations.c
    found = select(_operations).where(o.org_id == org_id, o.id == operation_id, o.finished_at.is_(None))
    return session().execute(found).one_or_none()


def wanted(row: Any) -> ExportWish:
    """Which documents an operation exports."""
    request = BulkRequest.of(row.action, row.wanted)
    return ExportWish(request.ids, request.matching, row.created_at)


def whole(row: Any) -> WholeExport:
    """What is said of an export whose documents are written."""
    org = orgs.get(row.org_id)
    return WholeExport(row.id, org.name if org else "", wanted(row), row.done, row.failed)


def note_part(row: Any, progress: ExportProgress, written: WrittenPart | None) -> bool:
    """Note a part that is stored, in the caller's transaction; without `written` it is the last one.

    False where the operation was stopped meanwhile.
    """
    o = _operations.c
    values: dict[str, Any] = {"result": progress.as_json(), "state": OperationState.RUNNING}
    if written is None:
        values |= {"state": OperationState.SUCCEEDED, "finished_at": now()}
    else:
        values |= {"done": o.done + len(written.ids), "failed": o.failed + len(written.missing)}
    change = update(_operations).where(o.org_id == row.org_id, o.id == row.id, o.finished_at.is_(None))
    if session().execute(change.values(values).returning(o.id)).first() is None:
        return False
    if written is not None and written.missing:
        own = {"org_id": row.org_id, "operation_id": row.id, "error": FILE_GONE}
        session().execute(insert(_items), [own | {"document_id": each} for each in written.missing])
    return True


def expired(days: float, limit: int) -> Sequence[tuple[UUID, UUID]]:
    """Exports whose file is kept no longer, each by its org and its id: old, stopped, or failed ones."""
    o, jobs = _operations.c, _jobs.c
    works = select(jobs.id).where(jobs.id == o.job_id, jobs.completed_at.is_(None)).exists()
    ended_at = func.coalesce(o.finished_at, o.created_at)
    is_over = o.state == OperationState.STOPPED
    if days:
        # One whose job failed can be gone on with until then.
        is_over = or_(is_over, and_(ended_at <= after(-days * _DAY_SECONDS), or_(o.finished_at.is_not(None), ~works)))
    found = select(o.org_id, o.id).where(o.action == BulkAction.EXPORT, o.result.is_not(None), is_over)
    return [(row.org_id, row.id) for row in session().execute(found.order_by(o.id).limit(limit))]


def forget_file(org_id: UUID, operation_id: UUID) -> str:
    """Let an export have no file any more; the folder of blobs that is to be removed afterwards."""
    o = _operations.c
    own = o.org_id == org_id, o.id == operation_id
    session().execute(update(_operations).where(*own).values(result=None))
    ended = {"state": OperationState.FAILED, "finished_at": now()}
    session().execute(update(_operations).where(*own, o.finished_at.is_(None)).values(ended))
    return export_folder(org_id, operation_id)
