"""Detects dead workers, so that their jobs are taken back within seconds.

Each worker process holds an advisory lock, which ends with its database session. The others look once a second
which locks are free (`LOOK_SECONDS`), look again after 0.25 s (`CONFIRM_SECONDS`), and then take the jobs of a
dead worker back. With BullMQ only the relay and its deputy do so (election.py). `decide` says who is dead; it knows
no database, thread or clock. A frozen worker keeps its session and its lock: it loses its jobs by its missing
heartbeats, as does every worker behind a pooler that shares sessions.
"""

import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from uuid import UUID

from sqlalchemy import Connection, Uuid, bindparam, text

from webapp.clock import monotonic
from webapp.db import session_url, transaction
from webapp.db.errors import DATABASE_ERRORS
from webapp.jobs.queue import JobQueue
from webapp.runs import lifecycle
from webapp.worker import worker_table
from webapp.worker.backoff import Backoff
from webapp.worker.election import Election, RelayRole
from webapp.worker.locks import AdvisoryLock
from webapp.worker.threads import Guarded
from webapp.worker.worker_table import Registration, WorkerLock

_log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
# So often the relay and its deputy look, who do so for all workers. One that takes the other's place has more to do
# before a job runs again.
LOOK_FOR_ALL_SECONDS = 0.5
# So often a worker looks that leaves the others to the relay and its deputy.
LOOK_AT_ITSELF_SECONDS = 2.0
# A live worker that lost its session has a new one within this time.
CONFIRM_SECONDS = 0.25
# A server restart ends all sessions at once. A lock that was free at our session's first look may be from before a
# restart, so its worker gets this time to come back. Any other lock was taken while our session lived.
RETURN_SECONDS = 5.0
_STOP_CHECK_SECONDS = 0.25
_LONGEST_STOP_SECONDS = 5.0


class Session(Enum):
    """Our database session, by which the others know that we are alive."""

    NONE = auto()
    """There is no session yet, or it was lost."""
    OWN = auto()
    """The session has our lock."""
    SHARED = auto()
    """A pooler shares the session with other clients, so locks mean nothing."""


@dataclass(frozen=True)
class Observation:
    """The result of one look at the locks."""

    session: Session
    is_registered: bool = False
    """Whether our own row names the lock that our session has."""
    unlocked: frozenset[WorkerLock] = frozenset()
    """The other workers whose lock is free."""


@dataclass(frozen=True)
class State:
    """What is remembered between two looks of the same session."""

    unlocked_at_first_look: frozenset[WorkerLock] | None = None
    """None before the first look."""
    suspected_since: Mapping[WorkerLock, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """What to do after a look."""

    state: State
    must_register: bool
    """Whether to take a new lock and register it; until that is done this worker claims no jobs."""
    dead: frozenset[WorkerLock]
    """The workers whose jobs are taken back."""
    look_again_seconds: float


def decide(seen: Observation, state: State, now: float, look_seconds: float = LOOK_SECONDS) -> Decision:
    """Decide which workers are dead, whether we must register, and when to look again."""
    if seen.session is Session.SHARED:
        return Decision(State(), must_register=False, dead=frozenset(), look_again_seconds=look_seconds)
    if seen.session is Session.NONE or not seen.is_registered:
        return Decision(State(), must_register=True, dead=frozenset(), look_again_seconds=0)
    at_first_look = seen.unlocked if state.unlocked_at_first_look is None else state.unlocked_at_first_look
    suspected_since = {worker: state.suspected_since.get(worker, now) for worker in seen.unlocked}
    dead = frozenset(
        worker
        for worker, since in suspected_since.items()
        if now - since >= (RETURN_SECONDS if worker in at_first_look else CONFIRM_SECONDS)
    )
    return Decision(
        State(at_first_look, suspected_since),
        must_register=False,
        dead=dead,
        look_again_seconds=CONFIRM_SECONDS if suspected_since else look_seconds,
    )


class Presence:
    """A thread that keeps this worker registered and takes back the jobs of dead ones.

    `wake` is called when jobs may be taken, `on_return` when the others may have taken ours while we had no lock. With
    an `election`, only the relay and its deputy watch the others, and all do so while `must_watch`.
    """

    def __init__(
        self,
        registration: Registration,
        queue: JobQueue,
        *,
        wake: Callable[[], None],
        on_return: Callable[[], None],
        on_broken: Callable[[str], None],
        look_seconds: float = LOOK_SECONDS,
        election: Election | None = None,
        must_watch: Callable[[], bool] = lambda: False,
    ) -> None:
        self._registration = registration
        self._queue = queue
        self._wake = wake
        self._on_return = on_return
        self._look_seconds = look_seconds
        self._election = election
        self._must_watch = must_watch
        self._is_watching = False
        self._session = Session.NONE
        self._lock = AdvisoryLock(session_url())
        self._state = State()
        self._is_registered = threading.Event()
        self._was_registered = False
        self._stopping = threading.Event()
        self._thread = Guarded("presence", self._run, on_broken)

    def start(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and release the lock; the process must not run any job by then."""
        self._stopping.set()
        self._thread.join(_LONGEST_STOP_SECONDS)
        self._end_session()

    @property
    def is_registered(self) -> bool:
        """Whether the others can see that this process is alive: only then may it claim jobs."""
        return self._is_registered.is_set()

    def _run(self) -> None:
        backoff = Backoff()
        while not self._stopping.is_set():
            try:
                wait_seconds = self._look()
            except DATABASE_ERRORS as error:
                _log.warning("cannot tell which workers are alive: %s", type(error).__name__)
                backoff.pause(self._stopping)
            else:
                backoff.reset()
                self._wait(wait_seconds)

    def _look(self) -> float:
        seen = self._observe()
        decision = decide(seen, self._state, monotonic(), self._look_again_seconds())
        self._state = decision.state
        if decision.must_register:
            self._is_registered.clear()
            self._register()
        for worker in decision.dead:
            self._take_jobs_back(worker)
        return decision.look_again_seconds

    def _look_again_seconds(self) -> float:
        if not self._is_watching:
            return max(self._look_seconds, LOOK_AT_ITSELF_SECONDS)
        is_for_all = self._election is not None and self._election.role is not RelayRole.NONE
        return min(self._look_seconds, LOOK_FOR_ALL_SECONDS) if is_for_all else self._look_seconds

    def _observe(self) -> Observation:
        self._note_whom_to_watch()
        if self._session is not Session.OWN:
            return Observation(self._session)
        try:
            if self._election is not None:
                self._election.look(self._lock.session)
                self._note_whom_to_watch()
            return _observe_others(self._lock.session, self._registration.id, everybody=self._is_watching)
        except DATABASE_ERRORS as error:
            _log.warning("the session that holds our lock was lost: %s", type(error).__name__)
            self._end_session()
            return Observation(Session.NONE)

    def _watches(self) -> bool:
        """Whether this process has to watch the others."""
        return self._election is None or self._election.role is not RelayRole.NONE or self._must_watch()

    def _note_whom_to_watch(self) -> None:
        watches = self._watches()
        if watches and not self._is_watching:
            # What is free at the first look at all locks may have been so for long.
            self._state = State()
        self._is_watching = watches

    def _register(self) -> None:
        """Take a lock and name it in our row; with a new key, since others may have seen the old one free."""
        self._end_session()
        if self._lock.is_shared():
            self._lock.release()
            self._session = Session.SHARED
            self._registration.register(None)
            _log.warning(
                "a pooler shares the database's sessions, so that locks don't show which workers are alive: the jobs"
                " of a dead worker go back by its missing heartbeats alone. Give workers a direct address"
                " or a pooler in session mode."
            )
        else:
            key = secrets.randbits(63)
            self._lock.acquire(key)
            self._session = Session.OWN
            self._registration.register(key)
        self._is_registered.set()
        self._wake()
        if self._was_registered:
            _log.warning("registered again; jobs that others took meanwhile are dropped")
            self._on_return()
        self._was_registered = True

    def _end_session(self) -> None:
        self._lock.release()
        self._session = Session.NONE
        if self._election is not None:
            self._election.lose()

    def _take_jobs_back(self, worker: WorkerLock) -> None:
        """Take its jobs back in one transaction; a row that a dying session has locked follows at the next look."""
        with transaction(everywhere=True):
            name = worker_table.lock_dead(worker)
            if name is None:
                return
            resets = lifecycle.reset_worker(self._queue, name)
            if not self._queue.held_by(name):
                worker_table.mark_ended(worker[0])
        _log.warning("worker %s is dead; %d of its jobs were taken back", name, len(resets))
        if resets:
            self._wake()

    def _wait(self, seconds: float) -> None:
        """Wait for so long, or until our session ends or the process stops."""
        until = monotonic() + seconds
        while not self._stopping.is_set() and (rest := until - monotonic()) > 0:
            # In short waits, since a socket and an Event can't be waited for together.
            if self._lock.wait_for_end(min(rest, _STOP_CHECK_SECONDS)) or self._watches() != self._is_watching:
                return


def _observe_others(connection: Connection, own_id: UUID, *, everybody: bool) -> Observation:
    """Look at the other workers' locks, or at our own alone, from the session that has it."""
    rows = connection.execute(_LOOK, {"own": own_id, "everybody": everybody}).all()
    return Observation(
        Session.OWN,
        is_registered=any(row.id == own_id and row.holder == row.own_pid for row in rows),
        unlocked=frozenset((row.id, row.lock_key) for row in rows if row.id != own_id and row.holder is None),
    )


# pg_locks shows the 64-bit key as two halves.
_LOOK = text("""
    SELECT w.id, w.lock_key, l.pid AS holder, pg_backend_pid() AS own_pid
    FROM workers w
    LEFT JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.classid = (w.lock_key >> 32)::oid AND l.objid = (w.lock_key & 4294967295)::oid
    WHERE w.lock_key IS NOT NULL AND w.ended_at IS NULL AND (:everybody OR w.id = :own)
""").bindparams(bindparam("own", type_=Uuid()))
