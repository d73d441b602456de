"""One attempt, one outcome: what handlers raise, and what becomes of job, run and timeline."""

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from tests.documents.rows import new_document
from tests.worker.bench import Bench, finish, raising
from webapp.clock import monotonic
from webapp.db import transaction
from webapp.jobs.interruptions import Drained, OutOfTime, Snoozed
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.handlers import HANDLERS
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import BadInput, FailureCode, ProviderUnavailable
from webapp.runs.stages import STAGES
from webapp.worker.attempt import Outcome


def test_every_stage_has_its_handler() -> None:
    assert set(HANDLERS) == set(STAGES)


def test_a_claim_starts_the_run(bench: Bench) -> None:
    run_id = bench.new_run()
    claimed = bench.claim()
    assert bench.states(run_id) == ("RUNNING", "PROCESSING")
    left = claimed.deadline - monotonic()
    assert bench.policy.run_timeout_seconds - 10 < left <= bench.policy.run_timeout_seconds


def test_the_window_counts_from_the_start_of_the_run_not_of_the_attempt(bench: Bench) -> None:
    run_id = bench.new_run()
    assert bench.attempt(raising(Snoozed(0))) == Outcome.SNOOZED
    bench.grow_old(run_id, bench.policy.run_timeout_seconds + 1)
    assert bench.attempt(lambda context: context.check()) == Outcome.TIMED_OUT
    assert bench.states(run_id) == ("TIMED_OUT", "FAILED")


def test_a_job_whose_run_may_not_start_waits(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    second = bench.new_run(document_id)
    bench.claim()
    bench.queue.let_in(second)
    assert bench.attempts(finish).claim("worker") == []
    assert bench.states(second) == ("QUEUED", "PENDING")
    assert bench.attempts(finish).claim("worker") == []


def test_completed(bench: Bench) -> None:
    run_id = bench.new_run()
    assert bench.attempt(finish) == Outcome.COMPLETED
    assert bench.states(run_id) == ("SUCCEEDED", "COMPLETED")


@pytest.mark.parametrize(
    ("error", "max_attempts", "outcome", "states", "failure_type"),
    [
        (ProviderUnavailable("away"), 2, Outcome.RETRIED, ("RUNNING", "PENDING"), None),
        (ProviderUnavailable("away"), 1, Outcome.FAILED, ("FAILED", "FAILED"), "STEP_FAILED"),
        (BadInput("locked", code=FailureCode.ENCRYPTED), 5, Outcome.FAILED, ("FAILED", "FAILED"), "BAD_INPUT"),
        (ProviderUnavailable("no", permanent=True), 5, Outcome.FAILED, ("FAILED", "FAILED"), "STEP_FAILED"),
        (ValueError("a mistake"), 2, Outcome.RETRIED, ("RUNNING", "PENDING"), None),
        (ValueError("a mistake"), 1, Outcome.FAILED, ("FAILED", "FAILED"), "STEP_FAILED"),
        (BaseException("a panic"), 2, Outcome.RETRIED, ("RUNNING", "PENDING"), None),
        (Drained(), 1, Outcome.RELEASED, ("RUNNING", "PENDING"), None),
        (Snoozed(60), 1, Outcome.SNOOZED, ("RUNNING", "PENDING"), None),
        (OutOfTime(), 5, Outcome.TIMED_OUT, ("TIMED_OUT", "FAILED"), None),
        (
            ProviderUnavailable("no room", code=FailureCode.STORAGE_FULL),
            1,
            Outcome.SNOOZED,
            ("RUNNING", "PENDING"),
            None,
        ),
        (OperationalError("UPDATE", {}, Exception("gone")), 1, Outcome.SNOOZED, ("RUNNING", "PENDING"), None),
    ],
    ids=lambda value: value.__class__.__name__ if isinstance(value, BaseException) else None,
)
def test_what_is_raised_decides(
    bench: Bench,
    error: BaseException,
    max_attempts: int,
    outcome: Outcome,
    states: tuple[str, str],
    failure_type: str | None,
) -> None:
    run_id = bench.new_run(max_attempts=max_attempts)
    assert bench.attempt(raising(error)) == outcome
    assert bench.states(run_id) == states
    assert bench.run(run_id).failure_type == failure_type
    counted = outcome in {Outcome.RETRIED, Outcome.FAILED, Outcome.TIMED_OUT}
    assert bench.job(run_id).attempts == (1 if counted else 0)


def test_the_last_of_several_attempts_exhausts_them(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=2)
    assert bench.attempt(raising(ValueError("again"))) == Outcome.RETRIED
    with transaction(bench.org_id) as session:
        session.execute(text("UPDATE document_processing_jobs SET available_at = created_at, wakes_at = NULL"))
    assert bench.attempt(raising(ValueError("again"))) == Outcome.FAILED
    assert bench.run(run_id).failure_type == "ATTEMPTS_EXHAUSTED"


def test_an_unexpected_error_is_kept_without_its_secrets(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=1)
    bench.attempt(raising(ValueError("cannot reach https://me:hunter2@example.com")))
    (entry,) = bench.job(run_id).error_log
    assert (entry["code"], entry["exception"]) == ("unexpected", "ValueError")
    for kept in (str(entry), str(bench.run(run_id).error)):
        assert "cannot reach" in kept
        assert "hunter2" not in kept


class _Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_an_error_that_has_no_words_is_kept_by_its_name(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=1)
    assert bench.attempt(raising(_Speechless())) is Outcome.FAILED
    (entry,) = bench.job(run_id).error_log
    assert (entry["exception"], entry["message"]) == ("_Speechless", "_Speechless")


def test_a_stage_that_this_worker_does_not_take_is_left_to_others(bench: Bench) -> None:
    """As while a newer version is being rolled out, or where WORKER_STAGES says so."""
    run_id = bench.new_run(max_attempts=1)
    assert bench.attempts({"another": finish}).claim("worker") == []
    assert bench.states(run_id) == ("QUEUED", "PENDING")


@pytest.mark.parametrize(
    "error", [None, ValueError("late"), Drained(), Snoozed(1), OutOfTime(), LeaseLost("as said"), BadInput("late")]
)
def test_an_attempt_that_lost_its_lease_writes_nothing(bench: Bench, error: Exception | None) -> None:
    run_id = bench.new_run(max_attempts=5)

    def handler(context: StageContext) -> None:
        bench.take_away(context.lease)
        if error:
            raise error
        finish(context)

    assert bench.attempt(handler) == Outcome.LEASE_LOST
    assert bench.states(run_id) == ("RUNNING", "PENDING")
    assert bench.job(run_id).attempts == 1
    assert bench.events(run_id) == ["RUN_QUEUED", "RUN_STARTED", "JOB_RESET"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before_commit", "after_commit"])
def test_an_end_whose_commit_got_no_answer_counts_once(bench: Bench, moment: str) -> None:
    """Before: nothing was stored, and it is stored by the second try. After: the second try finds it stored."""
    run_id = bench.new_run(max_attempts=5)
    losses = iter([True, True, False] if moment == "before_commit" else [True, False])

    def lose_connection(session: Session) -> None:
        if next(losses, False):
            raise OperationalError("COMMIT", {}, Exception("the connection was lost"))

    def handler(context: StageContext) -> None:
        event.listen(Session, moment, lose_connection)
        raise ProviderUnavailable("away")

    outcome = bench.attempt(handler)
    event.remove(Session, moment, lose_connection)
    assert outcome == (Outcome.RETRIED if moment == "before_commit" else Outcome.LEASE_LOST)
    assert bench.states(run_id) == ("RUNNING", "PENDING")
    assert bench.job(run_id).attempts == 1
    assert bench.events(run_id).count("JOB_RETRY_SCHEDULED") == 1


def test_an_end_that_cannot_be_stored_is_dropped_not_tried_for_ever(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=1)

    def refuse(session: Session) -> None:
        raise ProgrammingError("COMMIT", {}, Exception("a mistake of ours"))

    def handler(context: StageContext) -> None:
        event.listen(Session, "before_commit", refuse)
        raise ProviderUnavailable("away")

    outcome = bench.attempt(handler)
    event.remove(Session, "before_commit", refuse)
    assert outcome == Outcome.LEASE_LOST
    assert bench.states(run_id) == ("RUNNING", "PROCESSING")


def test_an_error_of_the_database_does_not_quote_the_document(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=1)

    def handler(context: StageContext) -> None:
        with context.transaction() as session:
            session.execute(text("INSERT INTO orgs (id, name) VALUES (:secret, NULL)"), {"secret": "a private line"})

    assert bench.attempt(handler) == Outcome.FAILED
    assert "private" not in str(bench.run(run_id).error)
    assert "private" not in str(bench.job(run_id).error_log)
