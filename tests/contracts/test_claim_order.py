"""Who is served first: the cases that any way of claiming must get right, on both databases."""

from collections import Counter
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from tests.jobs.rig import QueueRig, claim_one, enqueue, ids
from webapp.jobs.queue import JobError, Lease, NewJob
from webapp.jobs.states import Priority

BROKEN = JobError("unavailable", "it broke")
DAY = 86_400
CROWD = 2_000


def _crowd(rig: QueueRig, number: int = CROWD, **more: Any) -> UUID:
    """One org with so many jobs that are due, all added by one statement."""
    org_id = rig.new_org()
    rig.queue.enqueue([run.job(**more) for run in rig.new_runs(number, org_id)])
    return org_id


def _newcomer(rig: QueueRig, number: int = 1, **more: Any) -> list[NewJob]:
    """Another org's jobs, which come last."""
    jobs = [run.job(**more) for run in rig.new_runs(number, rig.new_org())]
    rig.queue.enqueue(jobs)
    return jobs


def _claim(rig: QueueRig, limit: int, held: list[Lease] | None = None) -> list[Lease]:
    """As a worker claims that holds these already."""
    return rig.queue.claim("a", limit, seats=Counter(lease.org_id for lease in held or []))


@pytest.mark.slow
def test_a_newcomer_does_not_wait_behind_the_crowd_of_another_org(rig: QueueRig) -> None:
    _crowd(rig)
    held = _claim(rig, 4)
    (theirs,) = _newcomer(rig)
    assert ids(_claim(rig, 1, held)) == [theirs.id]


@pytest.mark.slow
def test_ten_thousand_jobs_of_one_insert_come_in_their_order(rig: QueueRig) -> None:
    jobs = [run.job() for run in rig.new_runs(10_000)]
    rig.queue.enqueue(jobs)
    first = [lease for _ in range(5) for lease in _claim(rig, 4)]
    assert ids(first) == ids(jobs[:20])


def test_a_retried_and_a_released_job_come_back_after_the_queue_was_empty(rig: QueueRig) -> None:
    retried, released = enqueue(rig), enqueue(rig)
    first, second = _claim(rig, 2)
    assert _claim(rig, 2) == []
    rig.queue.fail(first, BROKEN)
    rig.queue.release([second])
    assert ids(_claim(rig, 2)) == [released.id]
    rig.pass_time(120)
    assert ids(_claim(rig, 2)) == [retried.id]


def test_a_stage_that_was_paused_for_a_day_hides_nobody_and_then_goes_first(rig: QueueRig) -> None:
    waiting = [enqueue(rig, stage="extract") for _ in range(3)]
    rig.queue.pause("extract")
    rig.pass_time(DAY)
    other = enqueue(rig, stage="publish")
    assert ids(_claim(rig, 10)) == [other.id]
    rig.queue.resume("extract")
    late = enqueue(rig, stage="extract")
    assert ids(_claim(rig, 4)) == [*ids(waiting), late.id]


def test_a_full_later_stage_does_not_keep_the_others_waiting(rig: QueueRig) -> None:
    rig.queue.limit("publish", 1)
    later = [enqueue(rig, stage="publish") for _ in range(3)]
    first = [enqueue(rig, stage="extract") for _ in range(3)]
    taken = _claim(rig, 10)
    assert set(ids(taken)) == {later[0].id, *ids(first)}
    assert _claim(rig, 10) == []
    rig.queue.complete(next(lease for lease in taken if lease.stage == "publish"))
    assert ids(_claim(rig, 10)) == [later[1].id]


def test_an_org_whose_jobs_take_long_does_not_get_more_seats_than_one_with_short_jobs(rig: QueueRig) -> None:
    """Four seats; jobs of the one org never end, those of the other end at once."""
    slow = _crowd(rig, 10)
    quick = _crowd(rig, 50)
    held: list[Lease] = []
    done = 0
    for _ in range(12):
        taken = _claim(rig, 4 - len(held), held)
        for lease in taken:
            if lease.org_id == quick:
                rig.queue.complete(lease)
                done += 1
            else:
                held.append(lease)
    assert {lease.org_id for lease in held} <= {slow}
    assert len(held) < 4, "one seat is left to the org with short jobs"
    assert done >= 10


def test_bulk_jobs_of_an_org_wait_for_its_urgent_ones(rig: QueueRig) -> None:
    org_id = _crowd(rig, 20, priority=Priority.BULK)
    urgent = [run.job(priority=Priority.PERSON) for run in rig.new_runs(2, org_id)]
    rig.queue.enqueue(urgent)
    assert ids(_claim(rig, 3))[:2] == ids(urgent)


def test_a_single_seat_serves_two_orgs_in_turn(rig: QueueRig) -> None:
    orgs = [_crowd(rig, 6), _crowd(rig, 6)]
    served = []
    for _ in range(8):
        lease = claim_one(rig)
        served.append(lease.org_id)
        rig.queue.complete(lease)
    assert Counter(served) == dict.fromkeys(orgs, 4)
    assert all(one != next_one for one, next_one in pairwise(served))


@pytest.mark.slow
def test_each_of_two_hundred_orgs_is_served_before_any_is_served_three_times(rig: QueueRig) -> None:
    orgs = [_crowd(rig, 4) for _ in range(200)]
    served: Counter[UUID] = Counter()
    while len(served) < len(orgs):
        taken = _claim(rig, 4)
        served.update(lease.org_id for lease in taken)
        for lease in taken:
            rig.queue.complete(lease)
    assert max(served.values()) <= 2


def test_a_claim_for_one_org_leaves_all_others_alone(rig: QueueRig) -> None:
    _crowd(rig, 20)
    theirs = _newcomer(rig, 3, priority=Priority.BULK)
    _crowd(rig, 20)
    org_id = theirs[0].org_id
    assert ids(rig.queue.claim("a", 2, org_id=org_id)) == ids(theirs[:2])
    assert ids(rig.queue.claim("a", 5, org_id=org_id, stages=[theirs[0].stage])) == ids(theirs[2:])
    assert rig.queue.claim("a", 5, org_id=org_id) == []
    assert len(rig.queue.claim("a", 50)) == 40
