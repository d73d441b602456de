"""When what a step did is committed: where it saves something, and not after every step of a short text."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests.pipeline.workplace import Workplace, unavailable
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.chunk import chunk
from webapp.pipeline.embed import embed
from webapp.pipeline.extract import extract, save_markdown
from webapp.pipeline.handlers import do_steps
from webapp.pipeline.paid_calls.prices import FREE
from webapp.pipeline.paid_calls.reservations import Wanted, reserve
from webapp.pipeline.publish import _gather, _store, end_published
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.runs.stages import CHUNK, EMBED, EXTRACT, PUBLISH, SAVE_MARKDOWN, Step
from webapp.worker.saver import Saver

PATIENCE_SECONDS = 20
FULL = ["extracted", "markdown_saved", "chunked", "embedded", "complete"]


@pytest.fixture
def context(workplace: Workplace) -> StageContext:
    workplace.upload(b"some words")
    return workplace.context(workplace.claim(), save_after_seconds=600)


def do(context: StageContext, step: Step = EXTRACT) -> None:
    context.step(step, lambda: 1, lambda result: Stored())


def stored(workplace: Workplace, context: StageContext) -> list[str]:
    done: list[str] = workplace.checkpoint(context.lease).get("completed_stages", [])
    return done


@contextmanager
def writing_commits() -> Iterator[list[Connection]]:
    found: list[Connection] = []

    def count(connection: Connection) -> None:
        if connection.get_execution_options().get("docmill_writes"):
            found.append(connection)

    event.listen(Engine, "commit", count)
    try:
        yield found
    finally:
        event.remove(Engine, "commit", count)


def test_a_short_text_is_processed_in_one_commit(workplace: Workplace) -> None:
    workplace.embedder.name = FREE
    document_id = workplace.upload(b"some words").document.id
    context = workplace.context(workplace.claim(), save_after_seconds=600)

    with writing_commits() as commits:
        do_steps(context)

    assert len(commits) == 1
    assert workplace.document(document_id).status == "READY"
    assert stored(workplace, context) == FULL
    lines = [kind for kind, _ in workplace.steps(context.run_id)]
    assert lines == ["STEP_STARTED", "STEP_SUCCEEDED"] * len(FULL)


def test_what_nobody_reads_is_not_stored_and_what_was_read_is_found_again(workplace: Workplace) -> None:
    document_id = workplace.upload(b"some words").document.id
    workplace.process(save_after_seconds=600)

    names = [blob.path.rpartition("/")[2] for blob in workplace.providers.blobs.list()]
    assert not [name for name in names if name.startswith("chunks")]
    assert [name for name in names if name.startswith("markdown")]
    workplace.reprocess(document_id)
    workplace.process(save_after_seconds=600)
    assert workplace.extractor.calls == 1


def test_steps_wait_for_a_commit_that_saves_something(workplace: Workplace, context: StageContext) -> None:
    do(context)
    assert stored(workplace, context) == []
    context.save_after_seconds = 0
    do(context, CHUNK)
    assert stored(workplace, context) == ["extracted", "chunked"]


def test_a_paid_call_is_made_and_ends_with_everything_committed(workplace: Workplace, context: StageContext) -> None:
    do(context, SAVE_MARKDOWN)

    def pay() -> list[str]:
        assert reserve(context, Wanted("openai", "embed", {"a key": 1}))
        return stored(workplace, context)

    seen: list[list[str]] = []
    context.step(EMBED, lambda: seen.append(pay()), lambda result: Stored())

    assert seen == [["markdown_saved"]]
    assert stored(workplace, context) == ["markdown_saved", "embedded"]


def test_the_end_of_an_attempt_stores_what_it_did(workplace: Workplace, context: StageContext) -> None:
    do(context)
    context.save_at_end()
    assert stored(workplace, context) == ["extracted"]


def test_a_store_that_fails_at_the_end_holds_nothing_up(workplace: Workplace, context: StageContext) -> None:
    def store(result: int) -> Stored:
        raise ZeroDivisionError

    context.step(EXTRACT, lambda: 1, store)
    context.save_at_end()
    assert stored(workplace, context) == []
    do(context, CHUNK)
    context.save()
    assert stored(workplace, context) == ["chunked"]


def test_the_end_of_a_lost_attempt_stores_nothing(workplace: Workplace, context: StageContext) -> None:
    do(context)
    workplace.take_back(context.lease)
    with pytest.raises(LeaseLost):
        context.save_at_end()


def test_a_commit_whose_answer_was_lost_is_not_repeated(workplace: Workplace, context: StageContext) -> None:
    do(context)

    def lose(session: Session) -> None:
        event.remove(Session, "after_commit", lose)
        raise OperationalError("COMMIT", {}, Exception("the connection is gone"))

    event.listen(Session, "after_commit", lose)
    with pytest.raises(OperationalError):
        context.save()
    context.save()
    assert [kind for kind, _ in workplace.steps(context.run_id)] == ["STEP_STARTED", "STEP_SUCCEEDED"]


def test_a_step_that_goes_on_shows_its_beginning(workplace: Workplace, bare_app: Flask) -> None:
    workplace.upload(b"some words")
    context = workplace.context(workplace.claim(), save_after_seconds=0.05)
    # Nothing is due when the step begins.
    context.save()
    saver = Saver(print)
    saver.start()
    seen = threading.Event()

    def work() -> None:
        for _ in range(PATIENCE_SECONDS * 100):
            if workplace.checkpoint(context.lease).get("processing_stage") == "extracting":
                seen.set()
                return
            threading.Event().wait(0.01)

    with saver.watch(context):
        context.step(EXTRACT, work, lambda result: Stored())
    saver.stop()
    assert seen.is_set()


def test_the_failure_of_a_step_waits_for_the_end_of_its_attempt(workplace: Workplace, context: StageContext) -> None:
    context.step_attempts = 1
    failure = unavailable()

    def fail() -> int:
        raise failure

    with pytest.raises(type(failure)):
        context.step(EXTRACT, fail, lambda result: Stored())
    assert workplace.steps(context.run_id) == []
    context.save_at_end()
    assert [kind for kind, _ in workplace.steps(context.run_id)] == ["STEP_STARTED", "STEP_FAILED"]


@pytest.mark.parametrize("moment", ["in its transaction", "at its commit"])
def test_a_last_step_is_never_stored_without_the_end_of_its_job(workplace: Workplace, moment: str) -> None:
    """Whatever the attempt's end stores after a failure: the next attempt publishes, and ends run and job."""
    document_id = workplace.upload(b"some words").document.id
    context = workplace.context(workplace.claim(), save_after_seconds=600)
    fail_once = iter([True])

    def lose(*arguments: object) -> None:
        if next(fail_once, False):
            raise OperationalError("COMMIT", {}, Exception("the database is away"))

    def end() -> None:
        if moment == "in its transaction":
            lose()
        end_published(context)

    _process_but_the_last(context)
    if moment == "at its commit":
        event.listen(Session, "before_commit", lose)
    try:
        with pytest.raises(OperationalError):
            context.step(PUBLISH, lambda: _gather(context), lambda result: _store(context, result), end=end)
    finally:
        if moment == "at its commit":
            event.remove(Session, "before_commit", lose)
    context.save_at_end()
    assert "complete" not in stored(workplace, context)
    assert "complete" not in context.checkpoint["completed_stages"]
    do_steps(workplace.context(workplace.take_back(context.lease)))
    assert workplace.document(document_id).status == "READY"
    assert workplace.chunks(document_id) != []


def _process_but_the_last(context: StageContext) -> None:
    extract(context)
    save_markdown(context)
    chunk(context)
    embed(context)
