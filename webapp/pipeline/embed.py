"""Passages -> vectors. Each text is asked for once in an org, and each batch is saved as it comes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from webapp import db
from webapp.clock import monotonic
from webapp.pipeline.chunk import StagedChunk, load_chunks
from webapp.pipeline.ledger import record_call
from webapp.pipeline.stages import EMBED
from webapp.pipeline.steps import StageContext, Stored
from webapp.providers.errors import ProviderError
from webapp.providers.ports import Embedder
from webapp.search import vector_cache

Vector = NDArray[np.float32]
UNIT_TOLERANCE = 0.01


@dataclass(frozen=True)
class Embedded:
    """How many texts were asked for, and how many were known already."""

    asked: int
    known: int


def embed(context: StageContext) -> None:
    """The step: make sure that each passage's vector is in the cache."""
    context.step(EMBED, lambda: embed_missing(context, load_chunks(context)), lambda result: _store(context, result))


def embed_missing(context: StageContext, chunks: Sequence[StagedChunk]) -> Embedded:
    """Ask for the vectors that nobody asked for yet; a crash loses the batch in flight and no other."""
    texts = {chunk.sha256: chunk.text for chunk in chunks}
    known = known_hashes(context, texts.keys())
    missing = [sha256 for sha256 in texts if sha256 not in known]
    done = len(known)
    for batch in _batches(missing, context.providers.embedder.batch_size):
        context.check()
        _embed_batch(context, {sha256: texts[sha256] for sha256 in batch})
        done += len(batch)
        context.progress(done / len(texts))
    return Embedded(asked=len(missing), known=len(known))


def known_hashes(context: StageContext, hashes: Collection[str]) -> set[str]:
    """Which of these texts have a vector already."""
    with db.reading(context.org_id):
        return vector_cache.known(context.org_id, context.providers.embedder.model, hashes)


def load_vectors(context: StageContext, hashes: Collection[str]) -> dict[str, Vector]:
    """The vectors of these texts."""
    with db.reading(context.org_id):
        return vector_cache.load(context.org_id, context.providers.embedder.model, hashes)


def _embed_batch(context: StageContext, texts: Mapping[str, str]) -> None:
    embedder = context.providers.embedder
    started = monotonic()
    vectors = checked_vectors(embedder, list(texts.values()))
    seconds = monotonic() - started
    with context.transaction():
        vector_cache.save(context.org_id, embedder.model, dict(zip(texts, vectors, strict=True)))
        record_call(context, embedder.name, "embed", units=len(texts), seconds=seconds)


def checked_vectors(embedder: Embedder, texts: Sequence[str]) -> Vector:
    """The vectors of a batch as rows; ProviderError where the answer can't be right."""
    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dimensions):
        raise ProviderError(f"{embedder.name} gave vectors of shape {vectors.shape} for {len(texts)} texts")
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.all(np.abs(lengths - 1) < UNIT_TOLERANCE):
        raise ProviderError(f"{embedder.name} gave vectors that are not of unit length")
    return vectors


def _store(context: StageContext, result: Embedded) -> Stored:
    if result.known:
        name = context.providers.embedder.name
        record_call(context, name, "embed", units=result.known, seconds=0.0, reused=True)
    return Stored(details={"embedded": result.asked, "reused": result.known}, reused=result.asked == 0)


def _batches(hashes: Sequence[str], size: int) -> Iterator[list[str]]:
    rest = iter(hashes)
    while batch := list(islice(rest, size)):
        yield batch
