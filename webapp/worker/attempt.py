"""One attempt at one job, from the claim to exactly one outcome."""

import logging
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from webapp.clock import monotonic
from webapp.database_errors import DATABASE_ERRORS, trouble_of
from webapp.documents.starts import AtWork
from webapp.jobs.queue import JobError, Lease, LeaseLost
from webapp.jobs.scrub import scrubbed
from webapp.jobs.states import JobStatus
from webapp.pipeline import claiming, lifecycle, stage_pause
from webapp.pipeline.lifecycle import EndCode
from webapp.pipeline.prices import Prices
from webapp.pipeline.services import Services
from webapp.pipeline.steps import Drained, Snoozed, StageContext, Stopping, WindowExceeded
from webapp.providers.errors import FailureCode, ProviderError
from webapp.search.neighbours import Rules
from webapp.worker.backoff import Backoff, spread
from webapp.worker.policy import ExecutionPolicy

_log = logging.getLogger(__name__)

Handler = Callable[[StageContext], None]
# Keeps no rows, ends no job and starts no run: it returns when its work is done, and soon.
LightHandler = Callable[[Lease], None]

# The database was away: the job is not to blame, and the next try finds it back or ends with the window.
DATABASE_PAUSE_SECONDS = 5.0
# Nor is it where the disk for files is full, which takes a person to mend.
FULL_PAUSE_SECONDS = 15.0
_LOGGED_CHARACTERS_MAX = 300


class Outcome(StrEnum):
    """What becomes of an attempt. There is nothing else."""

    COMPLETED = "COMPLETED"
    """Done; the handler ended the job with its last store."""
    RETRIED = "RETRIED"
    """Failed; counted, and in line again."""
    FAILED = "FAILED"
    """Failed for good, and its run with it."""
    SNOOZED = "SNOOZED"
    """In line again after a while, not counted: it waits for the outside world."""
    RELEASED = "RELEASED"
    """Handed back in a drain, or because its stage was paused; not counted."""
    HELD = "HELD"
    """Its run may not start yet; it waits without being in line."""
    TIMED_OUT = "TIMED_OUT"
    """Its run exceeded its window."""
    LEASE_LOST = "LEASE_LOST"
    """The job is not ours any more (or is about to be taken from us): dropped without a word."""


@dataclass(frozen=True)
class Claimed:
    """A job in our hands, and the moment (of this process's clock) at which its run's window ends."""

    lease: Lease
    deadline: float


@dataclass(frozen=True)
class Attempts:
    """Makes attempts: with these services, under this policy, by these handlers."""

    services: Services
    policy: ExecutionPolicy
    handlers: Mapping[str, Handler]
    light: Mapping[str, LightHandler] = field(default_factory=dict)

    def claim(self, worker: str, limit: int = 1, busy: Mapping[UUID, int] | None = None) -> list[Claimed]:
        """Take due jobs and start their runs, in one transaction: a job in hand has a run at work."""
        in_hand = claiming.claim(self.services.queue, worker, limit, busy=busy, without=self.light)
        for lease in in_hand.refused:
            _note(lease, Outcome.HELD)
        return [self._claimed(lease, at_work) for lease, at_work in in_hand.started]

    def claim_light(self, worker: str, limit: int) -> list[Lease]:
        """Take due jobs of light stages."""
        return self.services.queue.claim(worker, limit, only=self.light)

    def run_light(self, lease: Lease) -> bool:
        """Work on a light job; True when all went well, and somebody has to complete it."""
        try:
            self.light[lease.stage](lease)
            return True
        # As broad as the one below, and for the same reason.
        except BaseException as error:  # noqa: BLE001
            context = self._context(Claimed(lease, monotonic() + self.policy.run_window_seconds), threading.Event())
            _note(lease, self._settle(context, error), error, None)
            return False

    def run(self, claimed: Claimed, stopping: Stopping) -> Outcome:
        """Work on a job until it ends in some way, and see to it that this end is stored."""
        context = self._context(claimed, stopping)
        error = self._work(context)
        outcome = Outcome.COMPLETED if error is None else self._settle(context, error)
        return _note(claimed.lease, outcome, error, _step(context))

    def _claimed(self, lease: Lease, run: AtWork) -> Claimed:
        policy = self.policy
        window = policy.recording_window_seconds if run.is_recording else policy.run_window_seconds
        return Claimed(lease, monotonic() + window - run.seconds_running)

    def _context(self, claimed: Claimed, stopping: Stopping) -> StageContext:
        settings = self.services.settings
        return StageContext(
            lease=claimed.lease,
            queue=self.services.queue,
            providers=self.services.providers,
            step_attempts=self.policy.step_attempts,
            deadline=claimed.deadline,
            stopping=stopping,
            extract_timeout_seconds=settings.extract_timeout_seconds,
            job_attempts=self.policy.job_attempts,
            poll_attempts=self.policy.poll_attempts,
            linking=Rules(settings.connection_neighbours, settings.connection_threshold),
            prices=Prices.of(settings),
        )

    def _work(self, context: StageContext) -> BaseException | None:
        """Do the work. A handler ends its job with its last store, so there is nothing to say when all went well."""
        try:
            self.handlers[context.lease.stage](context)
            return None
        # The broadest in the product: whatever goes wrong in a handler is the end of this
        # attempt, stored with the job, and not the end of the thread that made it. As broad as
        # can be, since a panic inside an extension module is no Exception.
        except BaseException as error:  # noqa: BLE001
            return error

    def _settle(self, context: StageContext, error: BaseException) -> Outcome:
        """Store the end, for as long as it takes the database to come back.

        A commit whose answer was lost may have happened; then the lease is gone, and the second
        try finds that out and changes nothing.
        """
        backoff = Backoff()
        while True:
            try:
                return self._end(context, error)
            except LeaseLost:
                return Outcome.LEASE_LOST
            except DATABASE_ERRORS as error_of_ours:
                if trouble_of(error_of_ours) is None:
                    # A mistake of ours. The watchdog takes the job back, or the run's window ends it.
                    _log.exception("the end of job %s cannot be stored", context.lease.job_id)
                    return Outcome.LEASE_LOST
                _log.warning("job %s waits for the database: %s", context.lease.job_id, type(error_of_ours).__name__)
                backoff.pause()

    def _end(self, context: StageContext, error: BaseException) -> Outcome:
        """What an attempt ends with, by what it raised. Each end is fenced: LeaseLost."""
        queue, lease = self.services.queue, context.lease
        match error:
            case LeaseLost():
                raise error
            case Drained():
                outcome = Outcome.RELEASED if lifecycle.release_job(queue, lease) else Outcome.LEASE_LOST
            case WindowExceeded():
                lifecycle.time_out_own_run(queue, lease)
                outcome = Outcome.TIMED_OUT
            case Snoozed(seconds=seconds):
                queue.snooze(lease, seconds, context.checkpoint)
                outcome = Outcome.SNOOZED
            case ProviderError() if stage_pause.is_about_the_account(error):
                stage_pause.pause_after(queue, lease, _job_error(context, error))
                outcome = Outcome.RELEASED
            case ProviderError(code=FailureCode.STORAGE_FULL):
                lifecycle.wait_for_room(queue, lease, spread(FULL_PAUSE_SECONDS))
                outcome = Outcome.SNOOZED
            case ProviderError():
                outcome = _OUTCOMES[lifecycle.end_after(queue, lease, error, _step(context))]
            case _ if trouble := trouble_of(error):
                lifecycle.wait_for_database(queue, lease, trouble, spread(DATABASE_PAUSE_SECONDS))
                outcome = Outcome.SNOOZED
            case _:
                where = "".join(traceback.format_tb(error.__traceback__))
                _log.error("job %s failed unexpectedly: %s\n%s", lease.job_id, _words(error), where)
                wrong = JobError(EndCode.UNEXPECTED, _words(error), type(error).__name__, _step(context))
                outcome = _OUTCOMES[lifecycle.retry_or_fail(queue, lease, wrong)]
        return outcome


_OUTCOMES = {JobStatus.PENDING: Outcome.RETRIED, JobStatus.FAILED: Outcome.FAILED}


def _job_error(context: StageContext, error: ProviderError) -> JobError:
    return JobError(error.code, error.message, type(error).__name__, _step(context))


def _words(error: BaseException) -> str:
    """What an unexpected error says; a database's own message may quote a row, which is people's text."""
    if not isinstance(error, DATABASE_ERRORS):
        return scrubbed(_said(error), _LOGGED_CHARACTERS_MAX)
    own = getattr(error, "orig", None) or error
    code = getattr(own, "sqlstate", None) or getattr(own, "sqlite_errorname", None)
    return f"the database refused a statement: {type(own).__name__} {code or ''}".rstrip()


def _said(error: BaseException) -> str:
    try:
        return str(error)
    # It must not end the thread in place of the attempt.
    except Exception:  # noqa: BLE001 - of somebody else's making, and with mistakes of its own
        return type(error).__name__


def _step(context: StageContext) -> str | None:
    return context.current.doing if context.current else None


def _note(lease: Lease, outcome: Outcome, error: BaseException | None = None, step: str | None = None) -> Outcome:
    """One line for each attempt. An unexpected error has left its traceback above."""
    why = ""
    if isinstance(error, ProviderError):
        why = f" while {step}: {error.code}, {scrubbed(error.message, _LOGGED_CHARACTERS_MAX)}"
    elif outcome in {Outcome.RETRIED, Outcome.FAILED}:
        why = f" while {step}: {type(error).__name__}"
    _log.info("%s of document %s: %s%s (job %s)", lease.stage, lease.document_id, outcome, why, lease.job_id)
    return outcome
