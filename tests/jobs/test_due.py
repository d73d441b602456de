"""Whoever looks whether any job is due sees what a claim would find: no more, or idle processes claim for nothing."""

from collections.abc import Callable, Mapping

import pytest
from sqlalchemy import text

from tests.jobs.letterbox import RETRY, SqlLetterbox, enqueue
from webapp.db import transaction
from webapp.jobs import due
from webapp.jobs.controls import EVERY_STAGE, RECOVERED_AT, RECOVERY_SECONDS
from webapp.jobs.sql import SqlJobQueue

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
STAGE = "process_document"


def is_due(limits: Mapping[str, int] | None = None) -> bool:
    with transaction(everywhere=True) as opened:
        return bool(opened.scalar(text(due.IS_DUE), due.values(limits or {})))


def agree(letterbox: SqlLetterbox, limits: Mapping[str, int] | None = None) -> bool:
    """Whether anything is to be had, as the look and a claim both say."""
    letterbox.queue = SqlJobQueue(RETRY, stage_limits=limits)
    seen = is_due(limits)
    leases = letterbox.queue.claim("a", 1)
    letterbox.queue.release(leases)
    assert seen == bool(leases)
    return seen


def fill(letterbox: SqlLetterbox, *, at_work: int) -> None:
    for _ in range(at_work + 1):
        enqueue(letterbox)
    letterbox.queue.claim("b", at_work)


def _pause_a_little(letterbox: SqlLetterbox) -> None:
    letterbox.queue.pause(STAGE)
    letterbox.queue.resume(STAGE)


CONTROLS: dict[str, tuple[Callable[[SqlLetterbox], None], bool]] = {
    "nothing": (lambda letterbox: None, True),
    "paused": (lambda letterbox: letterbox.queue.pause(STAGE), False),
    "another paused": (lambda letterbox: letterbox.queue.pause("z"), True),
    "all paused": (lambda letterbox: letterbox.queue.pause(EVERY_STAGE), False),
    "resumed": (_pause_a_little, True),
    "full": (lambda letterbox: letterbox.queue.limit(STAGE, 2), False),
    "room": (lambda letterbox: letterbox.queue.limit(STAGE, 3), True),
    "all at rest": (lambda letterbox: letterbox.queue.slow(EVERY_STAGE, 600), True),
    "at rest": (lambda letterbox: letterbox.queue.slow(STAGE, 600), False),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_look_sees_what_a_claim_would_find(letterbox: SqlLetterbox, name: str) -> None:
    control, expected = CONTROLS[name]
    fill(letterbox, at_work=2)
    control(letterbox)
    assert agree(letterbox) == expected


def test_a_stage_that_was_slowed_opens_step_by_step(letterbox: SqlLetterbox) -> None:
    fill(letterbox, at_work=5)
    letterbox.queue.slow(STAGE)
    assert not agree(letterbox)
    letterbox.pass_time(letterbox.queue.controls()[STAGE].rests_seconds)
    seen = []
    for _ in range(RECOVERED_AT.bit_length()):
        seen.append(agree(letterbox))
        letterbox.pass_time(RECOVERY_SECONDS)
    assert seen == [False, False, False, True, True, True, True]
    letterbox.queue.limit(STAGE, 5)
    assert not agree(letterbox)


def test_the_limits_of_the_settings_count_where_ops_set_none(letterbox: SqlLetterbox) -> None:
    fill(letterbox, at_work=2)
    assert not agree(letterbox, {STAGE: 2})
    assert agree(letterbox, {STAGE: 3, "z": 1})
    letterbox.queue.limit(STAGE, 3)
    assert agree(letterbox, {STAGE: 2})
    letterbox.queue.limit(STAGE, 1)
    assert not agree(letterbox, {STAGE: 5})


def test_what_is_open_behind_a_full_stage_is_seen(letterbox: SqlLetterbox) -> None:
    fill(letterbox, at_work=2)
    letterbox.queue.limit(STAGE, 2)
    enqueue(letterbox, stage="z", delay_seconds=1000)
    assert not agree(letterbox)
    enqueue(letterbox, stage="z")
    assert agree(letterbox)
    letterbox.queue.pause(EVERY_STAGE)
    assert not agree(letterbox)
