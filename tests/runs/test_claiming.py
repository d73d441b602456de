"""A claimed job has a running run: what a claim does with runs of every kind, and beside others."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from flask import Flask
from sqlalchemy import update

from tests.conftest import DatabaseUnderTest
from tests.documents.rows import events_of, new_document, queue
from tests.runs.test_lifecycle import WRONG, Office
from tests.worker.bench import wait_for
from webapp.clock import after, new_id
from webapp.db import db, transaction
from webapp.documents.model import ProcessingRun
from webapp.jobs.queue import Lease, NewJob
from webapp.jobs.states import JobStatus
from webapp.runs import lifecycle, transitions

only_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def office(bare_app: Flask) -> Office:
    return Office()


def claim(office: Office, limit: int = 20) -> dict[UUID, Lease]:
    """The leases of a claim by their runs."""
    return {lease.run_id: lease for lease in office.queue.claim("worker", limit)}


def in_state(office: Office, state: str, seconds_running: float = 0) -> UUID:
    """A run that has come so far, and whose job is in line all the same."""
    run_id = office.new_run()
    kind = "STEP_FAILED" if state in {"FAILED", "CANCELLED"} else None
    values = {"state": state, "started_at": after(-seconds_running), "failure_type": kind}
    with transaction(office.org_id) as session:
        change = update(ProcessingRun).where(ProcessingRun.id == run_id)
        session.execute(change.values(**values, finished_at=None if state == "RUNNING" else after(0)))
    return run_id


def cancelled_behind_its_job(office: Office) -> UUID:
    """As when a job is added at the moment at which its run is cancelled: the end of the jobs has not seen it."""
    run_id = office.new_run()
    with transaction(office.org_id):
        transitions.cancel(run_id)
    return run_id


def behind_another(office: Office) -> tuple[UUID, UUID]:
    """Two runs of one document, the second of which is in line too soon."""
    document_id = new_document(office.org_id)
    first, second = office.new_run(document_id), office.new_run(document_id)
    office.queue.let_in(second)
    return first, second


def assert_untouched(office: Office, run_id: UUID) -> None:
    assert office.states(run_id) == ("QUEUED", "PENDING")
    assert events_of(office.org_id, run_id) == ["RUN_QUEUED"]
    assert office.job(run_id).attempts == 0


def test_runs_of_every_kind_come_in_one_claim(office: Office) -> None:
    tried, done = in_state(office, "RUNNING", 100), in_state(office, "SUCCEEDED", 100)
    recording = office.new_run(new_document(office.org_id, "a.ogg", content_type="audio/ogg"))
    new = [office.new_run() for _ in range(5)]
    found = claim(office)
    assert set(found) == {tried, done, recording, *new}
    assert {run_id for run_id, lease in found.items() if lease.content_type == "audio/ogg"} == {recording}
    assert 100 <= found[tried].run_seconds < 150
    assert found[done].run_seconds == 0
    assert all(0 <= found[run_id].run_seconds < 10 for run_id in (recording, *new))
    for run_id in (recording, *new):
        assert office.states(run_id) == ("RUNNING", "PROCESSING")
        assert events_of(office.org_id, run_id) == ["RUN_QUEUED", "RUN_STARTED"]
    for run_id, state in ((tried, "RUNNING"), (done, "SUCCEEDED")):
        assert office.states(run_id) == (state, "PROCESSING")
        assert events_of(office.org_id, run_id) == ["RUN_QUEUED"]


@pytest.mark.parametrize("is_limited", [False, True])
def test_what_may_not_start_waits_or_ends_and_the_rest_begins(office: Office, is_limited: bool) -> None:
    if is_limited:
        office.queue.limit("process_document", 20)
    gone, (first, second) = cancelled_behind_its_job(office), behind_another(office)
    done, tried, new = in_state(office, "SUCCEEDED"), in_state(office, "RUNNING"), office.new_run()
    found = claim(office)
    assert set(found) == {first, done, tried, new}
    assert office.states(gone) == ("CANCELLED", "CANCELLED")
    assert_untouched(office, second)
    assert claim(office) == {}
    lifecycle.succeed_run(office.queue, found[first])
    office.pass_backoff()
    assert set(claim(office)) == {second}


@pytest.mark.parametrize("state", ["FAILED", "TIMED_OUT", "CANCELLED"])
def test_a_job_of_a_run_that_has_ended_ends(office: Office, state: str) -> None:
    run_id = in_state(office, state)
    assert claim(office) == {}
    assert office.job(run_id).status == "CANCELLED"


def test_of_two_runs_that_are_both_due_the_older_starts(office: Office) -> None:
    first, _second = behind_another(office)
    assert set(claim(office)) == {first}


def test_a_paused_stage_starts_nothing(office: Office) -> None:
    run_id = office.new_run()
    office.queue.pause("process_document")
    assert claim(office) == {}
    assert_untouched(office, run_id)


def test_a_job_of_an_operation_is_claimed_retried_and_limited_like_any(office: Office) -> None:
    """It has no document and no run; who is served, how often it is tried and what ops say is the same."""
    operation_id = new_id()
    job = NewJob(office.org_id, None, "test_operation", max_attempts=2, operation_id=operation_id)
    office.queue.enqueue([job, NewJob(office.org_id, None, "test_operation", max_attempts=1, operation_id=new_id())])
    office.queue.limit("test_operation", 1)
    (lease,) = office.queue.claim("worker", 5, stages=["test_operation"])
    assert (lease.operation_id, lease.run) == (operation_id, None)
    with pytest.raises(LookupError):
        lease.run_id  # noqa: B018 - it says that there is none
    assert lifecycle.retry_or_fail(office.queue, lease, WRONG) is JobStatus.PENDING
    office.pass_backoff()
    (again,) = office.queue.claim("worker", 1)
    assert (again.job_id, again.attempts) == (job.id, 1)
    assert lifecycle.release_job(office.queue, again)
    (again,) = office.queue.claim("worker", 1)
    assert lifecycle.reset_worker(office.queue, "worker")[0].status is JobStatus.FAILED
    assert office.queue.find(office.org_id, JobStatus.FAILED)[0].id == again.job_id


# Beside others.


def test_cancel_or_start_but_never_half_of_each(office: Office, bare_app: Flask) -> None:
    made = [office.new_run() for _ in range(40)]
    documents = {run_id: office.run(run_id).document_id for run_id in made}
    gate = threading.Barrier(3)

    def cancel() -> set[UUID]:
        with bare_app.app_context():
            gate.wait()
            ends = {r: lifecycle.cancel_run(office.queue, office.org_id, documents[r], r) for r in reversed(made)}
            return {run_id for run_id, has_ended in ends.items() if has_ended}

    def take() -> set[UUID]:
        found: set[UUID] = set()
        with bare_app.app_context():
            gate.wait()
            while batch := claim(office, 3):
                found |= set(batch)
        return found

    with ThreadPoolExecutor(3) as threads:
        takers = [threads.submit(take) for _ in range(2)]
        cancelled = threads.submit(cancel).result()
    taken = [taker.result() for taker in takers]
    assert cancelled == set(made)
    assert taken[0].isdisjoint(taken[1])
    for run_id in made:
        assert office.states(run_id) == ("CANCELLED", "CANCELLED")
        has_started = "RUN_STARTED" in events_of(office.org_id, run_id)
        assert has_started == (run_id in taken[0] | taken[1])


def test_many_claimers_of_many_runs_of_few_documents(office: Office, bare_app: Flask) -> None:
    line = {new_document(office.org_id): list[UUID]() for _ in range(3)}
    for document_id in line:
        line[document_id] = [office.new_run(document_id) for _ in range(6)]
    at_work, lock, order = set[UUID](), threading.Lock(), list[Lease]()

    def work() -> None:
        with bare_app.app_context():
            while len(order) < 18:
                for lease in claim(office, 2).values():
                    with lock:
                        assert lease.document_id not in at_work
                        at_work.add(lease.document_id)
                        order.append(lease)
                    with lock:
                        at_work.discard(lease.document_id)
                    lifecycle.succeed_run(office.queue, lease)

    with ThreadPoolExecutor(4) as threads:
        for worker in [threads.submit(work) for _ in range(4)]:
            worker.result()
    for document_id, expected in line.items():
        assert [lease.run_id for lease in order if lease.document_id == document_id] == expected


@contextmanager
def _alone_with(office: Office, run_id: UUID) -> Iterator[psycopg.Connection[Any]]:
    """Somebody who has just made a run RUNNING, past every rule but the database's, and has not committed."""
    opened = db.engine.raw_connection()
    connection: psycopg.Connection[Any] = opened.driver_connection  # type: ignore[assignment] # psycopg's
    opened.detach()
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT set_config('app.scope', 'system', true)")
        begin = "UPDATE processing_runs SET state = 'RUNNING', started_at = now() WHERE id = %s"
        connection.execute(begin, [run_id])
        yield connection
    finally:
        connection.close()


@only_postgresql
def test_where_the_database_refuses_a_second_running_run_the_claim_is_made_again(
    office: Office, bare_app: Flask, database: DatabaseUnderTest
) -> None:
    """What the statement saw when it began would have let it start: only the index knows better."""
    document_id = new_document(office.org_id)
    first, other = office.new_run(document_id), office.new_run()
    unseen = queue(office.org_id, document_id)
    with _alone_with(office, unseen) as connection, ThreadPoolExecutor(1) as threads:
        found = threads.submit(_inside(bare_app, lambda: claim(office)))
        wait_for(lambda: _somebody_waits(database), "for a claim that waits")
        connection.execute("COMMIT")
        in_hand = found.result()
    assert set(in_hand) == {other}
    assert_untouched(office, first)


@only_postgresql
def test_a_claim_waits_for_who_decides_about_the_document(
    office: Office, bare_app: Flask, database: DatabaseUnderTest
) -> None:
    document_id = new_document(office.org_id)
    first = office.new_run(document_id)
    with ThreadPoolExecutor(1) as threads:
        with transaction(office.org_id):
            transitions.lock(document_id)
            found = threads.submit(_inside(bare_app, lambda: claim(office)))
            wait_for(lambda: _somebody_waits(database), "for a claim that waits")
            second = office.new_run(document_id)
        assert set(found.result()) == {first}
    assert_untouched(office, second)
    assert claim(office) == {}


def _inside(app: Flask, task: Callable[[], dict[UUID, Lease]]) -> Callable[[], dict[UUID, Lease]]:
    def call() -> dict[UUID, Lease]:
        with app.app_context():
            return task()

    return call


def _somebody_waits(database: DatabaseUnderTest) -> bool:
    with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
        query = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        return connection.execute(query).fetchone() is not None


def test_a_run_starts_by_the_databases_clock_at_the_moment_of_its_claim(office: Office) -> None:
    run_id = office.new_run()
    claim(office)
    begun, claimed_at = office.run(run_id).started_at, office.job(run_id).started_at
    assert begun is not None
    assert claimed_at is not None
    assert abs((begun - claimed_at).total_seconds()) < 1
