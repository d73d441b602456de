"""The step `keep`: a file that nothing on this installation reads stays as it is, and nothing is left to do.

Its run succeeds with a result that has no text: nothing is embedded, nothing is connected, nobody is paid. Processing
it again reads it, once something can.
"""

from typing import cast

from sqlalchemy import Table, bindparam, update

from webapp.db import session
from webapp.documents.model import Document
from webapp.documents.states import LiveRun
from webapp.pipeline.apply_rules import apply_rules
from webapp.pipeline.source import find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.readers.versions import mark_of_kept
from webapp.runs import announcements, lifecycle, transitions
from webapp.runs.stages import KEEP

_documents = cast(Table, Document.__table__)
_NOTHING_READ = (
    update(_documents)
    .where(_documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document"))
    .values(pages_read=0, read_by=bindparam("mark"))
)


def keep(context: StageContext) -> None:
    """Note that no page was read, and who tried, and end run and job."""
    content_type = find_source(context).content_type
    mark = mark_of_kept(content_type, was_tried=context.providers.extractor.accepts(content_type))
    context.step(
        KEEP,
        lambda: mark,
        lambda mark: _store(context, mark),
        end=lambda: _end(context),
    )


def _end(context: StageContext) -> None:
    lifecycle.succeed_run(context.queue, context.lease)
    apply_rules(context)
    announcements.document_ended(context.queue, LiveRun(context.run_id, context.org_id, context.document_id))


def _store(context: StageContext, mark: str) -> Stored:
    """Nothing has to be removed: a document that was read once is never kept in place of what was read."""
    transitions.lock(context.document_id, context.org_id)
    session().execute(_NOTHING_READ, {"org": context.org_id, "document": context.document_id, "mark": mark})
    return Stored()
