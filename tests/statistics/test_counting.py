"""EndedJobs jobs are counted by minute, hour and day: each once, whatever is repeated, late, deleted or killed."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import delete, event, select, update

from tests.web.people import People
from tests.web.work import claim, failed, queued
from webapp.clock import utc_now
from webapp.db import db, reading, transaction
from webapp.documents.model import Document
from webapp.jobs.model import Job
from webapp.runs import lifecycle
from webapp.statistics import counting
from webapp.statistics.counting import count_ended
from webapp.statistics.ended import EndedJobs, StatsWindow, last_hour, throughput
from webapp.statistics.model import LATENCY_SECONDS, StatsDay, StatsHour, StatsMinute, StatsProgress


@pytest.fixture
def org(app: Flask) -> UUID:
    return People(app).org("Ours")


def _ended(app: Flask, org: UUID, ago: timedelta, *, took: float = 2.0, waited: float = 3.0, size: int = 1) -> UUID:
    """A document whose job was completed so long ago; its id."""
    work = queued(app, org)
    queue = app.extensions["docmill"].queue
    with app.app_context():
        lifecycle.succeed_run(queue, claim(queue, work.job_id))
        end = utc_now() - ago
        start = end - timedelta(seconds=took)
        times = {"created_at": start - timedelta(seconds=waited), "started_at": start, "completed_at": end}
        with transaction(everywhere=True) as session:
            session.execute(update(Job).where(Job.id == work.job_id).values(**times))
            session.execute(update(Document).where(Document.id == work.document_id).values(size_bytes=size))
    return work.document_id


def _count(app: Flask) -> None:
    """Count as if the last time was long ago."""
    with app.app_context():
        with transaction(everywhere=True) as session:
            session.execute(update(StatsProgress).values(counted_at=None))
        count_ended()


def _in(app: Flask, org: UUID, window: StatsWindow) -> EndedJobs:
    with app.app_context(), reading(org):
        return throughput(org, window, utc_now()).total


def _rows(app: Flask, table: Any) -> list[tuple[Any, ...]]:
    columns = (table.at, table.completed, table.failed)
    with app.app_context(), reading(everywhere=True) as session:
        return [tuple(row) for row in session.execute(select(*columns).order_by(table.at))]


def test_what_ended_is_counted_once_however_often_it_is_counted(app: Flask, org: UUID) -> None:
    for minutes in (2, 3, 90, 60 * 26, 60 * 24 * 20):
        _ended(app, org, timedelta(minutes=minutes))
    for _ in range(3):
        _count(app)
        assert _in(app, org, StatsWindow.MONTH).completed == 5
        assert _in(app, org, StatsWindow.DAY).completed == 3
    assert sum(row[1] for row in _rows(app, StatsDay)) == sum(row[1] for row in _rows(app, StatsHour)) == 5
    # Minutes of days ago are sums by now.
    assert sum(row[1] for row in _rows(app, StatsMinute)) == 4


def test_the_present_minute_waits_until_it_is_over(app: Flask, org: UUID) -> None:
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(update(StatsProgress).values(counted_at=None))
    _ended(app, org, timedelta(seconds=-120))
    _count(app)
    assert _in(app, org, StatsWindow.DAY).completed == 0


def test_a_job_whose_end_is_committed_late_is_counted_all_the_same(app: Flask, org: UUID) -> None:
    _ended(app, org, timedelta(minutes=3))
    _count(app)
    _ended(app, org, timedelta(minutes=3))
    _count(app)
    assert _in(app, org, StatsWindow.DAY).completed == 2


def test_a_document_that_is_deleted_takes_nothing_away(app: Flask, org: UUID) -> None:
    gone = _ended(app, org, timedelta(minutes=2))
    _count(app)
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(delete(Document).where(Document.id == gone))
    _count(app)
    assert _in(app, org, StatsWindow.DAY).completed == 1
    assert _in(app, org, StatsWindow.MONTH).completed == 1


def test_times_and_sizes_are_in_classes(app: Flask, org: UUID) -> None:
    _ended(app, org, timedelta(minutes=2), took=0.5, waited=0.1)
    _ended(app, org, timedelta(minutes=2), took=20, waited=20, size=5_000_000)
    _ended(app, org, timedelta(minutes=2), took=9_000, waited=1, size=5_000_000_000)
    _count(app)
    total = _in(app, org, StatsWindow.DAY)
    assert total.took == (1, 0, 0, 0, 1, 0, 0, 0, 1)
    assert (round(total.seconds, 1), round(total.seconds_max)) == (9020.5, 9000)
    assert (total.most_within(0.3), total.most_within(0.5)) == (1.0, 60.0)
    assert round(total.most_within(0.95) or 0) == 9001
    with app.app_context(), reading(org):
        assert {key: round(ended.seconds_mean or 0, 1) for key, ended in last_hour(org).items()} == {
            ("process_document", 0): 0.5,
            ("process_document", 2): 20.0,
            ("process_document", 4): 9000.0,
        }


def test_failures_are_counted_and_cancelled_jobs_are_not(app: Flask, org: UUID) -> None:
    failed(app, org)
    cancelled = queued(app, org, "b.pdf")
    with app.app_context():
        lifecycle.cancel_job(app.extensions["docmill"].queue, org, cancelled.job_id)
        with transaction(everywhere=True) as session:
            session.execute(update(Job).values(completed_at=utc_now() - timedelta(minutes=2)))
    _count(app)
    total = _in(app, org, StatsWindow.DAY)
    assert (total.completed, total.failed) == (0, 1)


def test_another_orgs_jobs_are_not_among_them(app: Flask, org: UUID) -> None:
    _ended(app, People(app).org("Theirs"), timedelta(minutes=2))
    _count(app)
    assert _in(app, org, StatsWindow.DAY).completed == 0
    with app.app_context(), reading(org):
        assert last_hour(org) == {}


def test_a_count_that_is_killed_at_any_statement_is_made_again(app: Flask, org: UUID) -> None:
    for minutes in (2, 70, 60 * 30):
        _ended(app, org, timedelta(minutes=minutes))
    statements = 0
    with app.app_context():
        engine = db.engine

    class Killed(Exception):
        pass

    def kill(*_: object) -> None:
        nonlocal statements
        statements += 1
        if statements == allowed:
            raise Killed

    allowed, kills = 1, 0
    event.listen(engine, "before_cursor_execute", kill)
    try:
        while True:
            statements = -1  # the one that makes it due again
            try:
                _count(app)
                break
            except Killed:
                allowed, kills = allowed + 1, kills + 1
    finally:
        event.remove(engine, "before_cursor_execute", kill)
    assert kills > 10
    assert _in(app, org, StatsWindow.MONTH).completed == 3
    assert sum(row[1] for row in _rows(app, StatsDay)) == 3


def test_one_process_counts_at_a_time_and_not_again_at_once(app: Flask, org: UUID) -> None:
    _ended(app, org, timedelta(minutes=2))
    with app.app_context():
        # One transaction, or two where an hour has just begun.
        count_ended()
        before = _rows(app, StatsMinute)
        with transaction(everywhere=True) as session:
            session.execute(delete(StatsMinute))
        assert count_ended() == 0
        assert _rows(app, StatsMinute) == []
    assert before
    threads = [threading.Thread(target=_count, args=(app,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _rows(app, StatsMinute) == before
    assert _in(app, org, StatsWindow.DAY).completed == 1


def test_weeks_are_counted_in_portions(app: Flask, org: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    # In the middle of an hour: the last minutes of one are counted again with the next.
    middle = utc_now().replace(minute=30)
    for days in (1, 5, 9):
        _ended(app, org, utc_now() - middle + timedelta(days=days))
    monkeypatch.setattr(counting, "_PORTIONS_MAX", 1)
    for expected in (1, 2, 3):
        _count(app)
        assert _in(app, org, StatsWindow.MONTH).completed == expected


def test_what_nobody_asks_for_any_more_is_deleted(app: Flask, org: UUID) -> None:
    with app.app_context(), transaction(everywhere=True) as session:
        zero = dict.fromkeys(("completed", "failed", "seconds", "seconds_max", "latency", "latency_max"), 0)
        zero |= dict.fromkeys(counting.TOOK, 0)
        for table, days in ((StatsMinute, 3), (StatsHour, 40), (StatsDay, 900)):
            for age in (timedelta(days=days), timedelta(minutes=5)):
                session.add(table(org_id=org, stage="a", size=0, at=utc_now() - age, **zero))
    _count(app)
    assert [len(_rows(app, table)) for table in (StatsMinute, StatsHour, StatsDay)] == [1, 1, 1]


def test_the_points_of_a_window_end_with_the_present_one() -> None:
    present = datetime(2026, 3, 5, 17, 42, 10, tzinfo=UTC)
    assert StatsWindow.DAY.first(present) == datetime(2026, 3, 4, 18, tzinfo=UTC)
    assert StatsWindow.MONTH.first(present) == datetime(2026, 2, 4, tzinfo=UTC)


def test_classes_have_a_column_each() -> None:
    assert counting.TOOK[:-1] == tuple(f"took_{seconds}" for seconds in LATENCY_SECONDS)
    assert set(counting.TOOK) <= set(StatsMinute.__table__.columns.keys())
