"""Jobs, leases and the interface of the queue, without SQL.

The queue shares the database with everything else: its methods join the transaction that the caller has open
(`webapp.db.transaction`), so that a job is enqueued or completed together with the rows it is about. Three interfaces
say what is needed of it: by stages, by workers, and by ops.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from webapp.clock import new_id
from webapp.db.bounded import Count
from webapp.db.pruning import Pruned
from webapp.documents.states import LiveRun
from webapp.jobs.controls import StageControl, StageCounts
from webapp.jobs.states import JobStatus, Priority, Resolution

# The checkpoint's entry for why the job waits (a WaitReason).
WAITS_FOR = "waits_for"
# How the names of programs begin that hold leases over HTTP. No host has a name like this.
HTTP_WORKERS = "http/"


class LeaseLost(Exception):
    """The worker's lease has ended: the job was reset, ended or claimed by another worker. Drop it."""


class AlreadyQueued(Exception):
    """The run has a live job of this stage already, or the job's id exists. The transaction cannot go on."""


class _OfRun:
    """The ids of a job's run. An operation's job has no run, and raises LookupError for these."""

    run: LiveRun | None

    @property
    def run_id(self) -> UUID:
        """The run that the job belongs to."""
        return self._run().id

    @property
    def document_id(self) -> UUID:
        """The document of its run."""
        return self._run().document_id

    def _run(self) -> LiveRun:
        if self.run is None:
            raise LookupError("the job belongs to an operation, which has neither run nor document")
        return self.run


@dataclass(frozen=True)
class NewJob(_OfRun):
    """A job to enqueue, of a run or of an operation. One that `must_wait` becomes due by `let_in`."""

    org_id: UUID
    run: LiveRun | None
    stage: str
    max_attempts: int
    payload: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    priority: int = Priority.PERSON
    delay_seconds: float = 0
    must_wait: bool = False
    operation_id: UUID | None = None
    sealed_password: bytes | None = field(default=None, repr=False)
    id: UUID = field(default_factory=new_id)


@dataclass(frozen=True)
class Lease(_OfRun):
    """A worker's right to one job, and the job as it was when claimed."""

    job_id: UUID
    lease_id: UUID
    org_id: UUID
    run: LiveRun | None
    operation_id: UUID | None
    stage: str
    payload: Mapping[str, Any]
    checkpoint: Mapping[str, Any]
    attempts: int
    max_attempts: int
    priority: int
    run_seconds: float = 0.0
    """How long its run had been running when the job was claimed; 0 where the run has succeeded already."""
    content_type: str | None = None
    """The content type of its document."""


@dataclass(frozen=True)
class JobError:
    """One entry of a job's error log. `message` is scrubbed and cut before it is stored."""

    code: str
    message: str
    exception: str | None = None
    step: str | None = None


@dataclass(frozen=True)
class JobSnapshot(_OfRun):
    """A job as it was when it was read, for pages and programs."""

    id: UUID
    org_id: UUID
    run: LiveRun | None
    operation_id: UUID | None
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
    error_code: str | None = None
    """Of a failed job, the code of its last error."""
    resolution: Resolution | None = None
    resolved_at: datetime | None = None
    resolved_by: str | None = None


@dataclass(frozen=True)
class Reset(_OfRun):
    """A job that was taken back from its worker: PENDING again, or FAILED at its last attempt."""

    job_id: UUID
    org_id: UUID
    run: LiveRun | None
    status: JobStatus
    attempts: int
    locked_by: str | None
    operation_id: UUID | None = None


class StageQueue(Protocol):
    """The methods of the queue that stages use.

    Methods that take a lease raise LeaseLost where that lease has ended.
    """

    def fence(self, lease: Lease) -> None:
        """Check and lock the lease, as the first statement of a worker's transaction; LeaseLost."""

    def checkpoint(self, lease: Lease, checkpoint: Mapping[str, Any]) -> None:
        """Replace the job's checkpoint."""

    def sealed_password(self, lease: Lease) -> bytes | None:
        """The sealed password of the document's file that the job has; None where it has none any more."""

    def forget_password(self, lease: Lease) -> None:
        """Remove the job's sealed password. The end of the job, or of a counted attempt, removes it as well."""

    def complete(self, lease: Lease) -> None:
        """End the job as COMPLETED."""

    def enqueue(self, jobs: Sequence[NewJob]) -> None:
        """Add jobs; AlreadyQueued for a second live job of the same run and stage."""

    def snooze(self, lease: Lease, delay_seconds: float, checkpoint: Mapping[str, Any] | None = None) -> None:
        """Delay the job without counting an attempt: PENDING, and due again after so long."""

    def slow(self, stage: str, retry_after_seconds: float | None = None) -> None:
        """Stop claiming from a stage for a while, as a provider asked; then begin again with one job at a time."""

    def pause(self, stage: str, reason: str | None = None, by: str | None = None) -> None:
        """Stop claiming from a stage (or from EVERY_STAGE); running jobs go on. `reason` is a failure code.

        A pause that exists stays as it is, unless a person (`by`) pauses the stage now.
        """


class WorkerQueue(StageQueue, Protocol):
    """The methods that workers use as well: claims, heartbeats, ends of attempts, jobs of dead workers."""

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        seats: Mapping[UUID, int] | None = None,
        stages: Collection[str] | None = None,
        org_id: UUID | None = None,
        among: Collection[UUID] | None = None,
    ) -> list[Lease]:
        """Claim up to `limit` due jobs, of these stages or of all, and start their runs.

        The most urgent come first; of equally urgent ones those of the org with the fewest `seats` in this worker,
        then of the org that was served longest ago, then those that have been due longest.
        With `org_id` no other org's jobs are considered, and with `among` (on PostgreSQL) no other jobs.
        """

    def wake_delayed(self) -> int:
        """Make the jobs due whose delay is over; returns how many."""

    def heartbeat(self, leases: Sequence[Lease]) -> set[UUID]:
        """Renew leases; returns the ids of the jobs whose lease had not ended."""

    def fail(
        self, lease: Lease, error: JobError, *, permanent: bool = False, retry_after_seconds: float | None = None
    ) -> JobStatus:
        """Count an attempt: PENDING again after a backoff, or FAILED. LeaseLost as above."""

    def release(self, leases: Sequence[Lease]) -> set[UUID]:
        """Hand jobs back: PENDING and due, no attempt counted; returns the ids of those that were still leased."""

    def held_by(self, worker: str) -> list[Lease]:
        """The jobs that a worker has leases for, also those of a claim whose answer it never got."""

    def held(self, job_id: UUID, lease_id: UUID, workers: str) -> Lease | None:
        """A job as it is now, if it still has this lease, and its holder's name begins with `workers`."""

    def reset_stale(self, silent_seconds: float, error: JobError, limit: int = 100) -> list[Reset]:
        """Take jobs back from workers that sent no heartbeat for so long; each counts an attempt."""

    def reset_stale_http(self, silent_seconds: float, error: JobError, limit: int = 100) -> list[Reset]:
        """Do so for programs that work over HTTP alone, which have a limit of their own."""

    def reset_worker(self, worker: str, error: JobError, limit: int = 100) -> list[Reset]:
        """Take jobs back from a worker that is known to be dead; each counts an attempt."""

    def wake(self, org_id: UUID, reason: str) -> int:
        """Make an org's jobs due that are delayed for this reason (WAITS_FOR); returns how many."""

    def waiting_orgs(self, reason: str) -> list[UUID]:
        """The orgs that have jobs delayed for this reason."""

    def resume_after(self, stage: str, reasons: Collection[str]) -> bool:
        """Resume a stage if it is paused for one of these reasons; returns whether it was."""

    def begun_runs(self, stage: str | None) -> list[UUID]:
        """The runs with a waiting job of this stage (None: of any) that have been worked on before."""

    def prune(self, older_than_seconds: float, *, after: UUID | None = None, limit: int = 500) -> Pruned:
        """Delete jobs that ended so long ago, among the next `limit` rows from `after` on.

        A FAILED one is kept for as long as it can be retried: until its document has a newer run.
        """


class JobQueue(WorkerQueue, Protocol):
    """The whole queue: also the methods that end jobs from outside, show them, and control stages."""

    def let_in(self, run_id: UUID, since: datetime | None = None) -> int:
        """Make the waiting jobs of a run due, ordered as if they had been due since `since`."""

    def fail_run(self, run_id: UUID, error: JobError) -> int:
        """End the live jobs of a failed run as FAILED, with this error."""

    def cancel_run(self, run_id: UUID) -> int:
        """End the live jobs of a run as CANCELLED."""

    def cancel_runs(self, run_ids: Sequence[UUID]) -> int:
        """End the live jobs of several runs as CANCELLED."""

    def cancel_job(self, job_id: UUID) -> bool:
        """End a job as CANCELLED, without a run; False where it had ended."""

    def get(self, job_id: UUID) -> JobSnapshot | None:
        """One job; None where there is none that this transaction may see."""

    def find(
        self,
        org_id: UUID,
        status: JobStatus | None = None,
        *,
        stage: str | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[JobSnapshot]:
        """An org's jobs (in a state, of a stage), newest first; `before` is the last id of the page before."""

    def of_ids(self, ids: Sequence[UUID]) -> list[JobSnapshot]:
        """These jobs, newest first; those that are gone are left out."""

    def of_run(self, run_id: UUID) -> list[JobSnapshot]:
        """The jobs of a run, oldest first."""

    def of_runs(self, run_ids: Sequence[UUID]) -> list[JobSnapshot]:
        """The jobs of these runs, oldest first."""

    def live_of_runs(self, run_ids: Sequence[UUID]) -> dict[UUID, JobSnapshot]:
        """The newest job of each of these runs, with one query for a whole page."""

    def counts(self, org_id: UUID | None = None) -> dict[JobStatus, int]:
        """How many jobs are in each state, of one org or of all; exact, however many there are."""

    def counts_up_to_most(self, org_id: UUID | None = None) -> dict[JobStatus, Count]:
        """How many jobs are in each state, for pages: counting stops at some thousands.

        Of the failed ones those that are open.
        """

    def resume(self, stage: str, by: str | None = None) -> None:
        """End a stage's pause and its slowing: its jobs may be claimed at once."""

    def limit(self, stage: str, number: int | None, by: str | None = None) -> None:
        """Let at most so many jobs of a stage run at once; None: as the settings say.

        ValueError below 1: that would be a pause.
        """

    def controls(self) -> dict[str, StageControl]:
        """The control of each stage that is paused, limited or slowed."""

    def running(self) -> dict[str, int]:
        """How many jobs of each stage are PROCESSING, of all orgs that this transaction may see."""

    def stage_counts(self, org_id: UUID | None = None) -> dict[str, StageCounts]:
        """The numbers of each stage's jobs, of one org (where counting stops at some thousands) or of all."""
