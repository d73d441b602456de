"""Rates that several web processes share: alone each may give out a little, together no more than is allowed."""

from collections.abc import Callable

import pytest
from sqlalchemy import func, select, text

from webapp.accounts import rate_buckets
from webapp.accounts.model import RateBucket
from webapp.db import db, reading, transaction
from webapp.web.rates import UNSHARED_SHARE, Allowance, Rates

pytestmark = [
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
    pytest.mark.usefixtures("bare_app"),
]

SLOW, FAST = Allowance("slow", 0.001, 10.0), Allowance("fast", 0.001, 1000.0)


def _pair() -> tuple[Rates, Rates]:
    return Rates(is_shared=True), Rates(is_shared=True)


def _admitted(*turns: Callable[[], float]) -> int:
    return sum(take() == 0 for take in turns)


def test_two_processes_give_out_no_more_than_one() -> None:
    first, second = _pair()
    turns = [lambda: first.take(SLOW), lambda: second.take(SLOW)] * 15
    # Each learns of the others with its own last token.
    assert _admitted(*turns) <= 11


def test_the_slack_is_a_twentieth_for_each_process() -> None:
    first, second = _pair()
    admitted = _admitted(*[lambda: first.take(FAST), lambda: second.take(FAST)] * 1000)
    assert 1000 <= admitted <= 1000 * (1 + 2 * UNSHARED_SHARE)


def test_a_few_requests_write_nothing_and_many_write_seldom() -> None:
    rates = Rates(is_shared=True)
    for _ in range(int(FAST.unshared_max) - 1):
        rates.take(FAST)
    assert _rows() == 0
    for _ in range(2):
        rates.take(FAST)
    assert _rows() == 1


def test_a_refused_request_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = _pair()
    while first.take(SLOW) == 0:
        pass
    monkeypatch.setattr(rate_buckets, "take", lambda seconds: pytest.fail("it wrote"))
    assert first.take(SLOW) > 0


def test_what_is_spent_at_once_is_known_everywhere() -> None:
    first, second = _pair()
    first.spend(SLOW, 25)
    assert second.left(SLOW) == 0
    assert second.take(SLOW) == pytest.approx(16 / 0.001, rel=0.01)


def test_a_bucket_fills_up_again_for_all() -> None:
    first, second = _pair()
    quick = Allowance("quick", 1000.0, 10.0)
    first.spend(quick, 10)
    with transaction(everywhere=True) as session:
        session.execute(text("SELECT pg_sleep(0.02)"))
    assert second.left(quick) == 10


def test_a_trickle_is_never_told() -> None:
    """A process that gives out less than a twentieth of the rate needs no database for it."""
    present = [1000.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("webapp.web.rates.monotonic", lambda: present[0])
        rates, allowance = Rates(is_shared=True), Allowance("trickle", 10.0, 100.0)
        for _ in range(100):
            assert rates.take(allowance) == 0
            present[0] += 2.1
    assert _rows() == 0


def test_without_the_database_each_process_counts_for_itself() -> None:
    first, second = _pair()
    with db.engine.connect() as holder:
        holder.execute(text("LOCK TABLE rate_buckets IN ACCESS EXCLUSIVE MODE"))
        assert _admitted(*[lambda: first.take(SLOW)] * 12) == 10
    # What it gave out meanwhile is told later.
    first.left(SLOW)
    assert second.left(SLOW) == 0


def test_full_buckets_are_forgotten() -> None:
    first, _ = _pair()
    first.spend(SLOW, 1)
    first.spend(Allowance("soon full", 1000.0, 10.0), 1)
    with transaction(everywhere=True) as session:
        session.execute(text("SELECT pg_sleep(0.01)"))
    with transaction(everywhere=True):
        rate_buckets.forget_full()
    assert _rows() == 1


def _rows() -> int:
    with reading(everywhere=True) as session:
        return session.scalar(select(func.count()).select_from(RateBucket)) or 0
