"""What a job, a lease and a queue are. Nothing here knows SQL.

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
from webapp.jobs.states import JobStatus, Priority

# The entry of a checkpoint that says why the job waits, where it waits for something outside of it.
WAITS_FOR = "waits_for"


class LeaseLost(Exception):
    """The job is no longer this worker's: it was reset, ended or given to another. Drop it."""


class AlreadyQueued(Exception):
    """The run has a live job of this stage already, or the job's id is taken. The transaction cannot go on."""


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
    """A job to enqueue, of a run or of an operation. One that `must_wait` is not due before `let_in`."""

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
    """For how long its run had been running when the job was claimed; 0 where it has succeeded already."""
    content_type: str | None = None
    """Of its document."""


@dataclass(frozen=True)
class JobError:
    """One entry of a job's error log. `message` is scrubbed and cut before it is stored."""

    code: str
    message: str
    exception: str | None = None
    step: str | None = None


@dataclass(frozen=True)
class JobSnapshot(_OfRun):
    """A job as it is now, for pages and programs."""

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


@dataclass(frozen=True)
class Reset(_OfRun):
    """What became of a job that was taken from its worker: PENDING again, or FAILED at its last attempt."""

    job_id: UUID
    org_id: UUID
    run: LiveRun | None
    status: JobStatus
    attempts: int
    locked_by: str | None


class StageQueue(Protocol):
    """What a stage needs while it works on a job.

    Methods that take a lease raise LeaseLost where the job is not the worker's own any more.
    """

    def fence(self, lease: Lease) -> None:
        """The first statement of a worker's transaction: LeaseLost unless the job is still its own."""

    def checkpoint(self, lease: Lease, checkpoint: Mapping[str, Any]) -> None:
        """Replace the job's checkpoint."""

    def complete(self, lease: Lease) -> None:
        """End the job: done."""

    def enqueue(self, jobs: Sequence[NewJob]) -> None:
        """Add jobs. A second live job of the same run and stage is refused: AlreadyQueued."""

    def snooze(self, lease: Lease, delay_seconds: float, checkpoint: Mapping[str, Any] | None = None) -> None:
        """Back to PENDING for a while without counting an attempt: the job waits for the outside world."""

    def slow(self, stage: str, retry_after_seconds: float | None = None) -> None:
        """A provider asked for patience: the whole stage rests, then begins again with one job at a time."""

    def pause(self, stage: str, reason: str | None = None, by: str | None = None) -> None:
        """Claim no more jobs of a stage (or of EVERY_STAGE); running ones go on. `reason` is a failure code.

        A stage that is paused already stays as it is, unless it is a person (`by`) who pauses it now.
        """


class WorkerQueue(StageQueue, Protocol):
    """What a worker needs beside that: claims, heartbeats, the ends of attempts, and jobs of dead workers."""

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        seats: Mapping[UUID, int] | None = None,
        stages: Collection[str] | None = None,
    ) -> list[Lease]:
        """Claim up to `limit` due jobs, of these stages or of all, and start their runs.

        The most urgent come first; of equally urgent ones those of the org with the fewest `seats` in this worker,
        then of the org that was served longest ago, then those that have been due longest.
        """

    def wake_delayed(self) -> int:
        """Make jobs due whose delay is over; counts them."""

    def heartbeat(self, leases: Sequence[Lease]) -> set[UUID]:
        """Renew leases; the ids of the jobs that are still the worker's own come back."""

    def fail(
        self, lease: Lease, error: JobError, *, permanent: bool = False, retry_after_seconds: float | None = None
    ) -> JobStatus:
        """Count an attempt: PENDING again after a backoff, or FAILED. LeaseLost as above."""

    def release(self, leases: Sequence[Lease]) -> set[UUID]:
        """Back to PENDING at once (a drain), no attempt counted; the ids of those that were still leased."""

    def held_by(self, worker: str) -> list[Lease]:
        """The jobs that a worker holds, also those of a claim whose answer it never got."""

    def reset_stale(self, silent_seconds: float, error: JobError, limit: int = 100) -> list[Reset]:
        """Take jobs from workers that sent no heartbeat for so long; each counts an attempt."""

    def reset_worker(self, worker: str, error: JobError, limit: int = 100) -> list[Reset]:
        """Take jobs from a worker that is known to be dead; each counts an attempt."""

    def wake(self, org_id: UUID, reason: str) -> int:
        """Make the delayed jobs of an org due that wait for this reason (WAITS_FOR); counts them."""

    def waiting_orgs(self, reason: str) -> list[UUID]:
        """The orgs that have such jobs."""

    def resume_after(self, stage: str, reasons: Collection[str]) -> bool:
        """Claim from a stage again if it was paused for one of these reasons; says whether it was."""

    def begun_runs(self, stage: str | None) -> list[UUID]:
        """The runs with a job of this stage (None: of any) that waits, after some job of the run was started."""

    def prune(self, older_than_seconds: float, *, after: UUID | None = None, limit: int = 500) -> Pruned:
        """Forget COMPLETED jobs that ended so long ago, looking at so many rows; `after` goes on with a pass."""


class JobQueue(WorkerQueue, Protocol):
    """What runs and ops need beside that: they end jobs, look at them, and control stages."""

    def let_in(self, run_id: UUID, since: datetime | None = None) -> int:
        """Make the waiting jobs of a run due, in order as if they had been due since `since`."""

    def fail_run(self, run_id: UUID, error: JobError) -> int:
        """End the live jobs of a run that was ended as failed: FAILED with this error."""

    def cancel_run(self, run_id: UUID) -> int:
        """End the live jobs of a run: CANCELLED."""

    def get(self, job_id: UUID) -> JobSnapshot | None:
        """One job, if this transaction may see it."""

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

    def of_run(self, run_id: UUID) -> list[JobSnapshot]:
        """The jobs of a run, oldest first."""

    def live_of_runs(self, run_ids: Sequence[UUID]) -> dict[UUID, JobSnapshot]:
        """The newest job of each run that has any, for a whole page at once."""

    def counts(self, org_id: UUID | None = None) -> dict[JobStatus, int]:
        """How many jobs are in each state, of one org or of all: each is counted, however many there are."""

    def counts_up_to_most(self, org_id: UUID | None = None) -> dict[JobStatus, Count]:
        """The same for pages: counting stops at some thousands."""

    def resume(self, stage: str, by: str | None = None) -> None:
        """Claim its jobs again, and at once: what a provider asked for is over, too."""

    def limit(self, stage: str, number: int | None, by: str | None = None) -> None:
        """Let at most so many jobs of a stage run at once; None: as the settings say.

        Fewer than one is refused with ValueError: that would be a pause.
        """

    def controls(self) -> dict[str, StageControl]:
        """What holds for each stage that is paused, limited or slowed."""

    def stage_counts(self, org_id: UUID | None = None) -> dict[str, StageCounts]:
        """The numbers of each stage's jobs, of one org (where counting stops at some thousands) or of all."""
