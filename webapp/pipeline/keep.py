"""The step `keep`: a file that nothing on this installation reads stays as it is, and nothing is left to do.

Its run succeeds with a result that has no text: nothing is embedded, nothing is connected, nobody is paid. Processing
it again reads it, once something can.
"""

from typing import cast

from sqlalchemy import Table, bindparam, update

from webapp.db import session
from webapp.documents.model import Document
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.runs import lifecycle, transitions
from webapp.runs.stages import KEEP

_documents = cast(Table, Document.__table__)
_NOTHING_READ = (
    update(_documents)
    .where(_documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document"))
    .values(pages_read=0)
)


def keep(context: StageContext) -> None:
    """Note that no page was read, and end run and job."""
    context.step(
        KEEP,
        lambda: None,
        lambda _: _store(context),
        end=lambda: lifecycle.succeed_run(context.queue, context.lease),
    )


def _store(context: StageContext) -> Stored:
    """Nothing has to be removed: a document that was read once is never kept in place of what was read."""
    transitions.lock(context.document_id, context.org_id)
    session().execute(_NOTHING_READ, {"org": context.org_id, "document": context.document_id})
    return Stored()
