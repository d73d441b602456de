"""Who sleeps is woken by new work, whoever brings it and however it comes together."""

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
from flask import Flask

from tests.conftest import DatabaseUnderTest
from tests.jobs.letterbox import SqlLetterbox, enqueue, new_run
from webapp.clock import monotonic
from webapp.db import transaction
from webapp.jobs.bell import Bell
from webapp.jobs.postgresql import CHANNEL, RING

PATIENCE_SECONDS = 20.0
SHORT_SECONDS = 0.2

only_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def bell(bare_app: Flask) -> Iterator[Bell]:
    bell = Bell()
    yield bell
    bell.close()


def is_woken(bell: Bell, act: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> bool:
    """Whether a sleeper wakes after this, and not by its own clock."""
    bell.fall_asleep()
    assert bell.is_asleep()
    act()
    began_at = monotonic()
    bell.wait(seconds)
    return monotonic() - began_at < seconds / 2


def test_one_job_wakes_a_sleeper(letterbox: SqlLetterbox, bell: Bell) -> None:
    assert is_woken(bell, lambda: enqueue(letterbox))
    assert is_woken(bell, lambda: enqueue(letterbox)), "the second time, too"


def test_many_jobs_wake_a_sleeper(letterbox: SqlLetterbox, bell: Bell) -> None:
    jobs = [run.job() for run in letterbox.new_runs(3)]
    assert is_woken(bell, lambda: letterbox.queue.enqueue(jobs))


def test_a_job_wakes_a_sleeper_when_its_transaction_is_committed(letterbox: SqlLetterbox, bell: Bell) -> None:
    job = new_run(letterbox).job()
    with transaction(job.org_id):
        assert not is_woken(bell, lambda: letterbox.queue.enqueue([job]), SHORT_SECONDS)
    began_at = monotonic()
    bell.wait(PATIENCE_SECONDS)
    assert monotonic() - began_at < PATIENCE_SECONDS / 2


@pytest.mark.slow
def test_a_job_that_may_not_be_claimed_yet_wakes_nobody(letterbox: SqlLetterbox, bell: Bell) -> None:
    assert not is_woken(bell, lambda: enqueue(letterbox, held=True), SHORT_SECONDS)
    assert not is_woken(bell, lambda: enqueue(letterbox, delay_seconds=60), SHORT_SECONDS)


@only_postgresql
def test_nobody_rings_for_people_at_work(database: DatabaseUnderTest, letterbox: SqlLetterbox, bell: Bell) -> None:
    """Commits that notify stand in one line, however many there are."""
    with psycopg.connect(database.url, autocommit=True) as ear:
        ear.execute(f"LISTEN {CHANNEL}")
        bell.fall_asleep()
        bell.get_up()
        enqueue(letterbox)
        assert list(ear.notifies(timeout=SHORT_SECONDS)) == []
        bell.fall_asleep()
        enqueue(letterbox)
        assert len(list(ear.notifies(timeout=PATIENCE_SECONDS, stop_after=1))) == 1


def test_a_ring_is_kept_for_who_falls_asleep_later(bell: Bell) -> None:
    bell.ring()
    assert is_woken(bell, lambda: None)


def test_a_bell_that_nobody_answers_is_no_trouble(bell: Bell) -> None:
    for _ in range(100_000):
        bell.ring()
    assert is_woken(bell, lambda: None)


def test_a_bell_that_is_gone_is_not_rung(bare_app: Flask) -> None:
    bell = Bell()
    bell.close()
    bell.close()
    bell.ring()


@only_postgresql
def test_nobody_falls_asleep_between_a_job_and_its_commit(
    database: DatabaseUnderTest, letterbox: SqlLetterbox, bell: Bell
) -> None:
    """Who brings work has asked whether anybody sleeps: whoever does so from now on has to see that work."""
    with psycopg.connect(database.url) as other:
        other.execute(RING)
        began_at = monotonic()
        bell.fall_asleep()
        assert not bell.is_asleep()
        assert monotonic() - began_at < PATIENCE_SECONDS / 2, "who cannot sleep looks again, and does not stand there"
        other.commit()
    bell.fall_asleep()
    assert bell.is_asleep()


@only_postgresql
def test_who_falls_asleep_waits_for_a_job_that_is_on_its_way(
    database: DatabaseUnderTest, letterbox: SqlLetterbox, bell: Bell
) -> None:
    bell.fall_asleep()
    bell.get_up()
    with psycopg.connect(database.url) as other:
        other.execute(RING)
        commit = threading.Timer(0.02, other.commit)
        commit.start()
        bell.fall_asleep()
        commit.join()
    assert bell.is_asleep()


@only_postgresql
def test_many_bring_work_at_once_without_waiting_for_each_other(letterbox: SqlLetterbox) -> None:
    runs = letterbox.new_runs(40)

    def bring(mine: int) -> int:
        for run in runs[mine::4]:
            letterbox.queue.enqueue([run.job()])
        return len(runs[mine::4])

    assert letterbox.together(*[lambda mine=mine: bring(mine) for mine in range(4)]) == [10] * 4
    assert len(letterbox.queue.claim("a", 100)) == 40


UNUSUAL = ['say "no"', "a\\b", "{}", "NULL", "null", "", " ", "a,b", "ä🙂\n", "'--", "%s", "t"]


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("text", UNUSUAL)
def test_words_arrive_as_they_were_sent(letterbox: SqlLetterbox, text: str, number: int) -> None:
    jobs = [
        run.job(text, payload={"said": text, text: [place, None]}, checkpoint={text: text}, priority=place)
        for place, run in enumerate(letterbox.new_runs(number))
    ]
    letterbox.queue.enqueue(jobs)
    found = letterbox.queue.claim("a", 10)
    assert [(job.stage, job.payload, job.checkpoint, job.run_id) for job in jobs] == [
        (lease.stage, lease.payload, lease.checkpoint, lease.run_id) for lease in found
    ]
