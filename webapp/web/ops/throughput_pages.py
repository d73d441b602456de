"""For the role ops: how many jobs ended in the last 24 hours or 30 days, and how long they took."""

from datetime import datetime
from typing import Any

from flask import Blueprint, Response, request

from webapp.clock import utc_now
from webapp.db import reading
from webapp.statistics.ended import EndedJobs, StatsWindow, Throughput, throughput
from webapp.web import fragments
from webapp.web.access import ops_only, org_id
from webapp.web.errors import Problem

pages = Blueprint("throughput", __name__, url_prefix="/ops/throughput")

_WINDOWS = {window.label: window for window in StatsWindow}


@pages.get("")
@ops_only
def show() -> Response:
    """The asking org's jobs, by hour or by day, and by stage."""
    window = _window(request.args.get("window"))
    with reading(org_id()):
        found = throughput(org_id(), window, utc_now())
    return fragments.answer(
        page="ops/throughput.html",
        fragment="ops/throughput.html",
        data=lambda: _for_programs(window, found),
        window=window.label,
        windows=list(_WINDOWS),
        found=found,
        most=max((ended.number for _, ended in found.points), default=0),
    )


def _window(label: str | None) -> StatsWindow:
    try:
        return _WINDOWS[label or StatsWindow.DAY.label]
    except KeyError as error:
        raise Problem(422, detail=f"window is one of: {', '.join(_WINDOWS)}.") from error


def _for_programs(window: StatsWindow, found: Throughput) -> dict[str, Any]:
    return {
        "window": window.label,
        "points": [{"at": _time(at), **_json(ended)} for at, ended in found.points],
        "stages": {stage: _json(ended) for stage, ended in found.stages.items()},
        "total": _json(found.total),
    }


def _time(at: datetime) -> str:
    return at.isoformat()


def _json(ended: EndedJobs) -> dict[str, Any]:
    return {
        "completed": ended.completed,
        "failed": ended.failed,
        "seconds_mean": ended.seconds_mean,
        "seconds_max": ended.seconds_max,
        "latency_mean": ended.latency_mean,
        "latency_p50_at_most": ended.most_within(0.5),
        "latency_p95_at_most": ended.most_within(0.95),
        "latency_max": ended.latency_max,
    }
