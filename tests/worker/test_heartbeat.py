"""Heartbeats: all leases in one statement; lost leases and failing beats are noticed."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError, ProgrammingError

from tests.worker.bench import PATIENCE_SECONDS, Bench, Gate, finish, wait_for
from webapp.clock import monotonic
from webapp.db import db, reading
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import Lease
from webapp.jobs.states import JobStatus
from webapp.worker import heartbeat as heartbeat_module
from webapp.worker.heartbeat import Heartbeat, Seat


def _heartbeat(bench: Bench, **more: float) -> Heartbeat:
    values: dict[str, Any] = {"every_seconds": 0.05, "zombie_after_seconds": 7200.0, **more}
    return Heartbeat(bench.queue, on_broken=bench.broken.append, **values)


def _leases(bench: Bench, number: int) -> list[Lease]:
    for _ in range(number):
        bench.new_run()
    return [claimed.lease for claimed in bench.attempts(finish).claim("worker", number)]


def _is_broken(bench: Bench, heartbeat: Heartbeat) -> bool:
    heartbeat.check()
    return bool(bench.broken)


class _Absence:
    """The database answers nobody while `is_on`."""

    def __init__(self, bench: Bench) -> None:
        self.is_on = False
        bench.listen(Engine, "begin", self._lose_connection)

    def _lose_connection(self, *arguments: object) -> None:
        if self.is_on:
            raise OperationalError("BEGIN", {}, Exception("the database is away"))


def test_one_statement_renews_all(bench: Bench) -> None:
    leases = _leases(bench, 5)
    for lease in leases:
        bench.grow_silent(lease.run_id, 1000)
    heartbeat = _heartbeat(bench)
    for lease in leases:
        heartbeat.hold(lease)
    seen: list[str] = []

    def note(*arguments: object) -> None:
        seen.append(str(arguments[2]))

    bench.listen(db.engine, "before_cursor_execute", note)
    heartbeat.beat()
    assert len([statement for statement in seen if "document_processing_jobs" in statement]) == 1
    with reading(everywhere=True) as session:
        assert not session.scalars(select(JobRow.id).where(JobRow.heartbeat_at < JobRow.started_at)).all()


def test_an_attempt_whose_lease_is_gone_is_asked_to_stop(bench: Bench) -> None:
    kept, lost = _leases(bench, 2)
    heartbeat = _heartbeat(bench)
    seats = [heartbeat.hold(kept), heartbeat.hold(lost)]
    bench.take_away(lost)
    heartbeat.beat()
    assert [seat.stopping.is_set() for seat in seats] == [False, True]


def test_what_was_let_go_is_not_renewed(bench: Bench) -> None:
    (lease,) = _leases(bench, 1)
    heartbeat = _heartbeat(bench)
    heartbeat.let_go(heartbeat.hold(lease))
    assert heartbeat.seats() == []


def test_while_beats_fail_it_is_not_well_and_then_it_is_again(bench: Bench) -> None:
    heartbeat = _heartbeat(bench)
    heartbeat.hold(_leases(bench, 1)[0])
    absence = _Absence(bench)
    heartbeat.start()
    absence.is_on = True
    wait_for(lambda: not heartbeat.is_well)
    absence.is_on = False
    wait_for(lambda: heartbeat.is_well)
    heartbeat.check()
    assert bench.broken == []
    heartbeat.stop()


@pytest.mark.slow
def test_attempts_are_asked_to_stop_before_others_take_their_jobs(bench: Bench) -> None:
    heartbeat = _heartbeat(bench, zombie_after_seconds=1.0)
    seat = heartbeat.hold(_leases(bench, 1)[0])
    absence = _Absence(bench)
    heartbeat.start()
    absence.is_on = True
    wait_for(lambda: _is_asked(heartbeat, seat))
    absence.is_on = False
    wait_for(lambda: heartbeat.is_well)
    heartbeat.check()
    assert bench.broken == []
    heartbeat.stop()


def _is_asked(heartbeat: Heartbeat, seat: Seat) -> bool:
    heartbeat.check()
    return seat.stopping.is_set()


def _refuse(_: threading.Event) -> None:
    raise ProgrammingError("UPDATE", {}, Exception("as the trigger says"))


def _hang(answer: threading.Event) -> None:
    answer.wait(PATIENCE_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("respond", [_refuse, _hang])
def test_beats_that_are_refused_or_hang_for_too_long_end_the_process(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, respond: Callable[[threading.Event], None]
) -> None:
    """No waiting helps, and others will take jobs whose leases are not renewed."""
    monkeypatch.setattr(heartbeat_module, "HUNG_AFTER_SECONDS", 0.5)
    heartbeat = _heartbeat(bench, zombie_after_seconds=0.3)
    heartbeat.hold(_leases(bench, 1)[0])
    answer = threading.Event()

    def in_a_beat(*arguments: object) -> None:
        if threading.current_thread().name == "heartbeat":
            respond(answer)

    bench.listen(Engine, "begin", in_a_beat)
    heartbeat.start()
    wait_for(lambda: _is_broken(bench, heartbeat))
    assert bench.broken[0].startswith("no heartbeat has succeeded")
    answer.set()
    heartbeat.stop()


def test_a_process_that_was_frozen_goes_on(bench: Bench) -> None:
    """No thread had a chance to beat: that says nothing about the database."""
    heartbeat = _heartbeat(bench, zombie_after_seconds=1.0, every_seconds=600)
    heartbeat.start()
    heartbeat._beat_at = heartbeat._answered_at = heartbeat._checked_at = monotonic() - 3600
    assert not heartbeat.is_well, "no job is claimed before a beat succeeds"
    heartbeat.check()
    assert bench.broken == []
    wait_for(lambda: heartbeat.is_well)
    heartbeat.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_dead_heartbeat_is_noticed(bench: Bench) -> None:
    heartbeat = _heartbeat(bench)
    heartbeat.hold(_leases(bench, 1)[0])

    def refuse(*arguments: object) -> None:
        if threading.current_thread().name == "heartbeat":
            raise SystemError("nobody expects this one")

    bench.listen(Engine, "begin", refuse)
    heartbeat.start()
    wait_for(lambda: bench.broken == ["thread heartbeat died"])
    heartbeat.stop()


@pytest.mark.slow
def test_no_job_is_claimed_while_beats_fail(bench: Bench) -> None:
    """Only beats fail: a trigger's error, say."""
    gate, is_mended = Gate(), threading.Event()
    bench.new_run()

    def refuse(*arguments: object) -> None:
        if threading.current_thread().name == "heartbeat" and not is_mended.is_set():
            raise OperationalError("UPDATE", {}, Exception("as the trigger says"))

    bench.listen(db.engine, "before_cursor_execute", refuse)
    pool = bench.pool(gate, threads=2)
    gate.wait_for_entry()
    wait_for(lambda: not pool._heartbeat.is_well)
    bench.new_run()
    assert not gate.entered.acquire(timeout=0.3)
    is_mended.set()
    gate.wait_for_entry()
    gate.opened.set()
    wait_for(lambda: bench.queue.counts()[JobStatus.COMPLETED] == 2)


def test_a_worker_that_lost_its_job_stops_early_and_says_nothing(bench: Bench) -> None:
    gate, run_id = Gate(), bench.new_run()
    bench.pool(gate, threads=1)
    context = gate.wait_for_entry()
    bench.take_away(context.lease)
    wait_for(context.stopping.is_set)
    assert bench.job(run_id).attempts == 1
    gate.opened.set()
    wait_for(lambda: bench.states(run_id)[0] == "SUCCEEDED")
