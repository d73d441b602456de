"""The history of a document as people read it: runs, and in each the moments with their distances and durations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from webapp.documents.model import ProcessingRun, RunEvent
from webapp.documents.states import QUIET_TRIGGERS, EventKind, RunState, RunTrigger
from webapp.web.document_view import run_failure, run_seconds
from webapp.web.sentences import Sentence, failure

_STEP_ENDS = {EventKind.STEP_SUCCEEDED, EventKind.STEP_FAILED, EventKind.STEP_REUSED}


@dataclass(frozen=True)
class Moment:
    """One line: when, how long after the run was accepted, and where a step ends, how long it took."""

    at: datetime
    offset: float
    kind: str
    step: str | None
    took: float | None
    failure: Sentence | None
    attempt: int | None
    by: str | None
    waits_for: str | None
    given: str | None = None
    """What a rule gave the document, after the name of the rule."""


@dataclass(frozen=True)
class RunView:
    """A run with its moments. Numbers count from the first run of the document."""

    id: UUID
    number: int
    state: str
    trigger: str
    created_at: datetime
    took: float | None
    failure: Sentence | None
    events: Sequence[Moment]


def run_views(
    runs: Sequence[ProcessingRun], events: Iterable[RunEvent], names: Mapping[str, str] | None = None
) -> list[RunView]:
    """The runs, newest first, each with its part of the document's timeline; `names` of those who acted."""
    by_run: dict[UUID, list[RunEvent]] = {}
    for event in events:
        by_run.setdefault(event.run_id, []).append(event)
    went_on = {run.id for following, run in pairwise(runs) if _goes_on_after(following, run)}
    views = [_view(run, len(runs) - place, by_run.get(run.id, []), names or {}) for place, run in enumerate(runs)]
    # The time limit of a run after which another one went on is no failure to explain.
    return [replace(view, failure=None) if view.id in went_on else view for view in views]


def _goes_on_after(following: ProcessingRun, run: ProcessingRun) -> bool:
    is_same = run.trigger == following.trigger and following.trigger in QUIET_TRIGGERS
    return (is_same and run.state == RunState.TIMED_OUT) or following.trigger == RunTrigger.CONTINUED


def _view(run: ProcessingRun, number: int, events: list[RunEvent], names: Mapping[str, str]) -> RunView:
    return RunView(
        id=run.id,
        number=number,
        state=run.state.lower(),
        trigger=run.trigger.lower(),
        created_at=run.created_at,
        took=run_seconds(run),
        failure=run_failure(run),
        events=moments_of(run.created_at, events, names),
    )


def moments_of(began: datetime, events: Sequence[RunEvent], names: Mapping[str, str]) -> list[Moment]:
    """A step that has ended is one line: its end, and how long it took. Its beginning shows only while it runs."""
    under_way: dict[str | None, RunEvent] = {}
    moments: dict[UUID, Moment] = {}
    for event in events:
        start = under_way.pop(event.step, None) if event.kind in _STEP_ENDS else None
        if start is not None:
            moments.pop(start.id, None)
        if event.kind == EventKind.STEP_STARTED:
            under_way[event.step] = event
        moments[event.id] = _moment(began, event, start.created_at if start else None, names)
    return list(moments.values())


def _moment(began: datetime, event: RunEvent, since: datetime | None, names: Mapping[str, str]) -> Moment:
    details = event.details or {}
    code, attempt = details.get("code"), details.get("attempt")
    return Moment(
        at=event.created_at,
        offset=max(0.0, (event.created_at - began).total_seconds()),
        kind=event.kind,
        step=event.step,
        took=(event.created_at - since).total_seconds() if since else None,
        failure=failure(code) if isinstance(code, str) else None,
        attempt=attempt if isinstance(attempt, int) else None,
        by=names.get(str(details.get("by"))),
        waits_for=str(details["reason"]) if event.kind == EventKind.JOB_WAITS and "reason" in details else None,
        given=_given(details) if event.kind == EventKind.RULE_APPLIED else None,
    )


def _given(details: Mapping[str, Any]) -> str:
    given = [*details.get("tags", ()), *(str(details[name]) for name in ("kind", "title") if name in details)]
    return f"{details.get('rule', '')}: {', '.join(given)}"
