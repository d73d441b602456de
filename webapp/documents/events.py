"""The timeline: each transition of a run and each of its steps leaves one line, which is never changed."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import insert, select

from webapp.db import session
from webapp.documents.model import RunEvent
from webapp.documents.states import EventKind

# Made once, and of the table: building a statement and asking the mapper cost more than the row itself.
_ADD = insert(RunEvent.__table__)  # type: ignore[arg-type] # a table, as its mapper does not know


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
    """Add a line, in the transaction of what it tells of: neither is ever there without the other."""
    line = {
        "org_id": org_id,
        "document_id": document_id,
        "run_id": run_id,
        "kind": kind,
        "job_id": job_id,
        "step": step,
        "details": dict(details) if details else None,
    }
    session().execute(_ADD, line)


def timeline(org_id: UUID, document_id: UUID, run_id: UUID | None = None, limit: int = 500) -> list[RunEvent]:
    """The newest lines of a document (or of one of its runs), oldest first."""
    lines = select(RunEvent).where(RunEvent.org_id == org_id, RunEvent.document_id == document_id)
    if run_id is not None:
        lines = lines.where(RunEvent.run_id == run_id)
    # The time is the database's; the id, made by many processes, only decides between equals.
    newest = lines.order_by(RunEvent.created_at.desc(), RunEvent.id.desc()).limit(limit)
    return list(reversed(session().scalars(newest).all()))
