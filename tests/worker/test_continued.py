"""A run that reaches its time limit and got on is followed by one that goes on, as long as that helps."""

from collections.abc import Callable
from uuid import UUID

import pytest
from sqlalchemy import Connection, event, select

from tests.documents.rows import document, new_document
from tests.worker.bench import Bench, finish
from webapp.db import db, reading, transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import DocumentStatus, RunTrigger
from webapp.jobs import failures
from webapp.jobs.interruptions import OutOfTime
from webapp.jobs.queue import LeaseLost
from webapp.jobs.states import Priority
from webapp.library import deletion
from webapp.pipeline.steps import StageContext
from webapp.runs import checkpoint, lifecycle, transitions
from webapp.runs.stages import EXTRACT
from webapp.worker import chores
from webapp.worker.attempt import Outcome

TOTAL = 40


def window(context: StageContext) -> None:
    """A handler that reads eight pages more, and is done with the last ones."""
    context.current = EXTRACT
    before = checkpoint.pages(context.checkpoint) or (0, TOTAL)
    context.save_pages(before[0] + 8, TOTAL)
    if before[0] + 8 < TOTAL:
        raise OutOfTime
    finish(context)


def idle(context: StageContext) -> None:
    """A handler that gets nowhere."""
    raise OutOfTime


def left_to_the_reaper(bench: Bench) -> Outcome:
    """A window is saved, and the process hangs: somebody else has to end the run."""
    claimed = bench.claim()
    context = bench.attempts(window)._context(claimed, None)  # type: ignore[arg-type] # nothing asks it to stop
    with pytest.raises(OutOfTime):
        window(context)
    bench.grow_old(claimed.lease.run_id, 10**6)
    assert chores.end_overdue(bench.services, bench.policy.run_timeout_seconds) == 1
    with pytest.raises(LeaseLost):
        context.save_pages(TOTAL, TOTAL)
    return Outcome.TIMED_OUT


def ended_by_itself(bench: Bench) -> Outcome:
    return bench.attempt(window)


Ending = Callable[[Bench], Outcome]
endings = pytest.mark.parametrize("end", [ended_by_itself, left_to_the_reaper])


def runs_of(bench: Bench, document_id: UUID) -> list[ProcessingRun]:
    """Oldest first."""
    with reading(bench.org_id) as session:
        rows = select(ProcessingRun).where(ProcessingRun.document_id == document_id)
        return list(session.scalars(rows.order_by(ProcessingRun.created_at, ProcessingRun.id)))


def history(bench: Bench, document_id: UUID) -> list[tuple[str, str]]:
    return [(run.trigger, run.state) for run in runs_of(bench, document_id)]


@endings
def test_runs_go_on_until_the_document_is_ready(bench: Bench, end: Ending) -> None:
    document_id = new_document(bench.org_id)
    run_id = bench.new_run(document_id, max_attempts=3)
    for part in range(1, 5):
        assert end(bench) is Outcome.TIMED_OUT
        newest = runs_of(bench, document_id)[-1]
        assert (newest.trigger, newest.state) == ("CONTINUED", "QUEUED")
        job = bench.job(newest.id)
        assert (job.max_attempts, job.attempts, job.priority, job.stage) == (3, 0, 0, bench.job(run_id).stage)
        assert checkpoint.pages(job.checkpoint) == (8 * part, TOTAL)
        assert checkpoint.pieces(job.checkpoint) == 0
        assert document(bench.org_id, document_id).status == DocumentStatus.PROCESSING
    assert bench.attempt(window) is Outcome.COMPLETED
    timed_out = [("CONTINUED", "TIMED_OUT")] * 3
    assert history(bench, document_id) == [("UPLOAD", "TIMED_OUT"), *timed_out, ("CONTINUED", "SUCCEEDED")]
    assert bench.states(run_id) == ("TIMED_OUT", "CANCELLED")
    assert bench.events(run_id)[-1] == "RUN_TIMED_OUT"
    with reading(bench.org_id):
        assert failures.groups(bench.org_id) == []
    assert document(bench.org_id, document_id).status == DocumentStatus.READY


@endings
def test_no_transaction_leaves_the_document_timed_out(bench: Bench, end: Ending) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    committed: list[str | None] = []

    def look(connection: Connection) -> None:
        committed.append(connection.scalar(select(Document.status).where(Document.id == document_id)))

    bench.listen(db.engine, "commit", look)
    assert end(bench) is Outcome.TIMED_OUT
    assert len(committed) >= 3
    assert {*committed, document(bench.org_id, document_id).status} - {None} == {"PROCESSING"}


def test_priority_goes_on_with_the_run(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    lifecycle.queue_run(
        bench.queue, bench.org_id, document_id, RunTrigger.UPLOAD, max_attempts=1, priority=Priority.BULK
    )
    bench.attempt(window)
    assert bench.job(runs_of(bench, document_id)[-1].id).priority == Priority.BULK


def test_without_progress_the_chain_ends(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    assert bench.attempt(window) is Outcome.TIMED_OUT
    assert bench.attempt(idle) is Outcome.TIMED_OUT
    assert history(bench, document_id) == [("UPLOAD", "TIMED_OUT"), ("CONTINUED", "TIMED_OUT")]
    last = runs_of(bench, document_id)[-1]
    assert bench.states(last.id) == ("TIMED_OUT", "FAILED")
    assert document(bench.org_id, document_id).status == DocumentStatus.TIMED_OUT


def test_there_are_so_many_in_a_row_and_a_person_begins_a_new_row(bench: Bench) -> None:
    bench.with_queue(continue_max=2)
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    for _ in range(3):
        assert bench.attempt(window) is Outcome.TIMED_OUT
    assert history(bench, document_id)[-1] == ("CONTINUED", "TIMED_OUT")
    assert document(bench.org_id, document_id).status == DocumentStatus.TIMED_OUT
    failed = bench.job(runs_of(bench, document_id)[-1].id)
    assert lifecycle.retry_job(bench.queue, bench.org_id, failed.id, 1, by="somebody")
    assert bench.attempt(window) is Outcome.TIMED_OUT
    triggers = [trigger for trigger, _ in history(bench, document_id)]
    assert triggers == ["UPLOAD", "CONTINUED", "CONTINUED", "RETRY", "CONTINUED"]
    assert bench.attempt(window) is Outcome.COMPLETED


def test_none_goes_on_where_that_is_switched_off(bench: Bench) -> None:
    bench.with_queue(continue_max=0)
    run_id = bench.new_run()
    assert bench.attempt(window) is Outcome.TIMED_OUT
    assert bench.states(run_id) == ("TIMED_OUT", "FAILED")


@endings
def test_where_a_newer_run_waits_that_one_is_next(bench: Bench, end: Ending) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    newer = bench.new_run(document_id)
    assert end(bench) is Outcome.TIMED_OUT
    assert history(bench, document_id) == [("UPLOAD", "TIMED_OUT"), ("UPLOAD", "QUEUED")]
    assert bench.claim().lease.run_id == newer


@pytest.mark.parametrize("is_running", [True, False])
def test_cancelling_ends_the_chain(bench: Bench, is_running: bool) -> None:
    document_id = new_document(bench.org_id)
    first = bench.new_run(document_id)
    bench.attempt(window)
    lease = bench.claim().lease if is_running else None
    # The page still names the run before, as it may when the button is pressed.
    assert lifecycle.cancel_run(bench.queue, bench.org_id, document_id, first)
    assert history(bench, document_id) == [("UPLOAD", "TIMED_OUT"), ("CONTINUED", "CANCELLED")]
    assert not bench.queue.claim("worker")
    if lease:
        with pytest.raises(LeaseLost), transaction(bench.org_id):
            bench.queue.fence(lease)


def test_a_run_is_not_cancelled_for_an_earlier_one_of_somebody_else(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    first = bench.new_run(document_id)
    bench.attempt(finish)
    bench.new_run(document_id)
    assert not lifecycle.cancel_run(bench.queue, bench.org_id, document_id, first)
    with reading(bench.org_id):
        assert transitions.last_of_chain(first, document_id) == first


@endings
def test_a_deleted_document_goes_on_nowhere(bench: Bench, end: Ending) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    end(bench)
    lease = bench.claim().lease
    assert deletion.delete_document(bench.queue, bench.org_id, document_id)
    assert chores.end_overdue(bench.services, 0) == 0
    with pytest.raises(LeaseLost), transaction(bench.org_id):
        bench.queue.fence(lease)
    assert runs_of(bench, document_id) == []


def test_nothing_goes_on_by_itself_after_a_crash(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    bench.attempt(window)
    bench.claim()
    assert chores.end_orphans(bench.services) == 1
    assert history(bench, document_id) == [("UPLOAD", "TIMED_OUT"), ("CONTINUED", "FAILED")]
    assert runs_of(bench, document_id)[-1].failure_type == "PROCESS_TERMINATED"


def test_a_crash_before_the_next_run_has_begun_leaves_it_queued(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    bench.attempt(window)
    assert chores.end_orphans(bench.services) == 0
    assert history(bench, document_id)[-1] == ("CONTINUED", "QUEUED")
    assert bench.attempt(window) is Outcome.TIMED_OUT


def test_a_death_in_the_middle_of_the_end_leaves_the_run_as_it_was(bench: Bench) -> None:
    """The end of one run and the beginning of the next are one transaction."""
    document_id = new_document(bench.org_id)
    run_id = bench.new_run(document_id)

    def dies(connection: object) -> None:
        raise KeyboardInterrupt

    claimed = bench.claim()
    context = bench.attempts(window)._context(claimed, None)  # type: ignore[arg-type] # nothing asks it to stop
    with pytest.raises(OutOfTime):
        window(context)
    bench.grow_old(run_id, 10**6)
    event.listen(db.engine, "commit", dies)
    try:
        with pytest.raises(KeyboardInterrupt):
            chores.end_overdue(bench.services, 1)
    finally:
        event.remove(db.engine, "commit", dies)
    assert history(bench, document_id) == [("UPLOAD", "RUNNING")]
    assert chores.end_overdue(bench.services, 1) == 1
    assert history(bench, document_id) == [("UPLOAD", "TIMED_OUT"), ("CONTINUED", "QUEUED")]
