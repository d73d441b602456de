"""How long a failed job waits."""

import math

import pytest

from webapp.jobs.retry import RETRY_AFTER_SECONDS_MAX, RetryPolicy

POLICY = RetryPolicy(30, 600)


def test_it_doubles_up_to_its_limit() -> None:
    assert [POLICY.delay_seconds(attempts, chance=0) for attempts in range(7)] == [30, 60, 120, 240, 480, 600, 600]


def test_chance_only_ever_adds() -> None:
    assert POLICY.delay_seconds(1, chance=1) == 60 * 1.25
    assert POLICY.delay_seconds(9, chance=0.5) == 600 * 1.125
    assert POLICY.delay_seconds(0, chance=1, retry_after_seconds=100) == 125


@pytest.mark.parametrize(("asked", "waits"), [(None, 30), (0, 30), (29, 30), (31, 31), (1200, 1200), (-5, 30)])
def test_a_provider_may_ask_for_more(asked: float | None, waits: float) -> None:
    assert POLICY.delay_seconds(0, 0, asked) == waits


@pytest.mark.parametrize("asked", [1e300, math.inf])
def test_a_provider_may_not_park_a_job_for_good(asked: float) -> None:
    assert POLICY.delay_seconds(0, 0, asked) == RETRY_AFTER_SECONDS_MAX


def test_nonsense_from_a_provider_is_no_wait() -> None:
    assert POLICY.delay_seconds(0, 0, math.nan) == 30


def test_very_many_attempts_are_no_overflow() -> None:
    assert POLICY.delay_seconds(100_000, 0) == 600
