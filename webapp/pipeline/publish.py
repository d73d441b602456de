"""The step `publish`: replaces what readers see by the new result, in the transaction that ends the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast
from uuid import UUID

import numpy as np
from sqlalchemy import Table, Update, bindparam, delete, insert, update

from webapp.clock import new_id
from webapp.db import Base, reading, session
from webapp.documents.model import Artifact, Document, DocumentField, DocumentTable
from webapp.documents.page_model import DocumentPage
from webapp.documents.states import LiveRun
from webapp.library import facts, field_dates, found_fields, names
from webapp.library.found_fields import share
from webapp.library.searchable import WORDS
from webapp.pipeline import replaced
from webapp.pipeline.apply_rules import apply_rules
from webapp.pipeline.artifacts import clear_away
from webapp.pipeline.chunk import StagedChunk, load_chunks
from webapp.pipeline.connect import follow_up
from webapp.pipeline.description import Description, description_of
from webapp.pipeline.embed import Vector, embed_missing, load_vectors
from webapp.pipeline.extract import keep_extraction, load_extraction
from webapp.pipeline.source import find_source
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.readers.extraction import Extraction
from webapp.readers.page_reading import PageReading
from webapp.readers.versions import OTHERS, is_mark
from webapp.runs import announcements, lifecycle, transitions
from webapp.runs.stages import PUBLISH, READ_ANEW
from webapp.search import index, values
from webapp.search.index import NewChunk
from webapp.search.values import NamedValue
from webapp.search.word_rows import DocumentNames
from webapp.statistics import incidents
from webapp.statistics.incidents import IncidentName

# Of so many passages and more, a new result that has less than half is worth an alert.
LOSS_PASSAGES_MIN = 20
# The artifacts that readers are served: a document has its Markdown, a scan its words, a recording all others.
_documents = cast(Table, Document.__table__)
PUBLISHED = ("markdown", WORDS, "audio", "sound", "transcript", "analysis")


@dataclass(frozen=True)
class Result:
    """A complete result, ready to be published."""

    extraction: Extraction
    chunks: Sequence[NewChunk]
    stored: index.StoredChunks
    embedding: Vector | None
    """The document's vector, the mean of its passages'; None where it does not change."""
    model: str
    description: Description
    artifacts: Mapping[str, str]
    found_values: values.FoundValues


def publish(context: StageContext) -> None:
    """Run the last step: replace the old result, end run and job; then remove old artifacts."""
    context.step(
        PUBLISH,
        lambda: _gather(context),
        lambda result: _store(context, result),
        end=lambda: _end(context),
    )
    keep_extraction(context)
    clear_away(context, _published(context).values())


def _end(context: StageContext) -> None:
    end_published(context)
    apply_rules(context)
    # Last, so that it tells of what the rules have made of the document.
    announcements.document_ended(context.queue, LiveRun(context.run_id, context.org_id, context.document_id))


def end_published(context: StageContext) -> None:
    """End the run as succeeded and enqueue the job that follows it, in one transaction."""
    lifecycle.succeed_run(context.queue, context.lease)
    context.queue.enqueue([follow_up(context.lease, context.job_attempts)])


def _gather(context: StageContext) -> Result:
    extraction, staged = load_extraction(context), load_chunks(context)
    model, stored = context.providers.embedder.model, _stored(context)
    vectors = None
    with_vectors = [chunk for chunk in staged if chunk.has_vector]
    if _models(stored) != {chunk.id: model if chunk.has_vector else None for chunk in staged}:
        # Does nothing, unless the model was changed or the cache was emptied meanwhile.
        embed_missing(context, staged)
        vectors = load_vectors(context, {chunk.sha256 for chunk in with_vectors})
    chunks = [_new_chunk(chunk, vectors, model) for chunk in staged]
    return Result(
        extraction=extraction,
        chunks=chunks,
        stored=stored,
        embedding=mean_direction([vectors[chunk.sha256] for chunk in with_vectors]) if vectors else None,
        model=model,
        description=description_of(extraction, context.content_type or find_source(context).content_type),
        artifacts=_published(context),
        found_values=values.values_in(
            chunks, [NamedValue(each.name, each.value, each.page, each.kind) for each in extraction.fields]
        ),
    )


def _stored(context: StageContext) -> index.StoredChunks:
    """The passages that are published now. Only a run of this document changes them, and ours is the only one."""
    if context.is_first_result:
        return {}
    with reading(context.org_id):
        return index.stored_chunks(context.org_id, context.document_id)


def _models(stored: index.StoredChunks) -> dict[UUID, str | None]:
    return {chunk_id: row.embedding_model for chunk_id, row in stored.items()}


def _published(context: StageContext) -> dict[str, str]:
    """The paths of the artifacts that readers are served, by kind."""
    made: Mapping[str, str] = {**context.checkpoint["artifacts"], **context.made}
    return {kind: made[kind] for kind in PUBLISHED if kind in made}


def mean_direction(vectors: Sequence[Vector]) -> Vector:
    """The mean of the vectors at unit length; the first one's direction if they cancel out."""
    mean: Vector = np.mean(np.asarray(vectors, dtype=np.float64), axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length > 1e-9 else np.asarray(vectors[0], dtype=np.float32)


def _new_chunk(chunk: StagedChunk, vectors: Mapping[str, Vector] | None, model: str) -> NewChunk:
    return NewChunk(
        id=chunk.id,
        ordinal=chunk.ordinal,
        text=chunk.text,
        text_sha256=chunk.sha256,
        heading=chunk.heading,
        page_from=chunk.page_from,
        page_to=chunk.page_to,
        time_from=chunk.time_from,
        time_to=chunk.time_to,
        embedding=vectors[chunk.sha256] if vectors and chunk.has_vector else None,
        embedding_model=model if chunk.has_vector else None,
    )


def _store(context: StageContext, result: Result) -> Stored:
    org_id, document_id = context.org_id, context.document_id
    # Before its passages: all who lock these lock the document's row first.
    transitions.lock(document_id, org_id)
    if not context.is_first_result:
        _remove_old(org_id, document_id, result.artifacts)
    known = facts.kept(org_id, document_id, _described(result.description))
    changed = index.replace(org_id, document_id, result.chunks, result.stored, _names(result, known["title"]))
    if len(result.stored) >= LOSS_PASSAGES_MIN and 2 * len(result.chunks) < len(result.stored):
        incidents.record(IncidentName.PASSAGES_LOST, number=len(result.stored) - len(result.chunks))
    values.add(org_id, document_id, result.found_values)
    is_corrected = found_fields.add(org_id, document_id, result.extraction.fields)
    _add_tables(org_id, document_id, result.extraction)
    _add_pages(org_id, document_id, result.description.pages)
    paths = [{"kind": kind, "path": path} for kind, path in result.artifacts.items()]
    _add(Artifact, org_id, document_id, paths)
    _describe(context, result, known)
    if is_corrected:
        field_dates.follow(org_id, document_id)
    return Stored(details={"added": changed.added, "kept": changed.kept, "removed": changed.removed})


def _names(result: Result, title: str | None) -> DocumentNames:
    """The document's title and languages, with which its passages are indexed."""
    pages = {page.number: page.language for page in result.extraction.pages if page.language}
    return DocumentNames(title=title, language=result.extraction.language, page_languages=pages)


def _described(description: Description) -> dict[str, Any]:
    """The facts that were found."""
    return {
        "title": description.title,
        "title_is_guess": description.title_is_guess,
        "kind": description.kind,
        "document_date": description.document_date,
        "document_date_from": description.document_date_from,
    }


def _describe(context: StageContext, result: Result, facts_known: Mapping[str, Any]) -> None:
    extraction, described = result.extraction, result.description
    known: dict[str, Any] = {
        **facts_known,
        "page_count": extraction.page_count,
        "pages_read": described.pages_read,
        "reading": described.reading.value,
        "language": extraction.language,
        "warnings": list(extraction.warnings) or None,
        "locked_parts": extraction.locked_parts or None,
        "read_by": _read_by(context, extraction),
    }
    if context.lease.stage == READ_ANEW and extraction.parts:
        # What its unpacking said holds on: it is not unpacked anew.
        del known["warnings"], known["locked_parts"]
    if result.embedding is not None:
        known |= {"embedding": result.embedding, "embedding_model": result.model}
    names.rename(context.org_id, context.document_id, {"title": known["title"]})
    row = {"org": context.org_id, "document": context.document_id, **{f"to_{name}": known[name] for name in known}}
    session().execute(_described_by(*known), row)


def _read_by(context: StageContext, extraction: Extraction) -> str:
    """The mark of its reader; programs, services and recognisers of speech leave none."""
    is_own = extraction.extractor == context.providers.extractor.name and is_mark(extraction.version)
    return extraction.version if is_own else f"{OTHERS}{extraction.extractor}"


@cache
def _described_by(*names: str) -> Update:
    described = update(_documents).where(
        _documents.c.org_id == bindparam("org"), _documents.c.id == bindparam("document")
    )
    return described.values({name: bindparam(f"to_{name}") for name in names})


def _remove_old(org_id: UUID, document_id: UUID, artifacts: Mapping[str, str]) -> None:
    """Remove the old result, except for its passages."""
    replaced.remember(org_id, document_id, kept=set(artifacts.values()))
    values.remove(org_id, document_id)
    for table in (DocumentField, DocumentTable, DocumentPage, Artifact):
        of_document = (table.org_id == org_id, table.document_id == document_id)
        session().execute(delete(table).where(*of_document), execution_options={"synchronize_session": False})


def _add(table: type[Base], org_id: UUID, document_id: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        own = {"org_id": org_id, "document_id": document_id}
        session().execute(insert(cast(Table, table.__table__)), [{**own, **row} for row in rows])


def _add_tables(org_id: UUID, document_id: UUID, extraction: Extraction) -> None:
    rows = [
        {
            "id": new_id(),
            "ordinal": ordinal,
            "page": table.page,
            "caption": table.caption,
            "rows": [list(row) for row in table.rows],
            "columns": list(table.columns) or None,
            "values": [list(each) for each in table.values] or None,
            "spans": [list(each) for each in table.spans] or None,
        }
        for ordinal, table in enumerate(extraction.tables)
    ]
    _add(DocumentTable, org_id, document_id, rows)


def _add_pages(org_id: UUID, document_id: UUID, pages: Sequence[PageReading]) -> None:
    rows = [
        {
            "number": page.number,
            "reading": page.reading.value,
            "reason": page.reason.value if page.reason else None,
            "by_ocr": page.by_ocr,
            "sure_share": share(page.sure_share),
        }
        for page in pages
    ]
    _add(DocumentPage, org_id, document_id, rows)
