"""How a process learns that it should leave."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.worker.bench import PATIENCE_SECONDS
from webapp.worker import departure
from webapp.worker.departure import Departure


@pytest.fixture
def leaving() -> Iterator[Departure]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    leaving = Departure()
    leaving.listen()
    yield leaving
    for number, handler in before.items():
        signal.signal(number, handler)


def test_nobody_leaves_without_a_reason(leaving: Departure) -> None:
    assert not leaving.wait(0.01)


def test_a_signal_is_a_reason_for_good(leaving: Departure) -> None:
    killer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
    killer.start()
    assert leaving.wait(PATIENCE_SECONDS)
    assert leaving.wait(0)
    assert leaving.reason == "SIGTERM"
    assert leaving.failure is None


def test_two_signals_for_one_wish_are_one(leaving: Departure, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried: list[bool] = []
    leaving.on_hurry = lambda: hurried.append(True)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    assert leaving.wait(PATIENCE_SECONDS)
    assert hurried == []
    monkeypatch.setattr(departure, "ONE_WISH_SECONDS", 0.0)
    os.kill(os.getpid(), signal.SIGTERM)
    assert hurried == [True]


def test_what_breaks_is_a_reason_too(leaving: Departure) -> None:
    breaker = threading.Thread(target=leaving.on_broken, args=("thread x died",))
    breaker.start()
    assert leaving.wait(PATIENCE_SECONDS)
    assert leaving.failure == "thread x died"
