"""The file that a job is about: where it lies, what it is, and whether anything reads it."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import Table, bindparam, select

from webapp import db
from webapp.documents import blob_layout
from webapp.documents.model import Document
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.steps import StageContext

_documents = cast(Table, Document.__table__)
_SOURCE = select(
    *_documents.c["content_type", "blob_path", "opened_path", "sha256", "answers_folder"],
    *_documents.c["published_run_id", "pages_read"],
).where(_documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document"))


@dataclass(frozen=True)
class SourceFile:
    """The file of a document, and where the answers about it are kept."""

    content_type: str
    blob_path: str
    """The uploaded file, or the copy of it that needs no password."""
    answers_folder: str
    was_read: bool
    """Whether a result with text is published."""
    is_opened: bool = False


class NothingReads(Exception):
    """Nothing on this installation reads this kind of file, and nothing ever did: it is kept as it is."""


def find_source(context: StageContext) -> SourceFile:
    """The job's document; LeaseLost where it was deleted, and the job with it."""
    with db.reading(context.org_id) as session:
        row = session.execute(_SOURCE, {"org": context.org_id, "document": context.document_id}).one_or_none()
    if row is None:
        raise LeaseLost
    context.is_first_result = row.published_run_id is None
    folder = blob_layout.answers_folder(context.org_id, row.sha256, row.answers_folder)
    was_read = row.published_run_id is not None and row.pages_read != 0
    # Without its copy the file is locked again, and the page asks for the password.
    is_opened = row.opened_path is not None and context.providers.blobs.exists(row.opened_path)
    return SourceFile(
        row.content_type, row.opened_path if is_opened else row.blob_path, folder, was_read, is_opened=is_opened
    )


def find_readable(context: StageContext, *, here: bool = False) -> SourceFile:
    """The job's document, as its first step needs it; NothingReads where it is to be kept as it is.

    With `here` services don't count, only the readers of this machine.

    What was read once is not given up where its reader is gone: the step fails, and the earlier result is still served.
    """
    source = find_source(context)
    readers = context.providers.extractor if here else context.providers
    if not source.was_read and not readers.accepts(source.content_type):
        raise NothingReads
    return source
