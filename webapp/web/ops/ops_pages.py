"""For the role ops: how the installation does, which jobs failed and why, trying them again, and ending them.

Everything is about the asking person's own org, except for the worker processes, which work for all.
"""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.db import reading, row_security
from webapp.db.bounded import Count
from webapp.jobs.queue import JobSnapshot
from webapp.jobs.states import JobStatus, Priority
from webapp.library import selection
from webapp.library.reprocess import with_other_vectors
from webapp.provider_errors import ProviderError
from webapp.runs import lifecycle
from webapp.runs.lifecycle import JobRefusal
from webapp.runs.stages import STAGES
from webapp.sandbox import state as sandbox_state
from webapp.web import fragments, sentences
from webapp.web.access import get_job, ops_only, org_id, principal, services
from webapp.web.errors import Problem
from webapp.web.exposure import exposure
from webapp.web.formatting import counts_json
from webapp.web.ops import figures
from webapp.web.ops.limits_view import has_space, org_limits
from webapp.web.ops.provider_rows import provider_rows
from webapp.web.ops.spending import spending
from webapp.web.ops.stage_pages import drained_by, installation_figures, stage_rows
from webapp.web.sentences import Sentence

pages = Blueprint("ops", __name__, url_prefix="/ops")

PAGE_SIZE = 50
RETRIED_AT_ONCE_MAX = 500
_BEATS_MISSED = 4
_REFUSED = {
    JobRefusal.ENDED: "This job has ended already.",
    JobRefusal.NOT_FAILED: "This job has not failed, so there is nothing to retry.",
    JobRefusal.NOT_NEWEST: "The document was processed again since this job failed.",
}


@dataclass(frozen=True)
class ErrorRow:
    """One failed attempt of a job."""

    at: datetime | None
    attempt: int | None
    step: str | None
    code: str | None
    exception: str | None
    message: str


@dataclass(frozen=True)
class JobRow:
    """A job as ops sees it. `run_id` is the run it belongs to, or the new one after a retry.

    A job of an operation has no document and no run.
    """

    id: UUID
    document_id: UUID | None
    run_id: UUID | None
    filename: str
    stage: str
    status: str
    attempts: int
    max_attempts: int
    available_at: datetime | None
    created_at: datetime
    completed_at: datetime | None
    failure: Sentence | None
    errors: tuple[ErrorRow, ...]


@dataclass(frozen=True)
class RetryCounts:
    """What became of a request to try many jobs again."""

    retried: int
    refused: int
    unknown: int
    more: bool


@dataclass(frozen=True)
class CancelCounts:
    """What became of a request to end many jobs."""

    cancelled: int
    refused: int
    unknown: int


@pages.get("")
@ops_only
def overview() -> Response:
    """The health of the installation."""
    found = _overview(org_id())
    return fragments.answer(
        page="ops/page.html", fragment="ops/_refresh.html", data=lambda: _for_programs(found), **found
    )


@pages.get("/jobs")
@ops_only
def jobs() -> Response:
    """Jobs by status and stage, the failed ones first to be looked at; pages go on from the last id."""
    org, status, before = org_id(), _status(request.args.get("status")), _cursor(request.args.get("cursor"))
    stage = _stage(request.args.get("stage"))
    with reading(org):
        found = services().queue.find(org, status, stage=stage, before=before, limit=PAGE_SIZE + 1)
        rows = _rows(org, found[:PAGE_SIZE])
        counts = _counts(org)
    shown = {
        "jobs": rows,
        "status": status.value.lower(),
        "stage": stage,
        "stages": list(dict.fromkeys((*STAGES, *([stage] if stage else [])))),
        "counts": counts,
        "next_cursor": str(found[PAGE_SIZE - 1].id) if len(found) > PAGE_SIZE else None,
    }
    return fragments.answer(page="ops/jobs.html", fragment="ops/jobs.html", data=lambda: _for_programs(shown), **shown)


@pages.post("/jobs/<uuid:job_id>/retry")
@ops_only
def retry_job(job_id: UUID) -> Response:
    """A new run that goes on where the job failed."""
    get_job(job_id)
    outcome = _retry(job_id)
    if outcome is JobRefusal.UNKNOWN:
        raise Problem(404)
    if isinstance(outcome, JobRefusal):
        raise Problem(409, outcome.value, detail=_REFUSED[outcome])
    return _answer_retried(job_id, outcome)


@pages.post("/jobs/retry")
@ops_only
def retry_jobs() -> Response:
    """Retry the jobs that are named, or all that failed: so many at once, each by itself."""
    wanted = _wanted_ids()
    if wanted is None and _is_selection():
        return _nothing_selected()
    ids = _failed_ids() if wanted is None else wanted
    done = _retry_all(ids[:RETRIED_AT_ONCE_MAX], more=len(ids) > RETRIED_AT_ONCE_MAX)
    if fragments.is_for_program():
        return jsonify(asdict(done))
    flash(render_template("ops/_retried.txt", done=done).strip(), "success" if done.retried else "info")
    return _back_to_jobs()


@pages.post("/jobs/<uuid:job_id>/cancel")
@ops_only
def cancel_job(job_id: UUID) -> Response:
    """End the run that a job belongs to."""
    get_job(job_id)
    refusal = lifecycle.cancel_job(services().queue, org_id(), job_id, principal().ref)
    if refusal is JobRefusal.UNKNOWN:
        raise Problem(404)
    if refusal is not None:
        raise Problem(409, refusal.value, detail=_REFUSED[refusal])
    return _answer_cancelled(job_id)


@pages.post("/jobs/cancel")
@ops_only
def cancel_jobs() -> Response:
    """End the runs of the jobs that are named. None named is none ended: there is no way back."""
    wanted = _wanted_ids()
    if wanted is None and not fragments.is_for_program():
        return _nothing_selected()
    done = _cancel_all((wanted or [])[:RETRIED_AT_ONCE_MAX])
    if fragments.is_for_program():
        return jsonify(asdict(done))
    flash(render_template("ops/_cancelled.txt", done=done).strip(), "success" if done.cancelled else "info")
    return _back_to_jobs()


def _overview(org: UUID) -> dict[str, Any]:
    settings = services().settings
    with reading(org) as session:
        found = {
            "counts": _counts(org),
            "workers": figures.workers(_BEATS_MISSED * settings.queue.heartbeat_seconds),
            "spending": spending(org, settings.prices.currency),
            "limits": org_limits(org),
            "outdated": selection.count(org, with_other_vectors(services())),
            "database": session.get_bind().dialect.name,
            "database_role": row_security.notice_in(session) if principal().is_operator else None,
        }
    drained, stages = drained_by(org), stage_rows(org)
    return {
        **found,
        "oldest_due_seconds": figures.oldest_due_seconds(stage.oldest_due_seconds for stage in stages),
        "stages": stages,
        "is_drained": drained is not None and drained.is_paused,
        "drained": drained,
        "installation": installation_figures() if principal().is_operator else None,
        "has_room": has_space(),
        "warnings": list(exposure().warnings()) if principal().is_operator else [],
        "mode": settings.execution.value,
        "providers": provider_rows(),
        "locks": _locks(),
        "sandbox": settings.parsers.sandbox,
        "disk_free_bytes": shutil.disk_usage(settings.data_dir).free if settings.data_dir.exists() else None,
    }


def _for_programs(shown: dict[str, Any]) -> dict[str, Any]:
    """Programs read the states as they are stored; pages look their words up by the lower-case ones."""
    plain = {**shown, **counts_json({status.upper(): count for status, count in shown["counts"].items()})}
    plain.pop("drained", None)
    if "outdated" in shown:
        plain |= {"outdated": shown["outdated"].number, "outdated_more": shown["outdated"].more}
    if shown.get("installation"):
        orgs, jobs = shown["installation"]["orgs"], shown["installation"]["jobs"]
        numbers = counts_json(jobs)
        plain["installation"] = {"orgs": orgs.number, "jobs": numbers["counts"], "jobs_more": numbers["counts_more"]}
    if "jobs" in shown:
        plain["jobs"] = [{**asdict(job), "status": job.status.upper()} for job in shown["jobs"]]
        plain["status"] = shown["status"].upper()
    return plain


def _locks() -> dict[str, bool] | None:
    """What holds the processes that read files on this machine; None where none of them starts."""
    try:
        return sandbox_state.locks()
    except ProviderError:
        return None


def _counts(org: UUID) -> dict[str, Count]:
    return {status.value.lower(): count for status, count in services().queue.counts_up_to_most(org).items()}


def _status(word: str | None) -> JobStatus:
    try:
        return JobStatus((word or JobStatus.FAILED).upper())
    except ValueError as error:
        raise Problem(422, detail=f"A status is one of: {', '.join(s.lower() for s in JobStatus)}.") from error


def _stage(word: str | None) -> str | None:
    """A stage's name, perhaps of one that is gone; not every text can be asked for in every database."""
    if word and not word.isidentifier():
        raise Problem(422, detail="stage is the name of a stage.")
    return word or None


def _cursor(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer.") from error


def _rows(org: UUID, found: Iterable[JobSnapshot]) -> list[JobRow]:
    found = list(found)
    names = figures.filenames(org, {job.document_id for job in found if job.run})
    return [_row(job, names.get(job.document_id, "") if job.run else "") for job in found]


def _row(job: JobSnapshot, filename: str) -> JobRow:
    errors = tuple(_error_row(entry) for entry in job.error_log)
    last_code = errors[-1].code if errors else None
    return JobRow(
        id=job.id,
        document_id=job.run.document_id if job.run else None,
        run_id=job.run.id if job.run else None,
        filename=filename,
        stage=job.stage,
        status=job.status.lower(),
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        available_at=job.available_at,
        created_at=job.created_at,
        completed_at=job.completed_at,
        failure=sentences.failure(last_code) if job.status is JobStatus.FAILED else None,
        errors=errors,
    )


def _error_row(entry: Mapping[str, Any]) -> ErrorRow:
    at = entry.get("at")
    return ErrorRow(
        at=datetime.fromisoformat(at) if at else None,
        attempt=entry.get("attempt"),
        step=entry.get("step"),
        code=entry.get("code"),
        exception=entry.get("exception"),
        message=entry.get("message") or "",
    )


def _retry(job_id: UUID, priority: int | None = None) -> UUID | JobRefusal:
    who, attempts = principal(), services().settings.queue.job_max_attempts
    return lifecycle.retry_job(services().queue, who.org_id, job_id, attempts, by=who.ref, priority=priority)


def _retry_all(ids: list[UUID], *, more: bool) -> RetryCounts:
    # Many retries must not delay a person who waits for one.
    priority = Priority.BULK if len(ids) > 1 else None
    outcomes = [_retry(job_id, priority) for job_id in ids]
    refused = sum(outcome in {JobRefusal.NOT_FAILED, JobRefusal.NOT_NEWEST} for outcome in outcomes)
    unknown = outcomes.count(JobRefusal.UNKNOWN)
    return RetryCounts(len(outcomes) - refused - unknown, refused, unknown, more)


def _cancel_all(ids: list[UUID]) -> CancelCounts:
    queue, org, ref = services().queue, org_id(), principal().ref
    outcomes = [lifecycle.cancel_job(queue, org, job_id, ref) for job_id in ids]
    return CancelCounts(outcomes.count(None), outcomes.count(JobRefusal.ENDED), outcomes.count(JobRefusal.UNKNOWN))


def _is_selection() -> bool:
    """A form with boxes to tick says so: there, none ticked is a slip and does not mean all."""
    return "selected" in request.form


def _nothing_selected() -> Response:
    flash(render_template("ops/_none_selected.txt").strip(), "info")
    return _back_to_jobs()


def _back_to_jobs() -> Response:
    """To the list that the form stood in."""
    shown = {"status": request.form.get("status"), "stage": request.form.get("stage")}
    return make_response(redirect(url_for("ops.jobs", **fragments.without(shown)), 303))


def _wanted_ids() -> list[UUID] | None:
    """The `ids` of the form or of the JSON body; None where none are named, which means all that failed."""
    texts = _ids_of_json() if request.is_json else request.form.getlist("ids") or None
    if texts is None:
        return None
    try:
        return list(dict.fromkeys(UUID(text) for text in texts))
    except (ValueError, TypeError, AttributeError) as error:
        raise Problem(422, detail="“ids” is a list of job ids.") from error


def _ids_of_json() -> Any:
    """Somebody who names jobs in words that we don't know must not get them all."""
    body = request.get_json(silent=True) if request.get_data() else {}
    if not isinstance(body, dict) or body.keys() - {"ids"}:
        raise Problem(422, detail="The body is an object with “ids”, a list of job ids, and nothing else.")
    return body.get("ids")


def _failed_ids() -> list[UUID]:
    """The failed jobs that a retry would not refuse, the newest first; one more than are retried at once."""
    with reading(org_id()):
        return figures.retryable(services().queue, org_id(), RETRIED_AT_ONCE_MAX + 1, _stage(request.form.get("stage")))


def _answer_retried(job_id: UUID, run_id: UUID) -> Response:
    job = get_job(job_id)
    with reading(job.org_id):
        [row] = _rows(job.org_id, [job])
    if fragments.is_for_program():
        return jsonify(
            {"job": {"id": job.id, "document_id": job.document_id}, "run": {"id": run_id, "state": "QUEUED"}}
        )
    if fragments.wants_fragment():
        return make_response(render_template("ops/_retried.html", job=row, run_id=run_id))
    return make_response(redirect(url_for("ops.jobs"), 303))


def _answer_cancelled(job_id: UUID) -> Response:
    job = get_job(job_id)
    with reading(job.org_id):
        [row] = _rows(job.org_id, [job])
    if fragments.is_for_program():
        return jsonify({"job": {"id": job.id, "document_id": job.document_id, "status": job.status}})
    if fragments.wants_fragment():
        return make_response(render_template("ops/_job.html", job=row))
    return _back_to_jobs()
