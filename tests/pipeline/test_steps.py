"""The checkpointed step by itself: what is stored when, and what an attempt ends with."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from tests.pipeline.workplace import Workplace, unavailable
from webapp.clock import monotonic
from webapp.jobs.interruptions import Drained, OutOfTime
from webapp.jobs.queue import LeaseLost
from webapp.pipeline import steps
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.provider_errors import ProviderError, RateLimited, TimedOut
from webapp.runs.stages import (
    CHUNK,
    EMBED,
    EXTRACT,
    PIPELINES,
    PROCESS_DOCUMENT,
    STAGES,
    progress_at,
)


@pytest.fixture
def context(workplace: Workplace) -> StageContext:
    workplace.upload(b"some words")
    return workplace.context(workplace.claim())


def do(context: StageContext, work: Any = lambda: 1, stored: Stored | None = None) -> None:
    context.step(EXTRACT, work, lambda result: stored or Stored())


def kinds(workplace: Workplace, context: StageContext) -> list[str]:
    return [kind for kind, _ in workplace.steps(context.run_id)]


def failing(*failures: Exception) -> Any:
    left = list(failures)

    def work() -> int:
        if left:
            raise left.pop(0)
        return 1

    return work


def test_shares_fill_the_bar() -> None:
    for stages in PIPELINES:
        assert progress_at(stages[-1], STAGES[stages[-1]][-1], 1.0) == pytest.approx(1)
    assert progress_at(PROCESS_DOCUMENT, EXTRACT, 0.0) == 0


def test_doing_is_stored_before_and_done_after(workplace: Workplace, context: StageContext) -> None:
    seen = []

    def work() -> int:
        seen.append(workplace.checkpoint(context.lease))
        return 1

    do(context, work, Stored(artifacts={"extraction": "a/b"}, details={"pages": 3}))

    (during,), after = seen, workplace.checkpoint(context.lease)
    assert (during["processing_stage"], during["completed_stages"]) == ("extracting", [])
    assert (after["processing_stage"], after["completed_stages"]) == ("extracted", ["extracted"])
    assert after["artifacts"] == {"extraction": "a/b"}
    assert set(after["stage_timestamps"]) == {"extracting", "extracted"}
    assert after["progress"] == EXTRACT.share


def test_store_and_checkpoint_are_one(workplace: Workplace, context: StageContext) -> None:
    def store(result: int) -> Stored:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        context.step(EXTRACT, lambda: 1, store)

    assert workplace.checkpoint(context.lease)["completed_stages"] == []
    assert kinds(workplace, context) == ["STEP_STARTED"]


def test_a_step_fails_after_two_tries(workplace: Workplace, context: StageContext) -> None:
    with pytest.raises(ProviderError):
        do(context, failing(unavailable(), unavailable()))

    assert kinds(workplace, context) == ["STEP_STARTED", "STEP_RETRIED", "STEP_FAILED"]


def test_a_mistake_of_ours_is_not_tried_again(workplace: Workplace, context: StageContext) -> None:
    with pytest.raises(ZeroDivisionError):
        do(context, failing(ZeroDivisionError()))

    assert kinds(workplace, context) == ["STEP_STARTED"]


def test_who_asks_for_patience_is_asked_again_by_the_queue(workplace: Workplace, context: StageContext) -> None:
    several = workplace.context(replace(context.lease, max_attempts=5))

    with pytest.raises(RateLimited):
        do(several, failing(RateLimited("slow down", retry_after_seconds=0.001)))

    assert kinds(workplace, context) == ["STEP_STARTED", "STEP_FAILED"]


def test_with_a_single_attempt_the_step_itself_waits(workplace: Workplace, context: StageContext) -> None:
    single = workplace.context(replace(context.lease, max_attempts=1))

    do(single, failing(RateLimited("slow down", retry_after_seconds=0.001)))

    assert kinds(workplace, single) == ["STEP_STARTED", "STEP_RETRIED", "STEP_SUCCEEDED"]


def test_a_pause_longer_than_the_window_is_not_begun(workplace: Workplace) -> None:
    workplace.upload(b"some words")
    context = workplace.context(workplace.claim(), deadline=monotonic() + 5, retry_pause_seconds=60)

    with pytest.raises(ProviderError):
        do(context, failing(unavailable()))


def test_no_step_begins_after_the_window(workplace: Workplace) -> None:
    workplace.upload(b"some words")
    context = workplace.context(workplace.claim(), deadline=monotonic() - 1)

    with pytest.raises(OutOfTime):
        do(context)
    assert kinds(workplace, context) == []


def test_a_failure_at_the_end_of_the_window_is_the_windows(workplace: Workplace) -> None:
    workplace.upload(b"some words")
    context = workplace.context(workplace.claim())

    def work() -> int:
        context.deadline = monotonic() - 1
        raise TimedOut("the parser was stopped")

    with pytest.raises(OutOfTime):
        do(context, work)


def test_no_step_begins_in_a_drain(workplace: Workplace, context: StageContext) -> None:
    do(context)
    workplace.stopping.set()

    with pytest.raises(Drained):
        context.step(CHUNK, lambda: 1, lambda result: Stored())
    assert workplace.checkpoint(context.lease)["completed_stages"] == ["extracted"]


def test_a_drain_ends_the_pause_before_the_second_try(workplace: Workplace) -> None:
    workplace.upload(b"some words")
    context = workplace.context(workplace.claim(), retry_pause_seconds=60)
    threading.Timer(0.05, workplace.stopping.set).start()

    with pytest.raises(Drained):
        do(context, failing(unavailable()))


def test_a_step_that_is_done_is_skipped(workplace: Workplace, context: StageContext) -> None:
    context.step(EMBED, lambda: 1, lambda result: Stored())

    def work() -> int:
        raise AssertionError("done already")

    again = workplace.context(workplace.take_back(context.lease))
    again.step(EMBED, work, lambda result: Stored())

    assert kinds(workplace, context) == ["STEP_STARTED", "STEP_SUCCEEDED", "STEP_REUSED"]


def test_progress_is_written_now_and_then(
    workplace: Workplace, context: StageContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def work() -> int:
        context.progress(0.25)
        seen.append(workplace.checkpoint(context.lease)["progress"])
        monkeypatch.setattr(steps, "PROGRESS_EVERY_SECONDS", 0)
        for fraction in (0.5, 7.0, -3.0):
            context.progress(fraction)
            seen.append(workplace.checkpoint(context.lease)["progress"])
        return 1

    do(context, work)

    # It never falls: a run that goes on from another one begins with that one's.
    assert seen == [0, 0.5 * EXTRACT.share, EXTRACT.share, EXTRACT.share]


def test_progress_of_a_lost_job_ends_the_work(
    workplace: Workplace, context: StageContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "PROGRESS_EVERY_SECONDS", 0)
    workplace.take_back(context.lease)

    with pytest.raises(LeaseLost):
        do(context, lambda: context.progress(0.5))


def test_progress_that_cannot_be_said_ends_no_work(
    workplace: Workplace, context: StageContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "PROGRESS_EVERY_SECONDS", 0)
    is_away = False

    def lose_connection(*arguments: object) -> None:
        if is_away:
            raise OperationalError("BEGIN", {}, Exception("the database is away"))

    def work() -> int:
        nonlocal is_away
        is_away = True
        context.progress(0.5)
        is_away = False
        return 1

    event.listen(Engine, "begin", lose_connection)
    try:
        do(context, work)
    finally:
        event.remove(Engine, "begin", lose_connection)

    assert workplace.checkpoint(context.lease)["progress"] == EXTRACT.share


def test_every_write_is_fenced(workplace: Workplace, context: StageContext) -> None:
    taken = workplace.take_back(context.lease)

    with pytest.raises(LeaseLost):
        do(context)
    with pytest.raises(LeaseLost), context.transaction():
        raise AssertionError("the fence is the first statement")

    assert kinds(workplace, context) == []
    assert workplace.checkpoint(taken) == taken.checkpoint
