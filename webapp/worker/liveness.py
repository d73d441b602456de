"""Death is noticed at once: each worker process holds a session's lock, and looks after those of the others.

A worker whose lock is free is dead, or cut off from the database: its jobs go back to the line. A frozen
one keeps its session and its lock; it loses its jobs by the rule of heartbeats, as does everyone behind
a pooler that shares sessions out.

Who looks at the others sees in the same statement whether any job is due, and says so: thus an idle process
asks the database one thing a poll, and not two.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from webapp.clock import monotonic
from webapp.database_errors import DATABASE_ERRORS
from webapp.db import db, reading, transaction
from webapp.jobs.queue import JobQueue
from webapp.pipeline import lifecycle
from webapp.worker import register
from webapp.worker.backoff import Backoff
from webapp.worker.register import Registration
from webapp.worker.session_lock import Look, SessionLock
from webapp.worker.threads import AppContext, Guarded

_log = logging.getLogger(__name__)

# Who was killed is missed within a look and a confirmation; that is as often as the poll, unless that is slow.
LOOK_SECONDS = 1.0
# One session can be lost by its own misfortune: its worker then has another a moment later.
CONFIRM_SECONDS = 0.25
# A restart of the server ends all sessions at once, and all who live come back. A lock that was free when our own
# session began may be one of those, so its owner gets more time. Later ones were held while our session lived.
STRANGER_SECONDS = 5.0
LEFTOVERS_SECONDS = 10.0
_LONGEST_END_SECONDS = 5.0


@dataclass(frozen=True)
class ForWork:
    """How to look whether any job is due: so often at least, and with these limits where ops set none."""

    poll_seconds: float = LOOK_SECONDS
    stage_limits: Mapping[str, int] = field(default_factory=dict)


class Liveness:
    """One thread. `is_sure` says whether others believe that this process lives: only then may it take jobs."""

    def __init__(
        self,
        registration: Registration,
        queue: JobQueue,
        app_context: AppContext,
        *,
        on_freed: Callable[[], None],
        on_lost: Callable[[], None],
        on_broken: Callable[[str], None],
        on_work: Callable[[], None] = lambda: None,
        for_work: ForWork | None = None,
    ) -> None:
        for_work = for_work or ForWork()
        self._registration = registration
        self._queue = queue
        self._app_context = app_context
        self._on_freed = on_freed
        self._on_lost = on_lost
        self._on_work = on_work
        self._look_seconds = min(LOOK_SECONDS, for_work.poll_seconds)
        self._ending = threading.Event()
        self._is_sure = threading.Event()
        self._strangers: frozenset[tuple[UUID, int]] | None = None
        self._suspects: dict[tuple[UUID, int], float] = {}
        self._leftovers_at = monotonic() + LEFTOVERS_SECONDS
        with app_context():
            self._lock = SessionLock(db.engine, for_work.stage_limits)
        self._has_lock = self._is_pooled = self._was_lost = False
        self._looked_at: float | None = None
        self._thread = Guarded("liveness", self._watch, on_broken)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End. The lock goes with it, so nothing may be in our hands any more."""
        self._ending.set()
        self._lock.nudge()
        self._thread.join(_LONGEST_END_SECONDS)
        self._lock.let_go()

    @property
    def is_sure(self) -> bool:
        """Whether this process is registered, and its lock held where locks mean something."""
        return self._is_sure.is_set()

    def wait_until_sure(self, seconds: float) -> bool:
        """Whether that came true within so long."""
        return self._is_sure.wait(seconds)

    @property
    def looks_for_work(self) -> bool:
        """Whether somebody has just looked whether anything is due, and will again: then nobody else needs to."""
        looked_at = self._looked_at
        return looked_at is not None and monotonic() - looked_at < 2 * self._look_seconds

    def _watch(self) -> None:
        backoff = Backoff()
        while not self._ending.is_set():
            try:
                with self._app_context():
                    self._turn()
            except DATABASE_ERRORS as error:
                had_lock = self._has_lock
                self._lose(error)
                # Who comes back at once is not missed by anybody.
                if not had_lock:
                    backoff.pause(self._ending)
            else:
                backoff.reset()
                self._lock.wait(self._pause())

    def _pause(self) -> float:
        if self._has_lock and self._strangers is None:
            # Who is free at the first look counts as a stranger, so it comes at once.
            return 0.0
        return CONFIRM_SECONDS if self._suspects else self._look_seconds

    def _turn(self) -> None:
        if self._is_pooled:
            self._sweep_leftovers()
            return
        if not self._has_lock:
            self._register()
            return
        look = self._lock.look(self._registration.id)
        if not look.is_known:
            # Somebody has struck us off the list, or removed our row: begin again under a new lock.
            self._was_lost = True
            self._register()
            return
        self._looked_at = monotonic()
        if look.is_due:
            self._on_work()
        for worker_id, lock_key in self._confirmed(look):
            self._bury(worker_id, lock_key)
        self._sweep_leftovers()

    def _register(self) -> None:
        lock_key = self._lock.acquire()
        self._registration.vouch(lock_key)
        self._has_lock, self._is_pooled = lock_key is not None, lock_key is None
        self._strangers, self._suspects = None, {}
        self._is_sure.set()
        # Until now the pool was not allowed to look.
        self._on_work()
        if self._is_pooled:
            _log.warning(
                "a pooler shares out the database's sessions: locks say nothing about who lives, so that a dead"
                " worker is known by its missing heartbeats alone. Give workers a direct address or session mode."
            )
        if self._was_lost:
            self._was_lost = False
            _log.warning("registered again; jobs that were taken meanwhile are let go")
            self._on_lost()

    def _lose(self, error: BaseException) -> None:
        """Without a lock others take us for dead, and rightly: nothing new is begun."""
        _log.warning("no session with the database: %s", type(error).__name__)
        if not self._is_pooled:
            self._is_sure.clear()
            self._was_lost = True
        self._has_lock, self._looked_at = False, None
        self._lock.let_go()

    def _confirmed(self, look: Look) -> list[tuple[UUID, int]]:
        """Those whose lock has been free for long enough."""
        present = monotonic()
        strangers = self._strangers = look.free if self._strangers is None else self._strangers
        self._suspects = {suspect: self._suspects.get(suspect, present) for suspect in look.free}
        return [
            suspect
            for suspect, since in self._suspects.items()
            if present - since >= (STRANGER_SECONDS if suspect in strangers else CONFIRM_SECONDS)
        ]

    def _bury(self, worker_id: UUID, lock_key: int) -> None:
        """Take its jobs back, all in one transaction; a row that its last statement still holds comes next time."""
        with transaction(everywhere=True):
            name = register.lock_dead(worker_id, lock_key)
            if name is None:
                return
            resets = lifecycle.reset_worker(self._queue, name)
            if not resets and not self._queue.held_by(name):
                register.close(worker_id)
        _log.warning("worker %s is dead; %d of its jobs are back in line", name, len(resets))
        if resets:
            self._on_freed()

    def _sweep_leftovers(self) -> None:
        if monotonic() < self._leftovers_at:
            return
        self._leftovers_at = monotonic() + LEFTOVERS_SECONDS
        with reading(everywhere=True):
            names = register.dead_with_jobs()
        for name in names:
            if lifecycle.reset_worker(self._queue, name):
                self._on_freed()
