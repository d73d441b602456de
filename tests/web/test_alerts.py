"""The table of alerts: each condition holds where it should; the page and monitors say the same."""

import re
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import insert, update

from tests.web.databases import both_databases
from tests.web.people import Browser, Program
from tests.web.shelves import services_of
from tests.web.work import claim, failed, queued
from webapp.clock import new_id, utc_now
from webapp.db import reading, transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.model import Job, Worker
from webapp.statistics import incidents
from webapp.statistics.counting import TOOK, count_ended
from webapp.statistics.disk import Disk
from webapp.statistics.incidents import IncidentName
from webapp.statistics.model import SIZE_BYTES, StatsMinute
from webapp.web.ops import alerts, metrics, watched
from webapp.web.ops.limits_view import OrgLimits, org_limits

pytestmark = both_databases


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of the machine that runs the tests is no part of them."""
    monkeypatch.setattr(watched, "disk_of", lambda _: Disk(900, 1000))
    monkeypatch.setattr(Disk, "is_nearly_full", lambda self, _: self.free_bytes < 100)


def _worker(app: Flask, seen_ago: float = 0.0) -> None:
    seen = utc_now() - timedelta(seconds=seen_ago)
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(insert(Worker).values(name="w", host="mill", pid=1, threads=1, last_seen=seen))


def _names(ops: Program) -> dict[str, dict[str, object]]:
    found = ops.get("/ops").json
    assert found is not None
    return {alert["name"]: alert for alert in found["alerts"]}


def _record(app: Flask, name: IncidentName, subject: str = "", number: int = 1) -> None:
    with app.app_context(), transaction(everywhere=True):
        incidents.record(name, subject, number)


def test_a_quiet_installation_has_no_alert(app: Flask, ops: Program, operator: Browser) -> None:
    _worker(app)
    queued(app, ops.org_id)
    assert _names(ops) == {}
    assert "No alert" in operator.get("/ops").text


def test_without_a_worker(app: Flask, ops: Program, operator: Browser) -> None:
    assert _names(ops)["DocmillNoWorker"]["since"] is None
    _worker(app, seen_ago=3600)
    alert = _names(ops)["DocmillNoWorker"]
    assert alert["severity"] == "critical"
    assert alert["since"]
    page = operator.get("/ops").text
    assert 'id="alert-DocmillNoWorker"' in page
    assert "Start a worker process" in page
    assert "1 hour ago" in page


def test_a_job_without_a_heartbeat_for_half_an_hour(app: Flask, ops: Program) -> None:
    _worker(app)
    work = queued(app, ops.org_id)
    with app.app_context():
        claim(services_of(app).queue, work.job_id)
    assert _names(ops) == {}
    for minutes, expected in ((29, set()), (31, {"DocmillJobWithoutHeartbeat"})):
        beat = utc_now() - timedelta(minutes=minutes)
        with app.app_context(), transaction(everywhere=True) as session:
            session.execute(update(Job).values(heartbeat_at=beat))
        assert set(_names(ops)) == expected


def test_paused_and_resting_stages_and_who_they_are(app: Flask, ops: Program) -> None:
    _worker(app)
    queue = services_of(app).queue
    with app.app_context():
        queue.pause("analyze", "credentials_refused")
        queue.pause(EVERY_STAGE, by="command line")
        queue.slow("process_document", 3600)
    found = _names(ops)
    assert set(found) == {"DocmillStagePaused"}  # resting is told after five minutes
    assert set(found["DocmillStagePaused"]["subjects"]) == {"analyze", "all"}  # type: ignore[call-overload] # JSON
    assert found["DocmillStagePaused"]["since"]
    text = ops.get("/metrics").text
    assert 'docmill_stage_paused{stage="analyze"} 1.0' in text
    assert 'docmill_stage_paused{stage="all"} 1.0' in text
    assert 'docmill_stage_resting{stage="process_document"} 1.0' in text
    with app.app_context(), reading(everywhere=True):
        control = queue.controls()["process_document"]
    assert control.updated_at
    later = replace(_watched(app, ops.org_id), present=control.updated_at + timedelta(minutes=6))
    assert "DocmillStageResting" in {alert.name for alert in alerts.firing(later)}


def _watched(app: Flask, org_id: UUID) -> watched.Watched:
    with app.test_request_context():
        return watched.watched(org_id)


@pytest.mark.parametrize(("minutes", "expected"), [(20, False), (33, False), (40, True)])
def test_a_job_that_waits_for_more_than_half_an_hour(app: Flask, ops: Program, minutes: int, *, expected: bool) -> None:
    _worker(app)
    queued(app, ops.org_id)
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(update(Job).values(available_at=utc_now() - timedelta(minutes=minutes)))
    found = _names(ops)
    assert ("DocmillOldestJob" in found) is expected
    if expected:
        assert found["DocmillOldestJob"]["subjects"] == ["process_document"]
    waited = re.search(r'docmill_stage_oldest_due_seconds{stage="process_document"} (\S+)', ops.get("/metrics").text)
    assert waited
    assert float(waited[1]) == pytest.approx(60 * minutes, abs=30)


@pytest.mark.parametrize(
    ("name", "subject", "number", "alert"),
    [
        (IncidentName.FOREIGN_KEY_VIOLATION, "connections", 1, "DocmillForeignKeyViolation"),
        (IncidentName.PASSAGES_LOST, "", 30, "DocmillPassagesLost"),
        (IncidentName.RULES_FAILED, "", 1, "DocmillRulesFailed"),
        (IncidentName.JOB_TAKEN_BACK, "worker_died", alerts.TAKEN_BACK_MAX, None),
        (IncidentName.JOB_TAKEN_BACK, "worker_died", alerts.TAKEN_BACK_MAX + 1, "DocmillJobsTakenBack"),
        (IncidentName.DISK_NEARLY_FULL, "mill-7", 1, "DocmillDiskNearlyFull"),
    ],
)
def test_incidents(app: Flask, ops: Program, name: IncidentName, subject: str, number: int, alert: str | None) -> None:
    _worker(app)
    _record(app, name, subject, number)
    found = _names(ops)
    assert set(found) == ({alert} if alert else set())
    if alert:
        assert found[alert]["subjects"] == ([subject] if subject else [])
        assert found[alert]["since"]


def test_metrics_tell_incidents(app: Flask, ops: Program) -> None:
    _record(app, IncidentName.FOREIGN_KEY_VIOLATION, "connections", 2)
    _record(app, IncidentName.JOB_TAKEN_BACK, "worker_silent", 3)
    _record(app, IncidentName.PASSAGES_LOST, number=41)
    _record(app, IncidentName.RULES_FAILED, number=2)
    _record(app, IncidentName.DISK_NEARLY_FULL, "mill-7")
    text = ops.get("/metrics").text
    assert 'docmill_foreign_key_violations_last_day{table="connections"} 2.0' in text
    assert 'docmill_jobs_taken_back_last_day{reason="worker_silent"} 3.0' in text
    assert "docmill_passages_lost_last_day 41.0" in text
    assert "docmill_rules_failed_last_day 2.0" in text
    assert "docmill_disks_nearly_full 1.0" in text


def test_a_disk_and_a_store_that_are_full(app: Flask, ops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    _worker(app)
    monkeypatch.setattr(watched, "disk_of", lambda _: Disk(99, 1000))
    monkeypatch.setattr(watched, "has_space", lambda: False)
    assert set(_names(ops)) == {"DocmillDiskNearlyFull", "DocmillNoSpace"}
    text = ops.get("/metrics").text
    assert "docmill_disk_free_bytes 99.0" in text
    assert "docmill_storage_room 0.0" in text


def _add_minute(app: Flask, org_id: UUID, *, size: int = 0, **values: float) -> None:
    numbers = dict.fromkeys((*TOOK, "completed", "failed", "seconds", "seconds_max", "latency", "latency_max"), 0)
    minute = utc_now() - timedelta(minutes=5)
    with app.app_context(), transaction(everywhere=True) as session:
        session.add(StatsMinute(org_id=org_id, stage="analyze", at=minute, size=size, **{**numbers, **values}))


@pytest.mark.parametrize(
    ("completed", "failed_jobs", "expected"), [(0, 9, False), (10, 10, False), (9, 10, True), (0, 10, True)]
)
def test_most_jobs_fail(app: Flask, ops: Program, completed: int, failed_jobs: int, *, expected: bool) -> None:
    _worker(app)
    _add_minute(app, ops.org_id, completed=completed, failed=failed_jobs)
    assert ("DocmillManyFailures" in _names(ops)) is expected
    assert (
        f'docmill_jobs_ended_last_hour{{outcome="failed",stage="analyze"}} {failed_jobs}.0' in ops.get("/metrics").text
    )


def test_the_time_to_process_by_size(app: Flask, ops: Program) -> None:
    _add_minute(app, ops.org_id, size=0, completed=4, seconds=6.0)
    _add_minute(app, ops.org_id, size=4, completed=2, seconds=600.0)
    text = ops.get("/metrics").text
    assert 'docmill_job_seconds_last_hour{size="to_100kB",stage="analyze"} 1.5' in text
    assert 'docmill_job_seconds_last_hour{size="larger",stage="analyze"} 300.0' in text
    assert len(metrics.SIZES) == len(SIZE_BYTES) + 1


def test_the_limit_of_the_day(app: Flask, ops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    _worker(app)
    for spent, expected in ((9.9, set()), (10.0, {"DocmillSpendLimit"})):

        def limits(org_id: UUID, spent: float = spent) -> OrgLimits:
            return replace(org_limits(org_id), spent_today=spent, spend_per_day=10.0)

        monkeypatch.setattr(watched, "org_limits", limits)
        assert set(_names(ops)) == expected
    assert "docmill_spend_limit 10.0" in ops.get("/metrics").text


def test_what_caches_answered_in_retried_runs(app: Flask, ops: Program) -> None:
    first = failed(app, ops.org_id)
    run = ops.post(f"/ops/jobs/{first.job_id}/retry").json["run"]["id"]  # type: ignore[index] # it is a JSON answer
    with app.app_context(), transaction(ops.org_id) as session:
        for run_id, reused in (
            (first.run_id, False),
            (UUID(run), True),
            (UUID(run), True),
            (UUID(run), False),
            (None, True),
        ):
            values = {"provider": "openai", "operation": "embed", "units": 1, "seconds": 0.1, "outcome": "ok"}
            session.add(ProviderCall(id=new_id(), org_id=ops.org_id, run_id=run_id, reused=reused, **values))
    text = ops.get("/metrics").text
    assert 'docmill_retry_calls_last_day{answer="kept"} 2.0' in text
    assert 'docmill_retry_calls_last_day{answer="paid"} 1.0' in text


def test_open_failures_by_error(app: Flask, ops: Program) -> None:
    failed(app, ops.org_id, code="corrupt")
    done = failed(app, ops.org_id, "b.pdf", code="corrupt")
    ops.post(f"/ops/jobs/{done.job_id}/discard")
    text = ops.get("/metrics").text
    assert 'docmill_open_failures{code="corrupt",stage="process_document"} 1.0' in text
    assert 'docmill_jobs{status="failed"} 1.0' in text


def test_throughput_is_told_by_hour_day_and_stage(app: Flask, ops: Program, operator: Browser) -> None:
    assert "No job ended in this time" in operator.get("/ops/throughput").text
    works = [failed(app, ops.org_id, f"{n}.pdf") for n in range(2)]
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(update(Job).values(completed_at=utc_now() - timedelta(minutes=2)))
    with app.app_context():
        count_ended()
    for window, points in (("24h", 24), ("30d", 30)):
        found = ops.get(f"/ops/throughput?window={window}").json
        assert found is not None
        assert len(found["points"]) == points
        assert sum(point["failed"] for point in found["points"]) == found["total"]["failed"] == len(works)
        assert found["stages"]["process_document"]["failed"] == 2
        page = operator.get(f"/ops/throughput?window={window}").text
        assert "Process document" in page
        assert "<svg" in page
    assert ops.get("/ops/throughput?window=1y").status_code == 422
