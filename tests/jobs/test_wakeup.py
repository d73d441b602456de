"""Idle workers are woken by new jobs, by any process and in any number."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from flask import Flask

from tests.conftest import DatabaseUnderTest
from tests.jobs.rig import SqlQueueRig, enqueue, new_run
from webapp.clock import monotonic
from webapp.db import transaction
from webapp.jobs.dispatch import database as dispatching
from webapp.jobs.dispatch.database import DatabaseDispatch
from webapp.jobs.wakeup import _NOTIFY_SLEEPERS, CHANNEL, Sleeper

PATIENCE_SECONDS = 20.0
SHORT_SECONDS = 0.2

only_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def sleeper(bare_app: Flask) -> Iterator[Sleeper]:
    sleeper = Sleeper()
    yield sleeper
    sleeper.close()


def is_woken(sleeper: Sleeper, act: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> bool:
    """Whether a sleeper wakes after this, and not by its own clock."""
    sleeper.fall_asleep()
    assert sleeper.is_asleep()
    act()
    began_at = monotonic()
    sleeper.wait(seconds)
    return monotonic() - began_at < seconds / 2


def test_one_job_wakes_a_sleeper(rig: SqlQueueRig, sleeper: Sleeper) -> None:
    assert is_woken(sleeper, lambda: enqueue(rig))
    assert is_woken(sleeper, lambda: enqueue(rig)), "the second time, too"


def test_many_jobs_wake_a_sleeper(rig: SqlQueueRig, sleeper: Sleeper) -> None:
    jobs = [run.job() for run in rig.new_runs(3)]
    assert is_woken(sleeper, lambda: rig.queue.enqueue(jobs))


def test_a_job_wakes_a_sleeper_when_its_transaction_is_committed(rig: SqlQueueRig, sleeper: Sleeper) -> None:
    job = new_run(rig).job()
    with transaction(job.org_id):
        assert not is_woken(sleeper, lambda: rig.queue.enqueue([job]), SHORT_SECONDS)
    began_at = monotonic()
    sleeper.wait(PATIENCE_SECONDS)
    assert monotonic() - began_at < PATIENCE_SECONDS / 2


@pytest.mark.slow
def test_a_job_that_may_not_be_claimed_yet_wakes_nobody(rig: SqlQueueRig, sleeper: Sleeper) -> None:
    assert not is_woken(sleeper, lambda: enqueue(rig, must_wait=True), SHORT_SECONDS)
    assert not is_woken(sleeper, lambda: enqueue(rig, delay_seconds=60), SHORT_SECONDS)


@only_postgresql
def test_busy_workers_are_not_notified(database: DatabaseUnderTest, rig: SqlQueueRig, sleeper: Sleeper) -> None:
    """Commits that notify wait for each other, so none is made to notify in vain."""
    with psycopg.connect(database.url, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        sleeper.fall_asleep()
        sleeper.get_up()
        enqueue(rig)
        assert list(listener.notifies(timeout=SHORT_SECONDS)) == []
        sleeper.fall_asleep()
        enqueue(rig)
        assert len(list(listener.notifies(timeout=PATIENCE_SECONDS, stop_after=1))) == 1


@only_postgresql
def test_who_cannot_be_woken_tries_again_soon(
    database: DatabaseUnderTest, rig: SqlQueueRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else has the lock for a moment: the next poll may be far away."""
    monkeypatch.setattr(dispatching, "LISTEN_AGAIN_SECONDS", SHORT_SECONDS)
    with closing(DatabaseDispatch(rig.queue)) as dispatch, psycopg.connect(database.url) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtext('docmill sleepers'))")
        began_at = monotonic()
        dispatch.wait(PATIENCE_SECONDS)
        assert monotonic() - began_at < PATIENCE_SECONDS / 2
        assert not dispatch._sleeper.is_asleep()
        other.rollback()
        dispatch.wait(PATIENCE_SECONDS)
        assert dispatch._sleeper.is_asleep()


def test_a_wake_up_before_the_sleep_ends_it(sleeper: Sleeper) -> None:
    sleeper.wake()
    assert is_woken(sleeper, lambda: None)


def test_many_wake_ups_of_a_busy_worker_are_one(sleeper: Sleeper) -> None:
    for _ in range(100_000):
        sleeper.wake()
    assert is_woken(sleeper, lambda: None)


def test_a_closed_sleeper_can_be_woken_without_harm(bare_app: Flask) -> None:
    sleeper = Sleeper()
    sleeper.close()
    sleeper.close()
    sleeper.wake()


@only_postgresql
def test_no_worker_falls_asleep_while_sleepers_are_counted(
    database: DatabaseUnderTest, rig: SqlQueueRig, sleeper: Sleeper
) -> None:
    """A worker that can't say that it sleeps does not sleep, and looks for jobs again."""
    with psycopg.connect(database.url) as other:
        other.execute(_NOTIFY_SLEEPERS)
        began_at = monotonic()
        sleeper.fall_asleep()
        assert not sleeper.is_asleep()
        assert monotonic() - began_at < PATIENCE_SECONDS / 2, "it waits no longer than a moment"
        other.commit()
    sleeper.fall_asleep()
    assert sleeper.is_asleep()


@only_postgresql
def test_falling_asleep_waits_a_moment_for_that_count(
    database: DatabaseUnderTest, rig: SqlQueueRig, sleeper: Sleeper
) -> None:
    sleeper.fall_asleep()
    sleeper.get_up()
    with psycopg.connect(database.url) as other:
        other.execute(_NOTIFY_SLEEPERS)
        commit = threading.Timer(0.02, other.commit)
        commit.start()
        sleeper.fall_asleep()
        commit.join()
    assert sleeper.is_asleep()


@only_postgresql
def test_many_enqueue_at_once(rig: SqlQueueRig) -> None:
    runs = rig.new_runs(40)

    def add(mine: int) -> int:
        for run in runs[mine::4]:
            rig.queue.enqueue([run.job()])
        return len(runs[mine::4])

    assert rig.together(*[lambda mine=mine: add(mine) for mine in range(4)]) == [10] * 4
    assert len(rig.queue.claim("a", 100)) == 40


UNUSUAL = ['say "no"', "a\\b", "{}", "NULL", "null", "", " ", "a,b", "ä🙂\n", "'--", "%s", "t"]


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("text", UNUSUAL)
def test_texts_arrive_as_they_were_sent(rig: SqlQueueRig, text: str, number: int) -> None:
    jobs = [
        run.job(text, payload={"said": text, text: [place, None]}, checkpoint={text: text}, priority=place)
        for place, run in enumerate(rig.new_runs(number))
    ]
    rig.queue.enqueue(jobs)
    found = rig.queue.claim("a", 10)
    assert [(job.stage, job.payload, job.checkpoint, job.run_id) for job in jobs] == [
        (lease.stage, lease.payload, lease.checkpoint, lease.run_id) for lease in found
    ]
