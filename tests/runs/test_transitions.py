"""The life of runs: who may start, what an end means, and that an end is one."""

from collections.abc import Callable
from itertools import product
from uuid import UUID

import pytest
from sqlalchemy import event, update
from sqlalchemy.exc import IntegrityError

from tests.documents.rows import document, events_of, new_document, new_org, queue, run, start
from webapp.clock import after, new_id
from webapp.db import db, reading, transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import DocumentStatus, FailureType, RunState, RunTrigger
from webapp.runs import transitions
from webapp.runs.transitions import DocumentMissing, Ended

ENDS: dict[RunState, Callable[[UUID], Ended | None]] = {
    RunState.SUCCEEDED: transitions.succeed,
    RunState.FAILED: lambda run_id: transitions.fail(run_id, FailureType.STEP_FAILED, "corrupt", "no end of file"),
    RunState.TIMED_OUT: transitions.time_out,
    RunState.CANCELLED: transitions.cancel,
}


def _end(org_id: UUID, run_id: UUID, state: RunState) -> Ended | None:
    with transaction(org_id):
        return ENDS[state](run_id)


def _state(org_id: UUID, run_id: UUID) -> str:
    return run(org_id, run_id).state


def test_a_first_run_need_not_wait(org_id: UUID, document_id: UUID) -> None:
    with transaction(org_id):
        new = transitions.create(org_id, document_id, RunTrigger.UPLOAD)
    assert not new.must_wait
    assert _state(org_id, new.id) == RunState.QUEUED
    assert document(org_id, document_id).status == DocumentStatus.PROCESSING
    assert events_of(org_id, new.id) == ["RUN_QUEUED"]


def test_creating_a_run_is_always_allowed(org_id: UUID, document_id: UUID) -> None:
    first = queue(org_id, document_id)
    start(org_id, first)
    with transaction(org_id):
        while_running = transitions.create(org_id, document_id, RunTrigger.REPROCESS)
        while_queued = transitions.create(org_id, document_id, RunTrigger.REPROCESS)
    assert while_running.must_wait
    assert while_queued.must_wait


def test_a_document_of_another_org_cannot_be_processed(org_id: UUID, document_id: UUID) -> None:
    for asking_org, wanted in ((new_org(), document_id), (org_id, new_id())):
        with pytest.raises(DocumentMissing), transaction(asking_org):
            transitions.create(asking_org, wanted, RunTrigger.REPROCESS)


def test_starting_sets_the_clock_of_the_window(org_id: UUID, document_id: UUID) -> None:
    run_id = queue(org_id, document_id)
    assert start(org_id, run_id)
    assert run(org_id, run_id).started_at is not None
    assert events_of(org_id, run_id) == ["RUN_QUEUED", "RUN_STARTED"]


def test_a_run_starts_once(org_id: UUID, document_id: UUID) -> None:
    run_id = queue(org_id, document_id)
    assert start(org_id, run_id)
    assert not start(org_id, run_id)
    assert events_of(org_id, run_id).count("RUN_STARTED") == 1


def test_the_oldest_starts_first_and_the_next_after_its_end(org_id: UUID, document_id: UUID) -> None:
    first, second, third = (queue(org_id, document_id) for _ in range(3))
    assert not start(org_id, second)
    assert start(org_id, first)
    assert not start(org_id, second)
    ended = _end(org_id, first, RunState.FAILED)
    assert ended is not None
    assert ended.next_run_id == second
    assert ended.next_created_at == run(org_id, second).created_at
    assert not start(org_id, third)
    assert start(org_id, second)


def test_runs_of_the_same_moment_have_an_order_too(org_id: UUID, document_id: UUID) -> None:
    first, second = queue(org_id, document_id), queue(org_id, document_id)
    with transaction(org_id) as session:
        moment = run(org_id, first).created_at
        session.execute(update(ProcessingRun).values(created_at=moment))
    assert not start(org_id, second)
    assert start(org_id, first)


def test_a_waiting_document_blocks_no_other(org_id: UUID, document_id: UUID) -> None:
    start(org_id, queue(org_id, document_id))
    queue(org_id, document_id)
    assert start(org_id, queue(org_id, new_document(org_id)))


def test_nobody_starts_what_does_not_exist(org_id: UUID) -> None:
    assert not start(org_id, new_id())
    assert _end(org_id, new_id(), RunState.CANCELLED) is None


@pytest.mark.parametrize("end", ENDS)
def test_an_ended_run_never_changes_again(org_id: UUID, document_id: UUID, end: RunState) -> None:
    run_id = queue(org_id, document_id)
    start(org_id, run_id)
    assert _end(org_id, run_id, end) is not None
    lines = events_of(org_id, run_id)
    for other in ENDS:
        assert _end(org_id, run_id, other) is None
    assert not start(org_id, run_id)
    assert _state(org_id, run_id) == end
    assert events_of(org_id, run_id) == lines == ["RUN_QUEUED", "RUN_STARTED", f"RUN_{end}"]


@pytest.mark.parametrize("end", [RunState.SUCCEEDED, RunState.TIMED_OUT])
def test_a_queued_run_cannot_end_as_if_it_had_run(org_id: UUID, document_id: UUID, end: RunState) -> None:
    run_id = queue(org_id, document_id)
    assert _end(org_id, run_id, end) is None
    assert _state(org_id, run_id) == RunState.QUEUED


def test_a_queued_run_can_be_cancelled_while_another_runs(org_id: UUID, document_id: UUID) -> None:
    running, waiting, last = (queue(org_id, document_id) for _ in range(3))
    start(org_id, running)
    assert _end(org_id, waiting, RunState.CANCELLED) == Ended(None, None)
    ended = _end(org_id, running, RunState.SUCCEEDED)
    assert ended is not None
    assert ended.next_run_id == last


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (RunState.SUCCEEDED, DocumentStatus.READY),
        (RunState.FAILED, DocumentStatus.FAILED),
        (RunState.TIMED_OUT, DocumentStatus.TIMED_OUT),
        (RunState.CANCELLED, DocumentStatus.FAILED),
    ],
)
def test_status_follows_from_the_newest_run(
    org_id: UUID, document_id: UUID, end: RunState, status: DocumentStatus
) -> None:
    run_id = queue(org_id, document_id)
    start(org_id, run_id)
    _end(org_id, run_id, end)
    assert document(org_id, document_id).status == status


def test_a_result_stays_while_a_new_run_works_and_after_it_failed(org_id: UUID, document_id: UUID) -> None:
    good, bad, cancelled = queue(org_id, document_id), queue(org_id, document_id), queue(org_id, document_id)
    start(org_id, good)
    _end(org_id, good, RunState.SUCCEEDED)
    assert document(org_id, document_id).status == DocumentStatus.PROCESSING
    start(org_id, bad)
    _end(org_id, bad, RunState.FAILED)
    _end(org_id, cancelled, RunState.CANCELLED)
    stands = document(org_id, document_id)
    assert stands.published_run_id == good
    assert stands.status == DocumentStatus.READY


def test_a_failure_says_why(org_id: UUID, document_id: UUID) -> None:
    run_id = queue(org_id, document_id)
    start(org_id, run_id)
    _end(org_id, run_id, RunState.FAILED)
    failed = run(org_id, run_id)
    assert (failed.failure_type, failed.failure_code, failed.error) == ("STEP_FAILED", "corrupt", "no end of file")
    assert failed.finished_at is not None


def test_only_runs_past_their_window_are_overdue(org_id: UUID, document_id: UUID) -> None:
    late, young = queue(org_id, document_id), queue(org_id, new_document(org_id))
    for run_id in (late, young):
        start(org_id, run_id)
    with transaction(org_id) as session:
        session.execute(update(ProcessingRun).where(ProcessingRun.id == late).values(started_at=after(-121)))
    with reading(everywhere=True):
        assert [found.id for found in transitions.overdue(120)] == [late]
        assert {found.id for found in transitions.running()} == {late, young}


def test_the_database_itself_refuses_a_second_running_run(org_id: UUID, document_id: UUID) -> None:
    first, second = queue(org_id, document_id), queue(org_id, document_id)
    start(org_id, first)
    running = update(ProcessingRun).where(ProcessingRun.id == second)
    with pytest.raises(IntegrityError), transaction(org_id) as session:
        session.execute(running.values(state="RUNNING", started_at=after(0)))


# What a run in each state has: a start, an end, a kind of failure.
_POSSIBLE = {
    "QUEUED": {(False, False, None)},
    "RUNNING": {(True, False, None)},
    "SUCCEEDED": {(True, True, None)},
    "TIMED_OUT": {(True, True, None)},
    "FAILED": {(False, True, "STEP_FAILED"), (True, True, "STEP_FAILED")},
    "CANCELLED": {(False, True, "STEP_FAILED"), (True, True, "STEP_FAILED")},
    "LOST": set(),
}


@pytest.mark.parametrize("state", _POSSIBLE)
def test_the_database_takes_possible_runs_and_no_others(org_id: UUID, document_id: UUID, state: str) -> None:
    this_run = update(ProcessingRun).where(ProcessingRun.id == queue(org_id, document_id))

    def is_taken(**values: object) -> bool:
        try:
            with transaction(org_id) as session:
                session.execute(this_run.values(state=state, **values))
        except IntegrityError:
            return False
        return True

    taken = {
        (started, finished, failure)
        for started, finished, failure in product((False, True), (False, True), (None, "STEP_FAILED", "LOST"))
        if is_taken(
            started_at=after(0) if started else None, finished_at=after(0) if finished else None, failure_type=failure
        )
    }
    assert taken == _POSSIBLE[state]
    assert not is_taken(trigger="LOST")


def test_objects_that_a_caller_holds_stay_readable(org_id: UUID, document_id: UUID) -> None:
    with transaction(org_id) as session:
        held = session.get_one(Document, document_id)
        transitions.create(org_id, document_id, RunTrigger.REPROCESS)
    assert held.filename == "a.txt"
    assert held.updated_at is not None


def test_an_end_asks_five_things(org_id: UUID, document_id: UUID) -> None:
    """Lock, move, tell, look, change the document: an end is as long as its round trips."""
    first, following = queue(org_id, document_id), queue(org_id, document_id)
    start(org_id, first)
    seen: list[str] = []

    def note(connection: object, cursor: object, statement: str, *more: object) -> None:
        seen.append(statement.split(maxsplit=1)[0])

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        ended = _end(org_id, first, RunState.SUCCEEDED)
    finally:
        event.remove(db.engine, "before_cursor_execute", note)
    assert ended is not None
    assert ended.next_run_id == following
    statements = [word for word in seen if word not in {"BEGIN", "COMMIT"}]
    assert statements == ["SELECT", "UPDATE", "INSERT", "SELECT", "UPDATE"]
