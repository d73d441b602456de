"""Incidents are counted where they happen: refused rows, lost jobs, lost passages, full disks."""

import socket
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import insert, update
from sqlalchemy.exc import IntegrityError

from tests.web.people import People
from tests.web.work import claim, queued
from webapp.clock import new_id, utc_now
from webapp.db import later, reading, transaction
from webapp.documents.model import RunEvent
from webapp.runs import lifecycle
from webapp.statistics import disk, incidents
from webapp.statistics.disk import Disk
from webapp.statistics.incidents import IncidentName, RecentIncident
from webapp.statistics.model import Incident
from webapp.worker import chores

GB = 1024**3


@pytest.fixture
def org(app: Flask) -> Iterator[UUID]:
    yield People(app).org("Ours")
    later.finish()


def _recent(app: Flask) -> list[RecentIncident]:
    later.finish()
    with app.app_context(), reading(everywhere=True):
        return incidents.recent()


def _record(app: Flask, name: IncidentName, subject: str = "", number: int = 1) -> None:
    with app.app_context(), transaction(everywhere=True):
        incidents.record(name, subject, number)


def test_a_row_that_a_foreign_key_refuses_is_counted(app: Flask, org: UUID) -> None:
    lost = {"org_id": org, "document_id": new_id(), "run_id": new_id(), "kind": "RUN_QUEUED"}
    for _ in range(2):
        with app.app_context(), pytest.raises(IntegrityError), transaction(org) as session:
            session.execute(insert(RunEvent).values(lost))
    [found] = _recent(app)
    assert (found.name, found.subject, found.number) == ("foreign_key_violation", "run_events", 2)


def test_a_row_that_is_refused_for_another_reason_is_not(app: Flask, org: UUID) -> None:
    with app.app_context(), pytest.raises(IntegrityError), transaction(org) as session:
        session.execute(insert(RunEvent).values(org_id=org, document_id=new_id(), run_id=new_id()))
    assert _recent(app) == []


def test_jobs_that_are_taken_back_are_counted_by_their_reason(app: Flask, org: UUID) -> None:
    first, second = queued(app, org), queued(app, org, "b.pdf")
    queue = app.extensions["docmill"].queue
    with app.app_context():
        claim(queue, first.job_id)
        claim(queue, second.job_id)
        assert len(lifecycle.reset_worker(queue, "tests")) == 2
        assert lifecycle.reset_worker(queue, "tests") == []
        claim(queue, first.job_id)
        assert len(lifecycle.reset_silent(queue, silent_seconds=-60)) == 1
    assert {(each.subject, each.number) for each in _recent(app)} == {("worker_died", 2), ("worker_silent", 1)}


def test_incidents_of_an_hour_are_one_row_and_since_when_is_known(app: Flask, org: UUID) -> None:
    for number in (1, 4):
        _record(app, IncidentName.PASSAGES_LOST, number=number)
    present = utc_now()
    older = {"name": "passages_lost", "subject": ""}
    with app.app_context(), transaction(everywhere=True) as session:
        for hours, number in ((2, 10), (30, 100)):
            at = present - timedelta(hours=hours)
            hour = at.replace(minute=0, second=0, microsecond=0)
            session.add(Incident(**older, hour=hour, number=number, first_at=at, last_at=at))
    [found] = _recent(app)
    assert found.number == 15
    # There was a pause of two hours.
    assert present - found.since < timedelta(minutes=1)
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(update(Incident).values(last_at=present))
    [found] = _recent(app)
    assert present - found.since > timedelta(hours=1, minutes=59)


def test_old_incidents_are_forgotten(app: Flask, org: UUID) -> None:
    at = utc_now() - timedelta(days=31)
    with app.app_context(), transaction(everywhere=True) as session:
        session.add(Incident(name="a", subject="", hour=at, number=1, first_at=at, last_at=at))
    with app.app_context(), transaction(everywhere=True) as session:
        incidents.forget_old()
        assert session.query(Incident).count() == 0


@pytest.mark.parametrize(
    ("free", "total", "limit", "is_little"),
    [
        (20 * GB, 100 * GB, GB, False),
        (4 * GB, 100 * GB, GB, True),
        (11 * GB, 4_000 * GB, GB, False),
        (9 * GB, 4_000 * GB, GB, True),
        (20 * GB, 100 * GB, 15 * GB, True),
        (1 * GB, 10 * GB, 0, False),
    ],
)
def test_a_disk_is_nearly_full_before_uploads_are_refused(
    free: int, total: int, limit: int, *, is_little: bool
) -> None:
    assert Disk(free, total).is_nearly_full(limit) is is_little


def test_a_machine_notes_that_its_disk_is_nearly_full(app: Flask, org: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    services = app.extensions["docmill"]
    total = disk.disk_of(services.settings.data_dir)
    assert total is not None
    monkeypatch.setattr(socket, "gethostname", lambda: "mill-7")
    for free, expected in ((total.total_bytes, []), (0, [("disk_nearly_full", "mill-7", 1)])):
        monkeypatch.setattr(chores, "disk_of", lambda _, free=free: Disk(free, total.total_bytes))
        with app.app_context():
            assert chores.watch_disk(services) is bool(expected)
        assert [(each.name, each.subject, each.number) for each in _recent(app)] == expected
