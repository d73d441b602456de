"""The steps `extract` and `save_markdown`: a file's bytes -> text, fields and tables; read once for the same bytes."""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Table, bindparam, select

from webapp import db
from webapp.clock import monotonic
from webapp.documents import blob_layout
from webapp.documents.model import Document
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.artifacts import artifact_path, digest, parsed
from webapp.pipeline.page_windows import OPERATION, read_windows
from webapp.pipeline.paid_calls.ledger import record_call, record_saved
from webapp.pipeline.remote_work import local_file
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import BlobMissing, ProviderError
from webapp.providers.ports import AnyExtractor, RemoteExtractor
from webapp.readers.extraction import Extraction
from webapp.runs.stages import EXTRACT, SAVE_MARKDOWN

_documents = cast(Table, Document.__table__)
_SOURCE = select(
    *_documents.c["content_type", "blob_path", "sha256", "answers_folder", "published_run_id", "pages_read"]
).where(_documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document"))
_NOT_IN_PATHS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Source:
    """The uploaded file of a document, and where the answers about it are kept."""

    content_type: str
    blob_path: str
    answers_folder: str
    was_read: bool
    """Whether a result with text is published."""


class NothingReads(Exception):
    """Nothing on this installation reads this kind of file, and nothing ever did: it is kept as it is."""


@dataclass(frozen=True)
class Extracted:
    """An extraction, and what it cost."""

    provider: str
    extraction: Extraction
    seconds: float
    is_cached: bool
    is_remote: bool
    """Whether a paid service read it; its calls have their ledger lines already."""


def find_source(context: StageContext) -> Source:
    """The job's document; LeaseLost where it was deleted, and the job with it."""
    with db.reading(context.org_id) as session:
        row = session.execute(_SOURCE, {"org": context.org_id, "document": context.document_id}).one_or_none()
    if row is None:
        raise LeaseLost
    context.is_first_result = row.published_run_id is None
    folder = blob_layout.answers_folder(context.org_id, row.sha256, row.answers_folder)
    was_read = row.published_run_id is not None and row.pages_read != 0
    return Source(row.content_type, row.blob_path, folder, was_read)


def find_readable(context: StageContext) -> Source:
    """The job's document, as its first step needs it; NothingReads where it is to be kept as it is.

    What was read once is not given up where its reader is gone: the step fails, and the earlier result is still served.
    """
    source = find_source(context)
    if not source.was_read and not context.providers.accepts(source.content_type):
        raise NothingReads
    return source


def extract(context: StageContext) -> None:
    """Run the step: read the file, unless the same bytes were read before. NothingReads."""
    source = find_readable(context)
    context.step(EXTRACT, lambda: _compute(context, source), lambda result: _store(context, result))


def save_markdown(context: StageContext) -> None:
    """Run the step: store the text as the artifact that readers are served."""
    context.step(SAVE_MARKDOWN, lambda: _write_markdown(context), lambda _: Stored())


def load_extraction(context: StageContext) -> Extraction:
    """Read what the step saved."""
    return parsed(context, "extraction", Extraction.from_json)


def keep_extraction(context: StageContext) -> None:
    """Store an extraction for later runs of the same bytes, unless it is stored already.

    It cost nothing and the file can be read again, so it is neither synced nor retried.
    """
    path = context.artifact("extraction")
    if unsaved := context.unsaved_blobs.pop(path, None):
        with suppress(ProviderError):
            context.providers.blobs.put_bytes(path, unsaved.data, durably=False)


def cache_path(source: Source, extractor: AnyExtractor) -> str:
    """The path of a file's extraction, made of everything that can change it."""
    options = digest(f"{extractor.version}\n{extractor.options_key()}\n{source.content_type}".encode())[:16]
    name = _NOT_IN_PATHS.sub("-", f"{extractor.name}-{extractor.version}")[:150]
    return f"{source.answers_folder}{name}-{options}.json"


def _compute(context: StageContext, source: Source) -> Extracted:
    remote = context.providers.remote_for(source.content_type)
    extractor: AnyExtractor = remote or context.providers.extractor
    path = cache_path(source, extractor)
    started = monotonic()
    extraction = _cached(context, path)
    is_cached = extraction is not None
    if extraction is None:
        extraction = _read_remotely(context, source, remote, path) if remote else _read(context, source, path)
    context.made["extraction"], context.parsed[path] = path, extraction
    return Extracted(extractor.name, extraction, monotonic() - started, is_cached, remote is not None)


def _cached(context: StageContext, path: str) -> Extraction | None:
    try:
        return Extraction.from_json(context.providers.blobs.read_bytes(path))
    except (BlobMissing, ValueError):
        # An unreadable one is replaced.
        return None


def _read(context: StageContext, source: Source, path: str) -> Extraction:
    with context.providers.blobs.local_copy(source.blob_path) as file:
        found = context.providers.extractor.extract(
            file,
            source.content_type,
            timeout_seconds=min(context.extract_timeout_seconds, context.remaining_seconds()),
            progress=context.progress,
        )
    return _kept(context, path, found)


def _read_remotely(context: StageContext, source: Source, extractor: RemoteExtractor, path: str) -> Extraction:
    """Read a file at a service; Snoozed until all answers are there."""
    question = digest(extractor.answers_key(source.content_type).encode())[:16]
    folder = f"{source.answers_folder}{extractor.name}-{question}/"
    with local_file(context.providers.blobs, source.blob_path) as file:
        found = read_windows(context, extractor, source.content_type, folder, file)
    # In this attempt or an earlier one.
    context.has_paid = True
    return _kept(context, path, found)


def _kept(context: StageContext, path: str, extraction: Extraction) -> Extraction:
    context.make("extraction", path, extraction.to_json())
    return extraction


def _store(context: StageContext, result: Extracted) -> Stored:
    pages, reused = result.extraction.page_count or 1, result.is_cached
    if result.is_remote:
        reused = record_saved(context, result.provider, OPERATION, len(result.extraction.pages)) or reused
    elif reused:
        record_saved(context, result.provider, OPERATION, pages)
    else:
        record_call(context, result.provider, OPERATION, units=pages, seconds=result.seconds)
    details = {"pages": pages} | ({"partial": True} if result.extraction.partial else {})
    return Stored(details=details, reused=reused)


def _write_markdown(context: StageContext) -> None:
    data = load_extraction(context).markdown.encode()
    context.make("markdown", artifact_path(context, "markdown", data, "md"), data, is_published=True)
