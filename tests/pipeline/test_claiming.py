"""A job in hand has a run at work: what a claim does with runs of every kind, and beside others."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from flask import Flask
from sqlalchemy import insert, update

from tests.bare import dispose, make_bare_app
from tests.conftest import DatabaseUnderTest, settings_for
from tests.documents.rows import events_of, new_document, queue
from tests.emulators.wire import wired
from tests.pipeline.test_lifecycle import Office
from tests.worker.bench import wait_for
from webapp.clock import after, new_id
from webapp.db import db, transaction
from webapp.documents import runs
from webapp.documents.model import ProcessingRun
from webapp.documents.starts import AtWork
from webapp.jobs import postgresql, taking
from webapp.jobs.connections import connections, hot
from webapp.jobs.hot import Lane, Wanted
from webapp.jobs.queue import Lease
from webapp.jobs.taking import How
from webapp.jobs.turns import Standing
from webapp.pipeline import claiming, lifecycle
from webapp.pipeline.claiming import InHand

only_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def office(bare_app: Flask) -> Office:
    return Office()


def claim(office: Office, limit: int = 20) -> InHand:
    return claiming.claim(office.queue, "worker", limit)


def started(in_hand: InHand) -> dict[UUID, AtWork]:
    return {lease.run_id: at_work for lease, at_work in in_hand.started}


def refused(in_hand: InHand) -> set[UUID]:
    return {lease.run_id for lease in in_hand.refused}


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
        runs.cancel(run_id)
    return run_id


def behind_another(office: Office) -> tuple[UUID, UUID]:
    """Two runs of one document, the second of which is in line too soon."""
    document_id = new_document(office.org_id)
    first, second = office.new_run(document_id), office.new_run(document_id)
    office.queue.unhold(second)
    return first, second


def assert_untouched(office: Office, run_id: UUID) -> None:
    assert office.states(run_id) == ("QUEUED", "PENDING")
    assert events_of(office.org_id, run_id) == ["RUN_QUEUED"]
    assert office.job(run_id).attempts == 0


def test_runs_of_every_kind_come_in_one_claim(office: Office) -> None:
    tried, done = in_state(office, "RUNNING", 100), in_state(office, "SUCCEEDED", 100)
    heard = office.new_run(new_document(office.org_id, "a.ogg", content_type="audio/ogg"))
    new = [office.new_run() for _ in range(5)]
    found = claim(office)
    assert found.refused == []
    at_work = started(found)
    assert set(at_work) == {tried, done, heard, *new}
    assert {run_id for run_id in at_work if at_work[run_id].is_recording} == {heard}
    assert 100 <= at_work[tried].seconds_running < 150
    assert at_work[done].seconds_running == 0
    assert all(0 <= at_work[run_id].seconds_running < 10 for run_id in (heard, *new))
    for run_id in (heard, *new):
        assert office.states(run_id) == ("RUNNING", "PROCESSING")
        assert events_of(office.org_id, run_id) == ["RUN_QUEUED", "RUN_STARTED"]
    for run_id, state in ((tried, "RUNNING"), (done, "SUCCEEDED")):
        assert office.states(run_id) == (state, "PROCESSING")
        assert events_of(office.org_id, run_id) == ["RUN_QUEUED"]


def test_what_may_not_start_is_held_or_ended_and_the_rest_begins(office: Office) -> None:
    gone, (first, second) = cancelled_behind_its_job(office), behind_another(office)
    done, tried, new = in_state(office, "SUCCEEDED"), in_state(office, "RUNNING"), office.new_run()
    found = claim(office)
    assert set(started(found)) == {first, done, tried, new}
    assert refused(found) == {gone, second}
    assert office.states(gone) == ("CANCELLED", "CANCELLED")
    assert_untouched(office, second)
    assert office.job(second).available_at is None
    assert claim(office) == InHand([], [])
    (lease,) = [lease for lease, _ in found.started if lease.run_id == first]
    lifecycle.succeed_run(office.queue, lease)
    assert set(started(claim(office))) == {second}


@pytest.mark.parametrize("state", ["FAILED", "TIMED_OUT", "CANCELLED"])
def test_a_job_of_a_run_that_has_ended_ends(office: Office, state: str) -> None:
    run_id = in_state(office, state)
    assert refused(claim(office)) == {run_id}
    assert office.job(run_id).status == "CANCELLED"


def test_of_two_runs_that_are_both_in_line_the_older_starts(office: Office) -> None:
    first, second = behind_another(office)
    found = claim(office)
    assert (set(started(found)), refused(found)) == ({first}, {second})


def test_a_claim_that_is_refused_has_changed_nothing(office: Office) -> None:
    """Neither a job nor a run nor a line."""
    new, (first, second) = office.new_run(), behind_another(office)
    with pytest.raises(claiming.REFUSALS):
        office.queue.claim_along(claiming._START_RUNS, "worker", 20)
    for run_id in (new, first, second):
        assert_untouched(office, run_id)


@pytest.mark.parametrize("path", ["limited", "pooled"])
def test_other_ways_to_the_database_come_to_the_same(office: Office, path: str) -> None:
    if path == "limited":
        office.queue.limit("process_document", 20)
    else:
        _as_if_pooled()
    gone, (first, second) = cancelled_behind_its_job(office), behind_another(office)
    with pytest.raises(claiming.REFUSALS):
        office.queue.claim_along(claiming._START_RUNS, "worker", 20)
    assert_untouched(office, first)
    found = claim(office)
    assert (set(started(found)), refused(found)) == ({first}, {gone, second})
    new = [office.new_run() for _ in range(3)]
    assert set(started(claim(office))) == set(new)
    assert {office.states(run_id) for run_id in new} == {("RUNNING", "PROCESSING")}


def _as_if_pooled() -> None:
    """As it is where a pooler shares out the sessions: nothing is left in one."""
    connections().is_direct  # noqa: B018 - asked once, and from now on this is the answer
    connections()._is_direct = False


def test_a_paused_stage_starts_nothing(office: Office) -> None:
    run_id = office.new_run()
    office.queue.pause("process_document")
    assert claim(office) == InHand([], [])
    assert_untouched(office, run_id)


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
            while batch := started(claim(office, 3)):
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
                for lease, _ in claim(office, 2).started:
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
def test_the_database_refuses_a_second_run_at_work_and_the_claim_is_made_with_care(
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
    assert (set(started(in_hand)), refused(in_hand)) == ({other}, {first})
    assert_untouched(office, first)


@only_postgresql
def test_a_claim_waits_for_who_decides_about_the_document(
    office: Office, bare_app: Flask, database: DatabaseUnderTest
) -> None:
    document_id = new_document(office.org_id)
    first = office.new_run(document_id)
    with ThreadPoolExecutor(1) as threads:
        with transaction(office.org_id):
            runs.lock(document_id)
            found = threads.submit(_inside(bare_app, lambda: claim(office)))
            wait_for(lambda: _somebody_waits(database), "for a claim that waits")
            second = office.new_run(document_id)
        assert set(started(found.result())) == {first}
    assert_untouched(office, second)
    assert claim(office) == InHand([], [])


def _inside(app: Flask, task: Callable[[], InHand]) -> Callable[[], InHand]:
    def call() -> InHand:
        with app.app_context():
            return task()

    return call


def _somebody_waits(database: DatabaseUnderTest) -> bool:
    with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
        query = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        return connection.execute(query).fetchone() is not None


# What it costs.


@only_postgresql
def test_a_claim_is_one_round_trip_whatever_it_brings(database: DatabaseUnderTest, tmp_path: Path) -> None:
    with wired(database.url) as (wire, url):
        app = make_bare_app(settings_for(tmp_path / "data", DATABASE_URL=url))
        with app.app_context():
            office = Office()
            for run_id in [office.new_run() for _ in range(2)]:
                # The first use of a connection settles it and prepares the statement.
                assert run_id in started(claim(office, 1))
            for number in (0, 1, 4):
                made = {office.new_run() for _ in range(number)}
                before = wire.round_trips
                assert set(started(claim(office))) == made
                assert wire.round_trips == before + 1
        dispose(app)


@only_postgresql
@pytest.mark.parametrize("is_analyzed", [False, True])
def test_no_plan_begins_with_the_runs_that_wait(office: Office, database: DatabaseUnderTest, is_analyzed: bool) -> None:
    """However many runs are queued, and whatever the planner knows of it, each is found by its id."""
    document_id = new_document(office.org_id)
    rows = [{"id": new_id()} for _ in range(3_000)]
    shared = {"org_id": office.org_id, "document_id": document_id, "state": "QUEUED", "trigger": "UPLOAD"}
    with transaction(everywhere=True) as opened:
        opened.connection().execute(insert(ProcessingRun).values(**shared), rows)
    office.new_run()
    if is_analyzed:
        with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
            connection.execute("ANALYZE")
    along = claiming._START_RUNS
    wanted = Wanted("a", new_id(), 4, Lane([], is_inside=False), Standing([], [], []), along)
    for how in How:
        explain = "EXPLAIN (FORMAT JSON) " + taking.statement(how, along)
        with hot() as here:
            here.cursor.execute(explain, postgresql.claim_values(wanted, {}))
            plan = json.dumps(here.cursor.fetchall())
        for needless in ("ix_processing_runs_live", "uq_processing_runs_one_running"):
            assert needless not in plan
        assert plan.count('"pk_processing_runs"') == 2


def test_a_run_starts_by_the_databases_clock_at_the_moment_of_its_claim(office: Office) -> None:
    run_id = office.new_run()
    claim(office)
    begun, claimed_at = office.run(run_id).started_at, office.job(run_id).started_at
    assert begun is not None
    assert claimed_at is not None
    assert abs((begun - claimed_at).total_seconds()) < 1
