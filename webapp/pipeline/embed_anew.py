"""The stage `embed_anew`: another model's vectors for the passages that are published, and nothing else.

The file is not read again and no passage is cut again, so what people see does not change. Search uses the old vectors
until all new ones are there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import update

from webapp.db import reading, session
from webapp.documents.model import Document
from webapp.pipeline.chunk import StagedChunk
from webapp.pipeline.embed import Vector, embed_missing, load_vectors, store_embedded
from webapp.pipeline.publish import end_published, mean_direction
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.runs import transitions
from webapp.runs.stages import EMBED, PUBLISH
from webapp.search import index


@dataclass(frozen=True)
class Renewed:
    """The new vectors of the passages and of the document."""

    vectors: Sequence[tuple[UUID, Vector]]
    embedding: Vector | None
    model: str


def embed_published(context: StageContext) -> None:
    """Ask for the vectors that are not known yet."""
    context.step(
        EMBED,
        lambda: embed_missing(context, _passages(context)),
        lambda result: store_embedded(context, result),
    )


def publish_vectors(context: StageContext) -> None:
    """Replace the old vectors by the new ones, together with the end of the run."""
    context.step(
        PUBLISH, lambda: _gather(context), lambda found: _store(context, found), lambda: end_published(context)
    )


def _passages(context: StageContext) -> list[StagedChunk]:
    with reading(context.org_id):
        rows = index.texts(context.org_id, context.document_id)
    return [StagedChunk(row.id, row.ordinal, row.text, row.text_sha256, None, None, None) for row in rows]


def _gather(context: StageContext) -> Renewed:
    passages = _passages(context)
    # Does nothing, unless the model was changed or the cache was emptied meanwhile.
    embed_missing(context, passages)
    found = load_vectors(context, {passage.sha256 for passage in passages})
    vectors = [(passage.id, found[passage.sha256]) for passage in passages]
    embedding = mean_direction([vector for _, vector in vectors]) if vectors else None
    return Renewed(vectors, embedding, context.providers.embedder.model)


def _store(context: StageContext, renewed: Renewed) -> Stored:
    org_id, document_id = context.org_id, context.document_id
    # Before its passages: all who lock these lock the document's row first.
    transitions.lock(document_id, org_id)
    index.renew_vectors(org_id, renewed.vectors, renewed.model)
    if renewed.embedding is not None:
        described = update(Document).where(Document.org_id == org_id, Document.id == document_id)
        session().execute(described.values(embedding=renewed.embedding, embedding_model=renewed.model))
    return Stored(details={"renewed": len(renewed.vectors)})
