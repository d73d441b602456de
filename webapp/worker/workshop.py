"""All that works in one process, put together: pool, watchdog, registration."""

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from webapp.database_errors import DATABASE_ERRORS
from webapp.db import schema_is_current
from webapp.pipeline import retention
from webapp.wiring import Services
from webapp.worker import chores
from webapp.worker.attempt import Attempts, Handler, LightHandler
from webapp.worker.handlers import HANDLERS, LIGHT_HANDLERS
from webapp.worker.liveness import ForWork, Liveness
from webapp.worker.policy import ExecutionPolicy
from webapp.worker.pool import Pool, PoolSize
from webapp.worker.register import Registration
from webapp.worker.threads import AppContext
from webapp.worker.watchdog import Timer, Watchdog

_log = logging.getLogger(__name__)

_HOUR = 3600.0
_DAY = 24 * _HOUR
_SOON = 600.0
_SHORTLY = 10.0
_OVERDUE_PART = 1 / 24
_OLD_TABLES = "the database's tables are not up to date; waiting for: flask --app wsgi db upgrade"


class Application(Protocol):
    """What is needed of the Flask application; its database and its services hang on it."""

    extensions: dict[str, Any]

    @property
    def app_context(self) -> AppContext:
        """Opens a context for a thread that is no request."""


class Workshop:
    """Start it, drain it; `on_broken` is told, from any thread, when this process is of no use any more."""

    def __init__(
        self,
        app: Application,
        on_broken: Callable[[str], None],
        handlers: Mapping[str, Handler] = HANDLERS,
        light: Mapping[str, LightHandler] = LIGHT_HANDLERS,
    ) -> None:
        self._services: Services = app.extensions["docmill"]
        self._app_context = app.app_context
        self._ending = threading.Event()
        self._waits_for: str | None = None
        self._settings = self._services.settings
        self._policy = ExecutionPolicy.of(self._settings)
        self._registration = Registration(self._settings.worker_threads)
        self._pool = Pool(
            self._registration.name,
            Attempts(self._services, self._policy, handlers, light),
            self._app_context,
            PoolSize(self._settings.worker_threads, self._settings.poll_seconds),
            on_broken,
            may_work=self._is_believed,
            is_looked_for=self._is_looked_for,
        )
        self._watchdog = Watchdog(self._app_context, self._timers())
        # Where only one process works there is nobody to notice its death but the next start.
        self._liveness = None if self._settings.is_embedded else self._make_liveness(on_broken)

    def is_database_ready(self) -> bool:
        """Whether the tables are there and up to date; says why not, once for each reason."""
        try:
            with self._app_context():
                reason = None if schema_is_current() else _OLD_TABLES
        except DATABASE_ERRORS as error:
            reason = f"the database does not answer: {type(error).__name__}"
        if reason is not None and reason != self._waits_for:
            _log.warning(reason)
        self._waits_for = reason
        return reason is None

    def start(self) -> None:
        """Begin to work, on a database that is ready."""
        if self._policy.ends_orphans_at_start:
            with self._app_context():
                chores.end_orphans(self._services)
        if self._liveness is not None:
            self._liveness.start()
        self._pool.start()
        self._watchdog.start()
        _log.info("at work with %d threads as %s", self._settings.worker_threads, self._registration.name)

    def check(self) -> None:
        """Call every few seconds."""
        self._pool.check()

    def hurry(self) -> None:
        """Cut a drain short. Safe to call from a signal handler."""
        self._pool.hurry()

    def drain(self) -> bool:
        """Come to a good end; says whether all threads have."""
        self._ending.set()
        self._watchdog.stop()
        ended = self._pool.drain(self._settings.drain_seconds)
        if self._liveness is not None:
            self._liveness.stop()
        try:
            with self._app_context():
                self._registration.sign_off()
        except DATABASE_ERRORS as error:
            _log.warning("could not sign off: %s", type(error).__name__)
        _log.info("drained" if ended else "drained; a step that would not end is left behind")
        return ended

    def _is_believed(self) -> bool:
        """Whether others would leave a job in our hands."""
        return self._liveness is None or self._liveness.is_sure

    def _is_looked_for(self) -> bool:
        return self._liveness is not None and self._liveness.looks_for_work

    def _make_liveness(self, on_broken: Callable[[str], None]) -> Liveness:
        return Liveness(
            self._registration,
            self._services.queue,
            self._app_context,
            on_freed=self._pool.wake,
            on_lost=self._pool.doubt,
            on_broken=on_broken,
            on_work=self._pool.wake,
            for_work=ForWork(self._settings.poll_seconds, dict(self._settings.stage_limits)),
        )

    def _timers(self) -> list[Timer]:
        services, every = self._services, self._settings.watchdog_seconds
        window = self._policy.run_window_seconds
        others = Timer(
            "reset others", partial(chores.reset_others, services, self._registration.name), min(every, _SHORTLY)
        )
        return [
            *([others] if self._policy.ends_orphans_at_start else []),
            Timer("report", self._registration.report, self._settings.heartbeat_seconds),
            Timer("reset silent jobs", partial(chores.reset_silent, services), every),
            Timer(
                "end overdue runs",
                partial(chores.end_overdue, services, window),
                # A short window is worth little when its end is noticed a minute late.
                min(every, max(0.1, window * _OVERDUE_PART)),
            ),
            Timer("prune", partial(retention.prune, services, self._ending), _HOUR, _SOON),
            Timer("sweep incoming", partial(chores.sweep_incoming, services), _HOUR, _SOON),
            Timer("sweep orphans", partial(chores.sweep_orphans, services, self._ending.is_set), _DAY, 2 * _SOON),
            Timer("renew vectors", partial(chores.renew_vectors, services, self._ending.is_set), _DAY, _SOON),
            Timer("report missing", partial(chores.report_missing, services, self._ending.is_set), _DAY, 3 * _SOON),
        ]
