"""What a program does over HTTP with a job that it has a lease for.

Each call may be repeated after its answer was lost. What ended a lease is noted in the job's checkpoint, in the
transaction that ends it, so that the same call under the same lease gets the same answer.
"""

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from webapp.documents import events
from webapp.documents.states import EventKind, FailureType
from webapp.jobs.queue import HTTP_WORKERS, JobError, JobSnapshot, Lease, LeaseLost
from webapp.jobs.scrub import scrubbed
from webapp.jobs.sealed_passwords import HAS_PASSWORD
from webapp.jobs.states import JobStatus
from webapp.pipeline.artifacts import artifact_path, digest
from webapp.pipeline.http_workers.stages import HTTP_STAGES, HttpStage
from webapp.pipeline.opened import opened
from webapp.pipeline.paid_calls.prices import Prices
from webapp.pipeline.source import find_source
from webapp.pipeline.steps import HTTP_WORKER, MESSAGE_LENGTH_MAX, StageContext
from webapp.pipeline.waiting import end_waiting
from webapp.provider_errors import FailureCode, ProviderError
from webapp.runs import lifecycle
from webapp.runs.checkpoint import WAITS_IN, count_piece
from webapp.runs.lifecycle import EndCode
from webapp.runs.stages import INDEX
from webapp.services import Services

_log = logging.getLogger(__name__)

# What can be wrong with a file itself; a failure for one of these is permanent, and people read why.
ABOUT_THE_FILE = (
    FailureCode.ENCRYPTED,
    FailureCode.LOCK_UNKNOWN,
    FailureCode.CORRUPT,
    FailureCode.EMPTY,
    FailureCode.UNSUPPORTED,
    FailureCode.TOO_LARGE,
    FailureCode.NO_TEXT,
    FailureCode.NO_SOUND,
    FailureCode.SILENT,
    FailureCode.NO_SPEECH,
    FailureCode.TOO_LONG,
    FailureCode.TOO_MANY_PAGES,
    FailureCode.LANGUAGE,
)


class NoResult(Exception):
    """The program has stored no result yet, so the job can't be completed."""


@dataclass(frozen=True)
class StoredResult:
    """The result of a job, as it was sent: its kind, hash and size."""

    kind: str
    sha256: str
    size_bytes: int


def holder(token_id: UUID, claim_id: UUID, worker: str) -> str:
    """The name in the leases of one claim: a repeated claim finds them by it."""
    return f"{holders_of(token_id)}{claim_id}/{worker}"


def holders_of(token_id: UUID) -> str:
    """How the names of all leases begin that were claimed with this token."""
    return f"{HTTP_WORKERS}{token_id}/"


def claim(services: Services, org_id: UUID, name: str, stages: Sequence[str], limit: int) -> list[Lease]:
    """The jobs of a claim: those that it has got already, or else new ones of this org."""
    queue = services.queue
    leases = queue.held_by(name) or queue.claim(name, limit, stages=stages, org_id=org_id)
    begun = []
    for lease in leases:
        # Cancelled since the claim: the program need not hear of it.
        with suppress(LeaseLost):
            begun.append(_begun(services, lease))
    return begun


def _begun(services: Services, lease: Lease) -> Lease:
    """The lease, after the timeline says that its step has begun. LeaseLost."""
    if _entry(lease.checkpoint).get("begun") == str(lease.lease_id):
        return lease
    lease, _ = end_waiting(services.queue, lease)
    context = context_of(services, lease)
    context.checkpoint[HTTP_WORKER] = {**_entry(context.checkpoint), "begun": str(lease.lease_id)}
    step = _stage(lease).step
    context.begin(step)
    if lease.payload.get(HAS_PASSWORD):
        _open(context, step.doing)
    return lease


def _open(context: StageContext, step: str) -> None:
    """Open the file for the program, which never gets the password; LeaseLost where that ended the job."""
    try:
        opened(context, find_source(context))
    except ProviderError as error:
        lifecycle.end_after(context.queue, context.lease, error, step)
        raise LeaseLost from error


def context_of(services: Services, lease: Lease) -> StageContext:
    """The context in which a call of the program is carried out. The run's time limit is the watchdog's."""
    queue = services.settings.queue
    return StageContext(
        lease=lease,
        queue=services.queue,
        providers=services.providers,
        step_attempts=1,
        deadline=float("inf"),
        stopping=threading.Event(),
        job_attempts=queue.job_max_attempts,
        poll_attempts=queue.transcribe_poll_max_attempts,
        prices=Prices.of(services.settings),
        seal=services.seal,
    )


def saved(lease: Lease) -> Any:
    """What the program has saved with `save`; None for nothing."""
    text = _entry(lease.checkpoint).get("saved")
    return None if text is None else json.loads(text)


def save(context: StageContext, value: Mapping[str, Any]) -> None:
    """Store the program's own checkpoint. LeaseLost."""
    # As a text: what the program writes there is nobody else's business, and databases refuse some characters.
    _remember(context, saved=json.dumps(value))


def report(context: StageContext, progress: float) -> None:
    """Store how much of the step is done, from 0 to 1. LeaseLost."""
    context.current = _stage(context.lease).step
    _remember(context, progress)


def result_of(lease: Lease) -> StoredResult | None:
    """The result that the program has stored, in this attempt or an earlier one."""
    found = _entry(lease.checkpoint).get("result")
    return None if found is None else StoredResult(found["kind"], found["sha256"], found["size_bytes"])


def put(context: StageContext, data: bytes) -> StoredResult:
    """Check, clean and store the job's result; ValueError for what it can't be. LeaseLost.

    It is an artifact of the run, at a path that follows from its content; nothing reads it before the job is completed.
    """
    stage = _stage(context.lease)
    cleaned = stage.clean(context, data)
    path = artifact_path(context, f"http-{stage.writes}", cleaned, "json")
    context.providers.blobs.put_bytes(path, cleaned)
    stored = StoredResult(stage.writes, digest(data), len(data))
    before = _remember(context, result={**asdict(stored), "path": path}).get("result")
    if before is not None and before["path"] != path:
        with suppress(ProviderError):
            context.providers.blobs.delete(before["path"])
    return stored


def complete(context: StageContext) -> dict[str, Any]:
    """Take the result over, end the job and enqueue the next one, in one transaction. NoResult, LeaseLost."""
    path = _path(context.lease)
    if path is None:
        raise NoResult
    answer = {"status": JobStatus.COMPLETED.value, "next_stage": INDEX}
    _note_end(context, "complete", answer)
    _stage(context.lease).take_over(context, path)
    _log.info("%s of document %s: COMPLETED over HTTP", context.lease.stage, context.document_id)
    return answer


def fail(
    context: StageContext, code: str, message: str, *, permanent: bool, retry_after_seconds: float | None
) -> dict[str, Any]:
    """Count an attempt: the job is due again later, or its run fails. LeaseLost."""
    queue, lease, step = context.queue, context.lease, _stage(context.lease).step.doing
    is_about_file = code in ABOUT_THE_FILE
    is_last = permanent or is_about_file or lease.attempts + 1 >= lease.max_attempts
    answer = {"status": (JobStatus.FAILED if is_last else JobStatus.PENDING).value}
    _note_end(context, "fail", answer)
    # The next attempt begins the step anew.
    context.checkpoint.pop(WAITS_IN, None)
    error = JobError(code, message, step=step)
    with context.transaction():
        queue.checkpoint(lease, context.checkpoint)
        details = {"code": code, "message": scrubbed(message, MESSAGE_LENGTH_MAX), "attempt": lease.attempts + 1}
        ids = (lease.org_id, lease.document_id, lease.run_id)
        events.record(*ids, EventKind.STEP_FAILED, job_id=lease.job_id, step=step, details=details)
        if permanent or is_about_file:
            kind = FailureType.BAD_INPUT if is_about_file else FailureType.STEP_FAILED
            lifecycle.fail_run(queue, lease, kind, error)
        else:
            lifecycle.retry_or_fail(queue, lease, error, retry_after_seconds=retry_after_seconds)
    return answer


def release(context: StageContext) -> dict[str, Any]:
    """Hand the job back, no attempt counted. LeaseLost."""
    answer = {"status": JobStatus.PENDING.value}
    _note_end(context, "release", answer)
    context.checkpoint.pop(WAITS_IN, None)
    with context.transaction():
        context.queue.checkpoint(context.lease, context.checkpoint)
        lifecycle.release_job(context.queue, context.lease)
    return answer


def answered_before(job: JobSnapshot, lease_id: UUID, call: str) -> dict[str, Any] | None:
    """The answer of the same call, if it was this call that ended this lease."""
    ended = _entry(job.checkpoint).get("ended", {})
    return ended["answer"] if (ended.get("lease"), ended.get("call")) == (str(lease_id), call) else None


def codes() -> list[str]:
    """The codes that a failure may have."""
    return [EndCode.HTTP_WORKER_FAILED.value, *(code.value for code in ABOUT_THE_FILE)]


def _stage(lease: Lease) -> HttpStage:
    return HTTP_STAGES[lease.stage]


def _entry(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    return dict(checkpoint.get(HTTP_WORKER, {}))


def _path(lease: Lease) -> str | None:
    result = _entry(lease.checkpoint).get("result")
    return None if result is None else str(result["path"])


def _remember(context: StageContext, progress: float | None = None, **values: Any) -> dict[str, Any]:
    """Change the program's entry of the checkpoint; returns what it was. LeaseLost."""
    lease = context.lease
    with context.transaction():
        # Read under the lock: another call of the same program may have changed it.
        if present := context.queue.held(lease.job_id, lease.lease_id, HTTP_WORKERS):
            context.checkpoint.update(present.checkpoint)
        before = _entry(context.checkpoint)
        if "saved" in values:
            count_piece(context.checkpoint)
        context.remember(HTTP_WORKER, {**before, **values}, progress)
        return before


def _note_end(context: StageContext, call: str, answer: Mapping[str, Any]) -> None:
    """Note in the checkpoint, which the caller stores, what ends this lease."""
    ended = {"lease": str(context.lease.lease_id), "call": call, "answer": dict(answer)}
    context.checkpoint[HTTP_WORKER] = {**_entry(context.checkpoint), "ended": ended}
