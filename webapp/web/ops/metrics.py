"""Figures for Prometheus: what this process answered, and the state of the asking org's jobs.

With several web processes each scrape meets one of them; the label `process` keeps their counts apart.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Flask, Response, current_app, g, request
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from webapp.clock import monotonic
from webapp.db.bounded import COUNTED_MAX, Count
from webapp.library.status_filter import WHOLE_LIBRARY, StatusFilter
from webapp.statistics.incidents import IncidentName, total
from webapp.web.ops.figures import oldest_due_seconds
from webapp.web.ops.watched import ForMonitors, Watched, for_monitors, name_of, watched

# A scrape costs the same however many rows there are.
_UP_TO = f"counted up to {COUNTED_MAX}"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


def init_metrics(app: Flask) -> None:
    """Time every request. The registry belongs to the application, not to the module."""
    registry = CollectorRegistry()
    durations = Histogram(
        "docmill_http_request_seconds",
        "Time to answer a request",
        ("method", "endpoint", "status", "process"),
        buckets=_BUCKETS,
        registry=registry,
    )
    app.extensions["docmill_metrics"] = registry

    def observe(response: Response) -> Response:
        started = g.pop("started", None)
        if started is not None:
            # Endpoints and known methods only: what anybody types must not become a label.
            endpoint = request.endpoint or "none"
            method = request.method if request.url_rule else "other"
            labels = (method, endpoint, str(response.status_code), str(os.getpid()))
            durations.labels(*labels).observe(monotonic() - started)
        return response

    app.before_request(_start)
    app.after_request(observe)


def text_for(org_id: UUID) -> bytes:
    """Everything, in the text format: the process's own figures and this org's."""
    process: CollectorRegistry = current_app.extensions["docmill_metrics"]
    org = CollectorRegistry()
    org.register(_OrgFigures(org_id))
    return generate_latest(process) + generate_latest(org)


def _start() -> None:
    g.started = monotonic()


@dataclass(frozen=True)
class _OrgFigures(Collector):
    org_id: UUID

    def describe(self) -> Iterator[Metric]:
        """Nothing in advance: registering must not ask the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Ask the database, once for each scrape."""
        found, more = watched(self.org_id), for_monitors(self.org_id)
        yield from _of_jobs(found, more)
        yield from _of_last_hour(found)
        yield from _of_stages(found)
        yield from _of_incidents(found)
        yield from _of_storage_and_money(found)


def _of_jobs(found: Watched, more: ForMonitors) -> Iterator[Metric]:
    wait = oldest_due_seconds(stage.oldest_due_seconds for stage in found.stages.values())
    yield _gauge(
        "docmill_jobs", f"Jobs by status, {_UP_TO}; failed ones as long as they are open", _numbers(found.jobs)
    )
    documents = {each: more.documents[each] for each in WHOLE_LIBRARY}
    yield _gauge("docmill_documents", f"Documents by status, {_UP_TO}", _numbers(documents))
    partly_read = more.documents[StatusFilter.PARTLY_READ].number
    what = f"Ready documents of which some text is missing or may be wrong, {_UP_TO}"
    yield GaugeMetricFamily("docmill_documents_partly_read", what, partly_read)
    pages = {how: count.number for how, count in more.pages.items()}
    yield _gauge("docmill_pages", f"Pages by how they were read, and why, {_UP_TO}", pages, "reading", "reason")
    failures = {(group.stage, group.code): group.count.number for group in more.failures}
    yield _gauge("docmill_open_failures", f"Open failures by error, {_UP_TO}", failures, "stage", "code")
    yield GaugeMetricFamily("docmill_oldest_due_job_seconds", "Age of the longest waiting job", wait or 0.0)
    yield GaugeMetricFamily(
        "docmill_silent_jobs", "Running jobs without a heartbeat for 30 minutes", found.silent.number
    )
    yield GaugeMetricFamily("docmill_workers_alive", "Worker processes that are alive", found.workers_alive)
    what = "Running runs that go on where the time limit ended the run before"
    yield GaugeMetricFamily("docmill_continued_runs", what, more.continued_runs)
    deliveries = {state.lower(): number for state, number in more.deliveries.items()}
    what = f"Deliveries of webhooks that are on their way, held or given up, {_UP_TO}"
    yield _gauge("docmill_webhook_deliveries", what, deliveries, "state")
    calls = {"kept": more.kept_calls, "paid": more.paid_calls}
    yield _gauge(
        "docmill_retry_calls_last_day", "Calls of retried runs by who answered, of the newest", calls, "answer"
    )


def _of_last_hour(found: Watched) -> Iterator[Metric]:
    numbers: Counter[tuple[str, str]] = Counter()
    for (stage, _), ended in found.last_hour.items():
        numbers[stage, "completed"] += ended.completed
        numbers[stage, "failed"] += ended.failed
    yield _gauge("docmill_jobs_ended_last_hour", "Jobs that ended", numbers, "stage", "outcome")
    means = {(stage, SIZES[size]): ended.seconds_mean or 0.0 for (stage, size), ended in found.last_hour.items()}
    what = "Mean time to process a job, by the size of its document"
    yield _gauge("docmill_job_seconds_last_hour", what, means, "stage", "size")


def _of_stages(found: Watched) -> Iterator[Metric]:
    due = {name: stage.due for name, stage in found.stages.items()}
    yield _gauge("docmill_stage_due_jobs", f"Jobs that could be taken now, {_UP_TO}", due, "stage")
    waits = {name: stage.oldest_due_seconds or 0.0 for name, stage in found.stages.items()}
    yield _gauge("docmill_stage_oldest_due_seconds", "Age of the longest waiting job of a stage", waits, "stage")
    held = {name: int(control.allowance() == 0) for name, control in found.controls.items()}
    yield _gauge("docmill_stage_held", "1 where a stage is paused or slowed; * means all", held, "stage")
    paused = dict.fromkeys(map(name_of, found.controls.values()), 0) | {name_of(each): 1 for each in found.paused}
    yield _gauge("docmill_stage_paused", "1 where a stage is paused", paused, "stage")
    resting = dict.fromkeys(map(name_of, found.controls.values()), 0) | {name_of(each): 1 for each in found.resting}
    yield _gauge("docmill_stage_resting", "1 where a stage rests since a service asked for patience", resting, "stage")


def _of_incidents(found: Watched) -> Iterator[Metric]:
    for name, metric, what, label in _INCIDENTS:
        numbers = {each.subject: each.number for each in found.incidents if each.name == name}
        yield _gauge(metric, what, numbers, label)
    lost = total(found.incidents, IncidentName.PASSAGES_LOST)
    what = "Passages that results lost which have less than half of those that they replaced"
    yield GaugeMetricFamily("docmill_passages_lost_last_day", what, lost)
    failed = total(found.incidents, IncidentName.RULES_FAILED)
    what = "Documents that were published without their rules, which had failed"
    yield GaugeMetricFamily("docmill_rules_failed_last_day", what, failed)


def _of_storage_and_money(found: Watched) -> Iterator[Metric]:
    limits = found.limits
    yield GaugeMetricFamily("docmill_stored_bytes", "What the uploaded files take", limits.stored_bytes)
    yield GaugeMetricFamily("docmill_spent_today", "Estimated price of today's paid calls (UTC)", limits.spent_today)
    yield GaugeMetricFamily("docmill_spend_limit", "What may be spent in a day; 0 is no limit", limits.spend_per_day)
    yield GaugeMetricFamily("docmill_storage_room", "1 where files and answers can be stored", int(found.has_space))
    if found.disk is not None:
        yield GaugeMetricFamily("docmill_disk_free_bytes", "Free bytes of this machine's disk", found.disk.free_bytes)
        yield GaugeMetricFamily("docmill_disk_total_bytes", "Bytes of this machine's disk", found.disk.total_bytes)
    what = "Machines whose disk for files is nearly full"
    yield GaugeMetricFamily("docmill_disks_nearly_full", what, found.disks_nearly_full)


_INCIDENTS = (
    (
        IncidentName.FOREIGN_KEY_VIOLATION,
        "docmill_foreign_key_violations_last_day",
        "Rows that the database refused since they refer to missing ones",
        "table",
    ),
    (
        IncidentName.JOB_TAKEN_BACK,
        "docmill_jobs_taken_back_last_day",
        "Jobs that were taken back from dead or silent workers",
        "reason",
    ),
)
# The classes of webapp.statistics.model.SIZE_BYTES.
SIZES = ("to_100kB", "to_1MB", "to_10MB", "to_100MB", "larger")


def _numbers(counts: Mapping[Any, Count]) -> dict[str, int]:
    return {status.lower(): count.number for status, count in counts.items()}


def _gauge(name: str, what: str, values: Mapping[Any, float], *labels: str) -> Metric:
    labels = labels or ("status",)
    family = GaugeMetricFamily(name, what, labels=labels)
    for key, number in values.items():
        family.add_metric(key if isinstance(key, tuple) else (key,), number)
    return family
