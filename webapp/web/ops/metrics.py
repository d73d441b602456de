"""Figures for Prometheus: what this process answered, and the state of the asking org's jobs.

With several web processes each scrape meets one of them; the label `process` keeps their counts apart.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Flask, Response, current_app, g, request
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from webapp.clock import monotonic
from webapp.db import reading
from webapp.db.bounded import COUNTED_MAX, Count
from webapp.library import lookup
from webapp.web.access import services
from webapp.web.ops.figures import oldest_due_seconds
from webapp.web.ops.limits_view import has_space, org_limits

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
        with reading(self.org_id):
            jobs = services().queue.counts_up_to_most(self.org_id)
            documents = lookup.counts(self.org_id)
            stages = services().queue.stage_counts(self.org_id)
            controls = services().queue.controls()
            limits = org_limits(self.org_id)
        wait = oldest_due_seconds(stage.oldest_due_seconds for stage in stages.values())
        yield _gauge("docmill_jobs", f"Jobs by status, {_UP_TO}", _numbers(jobs))
        yield _gauge("docmill_documents", f"Documents by status, {_UP_TO}", _numbers(documents))
        yield GaugeMetricFamily("docmill_oldest_due_job_seconds", "Age of the longest waiting job", wait or 0.0)
        yield _gauge(
            "docmill_stage_due_jobs",
            f"Jobs that could be taken now, {_UP_TO}",
            {n: s.due for n, s in stages.items()},
            "stage",
        )
        yield GaugeMetricFamily("docmill_stored_bytes", "What the uploaded files take", limits.stored_bytes)
        yield GaugeMetricFamily(
            "docmill_spent_today", "Estimated price of today's paid calls (UTC)", limits.spent_today
        )
        yield GaugeMetricFamily("docmill_storage_room", "1 where files and answers can be stored", int(has_space()))
        held = {name: int(control.allowance() == 0) for name, control in controls.items()}
        yield _gauge("docmill_stage_held", "1 where a stage is paused or slowed; * means all", held, "stage")


def _numbers(counts: Mapping[Any, Count]) -> dict[str, int]:
    return {status.lower(): count.number for status, count in counts.items()}


def _gauge(name: str, what: str, values: dict[str, int], label: str = "status") -> Metric:
    family = GaugeMetricFamily(name, what, labels=(label,))
    for status, number in values.items():
        family.add_metric((status,), number)
    return family
