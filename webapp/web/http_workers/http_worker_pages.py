"""The protocol's addresses, all under /worker. docs/workers-over-http.md describes them with an example.

Each call but the claim names a job and its lease. Without the lease it writes nothing and is answered with 409, unless
it is a repetition of the call that ended the lease: then it gets the same answer.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, jsonify, url_for

from webapp.clock import monotonic
from webapp.db import reading
from webapp.documents.kinds import is_recording
from webapp.documents.model import Document
from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.queue import Lease, LeaseLost
from webapp.jobs.states import JobStatus
from webapp.library import lookup
from webapp.pipeline.http_workers import job as work
from webapp.pipeline.http_workers.stages import HTTP_STAGES, ORIGINAL
from webapp.pipeline.paid_calls.gates import lacks_space
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import ProviderError, ProviderUnavailable
from webapp.runs.lifecycle import EndCode
from webapp.web import blobs
from webapp.web.access import get_job, principal, services, workers_only
from webapp.web.errors import Problem
from webapp.web.http_workers import requests
from webapp.web.long_polls import long_polls

pages = Blueprint("http_worker", __name__, url_prefix="/worker")

HEARTBEATS = 4
"""How many heartbeats are sent in the time after which a silent program loses its lease."""
_CALLS = ("heartbeat", "checkpoint", "complete", "fail", "release")
_JOB = "/jobs/<uuid:job_id>/<uuid:lease_id>"


@pages.post("/claim")
@workers_only
def claim() -> Response:
    """Take due jobs, and wait for one if asked to."""
    asked = requests.claim_body()
    org, until = principal().org_id, monotonic() + asked.wait_seconds
    if reason := lacks_space(services().providers.blobs, org):
        # A program may pay for its result, so none is asked for that can't be stored.
        raise Problem(503, reason, headers={"Retry-After": "5"})
    name = work.holder(_token(), asked.id, asked.worker)
    take = partial(work.claim, services(), org, name, asked.stages, asked.limit)
    leases = take() or _wait(take, until)
    seconds = services().settings.queue.http_worker_silent_seconds
    return jsonify(
        {
            # A document that was deleted since the claim took its job with it.
            "jobs": [_job_json(lease, document) for lease in leases if (document := _document(lease))],
            "heartbeat_seconds": seconds / HEARTBEATS,
            "silent_seconds": seconds,
        }
    )


@pages.get(f"{_JOB}/inputs/<kind>")
@workers_only
def read_input(job_id: UUID, lease_id: UUID, kind: str) -> Response:
    """The original, or what an earlier stage made."""
    lease = _find(job_id, lease_id)
    if lease is None:
        raise Problem(409, _why_lost(job_id))
    reads = HTTP_STAGES[lease.stage].reads
    if kind == ORIGINAL:
        document = _document(lease)
        if document is None:
            raise Problem(404)
        if document.opened_path is not None:
            return blobs.download_artifact(services().providers.blobs, document.opened_path, document.content_type)
        return blobs.download_blob(services().providers.blobs, document)
    path = lease.checkpoint.get("artifacts", {}).get(kind)
    if kind not in reads or path is None:
        raise Problem(404, detail=f"This stage has the inputs {', '.join([ORIGINAL, *reads])}.")
    return blobs.download_artifact(services().providers.blobs, path, reads[kind])


@pages.post(f"{_JOB}/heartbeat")
@workers_only
def heartbeat(job_id: UUID, lease_id: UUID) -> Response:
    """Keep the lease, and learn whether the job should be stopped. A lost lease is an answer here, no error."""
    lease = _find(job_id, lease_id)
    if lease is None or not services().queue.heartbeat([lease]):
        return jsonify(stop=_why_lost(job_id))
    asked = requests.heartbeat_body()
    if asked.progress is not None:
        with suppress(LeaseLost):
            work.report(_context(lease), asked.progress)
    return jsonify(stop=_paused(lease))


@pages.put(f"{_JOB}/checkpoint")
@workers_only
def checkpoint(job_id: UUID, lease_id: UUID) -> Response:
    """Save what the program wants to find again after a crash."""

    def save(context: StageContext) -> dict[str, Any]:
        work.save(context, requests.checkpoint_body())
        return {"saved": True}

    return _call("checkpoint", job_id, lease_id, save)


@pages.put(f"{_JOB}/results/<kind>")
@workers_only
def put_result(job_id: UUID, lease_id: UUID, kind: str) -> Response:
    """Store the result. The job is ended by `complete`."""

    def put(context: StageContext) -> dict[str, Any]:
        data = requests.result_body(kind, HTTP_STAGES[context.lease.stage].writes)
        try:
            found = work.put(context, data)
        except ValueError as error:
            raise Problem(422, detail=f"{error}.") from error
        return {"kind": found.kind, "sha256": found.sha256, "size_bytes": found.size_bytes}

    return _call("result", job_id, lease_id, put)


@pages.post(f"{_JOB}/complete")
@workers_only
def complete(job_id: UUID, lease_id: UUID) -> Response:
    """End the job: its result goes to the next stage."""

    def end(context: StageContext) -> dict[str, Any]:
        try:
            return work.complete(context)
        except work.NoResult as error:
            wanted = HTTP_STAGES[context.lease.stage].writes
            raise Problem(422, detail=f"No result of the kind “{wanted}” is stored yet.") from error

    return _call("complete", job_id, lease_id, end)


@pages.post(f"{_JOB}/fail")
@workers_only
def fail(job_id: UUID, lease_id: UUID) -> Response:
    """Say that this attempt failed, and whether another one may succeed."""

    def end(context: StageContext) -> dict[str, Any]:
        asked = requests.fail_body()
        again = asked.retry_after_seconds
        return work.fail(context, asked.code, asked.message, permanent=asked.permanent, retry_after_seconds=again)

    return _call("fail", job_id, lease_id, end)


@pages.post(f"{_JOB}/release")
@workers_only
def release(job_id: UUID, lease_id: UUID) -> Response:
    """Hand the job back: another worker may take it at once."""
    return _call("release", job_id, lease_id, work.release)


def _call(name: str, job_id: UUID, lease_id: UUID, do: Callable[[StageContext], dict[str, Any]]) -> Response:
    """Do something under the lease; the answer of before where this call has ended the lease, else 409."""
    lease = _find(job_id, lease_id)
    try:
        if lease is None:
            raise LeaseLost
        return jsonify(do(_context(lease)))
    except LeaseLost as error:
        if answer := work.answered_before(get_job(job_id), lease_id, name):
            return jsonify(answer)
        raise Problem(409, _why_lost(job_id)) from error
    except ProviderError as error:
        raise ProviderUnavailable(error.message, code=error.code) from error


def _wait(take: Callable[[], list[Lease]], until: float) -> list[Lease]:
    """Wait for a job until then, if a thread is free for it."""
    polls, poll_seconds = long_polls(), services().settings.queue.poll_seconds
    if monotonic() >= until or not polls.take():
        return []
    try:
        while (left := until - monotonic()) > 0 and polls.pause(min(left, poll_seconds)):
            if leases := take():
                return leases
        return []
    finally:
        polls.give_back()


def _token() -> UUID:
    token = principal().token_id
    if token is None:
        raise Problem(403, "workers_only")
    return token


def _find(job_id: UUID, lease_id: UUID) -> Lease | None:
    """The job, if this token has this lease for it."""
    org = principal().org_id
    with reading(org):
        found = services().queue.held(job_id, lease_id, work.holders_of(_token()))
    # Without row-level security (SQLite) the queue would find any org's job.
    return found if found is not None and found.org_id == org else None


def _why_lost(job_id: UUID) -> str:
    """Why a lease has ended; 404 where the org has no such job."""
    job = get_job(job_id)
    if job.status is JobStatus.CANCELLED:
        return "cancelled"
    last = job.error_log[-1].get("code") if job.error_log else None
    return "timed_out" if job.status is JobStatus.FAILED and last == EndCode.RUN_TIMED_OUT else "lease_lost"


def _paused(lease: Lease) -> str | None:
    controls = services().queue.controls()
    is_paused = any(name in controls and controls[name].is_paused for name in (EVERY_STAGE, lease.stage))
    return "paused" if is_paused else None


def _context(lease: Lease) -> StageContext:
    return work.context_of(services(), lease)


def _document(lease: Lease) -> Document | None:
    with reading(lease.org_id):
        return lookup.get(lease.org_id, lease.document_id)


def _job_json(lease: Lease, document: Document) -> dict[str, Any]:
    """A claimed job, with the addresses of all that can be done with it."""
    stage, result = HTTP_STAGES[lease.stage], work.result_of(lease)
    ids: dict[str, Any] = {"job_id": lease.job_id, "lease_id": lease.lease_id}
    return {
        "id": lease.job_id,
        "lease_id": lease.lease_id,
        "stage": lease.stage,
        "run_id": lease.run_id,
        "attempt": lease.attempts + 1,
        "attempts_max": lease.max_attempts,
        "seconds_left": _seconds_left(lease),
        "document": {
            "id": document.id,
            "filename": document.filename,
            "content_type": document.content_type,
            "size_bytes": document.size_bytes,
            "sha256": document.sha256,
        },
        "checkpoint": work.saved(lease),
        "inputs": {kind: url_for(".read_input", kind=kind, **ids) for kind in (ORIGINAL, *stage.reads)},
        "result": {
            "kind": stage.writes,
            "url": url_for(".put_result", kind=stage.writes, **ids),
            "sha256": result.sha256 if result else None,
        },
        "calls": {name: url_for(f".{name}", **ids) for name in _CALLS},
    }


def _seconds_left(lease: Lease) -> float:
    queue = services().settings.queue
    of_recording = is_recording(lease.content_type or "")
    limit = queue.audio_run_timeout_seconds if of_recording else queue.run_timeout_seconds
    return round(max(0.0, limit - lease.run_seconds), 1)
