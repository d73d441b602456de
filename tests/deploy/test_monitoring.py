"""What operators load into Prometheus and Grafana: made of the table of alerts, and about figures that there are."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests.bare import DatabaseUnderTest
from tests.postgres import ROOT
from tests.web.people import People
from tests.web.work import failed, queued
from webapp.clock import utc_now
from webapp.db import transaction
from webapp.statistics import incidents
from webapp.statistics.counting import TOOK
from webapp.statistics.incidents import IncidentName
from webapp.statistics.model import StatsMinute
from webapp.web.ops import prometheus_rules
from webapp.web.ops.alerts import ALERTS, SEVERITIES

RULES = ROOT / prometheus_rules.PATH
TESTS = RULES.with_name("docmill.rules.test.yml")
DASHBOARD = ROOT / "deploy" / "grafana" / "docmill.json"
_METRIC = re.compile(r"\bdocmill_\w+")
_LABELS = re.compile(r"(docmill_\w+)\{([^}]*)\}")


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> DatabaseUnderTest:
    """The names of figures are the same on every database."""
    found: DatabaseUnderTest = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
def scraped(app: Flask, cheap_passwords: None) -> dict[str, set[str]]:
    """The metrics that a scrape brings while there is something to tell of everything, each with its labels."""
    people = People(app)
    ops = people.program("ops")
    queued(app, ops.org_id)
    failed(app, ops.org_id, "b.pdf")
    with app.app_context(), transaction(everywhere=True) as session:
        for kind in IncidentName:
            incidents.record(kind, "a")
        app.extensions["docmill"].queue.pause("analyze", by="tests")
        numbers = dict.fromkeys((*TOOK, "failed", "seconds", "seconds_max", "latency", "latency_max"), 0)
        session.add(StatsMinute(org_id=ops.org_id, stage="analyze", at=utc_now(), size=0, completed=1, **numbers))
    ops.get("/metrics")  # so that the next one tells of a request
    found: dict[str, set[str]] = {}
    for line in ops.get("/metrics").text.splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()  # type: ignore[union-attr] # it is one
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))
    return found


def _promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Prometheus's own tool, which Debian has in its package `prometheus`."""
    if shutil.which("promtool") is None:
        if os.environ.get("REQUIRE_PROMTOOL"):
            pytest.fail("promtool is missing: install the package prometheus")
        pytest.skip("promtool is missing: the package prometheus has it")
    return subprocess.run(
        ["promtool", *arguments], cwd=RULES.parent, capture_output=True, text=True, timeout=60, check=False
    )


def test_each_alert_says_what_to_do_and_names_are_unique() -> None:
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
    for alert in ALERTS:
        assert alert.severity in SEVERITIES
        assert alert.title
        assert alert.advice.endswith(".")


def test_the_rules_are_made_of_the_table() -> None:
    assert RULES.read_text() == prometheus_rules.rules()


def test_prometheus_accepts_the_rules() -> None:
    done = _promtool("check", "rules", RULES.name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    done = _promtool("test", "rules", TESTS.name)
    assert done.returncode == 0, done.stdout + done.stderr
    tests = TESTS.read_text()
    for alert in ALERTS:
        assert f"name: {alert.name} fires\n" in tests
        assert f"name: {alert.name} is quiet\n" in tests


def test_a_rule_that_is_wrong_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / TESTS.name).write_text(TESTS.read_text())
    (tmp_path / RULES.name).write_text(
        RULES.read_text().replace("docmill_workers_alive == 0", "docmill_workers_alive < 0")
    )
    assert _promtool("test", "rules", str(tmp_path / TESTS.name)).returncode == 1


def test_every_alert_is_about_figures_that_there_are(scraped: dict[str, set[str]]) -> None:
    for alert in ALERTS:
        assert _unknown(alert.expression, scraped) == [], alert.name


def test_every_panel_is_about_figures_that_there_are(scraped: dict[str, set[str]]) -> None:
    expressions = list(_expressions(json.loads(DASHBOARD.read_text())))
    assert len(expressions) > 15
    for expression, legend in expressions:
        names = _METRIC.findall(expression)
        assert names or "ALERTS" in expression
        assert _unknown(expression, scraped) == []
        if names and "histogram_quantile" not in expression:
            wanted = set(re.findall(r"\{\{(\w+)\}\}", legend))
            assert all(wanted <= scraped[name] for name in names), (expression, legend)


def test_an_unknown_figure_would_be_noticed(scraped: dict[str, set[str]]) -> None:
    assert _unknown("docmill_jobs + docmill_gone", scraped) == ["docmill_gone"]
    assert _unknown('docmill_jobs{colour="red"}', scraped) == ["docmill_jobs{colour}"]


def test_each_panel_has_its_place() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells


def _expressions(dashboard: dict[str, list[dict[str, list[dict[str, str]]]]]) -> Iterator[tuple[str, str]]:
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


def _unknown(expression: str, scraped: dict[str, set[str]]) -> list[str]:
    """The metrics, and the labels of metrics, that no scrape brings."""
    names = [name for name in _METRIC.findall(expression) if name not in scraped]
    labels = [
        f"{name}{{{label}}}"
        for name, matchers in _LABELS.findall(expression)
        for label in re.findall(r"(\w+)\s*[=!]", matchers)
        if label not in scraped.get(name, {label})
    ]
    return names + labels
