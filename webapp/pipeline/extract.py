"""The file's bytes -> text, fields and tables; asked for once, whatever happens afterwards."""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from uuid import UUID

from sqlalchemy import select

from webapp import db
from webapp.clock import monotonic
from webapp.documents.model import Document
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.artifacts import artifact_path, digest, parsed
from webapp.pipeline.extract_slowly import OPERATION, SlowReading
from webapp.pipeline.ledger import record_call
from webapp.pipeline.page_words import PageWords
from webapp.pipeline.stages import EXTRACT, SAVE_MARKDOWN
from webapp.pipeline.steps import StageContext, Stored
from webapp.providers.errors import BlobMissing
from webapp.providers.ports import AnyExtractor, Extraction, SlowExtractor

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

    provider: str
    path: str
    pages: int
    partial: bool
    seconds: float
    reused: bool
    is_billed: bool
    """Whether what it cost was written down as it was paid."""


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
    return parsed(context, "extraction", Extraction.from_json)


def cache_folder(org_id: UUID, sha256: str) -> str:
    """Where all the extractions of these bytes lie: to be removed together with their document."""
    return f"{org_id}/extractions/{sha256}/"


def cache_path(org_id: UUID, source: Source, extractor: AnyExtractor) -> str:
    """Where the extraction of these bytes lies: by everything that can change it."""
    options = digest(f"{extractor.version}\n{extractor.options_key()}\n{source.content_type}".encode())[:16]
    name = _NOT_IN_PATHS.sub("-", f"{extractor.name}-{extractor.version}")[:150]
    return f"{cache_folder(org_id, source.sha256)}{name}-{options}.json"


def words_path(extraction_path: str) -> str:
    """Where the words of an extraction lie, with their places; there is nothing where they have none."""
    return f"{extraction_path.removesuffix('.json')}.words.jsonl"


def _compute(context: StageContext, source: Source) -> Extracted:
    slow = context.providers.slow_for(source.content_type)
    extractor: AnyExtractor = slow or context.providers.extractor
    path = cache_path(context.org_id, source, extractor)
    started = monotonic()
    extraction = _cached(context, path)
    reused, is_billed = extraction is not None, False
    if extraction is None and slow is not None:
        extraction, reused = _read_slowly(context, source, slow, path)
        is_billed = not reused
    elif extraction is None:
        extraction = _kept(context, path, _read(context, source))
    seconds = monotonic() - started
    pages = extraction.page_count or 1
    return Extracted(extractor.name, path, pages, extraction.partial, seconds, reused, is_billed)


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


def _kept(context: StageContext, path: str, extraction: Extraction) -> Extraction:
    """Store a result: its words first, so that whoever finds the result finds them, too."""
    words = PageWords()
    extraction = words.take(extraction)
    words.save(context.providers.blobs, words_path(path))
    context.providers.blobs.put_bytes(path, extraction.to_json())
    return extraction


def _read_slowly(context: StageContext, source: Source, extractor: SlowExtractor, path: str) -> tuple[Extraction, bool]:
    """Read a file elsewhere: Snoozed until all is there. Says whether all answers were there before this job."""
    blobs, words = context.providers.blobs, PageWords()
    question = digest(extractor.answers_key(source.content_type).encode())[:16]
    folder = f"{cache_folder(context.org_id, source.sha256)}{extractor.name}-{question}/"
    with ExitStack() as borrowed:
        lend = cache(lambda: borrowed.enter_context(blobs.local_copy(source.blob_path)))
        read = SlowReading(context, extractor, source.content_type, folder, lend).look(words.take)
    words.save(blobs, words_path(path))
    extraction = read.joined()
    blobs.put_bytes(path, extraction.to_json())
    return extraction, read.reused


def _store(context: StageContext, result: Extracted) -> Stored:
    if not result.is_billed:
        units, seconds = result.pages, result.seconds
        record_call(context, result.provider, OPERATION, units=units, seconds=seconds, reused=result.reused)
    details = {"pages": result.pages} | ({"partial": True} if result.partial else {})
    return Stored(artifacts={"extraction": result.path}, details=details, reused=result.reused)


def _write_markdown(context: StageContext) -> str:
    data = load_extraction(context).markdown.encode()
    path = artifact_path(context, "markdown", data, "md")
    context.providers.blobs.put_bytes(path, data)
    return path
