"""Tells webhooks what became of a document, in the transaction in which its run ends."""

from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import Table, Uuid, bindparam, select

from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import QUIET_TRIGGERS, DocumentStatus, LiveRun, RunState, WebhookEvent
from webapp.jobs.queue import JobQueue
from webapp.runs import outbox

_documents, _runs = cast(Table, Document.__table__), cast(Table, ProcessingRun.__table__)
_EVENTS = {
    DocumentStatus.READY: WebhookEvent.DOCUMENT_READY,
    DocumentStatus.FAILED: WebhookEvent.DOCUMENT_FAILED,
    DocumentStatus.TIMED_OUT: WebhookEvent.DOCUMENT_FAILED,
}
_DESCRIBED = ("id", "filename", "title", "title_is_guess", "status", "content_type", "size_bytes", "page_count")
_ENDED = (
    select(*(_documents.c[name] for name in _DESCRIBED), _runs.c.state, _runs.c.failure_type, _runs.c.failure_code)
    .join_from(_documents, _runs, (_runs.c.org_id == _documents.c.org_id) & (_runs.c.document_id == _documents.c.id))
    .where(_runs.c.id == bindparam("run", type_=Uuid()), _runs.c.trigger.not_in(QUIET_TRIGGERS), in_library)
)


def document_ended(queue: JobQueue, run: LiveRun) -> None:
    """Write the event that follows from the end of this run; none while the document is processed further."""
    wanted = [row for row in outbox.webhooks_of(run.org_id) if set(row.events) & set(_EVENTS.values())]
    # Most orgs have no webhook, and publishing costs them no more than that.
    row = session().execute(_ENDED, {"run": run.id}).one_or_none() if wanted else None
    event = _EVENTS.get(DocumentStatus(row.status)) if row is not None else None
    if row is None or event is None:
        return
    if event is WebhookEvent.DOCUMENT_READY and row.state != RunState.SUCCEEDED:
        # A cancelled run; the earlier result was ready before.
        return
    meant = [each for each in wanted if event in each.events]
    if meant:
        outbox.add(queue, run.org_id, event, _described(row, run), meant)


def _described(row: Any, run: LiveRun) -> Mapping[str, Any]:
    document = {
        "id": str(row.id),
        "filename": row.filename,
        "title": None if row.title_is_guess else row.title,
        "status": row.status,
        "content_type": row.content_type,
        "size_bytes": row.size_bytes,
        "page_count": row.page_count,
        "url": f"/documents/{row.id}",
    }
    # A run that exceeded its time limit has no type of failure.
    failure = {"type": row.failure_type or row.state, "code": row.failure_code}
    return {
        "document": document,
        "run_id": str(run.id),
        "failure": failure if row.state != RunState.SUCCEEDED else None,
    }
