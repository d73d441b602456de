"""The step `embed`: passages -> vectors. Each text is embedded once in an org; answers are saved as they come."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from webapp import db
from webapp.clock import monotonic
from webapp.db.errors import DATABASE_ERRORS
from webapp.jobs.interruptions import WaitsForOthers
from webapp.pipeline.chunk import StagedChunk, load_chunks
from webapp.pipeline.paid_calls.kept_answers import Answer, Vectors, keep, outcome_of, store_late_vectors
from webapp.pipeline.paid_calls.ledger import paid_units, record_call, record_saved
from webapp.pipeline.paid_calls.reservations import Call, Wanted, is_paid, reserve
from webapp.pipeline.paid_calls.until_stored import until_stored
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import ProviderError
from webapp.providers.ports import Embedder
from webapp.runs.stages import EMBED
from webapp.search import vector_cache

Vector = NDArray[np.float32]
UNIT_TOLERANCE = 0.01
OPERATION = "embed"
# How often a call that waits for its turn checks for answers, and whether the process ends.
LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Embedded:
    """How many texts were embedded, and how many vectors were known already."""

    asked: int
    known: int


def embed(context: StageContext) -> None:
    """Run the step: make sure that each passage's vector is in the cache."""
    context.step(
        EMBED, lambda: embed_missing(context, load_chunks(context)), lambda result: store_embedded(context, result)
    )


def embed_missing(context: StageContext, chunks: Sequence[StagedChunk]) -> Embedded:
    """Embed the texts without a vector; a crash loses the calls in flight and no others.

    WaitsForOthers if other jobs are embedding some of the texts; own calls are made and saved before that.
    """
    texts = {chunk.sha256: chunk.text for chunk in chunks if chunk.has_vector}
    known = known_hashes(context, texts.keys())
    if len(known) < len(texts) and is_paid(context.providers.embedder.name) and _store_late(context):
        known = known_hashes(context, texts.keys())
    missing = {sha256: text for sha256, text in texts.items() if sha256 not in known}
    with _Calls(context, done=len(known), total=len(texts)) as calls:
        for batch in _batches(missing, context.providers.embedder):
            calls.make(batch)
    if calls.others and calls.others - known_hashes(context, calls.others):
        raise WaitsForOthers
    return Embedded(asked=len(missing) - len(calls.others), known=len(known) + len(calls.others))


def _store_late(context: StageContext) -> bool:
    return until_stored(context, lambda: store_late_vectors(context.providers.blobs, context.org_id))


def known_hashes(context: StageContext, hashes: Collection[str]) -> set[str]:
    """Those of these texts that have a vector."""
    own = context.vectors.keys() & set(hashes)
    others = set(hashes) - own
    if not others:
        return own
    with db.reading(context.org_id):
        return own | vector_cache.known(context.org_id, context.providers.embedder.model, others)


def load_vectors(context: StageContext, hashes: set[str]) -> dict[str, Vector]:
    """The vectors of these texts."""
    own = {sha256: context.vectors[sha256] for sha256 in hashes if sha256 in context.vectors}
    if len(own) == len(hashes):
        return own
    with db.reading(context.org_id):
        return own | vector_cache.load(context.org_id, context.providers.embedder.model, hashes - own.keys())


@dataclass(frozen=True)
class _Brought:
    """The result of one call: vectors, or an error."""

    hashes: tuple[str, ...]
    call: Call | None
    seconds: float
    vectors: Vector | None = None
    failure: Exception | None = None

    @property
    def outcome(self) -> str | None:
        """The outcome for the ledger; None where the call was refused."""
        return "ok" if self.failure is None else outcome_of(self.failure)

    def answer(self, call: Call, context: StageContext) -> Answer:
        """What a paid call leaves to be stored."""
        if self.vectors is None:
            return Answer(call.id, self.seconds, self.outcome)
        by_text = dict(zip(self.hashes, self.vectors, strict=True))
        vectors = Vectors(context.providers.embedder.model, context.document_id, by_text)
        return Answer(call.id, self.seconds, brought=vectors)


class _Calls:
    """Makes calls in parallel, as many as the embedder allows, and saves each answer as it comes.

    Only the calling thread uses the database. A call keeps its slot until its answer is saved, so a crash loses no more
    calls than may be made at once. A paid call is reserved only once it has a slot: otherwise others would wait for a
    call that itself waits.
    """

    def __init__(self, context: StageContext, done: int, total: int) -> None:
        self.others: set[str] = set()
        """Texts that other jobs are embedding."""
        self._context = context
        self._embedder = context.providers.embedder
        self._is_paid = is_paid(self._embedder.name)
        self._done = done
        self._has_noted = False
        self._total = total
        self._limit = self._embedder.concurrency
        self._pool = ThreadPoolExecutor(self._limit, thread_name_prefix="embed")
        self._on_their_way: dict[Future[_Brought], Call | None] = {}

    def make(self, texts: Mapping[str, str]) -> None:
        """Make a call once a slot is free, for those of these texts that no other job is embedding."""
        self._wait_for_turn()
        if not self._is_paid:
            self._begin(texts, None)
            return
        with ExitStack() as unless_called:
            unless_called.callback(self._embedder.turns.release)
            call = self._reserve(texts)
            if call is None:
                return
            unless_called.pop_all()
        self._begin({sha256: texts[sha256] for sha256 in call.keys}, call)

    def _wait_for_turn(self) -> None:
        """Wait for a slot among our calls and all of this process; answers that come meanwhile are saved."""
        while True:
            self._context.check()
            while len(self._on_their_way) >= self._limit:
                _raise(self._save_next())
            if not self._is_paid or self._embedder.turns.acquire(timeout=0 if self._on_their_way else LOOK_SECONDS):
                return
            if self._on_their_way:
                _raise(self._save_next(LOOK_SECONDS))

    def _begin(self, texts: Mapping[str, str], call: Call | None) -> None:
        if self._limit == 1:
            # With one call at a time no thread is needed.
            _raise(self._save([_call(self._embedder, texts, call)]))
            return
        self._on_their_way[self._pool.submit(_call, self._embedder, texts, call)] = call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Save the answers in flight, also after a failure: they are paid for."""
        failures: list[BaseException | None] = []
        try:
            if kind is not None:
                self._cancel()
            while self._on_their_way:
                try:
                    failures.append(self._save_next(is_over=kind is not None))
                except DATABASE_ERRORS as error:
                    # Go on: the other answers may be stored, or put among the blobs.
                    failures.append(error)
        finally:
            self._pool.shutdown()
        if kind is None:
            _raise(next(filter(None, failures), None))

    def _reserve(self, texts: Mapping[str, str]) -> Call | None:
        context, model = self._context, self._embedder.model
        by_key = {f"embed/{model}/{sha256}": sha256 for sha256 in texts}

        def known(keys: Collection[str]) -> set[str]:
            found = vector_cache.known(context.org_id, model, [by_key[key] for key in keys])
            return {key for key in keys if by_key[key] in found}

        call = reserve(context, Wanted(self._embedder.name, OPERATION, dict.fromkeys(by_key, 1), known=known))
        ours = [by_key[key] for key in call.keys] if call else []
        self.others |= texts.keys() - set(ours)
        return call and replace(call, keys=tuple(ours))

    def _cancel(self) -> None:
        """Cancel the calls that have not begun."""
        cancelled = [each for each in self._on_their_way if each.cancel()]
        calls = [call for each in cancelled if (call := self._on_their_way.pop(each)) is not None]
        if calls:
            for _ in calls:
                self._embedder.turns.release()
            keep(self._context, [Answer(call.id, 0.0, outcome=None) for call in calls])

    def _save_next(self, seconds: float | None = None, *, is_over: bool = False) -> BaseException | None:
        """Wait for a call and save the answers so far; returns the error of a call that failed."""
        done, _ = wait(self._on_their_way, seconds, return_when=FIRST_COMPLETED)
        if not done:
            return None
        for each in done:
            del self._on_their_way[each]
        mistakes = [mistake for call in done if (mistake := call.exception())]
        failure = self._save([call.result() for call in done if not call.exception()], is_over=is_over)
        return mistakes[0] if mistakes else failure

    def _save(self, brought: Sequence[_Brought], *, is_over: bool = False) -> Exception | None:
        """Save answers in one transaction, since each costs a sync of the disk; returns the first error."""
        context = self._context
        if self._is_paid:
            keep(context, [each.answer(each.call, context) for each in brought if each.call])
        elif any(each.outcome for each in brought):
            for each in brought:
                self._note(each)
        embedded = sum(len(each.hashes) for each in brought if each.vectors is not None)
        self._done += embedded
        # After the end nothing but answers is written: a lost lease must not keep the next ones from being saved.
        if not is_over:
            if embedded:
                context.count_later()
            context.progress(self._done / self._total)
        return next((each.failure for each in brought if each.failure), None)

    def _note(self, brought: _Brought) -> None:
        """Store vectors that cost nothing with the attempt's next commit."""
        context, embedder = self._context, self._embedder
        if self._has_noted:
            # One batch in a transaction: two jobs with the same texts in another order could deadlock.
            context.save()
        self._has_noted = True
        vectors = {} if brought.vectors is None else dict(zip(brought.hashes, brought.vectors, strict=True))
        context.vectors.update(vectors)

        def store() -> None:
            vector_cache.save(context.org_id, embedder.model, vectors)
            if brought.outcome is not None:
                units, seconds = len(brought.hashes), brought.seconds
                record_call(context, embedder.name, OPERATION, units=units, seconds=seconds, outcome=brought.outcome)

        context.later(store)


def _call(embedder: Embedder, texts: Mapping[str, str], call: Call | None) -> _Brought:
    started = monotonic()
    try:
        vectors = checked_vectors(embedder, list(texts.values()))
    # Also for a bug of ours it must be known whether the call was made.
    except Exception as error:  # noqa: BLE001 - raised again when it is saved
        return _Brought(tuple(texts), call, monotonic() - started, failure=error)
    finally:
        if call is not None:
            embedder.turns.release()
    return _Brought(tuple(texts), call, monotonic() - started, vectors)


def _raise(failure: BaseException | None) -> None:
    if failure is not None:
        raise failure


def checked_vectors(embedder: Embedder, texts: Sequence[str]) -> Vector:
    """The vectors of a batch as rows; ProviderError where the answer can't be right."""
    return _checked(embedder, embedder.embed(texts), len(texts))


def checked_query_vector(embedder: Embedder, query: str) -> Vector:
    """The vector of a question; ProviderError where the answer can't be right."""
    vector: Vector = _checked(embedder, [embedder.embed_query(query)], 1)[0]
    return vector


def _checked(embedder: Embedder, answer: Sequence[Sequence[float]], count: int) -> Vector:
    vectors = np.asarray(answer, dtype=np.float32)
    if vectors.shape != (count, embedder.dimensions):
        message = f"{embedder.name} returned vectors of shape {vectors.shape} for {count} texts"
        raise ProviderError(message, is_outcome_unknown=True)
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.all(np.abs(lengths - 1) < UNIT_TOLERANCE):
        raise ProviderError(f"{embedder.name} returned vectors that are not of unit length", is_outcome_unknown=True)
    return vectors


def store_embedded(context: StageContext, result: Embedded) -> Stored:
    """Write what the cache saved to the ledger, and the numbers to the timeline."""
    total = result.asked + result.known
    if result.known:
        record_saved(context, context.providers.embedder.name, OPERATION, total)
    # An earlier attempt of this run may have paid for some.
    asked = min(total, paid_units(context, OPERATION)) if result.known else result.asked
    return Stored(details={"embedded": asked, "reused": total - asked}, reused=asked == 0)


def _batches(texts: Mapping[str, str], embedder: Embedder) -> Iterator[dict[str, str]]:
    """Batches by what the embedder takes in one call: so many texts, so many bytes."""
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
