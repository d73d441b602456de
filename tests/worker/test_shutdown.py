"""How a process learns that it should end, and why."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.worker.bench import PATIENCE_SECONDS
from webapp.worker import shutdown as shutdown_module
from webapp.worker.shutdown import Shutdown


@pytest.fixture
def shutdown() -> Iterator[Shutdown]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    shutdown = Shutdown()
    shutdown.listen()
    yield shutdown
    for number, handler in before.items():
        signal.signal(number, handler)


def test_without_a_request_it_goes_on(shutdown: Shutdown) -> None:
    assert not shutdown.wait(0.01)


def test_a_signal_is_a_reason_for_good(shutdown: Shutdown) -> None:
    killer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM))
    killer.start()
    assert shutdown.wait(PATIENCE_SECONDS)
    assert shutdown.wait(0)
    assert shutdown.reason == "SIGTERM"
    assert shutdown.failure is None


def test_two_signals_at_once_are_one_request(shutdown: Shutdown, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried: list[bool] = []
    shutdown.on_hurry = lambda: hurried.append(True)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    assert shutdown.wait(PATIENCE_SECONDS)
    assert hurried == []
    monkeypatch.setattr(shutdown_module, "SAME_REQUEST_SECONDS", 0.0)
    os.kill(os.getpid(), signal.SIGTERM)
    assert hurried == [True]


def test_what_breaks_is_a_reason_too(shutdown: Shutdown) -> None:
    breaker = threading.Thread(target=shutdown.on_broken, args=("thread x died",))
    breaker.start()
    assert shutdown.wait(PATIENCE_SECONDS)
    assert shutdown.failure == "thread x died"
