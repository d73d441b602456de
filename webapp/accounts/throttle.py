"""Slows down guessing: sign-ins that fail are counted by address, by e-mail and by both.

The counts are rows, so they hold for all web processes and survive a restart. Each counts the
attempts of a window that begins with the first of them. A browser that its person signed in with
before is known by a cookie and has a count of its own: somebody who guesses from elsewhere, or from the
same office, cannot lock it out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Row, Table, case, delete, select, type_coerce, update
from sqlalchemy.dialects import postgresql

from webapp.accounts.keys import digest
from webapp.accounts.model import SignInCount
from webapp.clock import after, now
from webapp.db import UtcDateTime, session, transaction

WINDOW_SECONDS = 900

_counts = cast(Table, SignInCount.__table__)
_is_over = _counts.c.started_at <= after(-WINDOW_SECONDS)


@dataclass(frozen=True)
class Limits:
    """Attempts within the window. One e-mail from many addresses is allowed most: its owner must get in."""

    pair: int = 5
    address: int = 30
    email: int = 100


@dataclass(frozen=True)
class Counter:
    """What attempts are counted under, and how many are allowed."""

    key: str
    most: int


def counters_of(email: str, address: str, device: str | None = None, limits: Limits | None = None) -> list[Counter]:
    """What an attempt counts under. `device` is the id of a browser that this e-mail signed in with before."""
    limits = limits or Limits()
    if device is not None:
        return [_counter(limits.pair, "device", device, email)]
    # Always in this order: two attempts at the same moment must not wait for each other.
    return [
        _counter(limits.pair, "pair", email, address),
        _counter(limits.address, "address", address),
        _counter(limits.email, "email", email),
    ]


def counters_of_person(user_ref: str) -> list[Counter]:
    """What a signed-in person's attempts to prove who they are count under."""
    return [_counter(Limits.pair, "person", user_ref)]


def admit(counters: Sequence[Counter]) -> int | None:
    """Count an attempt before it is checked, so that many at once don't slip through together.

    The seconds to wait where there were too many already, and then it is not counted.
    """
    try:
        with transaction(everywhere=True):
            _count(counters)
    except _TooMany as refused:
        return refused.wait_seconds
    return None


def forgive(counters: Sequence[Counter]) -> None:
    """The attempt was right: its first counter begins anew, and it does not count under the others."""
    first, *others = counters
    with transaction(everywhere=True):
        session().execute(delete(_counts).where(_counts.c.key == first.key))
        for counter in others:
            used = _counts.c.key == counter.key, _counts.c.attempts > 0
            session().execute(update(_counts).where(*used).values(attempts=_counts.c.attempts - 1))
    with transaction(everywhere=True):
        # What somebody else is counting in is left alone, or two might wait for each other.
        free = select(_counts.c.key).where(_is_over).with_for_update(skip_locked=True)
        session().execute(delete(_counts).where(_counts.c.key.in_(free)))


class _TooMany(Exception):
    def __init__(self, wait_seconds: int) -> None:
        super().__init__(wait_seconds)
        self.wait_seconds = wait_seconds


def _count(counters: Sequence[Counter]) -> None:
    """Count in one statement; _TooMany rolls it back."""
    # The clause is the same in both databases, and each compiles it.
    new = postgresql.insert(_counts).values(
        [{"key": counter.key, "attempts": 1, "started_at": now()} for counter in counters]
    )
    counted = new.on_conflict_do_update(
        index_elements=["key"],
        set_={
            "attempts": case((_is_over, 1), else_=_counts.c.attempts + 1),
            "started_at": case((_is_over, now()), else_=_counts.c.started_at),
        },
    ).returning(
        _counts.c.key, _counts.c.attempts, _counts.c.started_at, type_coerce(now(), UtcDateTime).label("present")
    )
    most = {counter.key: counter.most for counter in counters}
    waits = [_wait_seconds(row) for row in session().execute(counted) if row.attempts > most[row.key]]
    if waits:
        raise _TooMany(max(waits))


def _wait_seconds(row: Row[Any]) -> int:
    passed: float = (row.present - row.started_at).total_seconds()
    return max(1, math.ceil(WINDOW_SECONDS - passed))


def _counter(most: int, *parts: str) -> Counter:
    # Hashed: which bounds what anybody types, and whose e-mails were tried is nobody's business here.
    return Counter(digest("\0".join(parts)), most)
