"""The result becomes what readers see: all of it in one transaction, together with the end of the run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import delete, insert, update

from webapp.clock import new_id
from webapp.db import reading, session
from webapp.documents import runs
from webapp.documents.model import Artifact, Document, DocumentField, DocumentTable
from webapp.pipeline import lifecycle
from webapp.pipeline.artifacts import clear_away
from webapp.pipeline.chunk import StagedChunk, load_chunks
from webapp.pipeline.connect import follow_up
from webapp.pipeline.embed import Vector, embed_missing, load_vectors
from webapp.pipeline.extract import load_extraction
from webapp.pipeline.markdown import find_headings, unmark
from webapp.pipeline.stages import PUBLISH
from webapp.pipeline.steps import StageContext, Stored
from webapp.providers.ports import Extraction, Field
from webapp.search import index, values
from webapp.search.index import NewChunk
from webapp.search.values import NamedValue

TITLE_CHARACTERS_MAX = 300
# A document has its text; a recording also what was heard, and what the notes say of it.
PUBLISHED = ("markdown", "audio", "sound", "transcript", "analysis")


@dataclass(frozen=True)
class Result:
    """Everything that is published together."""

    extraction: Extraction
    chunks: Sequence[NewChunk]
    standing: index.Standing
    embedding: Vector | None
    """Where the document points as a whole; None where that stays as it is."""
    model: str
    title: str | None
    artifacts: Mapping[str, str]


def publish(context: StageContext) -> None:
    """The last step: swap the old result for the new one and end run and job; then clear up."""
    context.step(
        PUBLISH,
        lambda: _gather(context),
        lambda result: _store(context, result),
        end=lambda: end_published(context),
    )
    clear_away(context, set(_published(context).values()))


def end_published(context: StageContext) -> None:
    """The run has succeeded, and what follows it is in line: both or neither."""
    lifecycle.succeed_run(context.queue, context.lease)
    context.queue.enqueue([follow_up(context.lease, context.job_attempts)])


def _gather(context: StageContext) -> Result:
    extraction, staged = load_extraction(context), load_chunks(context)
    model, standing = context.providers.embedder.model, _standing(context)
    vectors = None
    if _models(standing) != {chunk.id: model for chunk in staged}:
        # Nothing is asked for here, unless the model was changed or the cache was emptied meanwhile.
        embed_missing(context, staged)
        vectors = load_vectors(context, {chunk.sha256 for chunk in staged})
    return Result(
        extraction=extraction,
        chunks=[_new_chunk(chunk, vectors[chunk.sha256] if vectors else None, model) for chunk in staged],
        standing=standing,
        embedding=mean_direction([vectors[chunk.sha256] for chunk in staged]) if vectors else None,
        model=model,
        title=_title(extraction),
        artifacts=_published(context),
    )


def _standing(context: StageContext) -> index.Standing:
    """What is published now. Nobody but a run of this document changes that, and no other one is at work."""
    with reading(context.org_id):
        return index.standing_in(context.org_id, context.document_id)


def _models(standing: index.Standing) -> dict[UUID, str | None]:
    return {chunk_id: row.embedding_model for chunk_id, row in standing.items()}


def _published(context: StageContext) -> dict[str, str]:
    """The blobs that readers are served from, by what they are."""
    made: Mapping[str, str] = context.checkpoint["artifacts"]
    return {kind: made[kind] for kind in PUBLISHED if kind in made}


def mean_direction(vectors: Sequence[Vector]) -> Vector:
    """Where the vectors point together, at unit length; the first one's direction if they cancel out."""
    mean: Vector = np.mean(np.asarray(vectors, dtype=np.float64), axis=0)
    length = float(np.linalg.norm(mean))
    return (mean / length).astype(np.float32) if length > 1e-9 else np.asarray(vectors[0], dtype=np.float32)


def _new_chunk(chunk: StagedChunk, vector: Vector | None, model: str) -> NewChunk:
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
        embedding=vector,
        embedding_model=model,
    )


def _title(extraction: Extraction) -> str | None:
    """What the file calls itself, else its first heading."""
    if extraction.title:
        return extraction.title[:TITLE_CHARACTERS_MAX]
    headings = find_headings(unmark(extraction.markdown, extraction.page_count).text[:5_000])
    return headings.paths[0] or None if headings.paths else None


def _store(context: StageContext, result: Result) -> Stored:
    org_id, document_id = context.org_id, context.document_id
    # Before any of its passages: whoever else holds on to them waits for the document's row, too.
    runs.lock(document_id, org_id)
    replaced = index.replace(org_id, document_id, result.chunks, result.standing)
    named = [NamedValue(field.name, field.value, field.page) for field in result.extraction.fields]
    values.replace(org_id, document_id, result.chunks, named)
    _replace_fields(org_id, document_id, result.extraction.fields)
    _replace_tables(org_id, document_id, result.extraction)
    _replace_artifacts(org_id, document_id, result.artifacts)
    _describe(context, result)
    return Stored(details={"added": replaced.added, "kept": replaced.kept, "removed": replaced.removed})


def _describe(context: StageContext, result: Result) -> None:
    extraction = result.extraction
    known: dict[str, Any] = {
        "title": result.title,
        "page_count": extraction.page_count,
        "language": extraction.language,
        "warnings": list(extraction.warnings) or None,
        "published_run_id": context.run_id,
    }
    if result.embedding is not None:
        known |= {"embedding": result.embedding, "embedding_model": result.model}
    described = update(Document).where(Document.org_id == context.org_id, Document.id == context.document_id)
    session().execute(described.values(**known))


def _replace_fields(org_id: UUID, document_id: UUID, fields: Sequence[Field]) -> None:
    _empty(DocumentField, org_id, document_id)
    rows = [
        {
            "id": new_id(),
            "org_id": org_id,
            "document_id": document_id,
            "ordinal": ordinal,
            "name": field.name,
            "value": field.value,
            "confidence": _share(field.confidence),
            "page": field.page,
            "polygon": _finite(field.polygon),
        }
        for ordinal, field in enumerate(fields)
    ]
    if rows:
        session().execute(insert(DocumentField), rows)


def _replace_tables(org_id: UUID, document_id: UUID, extraction: Extraction) -> None:
    _empty(DocumentTable, org_id, document_id)
    rows = [
        {
            "id": new_id(),
            "org_id": org_id,
            "document_id": document_id,
            "ordinal": ordinal,
            "page": table.page,
            "caption": table.caption,
            "rows": [list(row) for row in table.rows],
        }
        for ordinal, table in enumerate(extraction.tables)
    ]
    if rows:
        session().execute(insert(DocumentTable), rows)


def _replace_artifacts(org_id: UUID, document_id: UUID, paths: Mapping[str, str]) -> None:
    _empty(Artifact, org_id, document_id)
    for kind, path in paths.items():
        session().add(Artifact(org_id=org_id, document_id=document_id, kind=kind, path=path))


def _empty(table: type[DocumentField] | type[DocumentTable] | type[Artifact], org_id: UUID, document_id: UUID) -> None:
    of_document = (table.org_id == org_id, table.document_id == document_id)
    session().execute(delete(table).where(*of_document), execution_options={"synchronize_session": False})


def _share(confidence: float | None) -> float | None:
    """Between 0 and 1, as the table demands of it; nothing where it is no number."""
    if confidence is None or math.isnan(confidence):
        return None
    return min(1.0, max(0.0, confidence))


def _finite(polygon: Sequence[float] | None) -> list[Any] | None:
    """JSON has no word for infinity."""
    return list(polygon) if polygon and all(math.isfinite(number) for number in polygon) else None
