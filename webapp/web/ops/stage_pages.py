"""The stages for ops; and, for operators, pausing, resuming and limiting them.

A lever is about the whole installation, since a provider's quota and a maintenance know no orgs; the
figures are the asking person's own org's. Each change is in the security log, with who made it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts import actors, orgs
from webapp.accounts.audit import Action
from webapp.config.queue import STAGE_LIMIT_MAX
from webapp.db import reading, transaction
from webapp.db.bounded import Count
from webapp.jobs.controls import EVERY_STAGE, StageControl, StageCounts
from webapp.runs.stage_pause import resume_stage
from webapp.runs.stages import STAGES
from webapp.web import fragments, sentences
from webapp.web.access import operators_only, principal, services
from webapp.web.document_view import untaken_now
from webapp.web.errors import Problem
from webapp.web.security_log import note
from webapp.web.sentences import Sentence

pages = Blueprint("stages", __name__, url_prefix="/ops")


@dataclass(frozen=True)
class StageRow:
    """A stage as ops sees it. `at_work` is the installation's, all other numbers are the org's."""

    stage: str
    state: str
    reason: str | None
    failure: Sentence | None
    changed_by: str | None
    changed_at: datetime | None
    limit: int | None
    is_default_limit: bool
    allowance: int | None
    rests_seconds: float
    is_untaken: bool
    """Whether workers are alive, and none of them takes this stage."""
    at_work: int
    due: int
    later: int
    processing: int
    failed: int
    oldest_due_seconds: float | None
    more: tuple[str, ...]
    """The names of the numbers that are larger than they were counted."""


@pages.post("/pause")
@operators_only
def pause_all() -> Response:
    """Start no new jobs; running ones go on to their end."""
    with transaction(everywhere=True):
        services().queue.pause(EVERY_STAGE, by=principal().ref)
        note(Action.WORK_STOPPED)
    return _changed("drained", EVERY_STAGE)


@pages.post("/resume")
@operators_only
def resume_all() -> Response:
    """Start jobs again. A stage that was paused by itself stays so."""
    with transaction(everywhere=True):
        resume_stage(services().queue, EVERY_STAGE, principal().ref)
        note(Action.WORK_RESUMED)
    return _changed("undrained", EVERY_STAGE)


@pages.post("/stages/<stage>/pause")
@operators_only
def pause(stage: str) -> Response:
    """Take no more jobs of this stage."""
    known = _known(stage)
    with transaction(everywhere=True):
        services().queue.pause(known, by=principal().ref)
        note(Action.STAGE_PAUSED, f"stage:{known}")
    return _changed("paused", stage)


@pages.post("/stages/<stage>/resume")
@operators_only
def resume(stage: str) -> Response:
    """Take its jobs again, at once and as many as the limit allows."""
    known = _known(stage)
    with transaction(everywhere=True):
        resume_stage(services().queue, known, principal().ref)
        note(Action.STAGE_RESUMED, f"stage:{known}")
    return _changed("resumed", stage)


@pages.post("/stages/<stage>/limit")
@operators_only
def limit(stage: str) -> Response:
    """Set how many of its jobs may run at once; empty: as the settings say."""
    known, number = _known(stage), _limit()
    with transaction(everywhere=True):
        services().queue.limit(known, number, principal().ref)
        note(Action.STAGE_LIMITED, f"stage:{known}", limit=number)
    return _changed("limited", stage)


def drained_by(org: UUID, controls: Mapping[str, StageControl]) -> StageControl | None:
    """What was said about all stages at once, with the name of who said it."""
    control = controls.get(EVERY_STAGE)
    if control is None:
        return None
    with reading(org):
        return named(control, actors.names(org, [control.changed_by]))


def installation_figures() -> dict[str, Any] | None:
    """Figures of all orgs together, for operators; none where there is but one, whose own say it all."""
    with reading(everywhere=True):
        number = orgs.number()
        if number == Count(1):
            return None
        counts = services().queue.counts_up_to_most()
        return {"orgs": number, "jobs": {status.value: count for status, count in counts.items()}}


def stage_rows(org: UUID, controls: Mapping[str, StageControl], counts: Mapping[str, StageCounts]) -> list[StageRow]:
    """Every stage there is, and every one that somebody said something about, in the order of the pipelines."""
    with reading(everywhere=True):
        at_work = services().queue.running()
        nobodys = untaken_now(STAGES)
    with reading(org):
        known = actors.names(org, [control.changed_by for control in controls.values()])
    names = dict.fromkeys((*STAGES, *sorted({*controls, *counts} - {*STAGES, EVERY_STAGE})))
    return [
        _row(
            named(controls.get(name, StageControl(name)), known),
            counts.get(name, StageCounts()),
            at_work.get(name, 0),
            is_stopped=EVERY_STAGE in controls and controls[EVERY_STAGE].is_paused,
            is_untaken=name in nobodys,
        )
        for name in names
    ]


def named(control: StageControl, known: Mapping[str, str]) -> StageControl:
    """The control with a name in place of the reference to who set it: none where that is another org's person."""
    by = control.changed_by
    return replace(control, changed_by=known.get(by) if by else None)


def _row(control: StageControl, counts: StageCounts, at_work: int, *, is_stopped: bool, is_untaken: bool) -> StageRow:
    return StageRow(
        stage=control.stage,
        state="stopped" if is_stopped and not control.is_paused else _state(control),
        reason=control.reason if control.is_paused else None,
        failure=sentences.failure(control.reason) if control.is_paused and control.reason else None,
        changed_by=control.changed_by,
        changed_at=control.updated_at,
        limit=control.limit,
        is_default_limit=control.is_default_limit,
        allowance=control.allowance(),
        rests_seconds=control.rests_seconds,
        is_untaken=is_untaken,
        at_work=at_work,
        due=counts.due,
        later=counts.later,
        processing=counts.processing,
        failed=counts.failed,
        oldest_due_seconds=counts.oldest_due_seconds,
        more=counts.more,
    )


def _state(control: StageControl) -> str:
    if control.is_paused:
        return "paused"
    if control.slow_limit is None:
        return "open"
    return "resting" if control.rests_seconds else "recovering"


def _known(stage: str) -> str:
    if stage in STAGES or (stage != EVERY_STAGE and stage in services().queue.controls()):
        return stage
    raise Problem(404, detail="There is no such stage.")


def _limit() -> int | None:
    body: Any = request.get_json(silent=True) if request.is_json else request.form
    value = body.get("limit") if body is not None and hasattr(body, "get") else None
    text = "" if value is None else str(value).strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= STAGE_LIMIT_MAX):
        raise Problem(422, detail=f"A limit is a whole number from 1 to {STAGE_LIMIT_MAX}, or nothing.")
    return int(text)


def _changed(what: str, stage: str) -> Response:
    control = services().queue.controls().get(stage, StageControl(stage))
    if fragments.is_for_program():
        return jsonify(
            {
                "stage": stage,
                "is_paused": control.is_paused,
                "limit": control.limit,
                "rests_seconds": round(control.rests_seconds, 1),
            }
        )
    flash(render_template("ops/_changed.txt", what=what, stage=stage, control=control).strip(), "success")
    return make_response(redirect(url_for("ops.overview"), 303))
