"""Guessing is slowed down, and only guessing."""

import pytest

from webapp.accounts.throttle import WINDOW_SECONDS, Limits, SignInThrottle


class Clock:
    def __init__(self) -> None:
        self.moment = 1000.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def throttle(clock: Clock) -> SignInThrottle:
    return SignInThrottle(Limits(pair=3, address=6, email=10), clock)


def test_a_pair_waits_after_its_last_allowed_attempt(throttle: SignInThrottle, clock: Clock) -> None:
    assert [throttle.admit("a@x", "1.1.1.1") for _ in range(3)] == [None, None, None]
    assert throttle.admit("a@x", "1.1.1.1") == WINDOW_SECONDS
    clock.moment += WINDOW_SECONDS - 10
    assert throttle.admit("a@x", "1.1.1.1") == 10


def test_a_refused_attempt_does_not_lengthen_the_wait(throttle: SignInThrottle, clock: Clock) -> None:
    for _ in range(50):
        throttle.admit("a@x", "1.1.1.1")
    clock.moment += WINDOW_SECONDS
    assert throttle.admit("a@x", "1.1.1.1") is None


def test_its_owner_gets_in_from_elsewhere(throttle: SignInThrottle) -> None:
    for _ in range(4):
        throttle.admit("a@x", "1.1.1.1")
    assert throttle.admit("a@x", "2.2.2.2") is None


def test_one_address_with_many_emails_waits(throttle: SignInThrottle) -> None:
    assert all(throttle.admit(f"{n}@x", "1.1.1.1") is None for n in range(6))
    assert throttle.admit("7@x", "1.1.1.1") is not None


def test_many_addresses_with_one_email_wait(throttle: SignInThrottle) -> None:
    assert all(throttle.admit("a@x", f"1.1.1.{n}") is None for n in range(10))
    assert throttle.admit("a@x", "1.1.1.99") is not None


def test_the_right_password_forgives_the_pair(throttle: SignInThrottle) -> None:
    for _ in range(3):
        throttle.admit("a@x", "1.1.1.1")
    throttle.forgive("a@x", "1.1.1.1")
    assert [throttle.admit("a@x", "1.1.1.1") for _ in range(3)] == [None, None, None]


def test_signing_in_often_is_no_guessing(throttle: SignInThrottle) -> None:
    for _ in range(100):
        assert throttle.admit("a@x", "1.1.1.1") is None
        throttle.forgive("a@x", "1.1.1.1")


def test_a_flood_of_inventions_takes_no_more_room(clock: Clock) -> None:
    throttle = SignInThrottle(Limits(pair=1000, address=10**9, email=1000), clock)
    for n in range(30_000):
        throttle.admit(f"{n}@x", f"{n}")
    assert len(throttle._attempts) <= 20_000
