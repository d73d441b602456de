"""The checkpointed step: compute without the database, then store under the lease, all or nothing."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from uuid import UUID

from sqlalchemy.orm import Session

from webapp import db
from webapp.clock import monotonic, utc_now
from webapp.database_errors import DATABASE_ERRORS, trouble_of
from webapp.documents import events
from webapp.documents.states import EventKind
from webapp.jobs.queue import JobQueue, Lease
from webapp.pipeline.prices import Prices
from webapp.pipeline.stages import Step, progress_at
from webapp.providers.errors import ProviderError, RateLimited
from webapp.providers.ports import Providers
from webapp.search.neighbours import Rules

Result = TypeVar("Result")

PROGRESS_EVERY_SECONDS = 1.0
RETRY_PAUSE_SECONDS = 1.0
RETRY_AFTER_SECONDS_MAX = 30.0
MESSAGE_LENGTH_MAX = 300
# The checkpoint's entry for the step in which a job went to wait for the outside world.
WAITS_IN = "waits_in"


class Drained(Exception):
    """The process was asked to stop; the finished steps are saved, and the job may be handed back."""


class WindowExceeded(Exception):
    """The run's time is over; no further step is begun."""


class Snoozed(Exception):
    """The job waits for the outside world: it wants to be claimed again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


class Stopping(Protocol):
    """A flag that a signal sets: `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether the process was asked to stop."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for that, at most so long; True when it was asked."""


@dataclass(frozen=True)
class Stored:
    """What a step's store tells the checkpoint and the timeline."""

    artifacts: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    reused: bool = False


@dataclass
class StageContext:
    """All that a stage works with: its job, the providers, the time it has, and its checkpoint."""

    lease: Lease
    queue: JobQueue
    providers: Providers
    step_attempts: int
    deadline: float
    stopping: Stopping
    retry_pause_seconds: float = RETRY_PAUSE_SECONDS
    extract_timeout_seconds: float = float("inf")
    job_attempts: int = 5
    poll_attempts: int = 20
    linking: Rules = field(default_factory=Rules)
    prices: Prices = field(default_factory=Prices)
    current: Step | None = None
    checkpoint: dict[str, Any] = field(init=False)
    parsed: dict[str, Any] = field(init=False, default_factory=dict)
    """What artifacts say, by their paths: their content never changes."""
    _progress_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.checkpoint = {
            "processing_stage": "pending",
            "completed_stages": [],
            "stage_timestamps": {},
            "artifacts": {},
            "progress": 0.0,
        } | dict(self.lease.checkpoint)

    @property
    def org_id(self) -> UUID:
        """Whose document it is."""
        return self.lease.org_id

    @property
    def document_id(self) -> UUID:
        """The document that is processed."""
        return self.lease.document_id

    @property
    def run_id(self) -> UUID:
        """The run that this job is a part of."""
        return self.lease.run_id

    def remaining_seconds(self) -> float:
        """What is left of the run's window; never negative."""
        return max(0.0, self.deadline - monotonic())

    def artifact(self, name: str) -> str:
        """The path of a blob that an earlier step saved."""
        return str(self.checkpoint["artifacts"][name])

    def check(self) -> None:
        """Between two pieces of work: Drained or WindowExceeded where no more may be begun."""
        if self.stopping.is_set():
            raise Drained
        if self.remaining_seconds() <= 0:
            raise WindowExceeded

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A write transaction that does nothing unless the job is still this worker's."""
        with db.transaction(self.lease.org_id) as session:
            self.queue.fence(self.lease)
            yield session

    def progress(self, fraction: float) -> None:
        """Say how much of the current step is done (0 to 1); written about once a second at most.

        A database that is away ends no work by it: it may be back before there is something to store.
        """
        step = self.current
        if step is None or monotonic() - self._progress_at < PROGRESS_EVERY_SECONDS:
            return
        self._progress_at = monotonic()
        try:
            with self.transaction():
                self._save(self._bar(step, fraction))
        except DATABASE_ERRORS as error:
            if trouble_of(error) is None:
                raise

    def remember(self, name: str, value: Any, fraction: float | None = None) -> None:
        """Keep something of a step's own in the checkpoint, as part of the caller's `transaction()`."""
        self.checkpoint[name] = value
        step = self.current
        self._save(self.checkpoint["progress"] if fraction is None or step is None else self._bar(step, fraction))

    def step(
        self,
        step: Step,
        compute: Callable[[], Result],
        store: Callable[[Result], Stored],
        end: Callable[[], object] | None = None,
    ) -> None:
        """Do one step, unless an earlier attempt did: compute, then store and checkpoint in one transaction.

        `end` runs last in that transaction, after the checkpoint: the last step of a job ends
        the job there, and an ended job takes no checkpoint any more.
        """
        self.check()
        self.current = step
        if self._is_done(step):
            self._record(EventKind.STEP_REUSED, step, {"from": "checkpoint"})
            return
        if self.checkpoint.pop(WAITS_IN, None) != step.doing:
            self._begin(step)
        result = self._compute(step, compute)
        with self.transaction():
            stored = store(result)
            self._finish(step, stored)
            if end is not None:
                end()

    def _is_done(self, step: Step) -> bool:
        if step.done not in self.checkpoint["completed_stages"]:
            return False
        if step.artifact is None:
            return True
        path = self.checkpoint["artifacts"].get(step.artifact)
        return path is not None and self.providers.blobs.exists(path)

    def _begin(self, step: Step) -> None:
        with self.transaction():
            self._event(EventKind.STEP_STARTED, step, {})
            self._stamp(step.doing)
            self._save(self._bar(step, 0.0))
        self._progress_at = monotonic()

    def _compute(self, step: Step, compute: Callable[[], Result]) -> Result:
        attempt = 1
        while True:
            try:
                return compute()
            except Snoozed:
                # Coming back is no new beginning: the next attempt goes on with this step.
                self.checkpoint[WAITS_IN] = step.doing
                raise
            except ProviderError as error:
                self._after_failure(step, error, attempt)
            attempt += 1

    def _after_failure(self, step: Step, error: ProviderError, attempt: int) -> None:
        """Return when the step is to be tried again; raise what the attempt ends with otherwise."""
        pause = self._pause(error)
        details = {"code": str(error.code), "message": error.message[:MESSAGE_LENGTH_MAX], "attempt": attempt}
        if error.permanent or attempt >= self.step_attempts or pause is None:
            self._record(EventKind.STEP_FAILED, step, details)
            if self.remaining_seconds() <= 0 and not error.permanent:
                raise WindowExceeded from error
            raise error
        if isinstance(error, RateLimited):
            # This try waits for itself; the others must not run into the same answer.
            self.queue.slow(self.lease.stage, pause)
        self._record(EventKind.STEP_RETRIED, step, details)
        if self.stopping.wait(pause):
            raise Drained from error

    def _pause(self, error: ProviderError) -> float | None:
        """How long to wait before the second try; None where it is left to the queue, or is too late.

        A provider that asks for patience is not asked again by this thread while the job has
        attempts left: the queue then waits without holding a worker.
        """
        pause = max(self.retry_pause_seconds, error.retry_after_seconds or 0.0)
        has_attempts = self.lease.attempts + 1 < self.lease.max_attempts
        if error.retry_after_seconds is not None and (has_attempts or pause > RETRY_AFTER_SECONDS_MAX):
            return None
        return pause if pause < self.remaining_seconds() else None

    def _finish(self, step: Step, stored: Stored) -> None:
        self.checkpoint["artifacts"] = dict(self.checkpoint["artifacts"]) | dict(stored.artifacts)
        done = [name for name in self.checkpoint["completed_stages"] if name != step.done]
        self.checkpoint["completed_stages"] = [*done, step.done]
        self._stamp(step.done)
        self._save(self._bar(step, 1.0))
        kind = EventKind.STEP_REUSED if stored.reused else EventKind.STEP_SUCCEEDED
        self._event(kind, step, dict(stored.details))

    def _bar(self, step: Step, fraction: float) -> float:
        return round(progress_at(self.lease.stage, step, fraction), 4)

    def _stamp(self, name: str) -> None:
        self.checkpoint["processing_stage"] = name
        self.checkpoint["stage_timestamps"] = dict(self.checkpoint["stage_timestamps"]) | {name: utc_now().isoformat()}

    def _save(self, progress: float) -> None:
        self.checkpoint["progress"] = progress
        self.queue.checkpoint(self.lease, self.checkpoint)

    def _record(self, kind: EventKind, step: Step, details: dict[str, Any]) -> None:
        with self.transaction():
            self._event(kind, step, details)

    def _event(self, kind: EventKind, step: Step, details: dict[str, Any]) -> None:
        lease = self.lease
        events.record(
            lease.org_id,
            lease.document_id,
            lease.run_id,
            kind,
            job_id=lease.job_id,
            step=step.doing,
            details=details or None,
        )
