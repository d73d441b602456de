"""The vectors of search queries: each is paid for once, and has its ledger lines.

The vectors of a paid service are kept in the database. A query is reserved during the call, as the calls of jobs are:
another process waits for the answer, and a process that dies leaves a ledger line. Local vectors are not kept:
computing them takes no longer than looking them up.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from webapp.clock import monotonic
from webapp.db import reading, transaction
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of
from webapp.db.later import write_soon
from webapp.jobs.interruptions import WaitReason
from webapp.pipeline.artifacts import digest
from webapp.pipeline.embed import checked_query_vector
from webapp.pipeline.paid_calls import gates, reservations
from webapp.pipeline.paid_calls.kept_answers import outcome_of
from webapp.pipeline.paid_calls.ledger import LedgerLine, add_line, price_of
from webapp.pipeline.paid_calls.prices import FREE, Prices
from webapp.pipeline.paid_calls.reservations import Call, Wanted
from webapp.provider_errors import ProviderError, ProviderUnavailable
from webapp.providers.ports import Embedder
from webapp.search import query_cache
from webapp.search.vector_cache import Vector
from webapp.services import Services

_log = logging.getLogger(__name__)

OPERATION = "search"
_UNSTORED_MAX = 256
# How long a search waits for another process's answer, and how often it looks.
_OTHERS_SECONDS, _LOOK_SECONDS = 10.0, 0.05

Key = tuple[UUID, str, str]


class NotAsked(Exception):
    """The service may not be called now: its answer could not be stored, or the org has spent its money for today."""

    def __init__(self, reason: WaitReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass
class _Questions:
    """The queries that threads are embedding, and answers that could not be stored yet."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _asking: dict[Key, tuple[threading.Lock, int]] = field(default_factory=dict)
    _unstored: OrderedDict[Key, "_Answer"] = field(default_factory=OrderedDict)

    @contextmanager
    def alone(self, key: Key) -> Iterator[None]:
        """Let one thread at a time embed a query; the next ones find its answer."""
        with self._lock:
            turn, users = self._asking.get(key, (threading.Lock(), 0))
            self._asking[key] = (turn, users + 1)
        try:
            with turn:
                yield
        finally:
            with self._lock:
                turn, users = self._asking.pop(key)
                if users > 1:
                    self._asking[key] = (turn, users - 1)

    def put_off(self, key: Key, answer: "_Answer") -> None:
        """Keep an answer until the database takes it."""
        with self._lock:
            self._unstored[key] = answer
            while len(self._unstored) > _UNSTORED_MAX:
                self._unstored.popitem(last=False)

    def take(self, key: Key) -> "_Answer | None":
        """An answer that could not be stored."""
        with self._lock:
            return self._unstored.pop(key, None)


@dataclass(frozen=True)
class _Answer:
    call: Call
    vector: Vector
    seconds: float


_questions = _Questions()


def query_vector(services: Services, org_id: UUID, embedder: Embedder, query: str) -> Vector:
    """The vector of a query; ProviderError, NotAsked."""
    if embedder.name == FREE:
        return checked_query_vector(embedder, query)
    key = (org_id, embedder.model, digest(query.encode()))
    with _questions.alone(key):
        vector = _known(services, key, embedder)
        return vector if vector is not None else _pay(services, key, embedder, query)


def _known(services: Services, key: Key, embedder: Embedder) -> Vector | None:
    if answer := _questions.take(key):
        _store(services, key, answer)
        return answer.vector
    with reading(key[0]):
        vector = query_cache.find(*key)
    if vector is not None:
        _book_saved(services, key, embedder)
    return vector


def _pay(services: Services, key: Key, embedder: Embedder, query: str) -> Vector:
    org_id = key[0]
    if gates.is_database_full(org_id):
        raise NotAsked(WaitReason.DATABASE_FULL)
    if gates.is_spent(org_id, services.settings.limits.spend_per_day):
        raise NotAsked(WaitReason.SPEND_LIMIT)
    until = monotonic() + _OTHERS_SECONDS
    while monotonic() < until:
        with embedder.turns:
            if (call := _reserve(services, key, embedder)) is not None:
                return _ask_unless_known(services, key, embedder, query, call)
        # Another process is embedding it.
        threading.Event().wait(_LOOK_SECONDS)
        if (vector := _known(services, key, embedder)) is not None:
            return vector
    raise ProviderUnavailable("another process has been embedding this query for too long")


def _reserve(services: Services, key: Key, embedder: Embedder) -> Call | None:
    org_id, model, sha256 = key
    wanted = Wanted(embedder.name, OPERATION, {f"{OPERATION}/{model}/{sha256}": 1})
    seconds = min(_OTHERS_SECONDS, services.settings.provider_timeout_seconds)
    try:
        with transaction(org_id):
            return reservations.reserve_without_job(org_id, wanted, Prices.of(services.settings), seconds)
    except DATABASE_ERRORS as error:
        if (trouble := trouble_of(error)) is None:
            raise
        if trouble is Trouble.FULL:
            raise NotAsked(WaitReason.DATABASE_FULL) from error
        raise ProviderUnavailable("the database takes no reservation now") from error


def _ask_unless_known(services: Services, key: Key, embedder: Embedder, query: str, call: Call) -> Vector:
    """The answer may have come between the last look and the reservation."""
    vector, is_asked = None, False
    try:
        vector = _known(services, key, embedder)
        is_asked = vector is None
    finally:
        if not is_asked:
            _close(key, call, None)
    if vector is not None:
        return vector
    began = monotonic()
    try:
        vector = checked_query_vector(embedder, query)
    except ProviderError as error:
        _close(key, call, outcome_of(error), monotonic() - began)
        raise
    _store(services, key, _Answer(call, vector, monotonic() - began))
    return vector


def _close(key: Key, call: Call, outcome: str | None, seconds: float = 0.0) -> None:
    try:
        with transaction(key[0]):
            reservations.close(call.id, outcome, seconds)
    except DATABASE_ERRORS as error:
        # When its time is over, the call becomes a line "unknown".
        if trouble_of(error) is None:
            raise
        _log.warning("the end of a search's call could not be stored: %s", type(error).__name__)


def _store(services: Services, key: Key, answer: _Answer) -> None:
    """Store an answer and its ledger line: both, or neither until the query comes again."""
    try:
        with transaction(key[0]):
            query_cache.save(*key, answer.vector, kept=services.settings.limits.searches_kept)
            reservations.close(answer.call.id, "ok", answer.seconds)
    except DATABASE_ERRORS as error:
        if trouble_of(error) is None:
            raise
        _log.warning("the vector of a search waits for the database: %s", type(error).__name__)
        _questions.put_off(key, answer)


def _book_saved(services: Services, key: Key, embedder: Embedder) -> None:
    price = price_of(Prices.of(services.settings), embedder.name, OPERATION, 1)

    def write() -> None:
        query_cache.mark_used(*key)
        add_line(key[0], LedgerLine(embedder.name, OPERATION, 1, price, reused=True))

    try:
        write_soon(key[0], "a search that was saved", write)
    except DATABASE_ERRORS as error:
        # Nothing was paid, and the search itself succeeds.
        if trouble_of(error) is None:
            raise
        _log.warning("a saved call is not in the ledger: %s", type(error).__name__)
