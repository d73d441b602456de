"""The timeline: each transition of a run and each of its steps adds one event, which is never changed."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Float, bindparam, insert, select

from webapp.clock import after
from webapp.db import session
from webapp.documents.model import RunEvent
from webapp.documents.states import EventKind

# Made once, and of the table: building a statement and asking the mapper cost more than the row itself.
_ADD = insert(RunEvent.__table__).values(  # type: ignore[arg-type] # a table, as its mapper does not know
    created_at=after(-bindparam("seconds_ago", type_=Float()))
)


def record(
    org_id: UUID,
    document_id: UUID,
    run_id: UUID,
    kind: EventKind,
    *,
    job_id: UUID | None = None,
    step: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Add an event, in the transaction of what it is about."""
    record_lines([line(org_id, document_id, run_id, kind, job_id=job_id, step=step, details=details)])


def line(
    org_id: UUID,
    document_id: UUID,
    run_id: UUID,
    kind: EventKind,
    *,
    job_id: UUID | None = None,
    step: str | None = None,
    details: Mapping[str, Any] | None = None,
    seconds_ago: float = 0.0,
) -> dict[str, Any]:
    """An event for `record_lines`, of something that happened so long ago."""
    return {
        "org_id": org_id,
        "document_id": document_id,
        "run_id": run_id,
        "kind": kind,
        "job_id": job_id,
        "step": step,
        "details": dict(details) if details else None,
        "seconds_ago": seconds_ago,
    }


def record_lines(lines: Sequence[Mapping[str, Any]]) -> None:
    """Add events, oldest first."""
    if lines:
        session().execute(_ADD, lines)


def timeline(org_id: UUID, document_id: UUID, run_id: UUID | None = None, limit: int = 500) -> list[RunEvent]:
    """The newest events of a document (or of one of its runs), oldest first."""
    lines = select(RunEvent).where(RunEvent.org_id == org_id, RunEvent.document_id == document_id)
    if run_id is not None:
        lines = lines.where(RunEvent.run_id == run_id)
    # The time is the database's; the id, made by many processes, only decides between equals.
    newest = lines.order_by(RunEvent.created_at.desc(), RunEvent.id.desc()).limit(limit)
    return list(reversed(session().scalars(newest).all()))
