"""The worker part of a process: its threads, its presence and its timers, started and stopped together."""

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from webapp import wiring
from webapp.db import row_security, schema_is_current
from webapp.db.errors import DATABASE_ERRORS
from webapp.db.half_sent import end_half_sent
from webapp.jobs.dispatch.database import DatabaseDispatch
from webapp.library import blob_marks
from webapp.library.sources.polling import poll_due
from webapp.pipeline.handlers import HANDLERS, Handler
from webapp.provider_errors import ProviderError
from webapp.runs import retention
from webapp.services import Services
from webapp.statistics.counting import count_ended
from webapp.worker import chores
from webapp.worker.attempt import Attempts
from webapp.worker.policy import ExecutionPolicy
from webapp.worker.pool import Pool, PoolSize
from webapp.worker.presence import LOOK_SECONDS, Presence
from webapp.worker.saver import Saver
from webapp.worker.watchdog import Timer, Watchdog
from webapp.worker.worker_table import Registration

if TYPE_CHECKING:
    from webapp.worker.bullmq import BullMQ

_log = logging.getLogger(__name__)

# A check is cheap: it looks at clocks and flags alone.
_CHECK_SECONDS = 1.0
_MINUTE = 60.0
_HOUR = 3600.0
_DAY = 24 * _HOUR
_SOON = 600.0
_SHORTLY = 10.0
_REREAD_SECONDS = 10.0
_SPACE_SECONDS = 10.0
_SOURCES_SECONDS = 2.0
_SPENDING_SECONDS = 300.0
_OVERDUE_PART = 1 / 24
_OLD_TABLES = "the database's tables are not up to date; waiting for: flask --app wsgi db upgrade"
_NO_ROLE = (
    "row-level security does not apply to the database role, and the role to serve as is not ready; "
    "waiting for: flask --app wsgi db upgrade"
)


class WorkerProcess:
    """Everything that runs jobs in one process. Start, check and drain it from threads that can use the database.

    `on_broken` is called, from any thread, when this process can't go on.
    """

    def __init__(
        self,
        services: Services,
        on_broken: Callable[[str], None],
        handlers: Mapping[str, Handler] = HANDLERS,
    ) -> None:
        self._services = services
        self._ending = threading.Event()
        self._waits_for: str | None = None
        self._refusal: str | None = None
        self._settings = self._services.settings
        self._policy = ExecutionPolicy.of(self._settings)
        wanted = self._settings.queue.worker_stages or handlers
        handlers = {stage: handler for stage, handler in handlers.items() if stage in wanted}
        self.check_seconds: float = min(_CHECK_SECONDS, self._settings.queue.heartbeat_seconds)
        stages = self._settings.queue.worker_stages or None
        self._registration = Registration(self._settings.queue.worker_threads, stages)
        self._saver = Saver(on_broken)
        self._bullmq = self._make_bullmq(on_broken) if self._settings.dispatch.uses_bullmq else None
        self._pool = Pool(
            self._registration.name,
            Attempts(self._services, self._policy, handlers, self._saver.watch),
            self._bullmq.dispatch if self._bullmq else DatabaseDispatch(self._services.queue),
            PoolSize(self._settings.queue.worker_threads, self._settings.queue.poll_seconds),
            on_broken,
            may_work=self._may_take_jobs,
        )
        # Embedded there is no other process that could detect a death; the next start does.
        self._presence = None if self._settings.is_embedded else self._make_presence(on_broken)
        self._watchdog = Watchdog(self._timers())
        # With threads of its own: a slow network folder must not hold up the other chores.
        poll = partial(poll_due, services, self._ending.is_set)
        self._sources = Watchdog([Timer("poll sources", poll, _SOURCES_SECONDS, _SOURCES_SECONDS)])

    def refusal_of_redis(self) -> str | None:
        """Why this process should not be started: Redis is needed, and can't be used as the settings say."""
        return self._bullmq.refusal() if self._bullmq else None

    def is_database_ready(self) -> bool:
        """Whether the tables are there and up to date; logs why not, once for each reason."""
        try:
            reason = self._what_upgrade_lacks()
            # Asked for here, too, since the database may go away again at any moment.
            self._refusal = None if reason or self._settings.is_embedded else self._find_refusal()
        except DATABASE_ERRORS as error:
            reason = f"the database does not answer: {type(error).__name__}"
        if reason is not None and reason != self._waits_for:
            _log.warning(reason)
        self._waits_for = reason
        return reason is None

    def reason_to_refuse(self) -> str | None:
        """Why no jobs may be run on the database that was found ready; None where they may."""
        return self._refusal

    def start(self) -> None:
        """Start running jobs; the database must be ready."""
        if self._policy.ends_orphans_at_start:
            chores.end_orphans(self._services)
        if self._presence is not None:
            self._leave_mark()
            self._presence.start()
        self._saver.start()
        if self._bullmq is not None:
            self._bullmq.start()
        self._pool.start()
        self._watchdog.start()
        self._sources.start()
        _log.info("working with %d threads as %s", self._settings.queue.worker_threads, self._registration.name)

    def check(self) -> None:
        """Check the threads. Call it every `check_seconds`, from a thread that does nothing else."""
        self._pool.check()

    def hurry(self) -> None:
        """Cut a drain short. Safe to call from a signal handler."""
        self._pool.hurry()

    def drain(self) -> bool:
        """Let running jobs end, or hand them back; returns whether all threads have ended."""
        self._ending.set()
        self._watchdog.stop()
        self._sources.stop()
        if self._bullmq is not None:
            self._bullmq.stop()
        ended = self._pool.drain(self._settings.queue.drain_seconds)
        self._saver.stop()
        if self._presence is not None:
            self._presence.stop()
        try:
            self._registration.sign_off()
        except DATABASE_ERRORS as error:
            _log.warning("could not sign off: %s", type(error).__name__)
        else:
            self._remove_mark()
        _log.info("drained" if ended else "drained, except for a step that did not end in time")
        return ended

    def _leave_mark(self) -> None:
        """Show other machines that this process has its files where they have theirs."""
        try:
            blob_marks.leave(self._services.providers.blobs, self._registration.id)
        except ProviderError as error:
            _log.warning("the mark of this worker was not stored: %s", error.message)

    def _remove_mark(self) -> None:
        if self._presence is not None:
            with suppress(ProviderError):
                blob_marks.remove(self._services.providers.blobs, self._registration.id)

    def _find_refusal(self) -> str | None:
        found, refusal = row_security.fault(), row_security.refusal(self._settings)
        notice = row_security.notice()
        if found and not refusal:
            _log.warning(found)
        if notice:
            _log.info(notice)
        return refusal

    def _what_upgrade_lacks(self) -> str | None:
        """Why `flask db upgrade` has to run first (the Procfile's web process runs it); None where it has."""
        if not schema_is_current():
            return _OLD_TABLES
        return _NO_ROLE if row_security.awaits_upgrade(self._settings) else None

    def _may_take_jobs(self) -> bool:
        """Whether jobs may be claimed: the others can see that we are alive, and won't take them back."""
        return self._presence is None or self._presence.is_registered

    def _make_bullmq(self, on_broken: Callable[[str], None]) -> "BullMQ":
        queues = wiring.bull_queues(self._settings)
        # Its packages are not part of every installation.
        from webapp.worker.bullmq import BullMQ  # noqa: PLC0415

        return BullMQ(self._settings, self._services.queue, queues, self._registration.name, on_broken)

    def _make_presence(self, on_broken: Callable[[str], None]) -> Presence:
        bullmq = self._bullmq
        return Presence(
            self._registration,
            self._services.queue,
            wake=self._pool.wake,
            on_return=self._pool.beat_soon,
            on_broken=on_broken,
            look_seconds=min(LOOK_SECONDS, self._settings.queue.poll_seconds),
            election=bullmq.election if bullmq else None,
            must_watch=lambda: bullmq is not None and bullmq.dispatch.is_by_database,
        )

    def _timers(self) -> list[Timer]:
        services, every = self._services, self._settings.queue.watchdog_seconds
        timeout = self._policy.run_timeout_seconds
        only_worker = self._registration.name if self._policy.ends_orphans_at_start else None
        return [
            Timer("reset gone", partial(chores.reset_gone, services, only_worker), min(every, _SHORTLY)),
            Timer("end half-sent statements", end_half_sent, min(every, _SHORTLY)),
            Timer("report", self._registration.report, self._settings.queue.heartbeat_seconds),
            Timer("reset silent jobs", partial(chores.reset_silent, services), every),
            Timer(
                "reset silent http workers",
                partial(chores.reset_silent_http, services),
                min(every, _SHORTLY, self._settings.queue.http_worker_silent_seconds / 4),
            ),
            Timer("book lost calls", partial(chores.book_lost_calls, services), every),
            Timer(
                "end overdue runs",
                partial(chores.end_overdue, services, timeout),
                # Often enough for a short time limit.
                min(every, max(0.1, timeout * _OVERDUE_PART)),
            ),
            Timer("resume with space", partial(chores.resume_with_space, services), _SPACE_SECONDS, _SHORTLY),
            Timer("wake spenders", partial(chores.wake_spenders, services), _SPENDING_SECONDS, _SHORTLY),
            Timer("count ended jobs", count_ended, _MINUTE, _SHORTLY),
            Timer("watch the disk", partial(chores.watch_disk, services), _MINUTE, _SHORTLY),
            Timer("prune", partial(retention.prune, services, self._ending), _HOUR, _SOON),
            Timer("sweep incoming", partial(chores.sweep_incoming, services), _HOUR, _SOON),
            Timer("purge the bin", partial(chores.purge_bin, services, self._ending.is_set), _MINUTE, _SHORTLY),
            Timer("send held events", partial(chores.send_held, services, self._ending.is_set), _MINUTE, _SHORTLY),
            Timer("sweep exports", partial(chores.sweep_exports, services, self._ending.is_set), _HOUR, _SOON),
            Timer("sweep replaced", partial(chores.sweep_replaced, services, self._ending.is_set), _HOUR, _SOON),
            *self._timers_beside_others(),
            Timer("sweep orphans", partial(chores.sweep_orphans, services, self._ending.is_set), _DAY, 2 * _SOON),
            Timer("renew vectors", partial(chores.renew_vectors, services, self._ending.is_set), _DAY, _SOON),
            Timer("index words", partial(chores.index_words, self._ending.is_set), _DAY, _SOON),
            Timer("read anew", partial(chores.read_anew, services, self._ending.is_set), _REREAD_SECONDS, _SOON),
            Timer("report missing", partial(chores.report_missing, services, self._ending.is_set), _DAY, 3 * _SOON),
        ]

    def _timers_beside_others(self) -> list[Timer]:
        """The timers of a process that may have others on other machines."""
        if self._presence is None:
            return []
        return [
            Timer("report workers elsewhere", partial(chores.report_workers_elsewhere, self._services), _HOUR),
            Timer("sweep marks", partial(chores.sweep_marks, self._services), _DAY, _SOON),
        ]
