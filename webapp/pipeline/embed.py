"""Passages -> vectors. Each text is asked for once in an org, and what each call brings is saved as it comes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Self

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
    context.step(
        EMBED, lambda: embed_missing(context, load_chunks(context)), lambda result: store_embedded(context, result)
    )


def embed_missing(context: StageContext, chunks: Sequence[StagedChunk]) -> Embedded:
    """Ask for the vectors that nobody asked for yet; a crash loses the calls in flight and no others."""
    texts = {chunk.sha256: chunk.text for chunk in chunks}
    known = known_hashes(context, texts.keys())
    missing = {sha256: text for sha256, text in texts.items() if sha256 not in known}
    with _Calls(context, done=len(known), total=len(texts)) as calls:
        for batch in _batches(missing, context.providers.embedder):
            calls.make(batch)
    return Embedded(asked=len(missing), known=len(known))


def known_hashes(context: StageContext, hashes: Collection[str]) -> set[str]:
    """Which of these texts have a vector already."""
    with db.reading(context.org_id):
        return vector_cache.known(context.org_id, context.providers.embedder.model, hashes)


def load_vectors(context: StageContext, hashes: Collection[str]) -> dict[str, Vector]:
    """The vectors of these texts."""
    with db.reading(context.org_id):
        return vector_cache.load(context.org_id, context.providers.embedder.model, hashes)


@dataclass(frozen=True)
class _Brought:
    """What one call brought: vectors, or why there are none."""

    hashes: tuple[str, ...]
    seconds: float
    vectors: Vector | None = None
    failure: ProviderError | None = None

    @property
    def outcome(self) -> str | None:
        """What stands on the bill: nothing where the call was refused."""
        if self.failure is None:
            return "ok"
        return "unknown" if self.failure.is_outcome_unknown else None


class _Calls:
    """Makes calls side by side, as many as the embedder likes, and saves what each brings as it comes.

    Only this thread talks to the database. A call keeps its place until its answer is saved, so a
    crash loses no more calls than may be made at once.
    """

    def __init__(self, context: StageContext, done: int, total: int) -> None:
        self._context = context
        self._done = done
        self._total = total
        self._limit = context.providers.embedder.concurrency
        self._pool = ThreadPoolExecutor(self._limit, thread_name_prefix="embed")
        self._on_their_way: set[Future[_Brought]] = set()

    def make(self, texts: Mapping[str, str]) -> None:
        """Make a call as soon as there is a place for it."""
        self._context.check()
        embedder = self._context.providers.embedder
        if self._limit == 1:
            # Side by side with nobody: no thread is needed for that.
            _raise(self._save([_call(embedder, texts)]))
            return
        while len(self._on_their_way) >= self._limit:
            _raise(self._save_next())
        self._on_their_way.add(self._pool.submit(_call, embedder, texts))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Save what is still on its way; where something failed, too: it is paid for."""
        failures = []
        if kind is not None:
            self._on_their_way = {call for call in self._on_their_way if not call.cancel()}
        try:
            while self._on_their_way:
                failures.append(self._save_next())
        finally:
            self._pool.shutdown()
        if kind is None:
            _raise(next(filter(None, failures), None))

    def _save_next(self) -> BaseException | None:
        """Wait for a call and save what came meanwhile; a failure comes back where one brought nothing."""
        done, self._on_their_way = wait(self._on_their_way, return_when=FIRST_COMPLETED)
        mistakes = [mistake for call in done if (mistake := call.exception())]
        failure = self._save([call.result() for call in done if not call.exception()])
        return mistakes[0] if mistakes else failure

    def _save(self, brought: Sequence[_Brought]) -> ProviderError | None:
        """One transaction for all that came, as the disk takes its time for each; the first failure comes back."""
        context = self._context
        if any(each.outcome for each in brought):
            with context.transaction():
                for each in brought:
                    self._keep(each)
        self._done += sum(len(each.hashes) for each in brought if each.vectors is not None)
        context.progress(self._done / self._total)
        return next((each.failure for each in brought if each.failure), None)

    def _keep(self, brought: _Brought) -> None:
        context, embedder = self._context, self._context.providers.embedder
        if brought.vectors is not None:
            vectors = dict(zip(brought.hashes, brought.vectors, strict=True))
            vector_cache.save(context.org_id, embedder.model, vectors)
        if brought.outcome is not None:
            units, seconds = len(brought.hashes), brought.seconds
            record_call(context, embedder.name, "embed", units=units, seconds=seconds, outcome=brought.outcome)


def _call(embedder: Embedder, texts: Mapping[str, str]) -> _Brought:
    started = monotonic()
    try:
        vectors = checked_vectors(embedder, list(texts.values()))
    except ProviderError as error:
        return _Brought(tuple(texts), monotonic() - started, failure=error)
    return _Brought(tuple(texts), monotonic() - started, vectors)


def _raise(failure: BaseException | None) -> None:
    if failure is not None:
        raise failure


def checked_vectors(embedder: Embedder, texts: Sequence[str]) -> Vector:
    """The vectors of a batch as rows; ProviderError where the answer can't be right."""
    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dimensions):
        message = f"{embedder.name} gave vectors of shape {vectors.shape} for {len(texts)} texts"
        raise ProviderError(message, is_outcome_unknown=True)
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.all(np.abs(lengths - 1) < UNIT_TOLERANCE):
        raise ProviderError(f"{embedder.name} gave vectors that are not of unit length", is_outcome_unknown=True)
    return vectors


def store_embedded(context: StageContext, result: Embedded) -> Stored:
    """What the caches saved goes into the ledger, and how much it was into the timeline."""
    if result.known:
        name = context.providers.embedder.name
        record_call(context, name, "embed", units=result.known, seconds=0.0, reused=True)
    return Stored(details={"embedded": result.asked, "reused": result.known}, reused=result.asked == 0)


def _batches(texts: Mapping[str, str], embedder: Embedder) -> Iterator[dict[str, str]]:
    """Cut by what the embedder takes in one call: so many texts, so many bytes."""
    batch: dict[str, str] = {}
    size = 0
    for sha256, text in texts.items():
        length = len(text.encode())
        if batch and (len(batch) >= embedder.batch_size or size + length > embedder.batch_bytes):
            yield batch
            batch, size = {}, 0
        batch[sha256] = text
        size += length
    if batch:
        yield batch
