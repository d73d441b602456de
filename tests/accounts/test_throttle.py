"""Guessing is slowed down, and only guessing; the counts hold for all processes."""

import threading
from collections.abc import Sequence

import pytest
from flask import Flask
from sqlalchemy import func, select, update

from webapp.accounts.model import SignInCount
from webapp.accounts.throttle import WINDOW_SECONDS, Counter, Limits, admit, counters_of, forgive
from webapp.clock import after
from webapp.db import reading, transaction

pytestmark = pytest.mark.usefixtures("bare_app")

LIMITS = Limits(pair=3, address=6, email=10)


def _of(email: str, address: str, device: str | None = None) -> Sequence[Counter]:
    return counters_of(email, address, device, LIMITS)


def _begun(seconds_ago: float) -> None:
    with transaction(everywhere=True) as database:
        database.execute(update(SignInCount).values(started_at=after(-seconds_ago)))


def _rows() -> int:
    with reading(everywhere=True) as database:
        return database.scalar(select(func.count()).select_from(SignInCount)) or 0


def test_a_pair_waits_after_its_last_allowed_attempt() -> None:
    assert [admit(_of("a@x", "1.1.1.1")) for _ in range(3)] == [None, None, None]
    assert admit(_of("a@x", "1.1.1.1")) == pytest.approx(WINDOW_SECONDS, abs=5)
    _begun(WINDOW_SECONDS - 10)
    assert admit(_of("a@x", "1.1.1.1")) == pytest.approx(10, abs=5)


def test_a_refused_attempt_does_not_lengthen_the_wait_nor_count_for_others() -> None:
    for _ in range(20):
        admit(_of("a@x", "1.1.1.1"))
    assert admit(_of("b@x", "1.1.1.1")) is None
    _begun(WINDOW_SECONDS + 1)
    assert admit(_of("a@x", "1.1.1.1")) is None


def test_its_owner_gets_in_from_elsewhere() -> None:
    for _ in range(4):
        admit(_of("a@x", "1.1.1.1"))
    assert admit(_of("a@x", "2.2.2.2")) is None


def test_one_address_with_many_emails_waits() -> None:
    assert all(admit(_of(f"{n}@x", "1.1.1.1")) is None for n in range(6))
    assert admit(_of("7@x", "1.1.1.1")) is not None


def test_many_addresses_with_one_email_wait() -> None:
    assert all(admit(_of("a@x", f"1.1.1.{n}")) is None for n in range(10))
    assert admit(_of("a@x", "1.1.1.99")) is not None


def test_a_browser_that_is_known_passes_the_guesses_of_others() -> None:
    for n in range(12):
        admit(_of("a@x", f"1.1.1.{n}"))
    assert admit(_of("a@x", "1.1.1.1")) is not None
    assert [admit(_of("a@x", "1.1.1.1", "laptop")) for _ in range(4)][:3] == [None, None, None]
    assert admit(_of("a@x", "1.1.1.1", "laptop")) is not None


def test_the_right_password_forgives_the_pair() -> None:
    for _ in range(3):
        admit(_of("a@x", "1.1.1.1"))
    forgive(_of("a@x", "1.1.1.1"))
    assert [admit(_of("a@x", "1.1.1.1")) for _ in range(3)] == [None, None, None]


def test_signing_in_often_is_no_guessing() -> None:
    for _ in range(15):
        assert admit(_of("a@x", "1.1.1.1")) is None
        forgive(_of("a@x", "1.1.1.1"))


def test_counts_that_are_over_are_cleared_away() -> None:
    for n in range(5):
        admit(_of(f"{n}@x", f"1.1.1.{n}"))
    assert _rows() == 15
    _begun(WINDOW_SECONDS + 1)
    forgive(_of("a@x", "1.1.1.1"))
    assert _rows() == 0


def test_many_at_once_do_not_slip_through(bare_app: Flask) -> None:
    start, admitted = threading.Barrier(8), []

    def guess() -> None:
        with bare_app.app_context():
            start.wait(10)
            admitted.append(admit(_of("a@x", "1.1.1.1")) is None)

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(admitted) == [False] * 5 + [True] * 3
