"""The file's bytes -> text, fields and tables; asked for once, whatever happens afterwards."""

import re
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from webapp import db
from webapp.clock import monotonic
from webapp.documents.model import Document
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.artifacts import artifact_path, digest
from webapp.pipeline.ledger import record_call
from webapp.pipeline.stages import EXTRACT, SAVE_MARKDOWN
from webapp.pipeline.steps import StageContext, Stored
from webapp.providers.errors import BlobMissing
from webapp.providers.ports import Extraction, Extractor

_NOT_IN_PATHS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Source:
    """The uploaded file of a document."""

    content_type: str
    sha256: str
    blob_path: str


@dataclass(frozen=True)
class Extracted:
    """A result, where it lies, and what it took."""

    path: str
    pages: int
    partial: bool
    seconds: float
    reused: bool


def find_source(context: StageContext) -> Source:
    """Look the document up; where it is gone, so is the job."""
    with db.reading(context.org_id) as session:
        columns = select(Document.content_type, Document.sha256, Document.blob_path)
        row = session.execute(
            columns.where(Document.org_id == context.org_id, Document.id == context.document_id)
        ).one_or_none()
    if row is None:
        raise LeaseLost
    return Source(*row)


def extract(context: StageContext) -> None:
    """The step: read the file, or find that it was read before. The answer is saved before it is counted."""
    source = find_source(context)
    context.step(EXTRACT, lambda: _compute(context, source), lambda result: _store(context, result))


def save_markdown(context: StageContext) -> None:
    """The step: put the text where readers will be served from."""
    context.step(SAVE_MARKDOWN, lambda: _write_markdown(context), lambda path: Stored(artifacts={"markdown": path}))


def load_extraction(context: StageContext) -> Extraction:
    """Read what the step saved."""
    return Extraction.from_json(context.providers.blobs.read_bytes(context.artifact("extraction")))


def cache_folder(org_id: UUID, sha256: str) -> str:
    """Where all the extractions of these bytes lie: to be removed together with their document."""
    return f"{org_id}/extractions/{sha256}/"


def cache_path(org_id: UUID, source: Source, extractor: Extractor) -> str:
    """Where the extraction of these bytes lies: by everything that can change it."""
    options = digest(f"{extractor.version}\n{extractor.options_key()}\n{source.content_type}".encode())[:16]
    name = _NOT_IN_PATHS.sub("-", f"{extractor.name}-{extractor.version}")[:150]
    return f"{cache_folder(org_id, source.sha256)}{name}-{options}.json"


def _compute(context: StageContext, source: Source) -> Extracted:
    path = cache_path(context.org_id, source, context.providers.extractor)
    started = monotonic()
    extraction = _cached(context, path)
    reused = extraction is not None
    if extraction is None:
        extraction = _read(context, source)
        context.providers.blobs.put_bytes(path, extraction.to_json())
    return Extracted(path, extraction.page_count or 1, extraction.partial, monotonic() - started, reused)


def _cached(context: StageContext, path: str) -> Extraction | None:
    try:
        return Extraction.from_json(context.providers.blobs.read_bytes(path))
    except (BlobMissing, ValueError):
        # One that can't be read is as good as none, and is replaced.
        return None


def _read(context: StageContext, source: Source) -> Extraction:
    with context.providers.blobs.local_copy(source.blob_path) as file:
        return context.providers.extractor.extract(
            file,
            source.content_type,
            timeout_seconds=min(context.extract_timeout_seconds, context.remaining_seconds()),
            progress=context.progress,
        )


def _store(context: StageContext, result: Extracted) -> Stored:
    record_call(
        context,
        context.providers.extractor.name,
        "extract",
        units=result.pages,
        seconds=result.seconds,
        reused=result.reused,
    )
    details = {"pages": result.pages} | ({"partial": True} if result.partial else {})
    return Stored(artifacts={"extraction": result.path}, details=details, reused=result.reused)


def _write_markdown(context: StageContext) -> str:
    data = load_extraction(context).markdown.encode()
    path = artifact_path(context, "markdown", data, "md")
    context.providers.blobs.put_bytes(path, data)
    return path
