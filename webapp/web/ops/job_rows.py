"""Jobs as ops sees them: in lists, in searches, and each on a page of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from webapp.accounts import actors
from webapp.jobs.queue import JobSnapshot
from webapp.jobs.states import JobStatus
from webapp.web import sentences
from webapp.web.ops import figures
from webapp.web.sentences import Sentence


@dataclass(frozen=True)
class ErrorRow:
    """One failed attempt of a job."""

    at: datetime | None
    attempt: int | None
    step: str | None
    code: str | None
    exception: str | None
    message: str
    worker: str | None


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
    resolution: str | None
    resolved_at: datetime | None
    resolved_by: str | None
    """By name; None where nobody did it, or somebody who is not of this org."""


def job_rows(org: UUID, found: Iterable[JobSnapshot]) -> list[JobRow]:
    """The jobs with the names of their files and of who resolved them, inside of a transaction about this org."""
    found = list(found)
    names = figures.filenames(org, {job.document_id for job in found if job.run})
    people = actors.names(org, [job.resolved_by for job in found])
    return [_row(job, names.get(job.document_id, "") if job.run else "", people) for job in found]


def for_programs(job: JobRow) -> dict[str, Any]:
    """Programs read the states as they are stored."""
    return {**vars(job), "status": job.status.upper()}


def _row(job: JobSnapshot, filename: str, people: Mapping[str, str]) -> JobRow:
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
        failure=sentences.failure(job.error_code) if job.status is JobStatus.FAILED else None,
        errors=tuple(_error_row(entry) for entry in job.error_log),
        resolution=job.resolution,
        resolved_at=job.resolved_at,
        resolved_by=people.get(job.resolved_by) if job.resolved_by else None,
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
        worker=entry.get("worker"),
    )
