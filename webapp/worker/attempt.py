"""One attempt at one job, from the claim to exactly one outcome."""

import logging
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from webapp.clock import monotonic
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of
from webapp.documents.kinds import is_recording
from webapp.jobs.dispatch.interface import Dispatch
from webapp.jobs.interruptions import Drained, OutOfTime, Snoozed, WaitReason, Waits, WaitsForOthers
from webapp.jobs.queue import JobError, Lease, LeaseLost
from webapp.jobs.scrub import scrubbed
from webapp.jobs.states import JobStatus
from webapp.library.parts import TreeLimits
from webapp.pipeline.handlers import Handler
from webapp.pipeline.paid_calls.call_times import CallTimes
from webapp.pipeline.paid_calls.prices import Prices
from webapp.pipeline.steps import StageContext, Stopping
from webapp.pipeline.waiting import end_waiting, wait
from webapp.provider_errors import FailureCode, ProviderError
from webapp.runs import lifecycle, stage_pause, time_limit
from webapp.runs.lifecycle import EndCode
from webapp.search.neighbours import Rules
from webapp.services import Services
from webapp.worker.backoff import Backoff, spread
from webapp.worker.policy import ExecutionPolicy

_log = logging.getLogger(__name__)


# How long a job is delayed when the database was away: no attempt is counted, but the run's time goes on.
DATABASE_PAUSE_SECONDS = 5.0
# How long a job is delayed when the disk for files is full, which a person has to change.
FULL_PAUSE_SECONDS = 15.0
_LOGGED_CHARACTERS_MAX = 300


class Outcome(StrEnum):
    """How an attempt ends: always in exactly one of these ways."""

    COMPLETED = "COMPLETED"
    """Done; the handler ended the job with its last store."""
    RETRIED = "RETRIED"
    """Failed and counted; the job is PENDING again."""
    FAILED = "FAILED"
    """Failed for good, and its run with it."""
    SNOOZED = "SNOOZED"
    """Not counted; the job waits for something outside and is due again after a while."""
    RELEASED = "RELEASED"
    """Handed back in a drain, or because its stage was paused; not counted."""
    TIMED_OUT = "TIMED_OUT"
    """Its run exceeded its time limit. Where it had got on, a new run goes on."""
    LEASE_LOST = "LEASE_LOST"
    """The lease has ended, or is about to: the job is dropped, and nothing is written."""


@dataclass(frozen=True)
class Claimed:
    """A claimed job, and its run's deadline by this process's clock."""

    lease: Lease
    deadline: float


@dataclass(frozen=True)
class Attempts:
    """Claims jobs and makes attempts at them, with these services, policy and handlers."""

    services: Services
    policy: ExecutionPolicy
    handlers: Mapping[str, Handler]
    watch: Callable[[StageContext], AbstractContextManager[None]] = lambda context: nullcontext()
    """Stores what an attempt has done while it is still running (see Saver)."""

    def claim(
        self,
        worker: str,
        limit: int = 1,
        seats: Mapping[UUID, int] | None = None,
        dispatch: Dispatch | None = None,
    ) -> list[Claimed]:
        """Claim due jobs of the stages that have a handler here, as `dispatch` finds them (None: as the queue does)."""
        source = dispatch or self.services.queue
        leases = source.claim(worker, limit, seats=seats or {}, stages=self.handlers)
        return [claimed for lease in leases for claimed in self._claimed(lease)]

    def run(self, claimed: Claimed, stopping: Stopping) -> Outcome:
        """Make one attempt: call the stage's handler, and store how it ended."""
        context = self._context(claimed, stopping)
        with self.watch(context):
            error = self._work(context)
        outcome = Outcome.COMPLETED if error is None else self._store_end(context, error)
        return _note(claimed.lease, outcome, error, _step(context))

    def _claimed(self, lease: Lease) -> list[Claimed]:
        policy = self.policy
        timeout = (
            policy.recording_timeout_seconds if is_recording(lease.content_type or "") else policy.run_timeout_seconds
        )
        try:
            lease, waited = end_waiting(self.services.queue, lease)
        except LeaseLost:
            return []
        return [Claimed(lease, monotonic() + timeout - lease.run_seconds + waited)]

    def _context(self, claimed: Claimed, stopping: Stopping) -> StageContext:
        settings = self.services.settings
        return StageContext(
            lease=claimed.lease,
            queue=self.services.queue,
            providers=self.services.providers,
            step_attempts=self.policy.step_attempts,
            deadline=claimed.deadline,
            stopping=stopping,
            extract_timeout_seconds=settings.parsers.extract_timeout_seconds,
            job_attempts=self.policy.job_attempts,
            poll_attempts=self.policy.poll_attempts,
            linking=Rules(settings.connections.neighbours, settings.connections.threshold),
            prices=Prices.of(settings),
            times=CallTimes.of(settings),
            spend_per_day=settings.limits.spend_per_day,
            pages_max=settings.limits.pages_max,
            seal=self.services.seal,
            tree_limits=TreeLimits.of(settings),
            poster=self.services.poster,
            webhook_seal=self.services.webhook_seal,
        )

    def _work(self, context: StageContext) -> BaseException | None:
        """Call the handler; returns its error, or None: then the handler has ended the job with its last store."""
        try:
            self.handlers[context.lease.stage](context)
            return None
        # The only broad `except` of the worker: whatever goes wrong in a handler ends the attempt, not the thread.
        # BaseException, since a panic inside an extension module is no Exception.
        except BaseException as error:  # noqa: BLE001
            return error

    def _store_end(self, context: StageContext, error: BaseException) -> Outcome:
        """Store how the attempt ended; repeated while the database is away.

        A commit whose answer was lost may have happened. Then the lease has ended, so the second try changes nothing.
        """
        backoff = Backoff()
        while True:
            try:
                return self._end(context, error)
            except LeaseLost:
                return Outcome.LEASE_LOST
            except DATABASE_ERRORS as error_of_ours:
                if trouble_of(error_of_ours) is None:
                    # A bug. The watchdog takes the job back, or the run's time limit ends it.
                    _log.exception("the end of job %s cannot be stored", context.lease.job_id)
                    return Outcome.LEASE_LOST
                _log.warning("job %s waits for the database: %s", context.lease.job_id, type(error_of_ours).__name__)
                backoff.pause()

    def _end(self, context: StageContext, error: BaseException) -> Outcome:
        """Store the outcome that follows from this error, under the lease; LeaseLost."""
        queue, lease = self.services.queue, context.lease
        if isinstance(error, LeaseLost):
            raise error
        context.save_at_end()
        match error:
            case Drained():
                outcome = Outcome.RELEASED if lifecycle.release_job(queue, lease) else Outcome.LEASE_LOST
            case OutOfTime():
                time_limit.time_out_own_run(queue, lease, self.services.settings.queue.continue_max)
                outcome = Outcome.TIMED_OUT
            case WaitsForOthers() | Waits():
                wait(context, error)
                outcome = Outcome.SNOOZED
            case Snoozed(seconds=seconds):
                queue.snooze(lease, seconds, context.checkpoint)
                outcome = Outcome.SNOOZED
            case ProviderError() if stage_pause.is_about_the_account(error):
                stage_pause.pause_after(queue, lease, _job_error(context, error))
                outcome = Outcome.RELEASED
            case ProviderError(code=FailureCode.STORAGE_FULL):
                lifecycle.wait_for_space(queue, lease, spread(FULL_PAUSE_SECONDS))
                outcome = Outcome.SNOOZED
            case ProviderError():
                outcome = _OUTCOMES[lifecycle.end_after(queue, lease, error, _step(context))]
            case _ if trouble := trouble_of(error):
                self._wait_for_database(context, trouble)
                outcome = Outcome.SNOOZED
            case _:
                where = "".join(traceback.format_tb(error.__traceback__))
                _log.error("job %s failed unexpectedly: %s\n%s", lease.job_id, _words(error), where)
                wrong = JobError(EndCode.UNEXPECTED, _words(error), type(error).__name__, _step(context))
                outcome = _OUTCOMES[lifecycle.retry_or_fail(queue, lease, wrong)]
        return outcome

    def _wait_for_database(self, context: StageContext, trouble: Trouble) -> None:
        queue, lease = self.services.queue, context.lease
        if trouble is Trouble.FULL:
            wait(context, Waits(WaitReason.DATABASE_FULL))
        else:
            lifecycle.wait_for_database(queue, lease, trouble, spread(DATABASE_PAUSE_SECONDS))


_OUTCOMES = {JobStatus.PENDING: Outcome.RETRIED, JobStatus.FAILED: Outcome.FAILED}


def _job_error(context: StageContext, error: ProviderError) -> JobError:
    return JobError(error.code, error.message, type(error).__name__, _step(context))


def _words(error: BaseException) -> str:
    """The message of an unexpected error; not that of a database, which may quote rows, so people's texts."""
    if not isinstance(error, DATABASE_ERRORS):
        return scrubbed(_said(error), _LOGGED_CHARACTERS_MAX)
    own = getattr(error, "orig", None) or error
    code = getattr(own, "sqlstate", None) or getattr(own, "sqlite_errorname", None)
    return f"the database refused a statement: {type(own).__name__} {code or ''}".rstrip()


def _said(error: BaseException) -> str:
    try:
        return str(error)
    # A `__str__` that fails must not end the thread.
    except Exception:  # noqa: BLE001 - an error class of any library
        return type(error).__name__


def _step(context: StageContext) -> str | None:
    return context.current.doing if context.current else None


def _note(lease: Lease, outcome: Outcome, error: BaseException | None = None, step: str | None = None) -> Outcome:
    """Log one line for each attempt. The traceback of an unexpected error was logged before."""
    why = ""
    if isinstance(error, ProviderError):
        why = f" while {step}: {error.code}, {scrubbed(error.message, _LOGGED_CHARACTERS_MAX)}"
    elif outcome in {Outcome.RETRIED, Outcome.FAILED}:
        why = f" while {step}: {type(error).__name__}"
    of = f"document {lease.document_id}" if lease.run else f"operation {lease.operation_id}"
    _log.info("%s of %s: %s%s (job %s)", lease.stage, of, outcome, why, lease.job_id)
    return outcome
