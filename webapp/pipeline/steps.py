"""A stage's context, with the checkpointed step: compute without the database, then store under the lease.

What a step has done is committed before and after a paid call, when half a second of work would be lost, with the job's
last step, or at the end of the attempt. A process that is killed loses what is not committed.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from webapp import db
from webapp.accounts.seal import Seal
from webapp.clock import monotonic
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of
from webapp.documents import events
from webapp.documents.states import EventKind
from webapp.jobs.interruptions import Drained, OutOfTime, Snoozed, Waits
from webapp.jobs.queue import WAITS_FOR, JobQueue, Lease, LeaseLost
from webapp.jobs.sealed_passwords import PasswordSeal
from webapp.library.parts import TreeLimits
from webapp.pipeline.paid_calls.call_times import CallTimes
from webapp.pipeline.paid_calls.prices import Prices
from webapp.pipeline.unsaved import Stored, Unsaved, UnsavedBlob, raise_progress
from webapp.provider_errors import ProviderError, RateLimited
from webapp.providers.checked_post import CheckedPoster
from webapp.providers.ports import Providers
from webapp.runs import lifecycle
from webapp.runs.checkpoint import WAITS_IN, count_piece, note_pages
from webapp.runs.stages import Step, progress_at
from webapp.search.neighbours import Rules

Result = TypeVar("Result")

# Uncommitted work is saved after so long; with the saver's interval and the commit that is half a second.
SAVE_AFTER_SECONDS = 0.4
PROGRESS_EVERY_SECONDS = 1.0
RETRY_PAUSE_SECONDS = 1.0
RETRY_AFTER_SECONDS_MAX = 30.0
MESSAGE_LENGTH_MAX = 300
# The checkpoint's entry for the program that works the stage off over HTTP; the next stage's job does not inherit it.
HTTP_WORKER = "http_worker"


class Stopping(Protocol):
    """A flag that a signal sets: `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether the process was asked to stop."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for that, at most so long; returns whether it was asked."""


@dataclass
class StageContext:
    """Everything that a stage works with: lease, queue, providers, deadline, checkpoint."""

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
    times: CallTimes = field(default_factory=CallTimes)
    spend_per_day: float = 0.0
    pages_max: int = 0
    seal: PasswordSeal | None = None
    tree_limits: TreeLimits = field(default_factory=TreeLimits)
    poster: CheckedPoster = field(default_factory=CheckedPoster)
    webhook_seal: Seal | None = None
    current: Step | None = None
    checkpoint: dict[str, Any] = field(init=False)
    parsed: dict[str, Any] = field(init=False, default_factory=dict)
    """Parsed artifacts by path: an artifact never changes."""
    vectors: dict[str, NDArray[np.float32]] = field(init=False, default_factory=dict)
    """The vectors that this attempt computed on this machine, by the hash of their text."""
    made: dict[str, str] = field(init=False, default_factory=dict)
    """The paths of the artifacts that this attempt made, by their names."""
    unsaved_blobs: dict[str, UnsavedBlob] = field(init=False, default_factory=dict)
    save_after_seconds: float = field(default_factory=lambda: SAVE_AFTER_SECONDS)
    is_first_result: bool = False
    """Whether nothing of this document was published before, as far as the attempt has looked."""
    content_type: str | None = None
    """The kind of its file, as far as the attempt has looked."""
    has_paid: bool = False
    """Whether a paid call was made in the current step."""
    _unsaved: list[Unsaved] = field(init=False, default_factory=list)
    _saved_at: float = field(init=False, default_factory=monotonic)
    _saving: threading.RLock = field(init=False, default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.checkpoint = {
            "processing_stage": "pending",
            "completed_stages": [],
            "stage_timestamps": {},
            "artifacts": {},
            "progress": 0.0,
        } | {name: value for name, value in self.lease.checkpoint.items() if name != WAITS_FOR}

    @property
    def org_id(self) -> UUID:
        """The org of the job."""
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
        """The seconds until the run's deadline; never negative."""
        return max(0.0, self.deadline - monotonic())

    def artifact(self, name: str) -> str:
        """The path of an artifact that an earlier step made."""
        if name not in self.made and name not in self.checkpoint["artifacts"]:
            # The step that made it is not stored yet.
            self.save()
        return self.made.get(name) or str(self.checkpoint["artifacts"][name])

    def make(self, name: str, path: str, data: bytes, *, is_published: bool = False) -> None:
        """Store an artifact at this path with the next commit."""
        self.unsaved_blobs[path] = UnsavedBlob(data, is_published)
        self.made[name] = path

    def check(self) -> None:
        """Raise Drained or OutOfTime if the attempt has to stop; call it between two pieces of work."""
        if self.stopping.is_set():
            raise Drained
        if self.remaining_seconds() <= 0:
            raise OutOfTime

    @contextmanager
    def transaction(self, last: Unsaved | None = None) -> Iterator[Session]:
        """A write transaction under the job's lease; LeaseLost.

        Unsaved work is written first. `last` is the job's last step: it is stored only in the transaction in which the
        caller ends the job.
        """
        with self._saving, self._checkpoint_restored_unless_ended(last):
            self._saved_at = monotonic()
            self._store_blobs(ends_run=last is not None)
            with db.transaction(self.lease.org_id) as session:
                self.queue.fence(self.lease)
                unsaved, self._unsaved = self._unsaved, []
                try:
                    self._write(unsaved if last is None else [*unsaved, last])
                    yield session
                except BaseException:
                    self._unsaved = unsaved + self._unsaved
                    raise
                # A commit may have happened although its answer was lost, so nothing is written a second time.

    @contextmanager
    def _checkpoint_restored_unless_ended(self, last: Unsaved | None) -> Iterator[None]:
        """Undo the last step's change of the checkpoint if the job could not be ended."""
        before = dict(self.checkpoint)
        try:
            yield
        except BaseException:
            if last is not None:
                self.checkpoint.clear()
                self.checkpoint.update(before)
            raise

    def save(self) -> None:
        """Commit unsaved work."""
        with self.transaction():
            pass

    def save_if_due(self) -> None:
        """Commit unsaved work if the last commit was long enough ago."""
        if self._unsaved and monotonic() - self._saved_at >= self.save_after_seconds:
            self.save()

    def save_at_end(self) -> None:
        """Commit unsaved work before the end of the attempt; what can't be stored will be done again. LeaseLost."""
        try:
            if self._unsaved:
                self.save()
        except LeaseLost:
            raise
        except Exception as error:
            if trouble_of(error) not in {None, Trouble.FULL}:
                raise
            self._unsaved.clear()

    def later(self, store: Callable[[], None]) -> None:
        """Call this in the transaction of the next commit."""
        if self.current is not None:
            self._add(Unsaved(self.current, None, store=store))

    def progress(self, fraction: float) -> None:
        """Report how much of the current step is done (0 to 1); written about once a second at most.

        Temporary errors of the database are ignored here: it may be back before something must be stored.
        """
        step = self.current
        if step is None or monotonic() - self._saved_at < PROGRESS_EVERY_SECONDS:
            return
        try:
            with self.transaction():
                raise_progress(self.checkpoint, progress_at(self.lease.stage, step, fraction))
                self.queue.checkpoint(self.lease, self.checkpoint)
        except DATABASE_ERRORS as error:
            if trouble_of(error) is None:
                raise

    def remember(self, name: str, value: Any, fraction: float | None = None) -> None:
        """Write a step's own entry to the checkpoint, inside the caller's `transaction()`."""
        self.checkpoint[name] = value
        step = self.current
        if fraction is not None and step is not None:
            raise_progress(self.checkpoint, progress_at(self.lease.stage, step, fraction))
        self.queue.checkpoint(self.lease, self.checkpoint)

    def save_pages(self, done: int, total: int) -> None:
        """Commit that one window of pages more is saved, and how many pages are read now."""
        with self.transaction():
            count_piece(self.checkpoint)
            note_pages(self.checkpoint, done, total)
            self.queue.checkpoint(self.lease, self.checkpoint)

    def count_later(self) -> None:
        """Count one batch more with the next commit."""
        self.later(lambda: count_piece(self.checkpoint))

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
            self._reuse(step, end)
            return
        if self.checkpoint.pop(WAITS_IN, None) != step.doing:
            self._add(Unsaved(step, EventKind.STEP_STARTED))
        self.has_paid = False
        result = self._compute(step, compute)
        done = Unsaved(step, EventKind.STEP_SUCCEEDED, store=lambda: store(result))
        if end is not None:
            with self.transaction(done):
                end()
            return
        with self._saving:
            self._unsaved.append(done)
        if self.has_paid:
            self.save()
        else:
            self.save_if_due()

    def begin(self, step: Step) -> None:
        """Store that a step has begun whose result comes later, from elsewhere: `step` goes on with it. LeaseLost."""
        self.current = step
        self.checkpoint[WAITS_IN] = step.doing
        with self._saving:
            self._unsaved.append(Unsaved(step, EventKind.STEP_STARTED))
        self.save()

    def hand_on(self, stage: str, *, max_attempts: int | None = None, delay_seconds: float = 0) -> None:
        """End the job and enqueue that of the next stage with this checkpoint: the `end` of a stage's last step."""
        attempts = self.job_attempts if max_attempts is None else max_attempts
        checkpoint = {name: value for name, value in self.checkpoint.items() if name != HTTP_WORKER}
        lifecycle.hand_on(
            self.queue, self.lease, stage, max_attempts=attempts, checkpoint=checkpoint, delay_seconds=delay_seconds
        )

    def _reuse(self, step: Step, end: Callable[[], object] | None) -> None:
        reused = Unsaved(step, EventKind.STEP_REUSED, {"from": "checkpoint"})
        if end is None:
            self._add(reused)
            return
        # A stored last step ends its job. That it is done means that an earlier version had more steps behind it.
        with self.transaction(reused):
            end()

    def _is_done(self, step: Step) -> bool:
        if step.done not in self.checkpoint["completed_stages"]:
            return False
        if step.artifact is None:
            return True
        path = self.checkpoint["artifacts"].get(step.artifact)
        return path is not None and self.providers.blobs.exists(path)

    def _compute(self, step: Step, compute: Callable[[], Result]) -> Result:
        attempt = 1
        while True:
            try:
                return compute()
            except (Snoozed, Waits):
                # So that the next attempt goes on with this step without another STEP_STARTED.
                self.checkpoint[WAITS_IN] = step.doing
                raise
            except ProviderError as error:
                self._after_failure(step, error, attempt)
            attempt += 1

    def _after_failure(self, step: Step, error: ProviderError, attempt: int) -> None:
        """Wait and return if the step is to be tried again; else raise what ends the attempt."""
        pause = self._pause(error)
        details = {"code": str(error.code), "message": error.message[:MESSAGE_LENGTH_MAX], "attempt": attempt}
        if error.permanent or attempt >= self.step_attempts or pause is None:
            self._add(Unsaved(step, EventKind.STEP_FAILED, details))
            if self.remaining_seconds() <= 0 and not error.permanent:
                raise OutOfTime from error
            raise error
        if isinstance(error, RateLimited):
            # This attempt waits below; other jobs must not get the same refusal.
            self.queue.slow(self.lease.stage, pause)
        self._add(Unsaved(step, EventKind.STEP_RETRIED, details))
        if self.stopping.wait(pause):
            raise Drained from error

    def _pause(self, error: ProviderError) -> float | None:
        """How long to wait before the next try; None if the queue should retry, or it would be too late.

        While the job has attempts left, a Retry-After is left to the queue, which waits without occupying a worker.
        """
        pause = max(self.retry_pause_seconds, error.retry_after_seconds or 0.0)
        has_attempts = self.lease.attempts + 1 < self.lease.max_attempts
        if error.retry_after_seconds is not None and (has_attempts or pause > RETRY_AFTER_SECONDS_MAX):
            return None
        return pause if pause < self.remaining_seconds() else None

    def _add(self, unsaved: Unsaved) -> None:
        with self._saving:
            self._unsaved.append(unsaved)
        self.save_if_due()

    def _store_blobs(self, *, ends_run: bool) -> None:
        """Store the blobs first, so that a committed row never names a missing one."""
        for path, blob in list(self.unsaved_blobs.items()):
            if blob.is_published or not ends_run:
                self.providers.blobs.put_bytes(path, blob.data)
                del self.unsaved_blobs[path]

    def _write(self, unsaved: Sequence[Unsaved]) -> None:
        if not unsaved:
            return
        moment, lease = monotonic(), self.lease
        ids = (lease.org_id, lease.document_id, lease.run_id)
        lines = []
        for each in unsaved:
            stored = each.store()
            each.enter(self.checkpoint, lease.stage, stored, self.made)
            if kind := each.kind_of_line(stored):
                details, ago = stored.details if stored else each.details, each.seconds_before(moment)
                lines.append(
                    events.line(*ids, kind, job_id=lease.job_id, step=each.step.doing, details=details, seconds_ago=ago)
                )
        events.record_lines(lines)
        self.queue.checkpoint(lease, self.checkpoint)
