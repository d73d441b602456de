"""Whatever becomes of a job, each text is paid for once, its answer is kept, and the ledger agrees with the bill."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event, update
from sqlalchemy.exc import OperationalError

from tests.emulators.openai import OpenAI
from tests.pipeline.paid import BATCH, CALLS_AT_ONCE, PaidPlace, commits_fail, deviations, make_place, wait_until
from tests.pipeline.workplace import Fallible, Workplace, prose
from webapp.clock import after, monotonic
from webapp.db import transaction
from webapp.documents.model import ProcessingRun
from webapp.documents.states import LiveRun
from webapp.jobs.interruptions import Drained
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError, Lease, LeaseLost
from webapp.library import deletion
from webapp.pipeline.embed import LOOK_SECONDS
from webapp.pipeline.handlers import do_steps
from webapp.pipeline.paid_calls.call_times import CallTimes
from webapp.provider_errors import ProviderError
from webapp.runs import lifecycle, time_limit
from webapp.runs.stages import EMBED
from webapp.search.model import Chunk
from webapp.worker import chores

STORY = prose(20)
BOOKS = 10
HELD = BATCH * CALLS_AT_ONCE


@pytest.fixture
def place(workplace: Workplace, openai: OpenAI) -> Iterator[PaidPlace]:
    yield make_place(workplace, openai)
    openai.delay_seconds = 0.0


def texts(place: PaidPlace) -> int:
    return len({chunk.text_sha256 for chunk in place.workplace.all(Chunk)})


def is_paid_once(place: PaidPlace) -> None:
    """Every text, by the server's own count, which the ledger agrees with."""
    assert place.openai.paid_twice() == {}
    assert place.openai.units() == place.cached() == texts(place)
    assert deviations(place.workplace, place.openai) == []


# One text, many jobs.


@pytest.mark.slow
def test_the_same_text_in_ten_books_at_once_is_paid_for_once(place: PaidPlace) -> None:
    books = [place.upload(STORY + b"\n" * number, f"{number}.md") for number in range(BOOKS)]
    place.openai.delay_seconds = 0.02
    place.work_off()

    assert {place.workplace.document(book).status for book in books} == {"READY"}
    is_paid_once(place)
    saved = sum(units for units, _, reused in place.bill() if reused)
    assert saved == (BOOKS - 1) * texts(place), "each text of each book was paid for or saved"


def test_a_job_makes_its_own_calls_and_then_waits_without_a_seat(place: PaidPlace) -> None:
    place.upload(STORY, "first.md")
    first = place.workplace.claim()
    place.upload(STORY + b"\n", "second.md")
    second = place.workplace.claim()
    with place.caught_in_flight(first) as ended:
        assert not place.attempt(second)
        assert {each.job_id for each in place.reserved()} == {first.job_id}, "who waits has reserved nothing"
        assert place.cached() == place.openai.units() - HELD
        assert place.openai.units() > HELD, "the second one asked for what was left"
    assert ended == ["done"]
    place.work_off(1)
    is_paid_once(place)


def test_a_call_has_its_turn_before_it_is_reserved(place: PaidPlace) -> None:
    """Nobody waits for a call that waits itself; and a call that waits for its turn hears that the process ends."""
    document_id, turns = place.upload(STORY), place.workplace.embedder.turns
    for _ in range(CALLS_AT_ONCE):
        turns.acquire()
    with ThreadPoolExecutor(1) as thread:
        attempt = thread.submit(place.attempt_alone, place.workplace.claim())
        wait_until(lambda: ("STEP_STARTED", EMBED.doing) in place.workplace.steps(place.workplace.run(document_id).id))
        with pytest.raises(TimeoutError):
            attempt.result(10 * LOOK_SECONDS)
        assert (place.reserved(), place.openai.units()) == ([], 0)
        place.workplace.stopping.set()
        assert isinstance(attempt.exception(20), Drained)
    place.workplace.stopping.clear()
    for _ in range(CALLS_AT_ONCE):
        turns.release()
    assert place.reserved() == []


def test_turns_are_given_back_whatever_becomes_of_a_call(place: PaidPlace) -> None:
    place.upload(STORY)
    place.openai.misbehave("status", "embeddings", times=1, code=400)
    lease = place.workplace.claim()
    with pytest.raises(ProviderError):
        place.attempt(lease)
    place.attempt(place.workplace.take_back(lease))
    turns = place.workplace.embedder.turns
    assert [turns.acquire(blocking=False) for _ in range(CALLS_AT_ONCE + 1)] == [True] * CALLS_AT_ONCE + [False]


# The run ends while calls are on their way.


def _cancel(place: PaidPlace, document_id: UUID, lease: Lease) -> None:
    assert lifecycle.cancel_run(place.workplace.queue, place.workplace.org_id, document_id, lease.run_id)


def _time_out(place: PaidPlace, document_id: UUID, lease: Lease) -> None:
    with transaction(place.workplace.org_id) as session:
        session.execute(update(ProcessingRun).values(started_at=after(-3600)))
    assert time_limit.time_out_run(place.workplace.queue, LiveRun(lease.run_id, lease.org_id, document_id), 100)


def _lose(place: PaidPlace) -> None:
    """The job goes back to the queue, since its worker is considered dead."""
    with transaction(everywhere=True) as session:
        session.execute(update(Job).values(max_attempts=5))
        place.workplace.queue.reset_stale(-60, JobError("worker_silent", "it fell silent"))


@pytest.mark.parametrize("end", [_cancel, _time_out], ids=["cancelled", "timed_out"])
def test_answers_that_arrive_after_the_end_of_their_run_are_kept(
    place: PaidPlace, end: Callable[[PaidPlace, UUID, Lease], None]
) -> None:
    document_id = place.upload(STORY)
    lease = place.workplace.claim()
    with place.caught_in_flight(lease) as ended:
        end(place, document_id, lease)
    assert ended == ["lost"]
    assert place.cached() == place.openai.units() == HELD
    assert place.workplace.all(Chunk) == [], "nothing else was written"
    assert (place.reserved(), deviations(place.workplace, place.openai)) == ([], [])

    place.workplace.reprocess(document_id)
    place.work_off(1)
    is_paid_once(place)


def test_a_new_run_waits_for_the_answers_of_one_that_was_cancelled(place: PaidPlace) -> None:
    document_id = place.upload(STORY)
    lease = place.workplace.claim()
    with place.caught_in_flight(lease):
        _cancel(place, document_id, lease)
        place.workplace.reprocess(document_id)
        assert not place.attempt(place.workplace.claim())
    place.work_off(1)
    is_paid_once(place)


def test_what_arrives_for_a_deleted_document_leaves_only_its_line(place: PaidPlace) -> None:
    document_id = place.upload(STORY)
    lease = place.workplace.claim()
    with place.caught_in_flight(lease) as ended:
        deletion.delete_document(place.workplace.queue, place.workplace.org_id, document_id)
    assert ended == ["lost"]
    assert (place.cached(), place.openai.units()) == (0, HELD)
    assert place.bill() == [(BATCH, "ok", False)] * CALLS_AT_ONCE
    assert (place.reserved(), deviations(place.workplace, place.openai)) == ([], [])


def test_what_arrives_for_a_deleted_document_is_kept_for_another_with_the_same_texts(place: PaidPlace) -> None:
    document_id = place.upload(STORY, "first.md")
    lease = place.workplace.claim()
    place.upload(STORY + b"\n", "second.md")
    second = place.workplace.claim()
    with place.caught_in_flight(lease):
        assert not place.attempt(second)
        deletion.delete_document(place.workplace.queue, place.workplace.org_id, document_id)
    place.work_off(1)
    is_paid_once(place)


def test_lines_outlive_the_document(place: PaidPlace) -> None:
    document_id = place.upload(STORY)
    place.work_off(1)
    before = place.bill()
    deletion.delete_document(place.workplace.queue, place.workplace.org_id, document_id)
    assert place.bill() == before
    assert deviations(place.workplace, place.openai) == []


# Workers that die or freeze.


def test_what_a_dead_worker_asked_for_is_asked_for_again_and_may_have_been_paid(place: PaidPlace) -> None:
    place.upload(STORY)
    lease = place.workplace.claim()
    with place.caught_in_flight(lease):
        _lose(place)
        place.work_off(1)
        assert place.openai.units() == texts(place) + HELD
        assert [line for line in place.bill() if line[1] == "unknown"] == [(BATCH, "unknown", False)] * CALLS_AT_ONCE
    # It was only slow: what it brings now was written off, and is not booked a second time.
    assert deviations(place.workplace, place.openai) == []
    assert place.cached() == texts(place)


def test_a_frozen_worker_is_waited_for_as_long_as_its_call_may_take(place: PaidPlace) -> None:
    place.upload(STORY, "first.md")
    frozen = place.workplace.claim()
    place.upload(STORY + b"\n", "second.md")
    second = place.workplace.claim()
    with place.caught_in_flight(frozen):
        assert not place.attempt(second)
        place.expire(frozen)
        assert not place.attempt(_claimed_again(place)), "it still says that it lives"
        place.expire(frozen, silent_seconds=61)
        assert place.attempt(_claimed_again(place))
        assert sum(line[0] for line in place.bill() if line[1] == "unknown") == HELD
    assert place.cached() == texts(place)
    assert deviations(place.workplace, place.openai) == []


def _claimed_again(place: PaidPlace) -> Lease:
    leases: list[Lease] = []
    while not leases:
        leases = place.claim()
    return leases[0]


def test_a_call_that_nobody_waits_for_any_more_is_booked(place: PaidPlace) -> None:
    document_id = place.upload(STORY)
    lease = place.workplace.claim()
    with place.caught_in_flight(lease):
        _cancel(place, document_id, lease)
        assert chores.book_lost_calls(place.workplace) == 0
        place.expire(lease)
        assert chores.book_lost_calls(place.workplace) == CALLS_AT_ONCE
        assert place.bill() == [(BATCH, "unknown", False)] * CALLS_AT_ONCE
    assert place.bill() == [(BATCH, "unknown", False)] * CALLS_AT_ONCE
    assert place.cached() == HELD


def test_a_job_whose_worker_died_for_the_last_time_leaves_no_open_call(place: PaidPlace) -> None:
    place.upload(STORY)
    lease = place.workplace.claim()
    with place.caught_in_flight(lease):
        with transaction(everywhere=True) as session:
            session.execute(update(Job).values(max_attempts=1))
        lifecycle.reset_silent(place.workplace.queue, -60)
        assert chores.book_lost_calls(place.workplace) == CALLS_AT_ONCE
    assert deviations(place.workplace, place.openai) == []


# The database is away.


@pytest.mark.parametrize("after_commit", [False, True], ids=["commit_lost", "answer_lost"])
def test_connections_cut_around_commits_cost_nothing(place: PaidPlace, after_commit: bool) -> None:
    place.upload(STORY)
    lease = place.workplace.claim()
    with commits_fail(_is_paying(place), after_commit=after_commit, times=12, every=2) as failed:
        while not _is_over(place, lease):
            # As a worker: what it can't store now it tries again under the same lease.
            with suppress(OperationalError):
                place.attempt(lease)
    assert failed == [12]
    is_paid_once(place)


def _is_paying(place: PaidPlace) -> Callable[[], bool]:
    return lambda: place.openai.units() > 0


def _is_over(place: PaidPlace, lease: Lease) -> bool:
    return place.workplace.run(lease.document_id).state == "SUCCEEDED"


def test_answers_that_cannot_be_stored_in_time_lie_among_the_blobs(place: PaidPlace) -> None:
    place.upload(STORY)
    lease = place.workplace.claim()
    impatient = place.workplace.context(lease, times=CallTimes(keep_seconds=0))
    with (
        commits_fail(_is_paying(place)),
        pytest.raises(OperationalError),
    ):
        do_steps(impatient)
    paid = place.openai.units()
    assert paid > 0
    assert place.cached() == 0
    assert any("/answers/" in path for path in place.workplace.blobs())

    assert place.attempt(place.workplace.take_back(lease))
    is_paid_once(place)
    assert not any("/answers/" in path for path in place.workplace.blobs())


def test_a_lost_job_makes_no_call(place: PaidPlace) -> None:
    place.upload(STORY)
    lease = place.workplace.claim()
    place.workplace.take_back(lease)
    with pytest.raises(LeaseLost):
        place.attempt(lease)
    assert (place.openai.units(), place.reserved(), place.bill()) == (0, [], [])


@pytest.mark.parametrize("fault", ["status", "lost", "cut", "malformed", "wrong_count"])
def test_faults_of_the_provider_are_on_the_bill_as_they_are(place: PaidPlace, fault: str) -> None:
    place.upload(STORY)
    place.openai.misbehave(fault, "embeddings", times=1)
    assert place.attempt(place.workplace.claim())
    assert deviations(place.workplace, place.openai) == []
    assert place.reserved() == []


# What costs nothing, and the start of the only process that works.


def test_what_this_machine_does_itself_is_not_reserved(place: PaidPlace) -> None:
    """No statement and no commit more: the reservations' table is not even looked at."""

    class Local(Fallible):
        name = "local"

    place.workplace.with_embedder(Local())
    place.upload(STORY)
    lease = place.workplace.claim()
    with transaction(place.workplace.org_id) as session:
        engine = session.get_bind()
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        assert place.attempt(lease)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert seen
    assert [statement for statement in seen if "call_reservations" in statement] == []


def test_the_start_of_the_only_process_ends_all_calls(place: PaidPlace) -> None:
    document_id = place.upload(STORY)
    lease = place.workplace.claim()
    with place.caught_in_flight(lease):
        chores.end_orphans(place.workplace)
        assert place.workplace.run(document_id).state == "FAILED"
        place.workplace.reprocess(document_id)
        place.work_off(1)
        assert place.workplace.document(document_id).status == "READY"
    assert sum(units for units, outcome, _ in place.bill() if outcome == "unknown") == HELD
    assert deviations(place.workplace, place.openai) == []


def test_a_process_that_is_asked_to_end_holds_an_answer_no_longer_than_it_may(place: PaidPlace) -> None:
    place.upload(STORY)
    lease = place.workplace.claim()
    context = place.workplace.context(lease, times=CallTimes(drain_seconds=0.5))

    def is_paying() -> bool:
        if place.openai.units() > 0:
            place.workplace.stopping.set()
        return place.openai.units() > 0

    started = monotonic()
    with commits_fail(is_paying), pytest.raises((OperationalError, Drained)):
        do_steps(context)
    assert monotonic() - started < 20
    assert any("/answers/" in path for path in place.workplace.blobs())
    place.workplace.stopping.clear()
    assert place.attempt(place.workplace.take_back(lease))
    is_paid_once(place)
