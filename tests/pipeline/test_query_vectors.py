"""The vector of a search is paid for once, and each search is on the bill: paid, unknown or saved."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from uuid import UUID

import pytest
from flask import current_app
from sqlalchemy import event, text, update
from sqlalchemy.exc import OperationalError

from tests.bare import DatabaseUnderTest, changed
from tests.emulators.clients import openai_embedder
from tests.emulators.openai import OpenAI
from tests.pipeline.full import full_database
from tests.pipeline.paid import database_away, wait_until
from tests.pipeline.workplace import Workplace
from tests.search.passages import new_org
from webapp.clock import after
from webapp.db import db, reading, transaction
from webapp.documents.ledger_model import CallReservation
from webapp.jobs.interruptions import WaitReason
from webapp.pipeline.artifacts import digest
from webapp.pipeline.find import SearchResult, find
from webapp.pipeline.paid_calls import gates, query_vectors
from webapp.providers.openai.embed import Model
from webapp.search import query_cache
from webapp.worker import chores

QUESTION = "harbours and lights"


@pytest.fixture
def office(workplace: Workplace, openai: OpenAI) -> Workplace:
    """A library whose passages were embedded by a service, before anybody searches."""
    workplace.with_embedder(openai_embedder(openai))
    workplace.processed(b"A story of harbours and lights.", "a.txt")
    openai.reset()
    return workplace


def ask(office: Workplace, question: str = QUESTION, org_id: UUID | None = None) -> SearchResult:
    return find(office, org_id or office.org_id, question)


def bill(office: Workplace) -> Counter[tuple[str, bool]]:
    """How many searches are in the ledger, by outcome and whether they were saved."""
    return Counter((call.outcome, call.reused) for call in office.calls("search"))


def test_a_question_asked_fifty_times_is_paid_once(office: Workplace, openai: OpenAI) -> None:
    hits = [[hit.chunk_id for hit in ask(office).hits] for _ in range(50)]
    assert hits == [hits[0]] * 50
    assert hits[0]
    assert openai.calls["embeddings"] == openai.units() == 1
    assert bill(office) == {("ok", False): 1, ("ok", True): 49}
    for call in office.calls("search"):
        assert (call.provider, call.units, call.run_id) == ("openai", 1, None)
        assert call.price == pytest.approx(office.settings.prices.embed_passage)


def test_threads_that_ask_at_once_pay_once(office: Workplace, openai: OpenAI) -> None:
    app = cast(Any, current_app)._get_current_object()
    openai.delay_seconds = 0.1
    together = threading.Barrier(16)

    def search(_: int) -> bool:
        with app.app_context():
            together.wait(20)
            return ask(office).words_only

    with ThreadPoolExecutor(16) as pool:
        assert not any(pool.map(search, range(16)))
    assert openai.calls["embeddings"] == 1
    assert bill(office) == {("ok", False): 1, ("ok", True): 15}
    assert query_vectors._questions._asking == {}


def test_another_process_finds_the_answer(office: Workplace, openai: OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(office)
    monkeypatch.setattr(query_vectors, "_questions", query_vectors._Questions())
    ask(office)
    assert openai.calls["embeddings"] == 1


def test_processes_that_ask_at_once_pay_once(
    office: Workplace, openai: OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = cast(Any, current_app)._get_current_object()
    openai.misbehave("late", "embeddings", seconds=20)
    released = openai._released

    def search() -> bool:
        with app.app_context():
            return ask(office).words_only

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(search)
        wait_until(lambda: openai.in_flight["embeddings"] == 1)
        # Another process knows nothing of the threads of this one, and has an embedder of its own.
        monkeypatch.setattr(query_vectors, "_questions", query_vectors._Questions())
        office.with_embedder(openai_embedder(openai))
        second = pool.submit(search)
        with pytest.raises(TimeoutError):
            second.result(0.5)
        released.set()
        assert [first.result(20), second.result(20)] == [False, False]
    assert openai.calls["embeddings"] == 1
    assert bill(office) == {("ok", False): 1, ("ok", True): 1}
    assert office.all(CallReservation) == []


def test_a_process_that_died_while_it_asked_is_on_the_bill(office: Workplace, openai: OpenAI) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_vectors, "_store", die)
        with pytest.raises(Killed):
            ask(office)
    assert chores.book_lost_calls(office) == 0, "it might still be on its way"
    with transaction(office.org_id) as session:
        session.execute(update(CallReservation).values(ends_at=after(-1)))
    assert chores.book_lost_calls(office) == 1
    assert bill(office) == {("unknown", False): 1}
    assert not ask(office).words_only
    assert bill(office) == {("unknown", False): 1, ("ok", False): 1}
    assert openai.units() == 2


def test_a_dead_process_is_waited_for_no_longer_than_its_call_may_take(office: Workplace, openai: OpenAI) -> None:
    reserved = query_vectors._reserve
    key = (office.org_id, office.embedder.model, digest(QUESTION.encode()))
    assert reserved(office, key, office.embedder) is not None
    assert reserved(office, key, office.embedder) is None
    with transaction(office.org_id) as session:
        session.execute(update(CallReservation).values(ends_at=after(-1)))
    assert not ask(office).words_only
    assert bill(office) == {("unknown", False): 1, ("ok", False): 1}


def test_an_org_learns_nothing_of_anothers_questions(office: Workplace, openai: OpenAI) -> None:
    ask(office)
    other = new_org()
    ask(office, org_id=other)
    assert openai.calls["embeddings"] == 2
    with reading(other):
        assert query_cache.count(other) == 1


def test_another_model_is_another_question(office: Workplace, openai: OpenAI) -> None:
    ask(office)
    office.with_embedder(openai_embedder(openai, model=Model("text-embedding-3-large", 64)))
    office.processed(b"Another story of harbours.", "b.txt")
    openai.reset()
    ask(office)
    assert openai.calls["embeddings"] == 1


def test_so_many_are_kept_and_no_more(office: Workplace, openai: OpenAI) -> None:
    office.settings = changed(office.settings, "limits", searches_kept=3)
    for number in range(5):
        ask(office, f"question {number}")
    with reading(office.org_id):
        assert query_cache.count(office.org_id) == 3
    ask(office, "question 4")
    assert openai.calls["embeddings"] == 5
    ask(office, "question 0")
    assert openai.calls["embeddings"] == 6


def test_what_was_used_lately_stays(office: Workplace, openai: OpenAI) -> None:
    office.settings = changed(office.settings, "limits", searches_kept=2)
    ask(office, "first")
    ask(office, "second")
    with transaction(office.org_id) as session:
        session.execute(text("UPDATE query_embeddings SET used_at = '2020-01-01 00:00:00.000+00'"))
    ask(office, "first")
    ask(office, "third")
    openai.reset()
    ask(office, "first")
    assert openai.calls["embeddings"] == 0


def test_an_answer_that_never_came_is_on_the_bill_as_unknown(office: Workplace, openai: OpenAI) -> None:
    openai.misbehave("cut", "embeddings")
    assert ask(office).words_only
    assert bill(office) == {("unknown", False): 1}
    assert not ask(office).words_only
    assert bill(office) == {("unknown", False): 1, ("ok", False): 1}
    assert openai.units() == 2


def test_a_refusal_is_on_no_bill(office: Workplace, openai: OpenAI) -> None:
    openai.misbehave("status", "embeddings", code=429)
    found = ask(office)
    assert found.words_only
    assert found.reason is None
    assert bill(office) == {}


def test_an_org_that_spent_its_money_searches_by_words(office: Workplace, openai: OpenAI) -> None:
    ask(office, "known before")
    office.settings = changed(office.settings, "limits", spend_per_day=office.settings.prices.embed_passage)
    found = ask(office)
    assert (found.words_only, found.reason) == (True, WaitReason.SPEND_LIMIT)
    assert found.hits
    # What was paid for before still serves.
    assert not ask(office, "known before").words_only
    assert openai.calls["embeddings"] == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_question_that_cannot_be_reserved_is_searched_for_by_words(
    office: Workplace, openai: OpenAI, database: DatabaseUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "_BELIEVED_SECONDS", {"sqlite": 1e9, "postgresql": 1e9})
    ask(office, "so that it is believed")
    with full_database(database, "call_reservations", spare_pages=0):
        found = ask(office)
        assert (found.words_only, found.reason) == (True, WaitReason.DATABASE_FULL)
        assert found.hits
    assert openai.calls["embeddings"] == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_an_answer_that_the_database_did_not_take_is_stored_later(
    office: Workplace, openai: OpenAI, database: DatabaseUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The database was believed to have room when it was asked, and had none when the answer came.
    monkeypatch.setattr(gates, "_BELIEVED_SECONDS", {"sqlite": 1e9, "postgresql": 1e9})
    ask(office, "so that it is believed")
    with full_database(database, "query_embeddings", spare_pages=0):
        assert not ask(office).words_only
        assert not ask(office).words_only
        assert openai.calls["embeddings"] == 2
    assert bill(office) == {("ok", False): 1}
    assert not ask(office).words_only
    assert not ask(office).words_only
    assert openai.calls["embeddings"] == 2
    assert bill(office) == {("ok", False): 2, ("ok", True): 1}


def test_a_question_that_was_reserved_and_never_asked_is_on_no_bill(office: Workplace, openai: OpenAI) -> None:
    begun = Counter[str]()

    def look(_: object, __: object, statement: str, *___: object) -> None:
        begun["reserved"] += "INSERT INTO call_reservations" in statement

    def is_away_once() -> bool:
        begun["after"] += bool(begun["reserved"])
        return begun["after"] == 1

    event.listen(db.engine, "before_cursor_execute", look)
    with database_away(is_away_once), pytest.raises(OperationalError):
        ask(office)
    event.remove(db.engine, "before_cursor_execute", look)
    assert office.all(CallReservation) == []
    assert openai.calls["embeddings"] == 0
    assert not ask(office).words_only
    assert bill(office) == {("ok", False): 1}


def test_what_this_machine_works_out_is_not_kept(workplace: Workplace) -> None:
    workplace.embedder.name = "local"
    workplace.processed(b"A story of harbours and lights.", "a.txt")
    asked = len(workplace.embedder.asked)
    ask(workplace)
    ask(workplace)
    assert len(workplace.embedder.asked) == asked + 2
    with reading(workplace.org_id):
        assert query_cache.count(workplace.org_id) == 0
    assert bill(workplace) == {}
