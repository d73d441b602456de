"""The interface of the letterbox: what any queue under Docmill must do.

It speaks of jobs and leases, not of SQL. An implementation that shares the database with the
rest joins the transaction that its caller has open (`webapp.db.transaction`), so that a job is
enqueued or completed together with the rows it is about.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from webapp.clock import new_id
from webapp.jobs.along import Along
from webapp.jobs.controls import StageControl, StageCounts
from webapp.jobs.states import JobStatus, Priority
from webapp.pruning import Pruned

Found = TypeVar("Found")


class LeaseLost(Exception):
    """The job is no longer this worker's: it was reset, ended or given to another. Drop it."""


class AlreadyQueued(Exception):
    """The run has a live job of this stage already, or the job's id is taken. The transaction cannot go on."""


@dataclass(frozen=True)
class NewJob:
    """A job to enqueue. A held one waits until `unhold` says that its run may start."""

    org_id: UUID
    document_id: UUID
    run_id: UUID
    stage: str
    max_attempts: int
    payload: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    priority: int = Priority.PERSON
    delay_seconds: float = 0
    held: bool = False
    id: UUID = field(default_factory=new_id)


@dataclass(frozen=True)
class Lease:
    """A worker's right to one job, and the job as it was when claimed."""

    job_id: UUID
    lease_id: UUID
    org_id: UUID
    document_id: UUID
    run_id: UUID
    stage: str
    payload: Mapping[str, Any]
    checkpoint: Mapping[str, Any]
    attempts: int
    max_attempts: int
    priority: int


@dataclass(frozen=True)
class JobError:
    """One entry of a job's error log. `message` is scrubbed and cut before it is stored."""

    code: str
    message: str
    exception: str | None = None
    step: str | None = None


@dataclass(frozen=True)
class Job:
    """A job as it stands, for pages and programs."""

    id: UUID
    org_id: UUID
    document_id: UUID
    run_id: UUID
    stage: str
    status: JobStatus
    priority: int
    payload: Mapping[str, Any]
    checkpoint: Mapping[str, Any]
    attempts: int
    max_attempts: int
    available_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    heartbeat_at: datetime | None
    completed_at: datetime | None
    locked_by: str | None
    error_log: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Reset:
    """What became of a job whose worker fell silent: PENDING again, or FAILED at its last attempt."""

    job_id: UUID
    org_id: UUID
    document_id: UUID
    run_id: UUID
    status: JobStatus
    attempts: int
    locked_by: str | None


class JobQueue(Protocol):
    """Durable jobs, each held by at most one worker at a time."""

    def enqueue(self, jobs: Sequence[NewJob]) -> None:
        """Add jobs. A second live job of the same run and stage is refused: AlreadyQueued."""

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        busy: Mapping[UUID, int] | None = None,
        only: Collection[str] | None = None,
        without: Collection[str] = (),
    ) -> list[Lease]:
        """Take up to `limit` due jobs: the most urgent first, of equally urgent ones those of the org whose turn it is.

        An org's own jobs come in the order in which they became due. `busy` says how many of this worker's seats
        each org has; stages may be chosen. A large claim may bring fewer than there are, but not none.
        """

    def claim_along(
        self,
        along: Along[Found],
        worker: str,
        limit: int = 1,
        *,
        busy: Mapping[UUID, int] | None = None,
        without: Collection[str] = (),
    ) -> list[tuple[Lease, Found]]:
        """Claim, and in the same stroke do what is said of others' rows: both, or neither where that raises.

        Not inside of another transaction, which could not go on then.
        """

    def heartbeat(self, leases: Sequence[Lease]) -> set[UUID]:
        """Say that this worker lives; the ids of the jobs that it still holds come back."""

    def fence(self, lease: Lease) -> None:
        """The first statement of a worker's transaction: LeaseLost unless the job is still its own."""

    def checkpoint(self, lease: Lease, checkpoint: Mapping[str, Any]) -> None:
        """Replace the job's checkpoint. LeaseLost as above."""

    def complete(self, lease: Lease) -> None:
        """End the job: done. LeaseLost as above."""

    def complete_many(self, leases: Sequence[Lease]) -> set[UUID]:
        """End many jobs at once: done; the ids of those that were still held. No LeaseLost."""

    def fail(
        self, lease: Lease, error: JobError, *, permanent: bool = False, retry_after_seconds: float | None = None
    ) -> JobStatus:
        """Count an attempt: PENDING again after a backoff, or FAILED. LeaseLost as above."""

    def snooze(self, lease: Lease, delay_seconds: float, checkpoint: Mapping[str, Any] | None = None) -> None:
        """Back to PENDING for a while without counting an attempt: the job waits for the outside world."""

    def hold(self, lease: Lease) -> None:
        """Back to PENDING until `unhold`: its run may not start yet. No attempt is counted.

        Done in the transaction that found so, under the lock that the end of the run before takes as
        well: otherwise `unhold` could come first, and the job would wait for ever.
        """

    def release(self, leases: Sequence[Lease]) -> set[UUID]:
        """Back to PENDING at once (a drain), no attempt counted; the ids that were still held."""

    def unhold(self, run_id: UUID, since: datetime | None = None) -> int:
        """Let the held jobs of a run be claimed, in line as if they had been due since `since`."""

    def reset_stale(self, silent_seconds: float, error: JobError, limit: int = 100) -> list[Reset]:
        """Take jobs back from workers that were silent for so long; each counts an attempt."""

    def reset_worker(self, worker: str, error: JobError, limit: int = 100) -> list[Reset]:
        """Take jobs back from a worker that is known to be dead; each counts an attempt."""

    def held_by(self, worker: str) -> list[Lease]:
        """The jobs in a worker's hands: also those of a claim whose answer it never got."""

    def fail_run(self, run_id: UUID, error: JobError) -> int:
        """End the live jobs of a run that was ended as failed: FAILED with this error."""

    def cancel_run(self, run_id: UUID) -> int:
        """End the live jobs of a run: CANCELLED."""

    def get(self, job_id: UUID) -> Job | None:
        """One job, if this transaction may see it."""

    def find(
        self,
        org_id: UUID,
        status: JobStatus | None = None,
        *,
        stage: str | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[Job]:
        """An org's jobs (in a state, of a stage), newest first; `before` is the last id of the page before."""

    def of_run(self, run_id: UUID) -> list[Job]:
        """The jobs of a run, oldest first."""

    def live_of_runs(self, run_ids: Sequence[UUID]) -> dict[UUID, Job]:
        """The newest job of each run that has any: where the run stands, for a whole page at once."""

    def counts(self, org_id: UUID | None = None) -> dict[JobStatus, int]:
        """How many jobs stand in each state, of one org or of all."""

    def pause(self, stage: str, reason: str | None = None, by: str | None = None) -> None:
        """Take no more jobs of a stage (or of EVERY_STAGE); what is at work goes on. `reason` is a failure code."""

    def resume(self, stage: str, by: str | None = None) -> None:
        """Take its jobs again, and at once: what a provider asked for is over, too."""

    def limit(self, stage: str, number: int | None, by: str | None = None) -> None:
        """Let at most so many jobs of a stage be at work at once; None: as the settings say.

        Fewer than one is refused with ValueError: that would be a pause.
        """

    def slow(self, stage: str, retry_after_seconds: float | None = None) -> None:
        """A provider asked for patience: the whole stage rests, then begins again with one job at a time."""

    def controls(self) -> dict[str, StageControl]:
        """What holds for each stage that is paused, limited or slowed."""

    def stage_counts(self, org_id: UUID | None = None) -> dict[str, StageCounts]:
        """How the stages stand, of one org or of all."""

    def begun_runs(self, stage: str | None) -> list[UUID]:
        """The runs whose job of this stage (None: of any) waits after it, or one before it, was at work."""

    def prune(self, older_than_seconds: float, *, after: UUID | None = None, limit: int = 500) -> Pruned:
        """Forget COMPLETED jobs that ended so long ago, looking at so many rows; `after` goes on with a pass."""
