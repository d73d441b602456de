"""For the role ops: lists of jobs, each job on a page of its own; retrying, cancelling and discarding them.

Everything is about the asking person's own org.
"""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, request

from webapp.accounts import actors
from webapp.db import reading
from webapp.documents import events
from webapp.documents.model import ProcessingRun
from webapp.jobs import failures
from webapp.jobs.failures import FailureFilter
from webapp.jobs.queue import JobSnapshot
from webapp.jobs.states import JobStatus, Resolution
from webapp.library import lookup
from webapp.runs.stages import STAGES
from webapp.web import fragments
from webapp.web.access import get_job, ops_only, org_id, services
from webapp.web.document.timeline import Moment, moments_of
from webapp.web.errors import Problem
from webapp.web.formatting import counts_json
from webapp.web.ops.failure_groups import failure_groups
from webapp.web.ops.figures import counts_by_status
from webapp.web.ops.job_rows import for_programs, job_rows
from webapp.web.ops.job_search import search

pages = Blueprint("jobs", __name__, url_prefix="/ops")

PAGE_SIZE = 50
# Of a job's own data so much is shown.
_JSON_CHARACTERS_MAX = 20_000
QUERY_CHARACTERS_MAX = 200


@pages.get("/jobs")
@ops_only
def index() -> Response:
    """Jobs by status and stage, the open failures unless told otherwise; or what a search finds, whatever its status.

    Pages go on from the last id.
    """
    q = request.args.get("q", "").strip()[:QUERY_CHARACTERS_MAX]
    shown = _found(q) if q else _listed()
    return fragments.answer(page="ops/jobs.html", fragment="ops/jobs.html", data=lambda: _for_programs(shown), **shown)


@pages.get("/jobs/<uuid:job_id>")
@ops_only
def show(job_id: UUID) -> Response:
    """All about one job: its attempts and errors, checkpoint, lease, document and run."""
    job = get_job(job_id)
    with reading(job.org_id):
        [row] = job_rows(job.org_id, [job])
        run = lookup.run(job.org_id, job.run.id) if job.run else None
        moments = _moments(job, run) if run else []
    shown = {"job": row, "details": _details(job), "run": run, "moments": moments}
    return fragments.answer(
        page="ops/job.html",
        fragment="ops/job.html",
        data=lambda: {**for_programs(row), **_details(job), "run": _run_json(run), "events": moments},
        **shown,
        checkpoint=_pretty(job.checkpoint),
        payload=_pretty(job.payload),
    )


def _listed() -> dict[str, Any]:
    org, status, stage = org_id(), _status(request.args.get("status")), stage_named(request.args.get("stage"))
    code, resolution = code_named(request.args.get("code")), _resolution(request.args.get("resolution"))
    before = _cursor(request.args.get("cursor"))
    with reading(org):
        if status is JobStatus.FAILED:
            wanted = FailureFilter(resolution) if resolution else FailureFilter(stage=stage, code=code)
            ids = failures.page(org, wanted, before=before, limit=PAGE_SIZE + 1)
            found = services().queue.of_ids(ids)
            groups, resolved = failure_groups(org), failures.resolved_counts(org)
        else:
            found = services().queue.find(org, status, stage=stage, before=before, limit=PAGE_SIZE + 1)
            groups, resolved = [], {}
        rows, counts = job_rows(org, found[:PAGE_SIZE]), counts_by_status(services().queue, org)
    return {
        "jobs": rows,
        "status": status.value.lower(),
        "stage": stage,
        "code": code,
        "resolution": resolution,
        "stages": list(dict.fromkeys((*STAGES, *([stage] if stage else [])))),
        "counts": counts,
        "groups": [] if resolution or code or before else groups,
        "resolved": resolved,
        "q": "",
        "next_cursor": str(found[PAGE_SIZE - 1].id) if len(found) > PAGE_SIZE else None,
    }


def _found(q: str) -> dict[str, Any]:
    org = org_id()
    with reading(org):
        found = search(services().queue, org, q)
        rows, counts = job_rows(org, found[:PAGE_SIZE]), counts_by_status(services().queue, org)
    empty: dict[str, Any] = {"stage": None, "code": None, "resolution": None, "groups": [], "resolved": {}}
    return {
        **empty,
        "jobs": rows,
        "status": "",
        "stages": list(STAGES),
        "counts": counts,
        "q": q,
        "next_cursor": None,
    }


def _for_programs(shown: dict[str, Any]) -> dict[str, Any]:
    return {
        "jobs": [for_programs(job) for job in shown["jobs"]],
        "status": shown["status"].upper() or None,
        **{name: shown[name] for name in ("stage", "stages", "code", "resolution", "q", "next_cursor")},
        **counts_json({status.upper(): count for status, count in shown["counts"].items()}),
        "groups": [group.for_programs() for group in shown["groups"]],
        "resolved": {name: count.number for name, count in shown["resolved"].items()},
    }


def _details(job: JobSnapshot) -> dict[str, Any]:
    """What the lists of jobs leave out."""
    return {
        "priority": job.priority,
        "operation_id": job.operation_id,
        "started_at": job.started_at,
        "heartbeat_at": job.heartbeat_at,
        "locked_by": job.locked_by,
        "error_code": job.error_code,
        "payload": job.payload,
        "checkpoint": job.checkpoint,
    }


def _moments(job: JobSnapshot, run: ProcessingRun) -> Sequence[Moment]:
    """The timeline of its run, without what other jobs of the run did."""
    found = events.timeline(job.org_id, run.document_id, run.id)
    own = [event for event in found if event.job_id in {None, job.id}]
    names = actors.names(
        job.org_id, [str(event.details["by"]) for event in own if event.details and "by" in event.details]
    )
    return moments_of(run.created_at, own, names)


def _run_json(run: ProcessingRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    names = ("id", "state", "trigger", "failure_type", "error", "created_at", "started_at", "finished_at")
    return {name: getattr(run, name) for name in names}


def _pretty(value: Any) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str) if value else ""
    return text if len(text) <= _JSON_CHARACTERS_MAX else f"{text[:_JSON_CHARACTERS_MAX]}\n…"


def _status(word: str | None) -> JobStatus:
    try:
        return JobStatus((word or JobStatus.FAILED).upper())
    except ValueError as error:
        raise Problem(422, detail=f"A status is one of: {', '.join(s.lower() for s in JobStatus)}.") from error


def _resolution(word: str | None) -> Resolution | None:
    try:
        return Resolution(word.upper()) if word else None
    except ValueError as error:
        raise Problem(422, detail=f"A resolution is one of: {', '.join(r.lower() for r in Resolution)}.") from error


def stage_named(word: str | None) -> str | None:
    """A stage's name, perhaps of one that is gone; not every text can be asked for in every database."""
    if word and not word.isidentifier():
        raise Problem(422, detail="stage is the name of a stage.")
    return word or None


def code_named(word: str | None) -> str | None:
    """The code of an error; such codes are words."""
    if word and not (word.isidentifier() and word.isascii()):
        raise Problem(422, detail="code is the code of an error.")
    return word or None


def _cursor(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer.") from error
