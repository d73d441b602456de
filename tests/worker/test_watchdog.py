"""Timers: on time, never twice at once, and not ended by an error."""

import threading

from sqlalchemy.exc import OperationalError

from tests.worker.bench import PATIENCE_SECONDS, Bench, wait_for
from webapp.provider_errors import ProviderUnavailable
from webapp.worker.watchdog import Timer, Watchdog


def test_a_chore_is_done_again_and_again_whatever_it_raises(bench: Bench) -> None:
    errors = iter([OperationalError("UPDATE", {}, Exception("away")), ProviderUnavailable("full"), None])
    done = threading.Event()

    def chore() -> None:
        error = next(errors, None)
        if error:
            raise error
        done.set()

    watchdog = Watchdog([Timer("test", chore, 0.05)])
    watchdog.start()
    assert done.wait(PATIENCE_SECONDS)
    watchdog.stop()


def test_a_chore_that_takes_long_is_not_begun_twice(bench: Bench) -> None:
    inside, let_go, ticks = threading.Semaphore(1), threading.Event(), []

    def long() -> None:
        assert inside.acquire(blocking=False)
        let_go.wait(PATIENCE_SECONDS)
        inside.release()

    timers = [Timer("long", long, 0.02), Timer("short", lambda: ticks.append(1), 0.02)]
    watchdog = Watchdog(timers)
    watchdog.start()
    wait_for(lambda: len(ticks) > 10)
    let_go.set()
    watchdog.stop()


def test_a_chore_can_have_time_until_its_first_turn(bench: Bench) -> None:
    early, late = threading.Event(), threading.Event()
    watchdog = Watchdog([Timer("early", early.set, 600), Timer("late", late.set, 600, first_after_seconds=600)])
    watchdog.start()
    assert early.wait(PATIENCE_SECONDS)
    watchdog.stop()
    assert not late.is_set()
