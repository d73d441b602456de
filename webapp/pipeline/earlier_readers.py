"""Who read the documents from before each document said so itself: found out from the ledger, some at a time.

A local reader wrote a line for each file, and so did a service. What has no line was read by a program over HTTP, or is
a recording: it is left alone.
"""

from typing import cast

from sqlalchemy import Label, Table, bindparam, literal_column, select, text, update

from webapp.db import reading, session, transaction
from webapp.db.bounded import plan_by_indexes
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import READY, Document, ProcessingRun
from webapp.pipeline.page_windows import OPERATION
from webapp.readers.versions import EARLIER, KEPT, OTHERS

_documents, _calls = cast(Table, Document.__table__).c, cast(Table, ProviderCall.__table__).c
_runs = cast(Table, ProcessingRun.__table__)


def note_readers(local_name: str, limit: int = 200) -> int:
    """Note the readers of some documents that are ready and do not say it; returns of how many."""
    with reading(everywhere=True):
        plan_by_indexes()
        found = session().execute(_UNKNOWN, {"at_most": limit}).all()
    if not found:
        return 0
    marks = [
        {"org": row.org_id, "of": row.id, "mark": _mark(row.pages_read, row.content_type, row.provider, local_name)}
        for row in found
    ]
    with transaction(everywhere=True):
        # In the order of their ids, so that two who do this at once wait for each other only one way.
        session().connection().execute(_NOTE, sorted(marks, key=lambda row: row["of"]))
    return len(found)


def _mark(pages_read: int | None, content_type: str, provider: str | None, local_name: str) -> str:
    if pages_read == 0:
        return f"{KEPT}{content_type}"
    return EARLIER if provider == local_name else f"{OTHERS}{provider or 'unknown'}"


def _reader() -> Label[str]:
    """The provider in the newest line about reading a document, of its runs up to the one whose result is served."""
    run, served = _runs.alias().c, _runs.alias().c
    documents = _documents.id.table
    until = select(served.created_at).where(served.id == _documents.published_run_id)
    lines = select(_calls.provider).join(run.id.table, (run.org_id == _calls.org_id) & (run.id == _calls.run_id))
    lines = lines.where(
        run.document_id == _documents.id,
        run.created_at <= until.correlate(documents).scalar_subquery(),
        _calls.operation == OPERATION,
        _calls.outcome == "ok",
    )
    newest = lines.order_by(_calls.created_at.desc(), _calls.id.desc()).limit(literal_column("1"))
    return newest.correlate(documents).scalar_subquery().label("provider")


_UNKNOWN = (
    select(*(_documents[name] for name in ("org_id", "id", "content_type", "pages_read")), _reader())
    .where(text(READY), _documents.read_by.is_(None))
    .order_by(_documents.org_id, _documents.id)
    .limit(bindparam("at_most"))
)
_NOTE = (
    update(cast(Table, Document.__table__))
    .where(_documents.org_id == bindparam("org"), _documents.id == bindparam("of"), _documents.read_by.is_(None))
    # It does not change for people.
    .values(read_by=bindparam("mark"), updated_at=_documents.updated_at)
)
