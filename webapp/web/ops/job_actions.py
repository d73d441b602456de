"""For the role ops: retrying, cancelling and discarding jobs, one or many, by id or by their error."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts.audit import Action
from webapp.db import reading, transaction
from webapp.jobs import failures
from webapp.jobs.failures import FailureFilter
from webapp.jobs.states import Priority
from webapp.runs import lifecycle
from webapp.runs.lifecycle import JobRefusal
from webapp.web import fragments
from webapp.web.access import get_job, ops_only, org_id, principal, services
from webapp.web.errors import Problem
from webapp.web.ops.failure_groups import FailureGroup, Retryable, retryable
from webapp.web.ops.job_pages import code_named, stage_named
from webapp.web.ops.job_rows import job_rows
from webapp.web.security_log import note

pages = Blueprint("job_actions", __name__, url_prefix="/ops/jobs")

RETRIED_AT_ONCE_MAX = 500
DISCARDED_AT_ONCE_MAX = 5_000
_REFUSED = {
    JobRefusal.ENDED: "This job has ended already.",
    JobRefusal.NOT_FAILED: "This job has not failed, so there is nothing to retry.",
    JobRefusal.NOT_NEWEST: "The document was processed again since this job failed.",
    JobRefusal.OPERATION_CHANGED: "The operation was resumed or undone since this job failed.",
}


@dataclass(frozen=True)
class RetryCounts:
    """What became of a request to try many jobs again."""

    retried: int
    refused: int
    unknown: int
    more: bool
    groups: tuple[FailureGroup, ...] = ()
    """What was left out, since trying again can't help."""

    @property
    def left_out(self) -> int:
        """How many were left out."""
        return sum(group.count.number for group in self.groups)

    def for_programs(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "retried": self.retried,
            "refused": self.refused,
            "unknown": self.unknown,
            "more": self.more,
            "left_out": self.left_out,
            "left_out_why": [group.for_programs() for group in self.groups],
        }


@dataclass(frozen=True)
class CancelCounts:
    """What became of a request to end many jobs."""

    cancelled: int
    refused: int
    unknown: int


@pages.post("/<uuid:job_id>/retry")
@ops_only
def retry_one(job_id: UUID) -> Response:
    """A new run that goes on where the job failed."""
    get_job(job_id)
    outcome = _retry(job_id)
    if outcome is JobRefusal.UNKNOWN:
        raise Problem(404)
    if isinstance(outcome, JobRefusal):
        raise Problem(409, outcome.value, detail=_REFUSED[outcome])
    return _answer_retried(job_id, outcome)


@pages.post("/retry")
@ops_only
def retry() -> Response:
    """Retry the jobs that are named, those of one error, or all that trying again can help: so many at once."""
    wanted = _wanted_ids()
    if wanted is None and _is_selection():
        return _nothing_selected()
    chosen = _retryable() if wanted is None else Retryable(wanted, ())
    done = _retry_all(chosen)
    if fragments.is_for_program():
        return jsonify(done.for_programs())
    flash(render_template("ops/_retried.txt", done=done).strip(), "success" if done.retried else "info")
    return _back_to_jobs()


@pages.post("/<uuid:job_id>/cancel")
@ops_only
def cancel_one(job_id: UUID) -> Response:
    """End the run that a job belongs to."""
    get_job(job_id)
    refusal = lifecycle.cancel_job(services().queue, org_id(), job_id, principal().ref)
    if refusal is JobRefusal.UNKNOWN:
        raise Problem(404)
    if refusal is not None:
        raise Problem(409, refusal.value, detail=_REFUSED[refusal])
    return _answer_changed(job_id)


@pages.post("/cancel")
@ops_only
def cancel() -> Response:
    """End the runs of the jobs that are named. None named is none ended: there is no way back."""
    wanted = _wanted_ids()
    if wanted is None and not fragments.is_for_program():
        return _nothing_selected()
    done = _cancel_all((wanted or [])[:RETRIED_AT_ONCE_MAX])
    if fragments.is_for_program():
        return jsonify(asdict(done))
    flash(render_template("ops/_cancelled.txt", done=done).strip(), "success" if done.cancelled else "info")
    return _back_to_jobs()


@pages.post("/<uuid:job_id>/discard")
@ops_only
def discard_one(job_id: UUID) -> Response:
    """Take a failure off the list; the job's row stays, with who did it and when."""
    get_job(job_id)
    if not _discard(FailureFilter(ids=[job_id])):
        raise Problem(409, "not_open", detail="This job is not an open failure, so there is nothing to discard.")
    return _answer_changed(job_id)


@pages.post("/discard")
@ops_only
def discard() -> Response:
    """Take the named failures off the list, or those of one stage with one error. None named is none."""
    wanted = _wanted_ids()
    code, stage = code_named(_form("code")), stage_named(_form("stage"))
    if wanted is None and not (code and stage):
        return _nothing_selected()
    chosen = (
        FailureFilter(stage=stage, code=code) if wanted is None else FailureFilter(ids=wanted[:DISCARDED_AT_ONCE_MAX])
    )
    done = _discard(chosen)
    more = len(done) == DISCARDED_AT_ONCE_MAX
    if fragments.is_for_program():
        return jsonify({"discarded": len(done), "more": more})
    flash(render_template("ops/_discarded.txt", discarded=len(done), more=more).strip(), "success" if done else "info")
    return _back_to_jobs()


@pages.post("/<uuid:job_id>/restore")
@ops_only
def restore_one(job_id: UUID) -> Response:
    """Open a discarded failure again."""
    get_job(job_id)
    if not _restore([job_id]):
        raise Problem(409, "not_discarded", detail="This job was not discarded.")
    return _answer_changed(job_id)


@pages.post("/restore")
@ops_only
def restore() -> Response:
    """Open discarded failures again."""
    wanted = _wanted_ids()
    if wanted is None:
        return _nothing_selected()
    done = _restore(wanted[:DISCARDED_AT_ONCE_MAX])
    if fragments.is_for_program():
        return jsonify({"restored": len(done)})
    flash(render_template("ops/_restored.txt", restored=len(done)).strip(), "success" if done else "info")
    return _back_to_jobs()


def _retry(job_id: UUID, priority: int | None = None) -> UUID | JobRefusal:
    who, attempts = principal(), services().settings.queue.job_max_attempts
    return lifecycle.retry_job(services().queue, who.org_id, job_id, attempts, by=who.ref, priority=priority)


def _retry_all(chosen: Retryable) -> RetryCounts:
    ids = chosen.ids[:RETRIED_AT_ONCE_MAX]
    # Many retries must not delay a person who waits for one.
    priority = Priority.BULK if len(ids) > 1 else None
    outcomes = [_retry(job_id, priority) for job_id in ids]
    unknown = outcomes.count(JobRefusal.UNKNOWN)
    refused = sum(isinstance(outcome, JobRefusal) for outcome in outcomes) - unknown
    more = len(chosen.ids) > RETRIED_AT_ONCE_MAX
    return RetryCounts(len(outcomes) - refused - unknown, refused, unknown, more, tuple(chosen.left_out))


def _cancel_all(ids: list[UUID]) -> CancelCounts:
    queue, org, ref = services().queue, org_id(), principal().ref
    outcomes = [lifecycle.cancel_job(queue, org, job_id, ref) for job_id in ids]
    return CancelCounts(outcomes.count(None), outcomes.count(JobRefusal.ENDED), outcomes.count(JobRefusal.UNKNOWN))


def _discard(wanted: FailureFilter) -> list[UUID]:
    with transaction(org_id()):
        done = failures.discard(org_id(), wanted, principal().ref, limit=DISCARDED_AT_ONCE_MAX)
        if done:
            note(Action.JOBS_DISCARDED, _target(done), jobs=len(done), stage=wanted.stage, code=wanted.code)
        return done


def _restore(ids: list[UUID]) -> list[UUID]:
    with transaction(org_id()):
        done = lifecycle.restore_jobs(services().queue, org_id(), ids)
        if done:
            note(Action.JOBS_RESTORED, _target(done), jobs=len(done))
        return done


def _target(ids: list[UUID]) -> str | None:
    return f"job:{ids[0]}" if len(ids) == 1 else None


def _retryable() -> Retryable:
    """One more than are retried at once."""
    stage, code = stage_named(_form("stage")), code_named(_form("code"))
    with reading(org_id()):
        return retryable(org_id(), RETRIED_AT_ONCE_MAX + 1, stage, code)


def _form(name: str) -> str | None:
    """A value of the form or of the JSON body."""
    if not request.is_json:
        return request.form.get(name)
    value = _body().get(name)
    if value is not None and not isinstance(value, str):
        raise Problem(422, detail=f"“{name}” is a text.")
    return value


def _is_selection() -> bool:
    """A form with boxes to tick says so: there, none ticked is a slip and does not mean all."""
    return "selected" in request.form


def _nothing_selected() -> Response:
    if fragments.is_for_program():
        raise Problem(422, detail="Name the jobs: “ids”, or “stage” and “code”.")
    flash(render_template("ops/_none_selected.txt").strip(), "info")
    return _back_to_jobs()


def _back_to_jobs() -> Response:
    """Back to the list that the form is part of."""
    shown = {name: request.form.get(name) for name in ("status", "stage", "resolution")}
    return make_response(redirect(url_for("jobs.index", **fragments.without(shown)), 303))


def _wanted_ids() -> list[UUID] | None:
    """The `ids` of the form or of the JSON body; None where none are named."""
    texts: Iterable[Any] | None = _body().get("ids") if request.is_json else request.form.getlist("ids") or None
    if texts is None:
        return None
    try:
        return list(dict.fromkeys(UUID(text) for text in texts))
    except (ValueError, TypeError, AttributeError) as error:
        raise Problem(422, detail="“ids” is a list of job ids.") from error


def _body() -> dict[str, Any]:
    """Somebody who names jobs in words that we don't know must not get them all."""
    body = request.get_json(silent=True) if request.get_data() else {}
    if not isinstance(body, dict) or body.keys() - {"ids", "stage", "code"}:
        raise Problem(422, detail="The body is an object with “ids”, a list of job ids, or “stage” and “code”.")
    return body


def _answer_retried(job_id: UUID, run_id: UUID) -> Response:
    job = get_job(job_id)
    with reading(job.org_id):
        [row] = job_rows(job.org_id, [job])
    if fragments.is_for_program():
        run = {"id": run_id, "state": "QUEUED"} if job.run else None
        return jsonify({"job": {"id": job.id, "document_id": row.document_id}, "run": run})
    if fragments.wants_fragment():
        return make_response(render_template("ops/_retried.html", job=row, run_id=run_id))
    return make_response(redirect(url_for("jobs.index"), 303))


def _answer_changed(job_id: UUID) -> Response:
    job = get_job(job_id)
    with reading(job.org_id):
        [row] = job_rows(job.org_id, [job])
    if fragments.is_for_program():
        document_id = job.run.document_id if job.run else None
        changed = {"id": job.id, "document_id": document_id, "status": job.status, "resolution": job.resolution}
        return jsonify({"job": changed})
    if fragments.wants_fragment():
        return make_response(render_template("ops/_job.html", job=row))
    return _back_to_jobs()
