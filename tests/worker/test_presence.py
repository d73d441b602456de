"""Dead workers: what is decided from each look, as a table; then who takes whose jobs back, on a real server."""

from collections.abc import Callable, Iterator
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import delete, select, update

from tests.conftest import DatabaseUnderTest
from tests.worker.bench import Bench, finish, wait_for
from webapp.db import reading, transaction
from webapp.jobs.model import Worker
from webapp.jobs.states import JobStatus
from webapp.worker.presence import CONFIRM_SECONDS, LOOK_SECONDS, Observation, Presence, Session, State, decide
from webapp.worker.worker_table import Registration, WorkerLock

A, A_AGAIN, B = (UUID(int=1), 11), (UUID(int=1), 12), (UUID(int=2), 21)
NO_SESSION, POOLER = Observation(Session.NONE), Observation(Session.SHARED)
NO_ROW = Observation(Session.OWN, is_registered=False, unlocked=frozenset({A}))

NOBODY: frozenset[WorkerLock] = frozenset()
REGISTER = (True, NOBODY, 0.0)
QUIET = (False, NOBODY, LOOK_SECONDS)
SUSPECT = (False, NOBODY, CONFIRM_SECONDS)


def unlocked(*workers: WorkerLock) -> Observation:
    """Our session and our row are as they should be, and these other workers hold no lock."""
    return Observation(Session.OWN, is_registered=True, unlocked=frozenset(workers))


def dead(*workers: WorkerLock) -> tuple[bool, frozenset[WorkerLock], float]:
    return (False, frozenset(workers), CONFIRM_SECONDS)


# Each step: when, what is seen; whether we must register, who is dead, how soon to look again.
CASES = {
    "the start": [(0.0, NO_SESSION, REGISTER)],
    "nobody else": [(0.0, unlocked(), QUIET), (1.0, unlocked(), QUIET)],
    "our row is missing, or was marked as ended": [(0.0, unlocked(), QUIET), (1.0, NO_ROW, REGISTER)],
    "a lock is free once": [(0.0, unlocked(), QUIET), (1.0, unlocked(A), SUSPECT)],
    "too soon to confirm": [(0.0, unlocked(), QUIET), (1.0, unlocked(A), SUSPECT), (1.2, unlocked(A), SUSPECT)],
    "a lock is free twice": [(0.0, unlocked(), QUIET), (1.0, unlocked(A), SUSPECT), (1.25, unlocked(A), dead(A))],
    "jobs are left after the first try": [
        (0.0, unlocked(), QUIET),
        (1.0, unlocked(A), SUSPECT),
        (1.25, unlocked(A), dead(A)),
        (1.5, unlocked(A), dead(A)),
        (1.75, unlocked(), QUIET),
    ],
    "it is back under its lock": [
        (0.0, unlocked(), QUIET),
        (1.0, unlocked(A), SUSPECT),
        (1.25, unlocked(), QUIET),
        (9.0, unlocked(A), SUSPECT),
    ],
    "it is back under a new lock, and dies": [
        (0.0, unlocked(), QUIET),
        (1.0, unlocked(A), SUSPECT),
        (1.25, unlocked(A_AGAIN), SUSPECT),
        (1.5, unlocked(A_AGAIN), dead(A_AGAIN)),
    ],
    "free since our own session began": [
        (0.0, unlocked(A), SUSPECT),
        (0.25, unlocked(A), SUSPECT),
        (4.9, unlocked(A), SUSPECT),
        (5.0, unlocked(A), dead(A)),
    ],
    "another dies meanwhile": [
        (0.0, unlocked(A), SUSPECT),
        (1.0, unlocked(A, B), SUSPECT),
        (1.25, unlocked(A, B), dead(B)),
        (5.0, unlocked(A), dead(A)),
    ],
    "back after a restart of the server, then dead": [
        (0.0, unlocked(A), SUSPECT),
        (0.25, unlocked(), QUIET),
        (8.0, unlocked(A_AGAIN), SUSPECT),
        (8.25, unlocked(A_AGAIN), dead(A_AGAIN)),
    ],
    "two die": [(0.0, unlocked(), QUIET), (1.0, unlocked(A, B), SUSPECT), (1.3, unlocked(A, B), dead(A, B))],
    "our session is lost": [
        (0.0, unlocked(), QUIET),
        (1.0, unlocked(A), SUSPECT),
        (1.2, NO_SESSION, REGISTER),
        (1.3, unlocked(A), SUSPECT),
        (1.6, unlocked(A), SUSPECT),
        (6.3, unlocked(A), dead(A)),
    ],
    "the server restarts": [
        (0.0, unlocked(), QUIET),
        (1.0, NO_SESSION, REGISTER),
        (1.1, unlocked(A, B), SUSPECT),
        (1.4, unlocked(A, B), SUSPECT),
        (1.7, unlocked(), QUIET),
    ],
    "we were frozen ourselves": [
        (0.0, unlocked(), QUIET),
        (1.0, unlocked(A), SUSPECT),
        (4000.0, unlocked(A), dead(A)),
    ],
    "a pooler shares the sessions": [(0.0, NO_SESSION, REGISTER), (0.1, POOLER, QUIET), (1.1, POOLER, QUIET)],
}


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES)
def test_what_follows_from_each_look(
    steps: list[tuple[float, Observation, tuple[bool, frozenset[WorkerLock], float]]],
) -> None:
    state = State()
    for now, seen, expected in steps:
        decision = decide(seen, state, now)
        assert (decision.must_register, decision.dead, decision.look_again_seconds) == expected, now
        state = decision.state


class Member:
    """A worker's presence, with what it was told."""

    def __init__(self, bench: Bench) -> None:
        self.registration = Registration(threads=1)
        self.name = self.registration.name
        self.returns = 0
        self.presence = Presence(
            self.registration,
            bench.queue,
            wake=lambda: None,
            on_return=self._return,
            on_broken=bench.broken.append,
            look_seconds=0.1,
        )

    def _return(self) -> None:
        self.returns += 1

    def row(self) -> Worker | None:
        with reading(everywhere=True) as session:
            return session.scalar(select(Worker).where(Worker.id == self.registration.id))

    def is_marked_ended(self) -> bool:
        row = self.row()
        return row is not None and row.ended_at is not None

    def has_looked(self) -> bool:
        return self.presence._state.unlocked_at_first_look is not None


Start = Callable[[], Member]


@pytest.fixture
def start(bench: Bench) -> Iterator[Start]:
    started: list[Member] = []

    def start() -> Member:
        member = Member(bench)
        started.append(member)
        member.presence.start()
        wait_for(member.has_looked)
        return member

    yield start
    for member in started:
        member.presence.stop()
    assert bench.broken == []


on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@on_postgresql
@pytest.mark.slow
class TestOnAServer:
    """How soon, real processes show: tests/chaos/test_faults.py."""

    def test_the_jobs_of_a_dead_worker_go_back_and_count_an_attempt(self, bench: Bench, start: Start) -> None:
        _, dying = start(), start()
        first, second = bench.new_run(max_attempts=3), bench.new_run(max_attempts=1)
        _take_jobs(bench, dying.name, 2)
        dying.presence.stop()
        wait_for(dying.is_marked_ended)
        assert bench.states(first) == ("RUNNING", "PENDING")
        assert bench.states(second) == ("FAILED", "FAILED")
        assert bench.run(second).failure_code == "worker_died"
        assert [bench.job(run).attempts for run in (first, second)] == [1, 1]
        assert bench.events(first)[-1] == "JOB_RESET"

    def test_they_go_back_once_however_many_workers_look(self, bench: Bench, start: Start) -> None:
        *_, dying = [start() for _ in range(5)]
        runs = [bench.new_run(max_attempts=5) for _ in range(10)]
        _take_jobs(bench, dying.name, 10)
        dying.presence.stop()
        wait_for(dying.is_marked_ended)
        assert [bench.job(run).attempts for run in runs] == [1] * 10
        assert [bench.events(run).count("JOB_RESET") for run in runs] == [1] * 10

    def test_workers_that_live_or_have_no_lock_keep_theirs(self, bench: Bench, start: Start) -> None:
        _, alive, dying = start(), start(), start()
        without_lock = Registration(threads=1)
        without_lock.register(None)
        for name in (alive.name, without_lock.name):
            bench.new_run()
            _take_jobs(bench, name, 1)
        dying.presence.stop()
        wait_for(dying.is_marked_ended)
        assert bench.queue.counts()[JobStatus.PROCESSING] == 2

    def test_lost_sessions_are_replaced_and_cost_no_jobs(
        self, bench: Bench, start: Start, database: DatabaseUnderTest
    ) -> None:
        """All at once, as by a restart of the server: nobody who comes back is considered dead."""
        members = [start() for _ in range(3)]
        for member in members:
            bench.new_run()
            _take_jobs(bench, member.name, 1)
        keys = {row.lock_key for member in members if (row := member.row())}
        with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
            connection.execute(_END_LOCKS)
        for member in members:
            wait_for(lambda member=member: member.returns == 1)  # type: ignore[misc] # bound now
        again = {row.lock_key for member in members if (row := member.row())}
        assert len(keys | again) == 6
        assert all(member.presence.is_registered for member in members)
        assert bench.queue.counts()[JobStatus.PROCESSING] == 3

    def test_a_worker_that_was_struck_off_comes_back_under_a_new_lock(self, bench: Bench, start: Start) -> None:
        member = start()
        before = member.row()
        with transaction(everywhere=True) as session:
            session.execute(update(Worker).values(ended_at=Worker.started_at))
        wait_for(lambda: not member.is_marked_ended())
        again = member.row()
        with transaction(everywhere=True) as session:
            session.execute(delete(Worker))
        wait_for(lambda: member.row() is not None and member.returns == 2)
        rows = (before, again, member.row())
        assert len({row.lock_key for row in rows if row is not None}) == 3
        assert member.presence.is_registered

    def test_while_the_database_is_away_no_jobs_may_be_claimed(
        self, bench: Bench, start: Start, database: DatabaseUnderTest
    ) -> None:
        member, name = start(), database.url.rsplit("/", 1)[1]
        with psycopg.connect(str(database.superuser_url), dbname="postgres", autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            try:
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
                wait_for(lambda: not member.presence.is_registered)
            finally:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        wait_for(lambda: member.presence.is_registered)


_END_LOCKS = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def _take_jobs(bench: Bench, worker: str, number: int) -> None:
    assert len(bench.attempts(finish).claim(worker, number)) == number
