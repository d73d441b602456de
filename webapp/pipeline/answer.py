"""Answers a question from the best passages, with a chat model; each answer is paid for once.

A thread of the web process reads the answer and stores each sentence when it comes, so people see it grow, whichever
process they ask and whether or not they stay. A process that dies leaves a line "unknown" in the ledger, and the
question can be asked again.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from uuid import UUID

from webapp.clock import monotonic
from webapp.db import opener, reading, transaction
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.jobs.interruptions import WaitReason
from webapp.pipeline.artifacts import digest
from webapp.pipeline.find import find
from webapp.pipeline.markdown import plain
from webapp.pipeline.paid_calls import gates, reservations
from webapp.pipeline.paid_calls.kept_answers import outcome_of
from webapp.pipeline.paid_calls.ledger import LedgerLine, add_line, price_of
from webapp.pipeline.paid_calls.prices import Prices
from webapp.pipeline.paid_calls.query_vectors import NotAsked
from webapp.pipeline.paid_calls.reservations import Call, Wanted
from webapp.providers.ports import Answerer
from webapp.search import answers
from webapp.search.answer_text import SENTENCES_MAX, AnswerSentence, lines_of, sentence_of
from webapp.search.query import Hit
from webapp.services import Services

_log = logging.getLogger(__name__)

OPERATION = "answer"
PASSAGES, PASSAGES_CHARACTERS_MAX = 8, 24_000
# Answers that a process writes at the same time.
SEATS = 4
STORE_EVERY_SECONDS = 0.3
# How long the end of an answer is tried to be stored while the database is away, and how often.
_STORE_SECONDS, _STORE_PAUSE_SECONDS = 60.0, 1.0
_seats = threading.BoundedSemaphore(SEATS)


class TooManyQuestions(Exception):
    """This process writes as many answers as it may."""


def ask(
    services: Services, answerer: Answerer, org_id: UUID, question: str, document_id: UUID | None = None
) -> str | None:
    """Have a question answered, and return the answer's key; None where no passage was found. NotAsked.

    With `document_id` from that document alone. Mistake for a question that is no query; TooManyQuestions.
    """
    passages = _passages(find(services, org_id, question, PASSAGES, document_id=document_id).hits)
    if not passages:
        return None
    told = "\n".join([answerer.version, answerer.options_key(), *question.casefold().split()])
    key = digest("\n".join([told, *(str(hit.chunk_id) for hit in passages)]).encode())
    with reading(org_id):
        known = answers.find(org_id, key)
    if known is not None and known.state != answers.FAILED:
        if known.state == answers.DONE:
            _book_saved(services, org_id, answerer, key)
        return key
    if not _seats.acquire(blocking=False):
        raise TooManyQuestions
    started = False
    try:
        call = _reserve(services, org_id, answerer, key, passages)
        if call is not None:
            work = _Writing(services, opener(), org_id, key, answerer, call)
            texts = [plain(hit.text) for hit in passages]
            threading.Thread(target=work.write, args=(question, texts), name="answer", daemon=True).start()
            started = True
    finally:
        if not started:
            _seats.release()
    return key


def _passages(hits: Sequence[Hit]) -> list[Hit]:
    """The best hits, as many as may be sent."""
    chosen: list[Hit] = []
    left = PASSAGES_CHARACTERS_MAX
    for hit in hits:
        left -= len(hit.text)
        if left < 0 and chosen:
            break
        chosen.append(hit)
    return chosen


def _book_saved(services: Services, org_id: UUID, answerer: Answerer, key: str) -> None:
    price = price_of(Prices.of(services.settings), answerer.name, OPERATION, 1)
    with transaction(org_id):
        answers.mark_used(org_id, key, kept=services.settings.limits.searches_kept)
        add_line(org_id, LedgerLine(answerer.name, OPERATION, 1, price, reused=True))


def _reserve(services: Services, org_id: UUID, answerer: Answerer, key: str, passages: Sequence[Hit]) -> Call | None:
    """Reserve the answer and add its row; None where somebody else is writing it."""
    if gates.is_database_full(org_id):
        raise NotAsked(WaitReason.DATABASE_FULL)
    if gates.is_spent(org_id, services.settings.limits.spend_per_day):
        raise NotAsked(WaitReason.SPEND_LIMIT)
    seconds = services.settings.provider_timeout_seconds
    wanted = Wanted(answerer.name, OPERATION, {f"{OPERATION}/{key}": 1})
    with transaction(org_id):
        call = reservations.reserve_without_job(org_id, wanted, Prices.of(services.settings), seconds)
        if call is None:
            return None
        places = [(hit.document_id, hit.chunk_id) for hit in passages]
        # A service that falls silent is waited for once more as long.
        new = answers.NewAnswer(key, answerer.version, call.id, places, 2 * seconds + _STORE_SECONDS)
        if not answers.begin(org_id, new):
            reservations.close(call.id, None)
            return None
    return call


@dataclass
class _Writing:
    """An answer that a thread reads and stores."""

    services: Services
    open_database: Callable[[], AbstractContextManager[object]]
    org_id: UUID
    key: str
    answerer: Answerer
    call: Call

    def write(self, question: str, passages: Sequence[str]) -> None:
        """Read the answer, and store each sentence as it comes."""
        began = monotonic()
        with self.open_database():
            sentences: list[AnswerSentence] = []
            state, outcome, left_out = answers.FAILED, None, 0
            try:
                seconds = self.services.settings.provider_timeout_seconds
                pieces = self.answerer.answer(question, passages, timeout_seconds=seconds)
                stored_at = began
                for line in lines_of(pieces):
                    if not line.strip():
                        continue
                    sentence = sentence_of(line, passages)
                    if sentence is None:
                        left_out += 1
                        continue
                    sentences.append(sentence)
                    if len(sentences) == SENTENCES_MAX:
                        break
                    if monotonic() - stored_at >= STORE_EVERY_SECONDS:
                        stored_at = monotonic()
                        self._store_so_far(sentences, left_out)
                state, outcome = answers.DONE, "ok"
            except Exception as error:  # noqa: BLE001 - whatever happens in this thread, the call must get its line
                outcome = outcome_of(error)
                _log.warning("a question was not answered: %s", type(error).__name__)
            finally:
                _seats.release()
            self._end(sentences if state == answers.DONE else [], left_out, state, outcome, monotonic() - began)

    def _store_so_far(self, sentences: Sequence[AnswerSentence], left_out: int) -> None:
        try:
            with transaction(self.org_id):
                answers.write(self.org_id, self.call.id, sentences, left_out)
        except DATABASE_ERRORS as error:
            # The next sentence, or the end, stores this one, too.
            if trouble_of(error) is None:
                raise

    def _end(
        self, sentences: Sequence[AnswerSentence], left_out: int, state: str, outcome: str | None, took: float
    ) -> None:
        """Store answer and ledger line, together; tried again while the database is away."""
        until = monotonic() + _STORE_SECONDS
        while True:
            try:
                with transaction(self.org_id):
                    answers.write(self.org_id, self.call.id, sentences, left_out, state)
                    answers.mark_used(self.org_id, self.key, kept=self.services.settings.limits.searches_kept)
                    reservations.close(self.call.id, outcome, took)
            except DATABASE_ERRORS as error:
                if trouble_of(error) is None or monotonic() > until:
                    raise
                threading.Event().wait(_STORE_PAUSE_SECONDS)
            else:
                return
