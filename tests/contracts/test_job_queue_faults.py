"""What every implementation of `JobQueue` promises when workers compete, fail and fall silent."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.jobs.rig import RETRY, QueueRig, claim_one, enqueue, ids, job
from webapp.clock import utc_now
from webapp.jobs.queue import JobError, JobQueue, JobSnapshot, Lease, LeaseLost
from webapp.jobs.states import JobStatus

BROKEN = JobError("unavailable", "it broke")
SILENT = JobError("worker_silent", "its worker fell silent")
HOURS = 7200

# Only one worker at a time.


def test_two_workers_never_share_a_job(rig: QueueRig) -> None:
    rig.queue.enqueue([run.job() for run in rig.new_runs(60)])

    def drain() -> list[UUID]:
        taken: list[UUID] = []
        while leases := rig.queue.claim("a", 3):
            taken += ids(leases)
        return taken

    taken = [job_id for claims in rig.together(*[drain] * 4) for job_id in claims]
    assert len(taken) == len(set(taken)) == 60


def reset(rig: QueueRig, lease: Lease) -> None:
    rig.pass_time(HOURS + 1)
    assert ids_of_reset(rig) == [lease.job_id]


def ids_of_reset(rig: QueueRig) -> list[UUID]:
    return [found.job_id for found in rig.queue.reset_stale(HOURS, SILENT)]


def reset_and_claimed_again(rig: QueueRig, lease: Lease) -> None:
    reset(rig, lease)
    assert claim_one(rig, "b").job_id == lease.job_id


def claimed_again_by_the_same_worker(rig: QueueRig, lease: Lease) -> None:
    reset(rig, lease)
    assert claim_one(rig, "a").job_id == lease.job_id


LOSSES: list[Callable[[QueueRig, Lease], Any]] = [
    reset,
    reset_and_claimed_again,
    claimed_again_by_the_same_worker,
    lambda rig, lease: rig.queue.release([lease]),
    lambda rig, lease: rig.queue.complete(lease),
    lambda rig, lease: rig.queue.fail(lease, BROKEN),
    lambda rig, lease: rig.queue.fail(lease, BROKEN, permanent=True),
    lambda rig, lease: rig.queue.cancel_run(lease.run_id),
    lambda rig, lease: rig.queue.fail_run(lease.run_id, BROKEN),
]
LOSS_NAMES = [
    "reset",
    "taken",
    "retaken",
    "released",
    "completed",
    "retried",
    "failed",
    "cancelled",
    "run failed",
]
ACTS: dict[str, Callable[[JobQueue, Lease], Any]] = {
    "fence": lambda queue, lease: queue.fence(lease),
    "checkpoint": lambda queue, lease: queue.checkpoint(lease, {"late": True}),
    "complete": lambda queue, lease: queue.complete(lease),
    "fail": lambda queue, lease: queue.fail(lease, BROKEN),
    "fail permanently": lambda queue, lease: queue.fail(lease, BROKEN, permanent=True),
    "snooze": lambda queue, lease: queue.snooze(lease, 0, {"late": True}),
}


@pytest.mark.parametrize("lose", LOSSES, ids=LOSS_NAMES)
def test_a_lost_lease_can_do_nothing_any_more(rig: QueueRig, lose: Callable[[QueueRig, Lease], Any]) -> None:
    queued = enqueue(rig, checkpoint={"late": False})
    lease = claim_one(rig, "a")
    lose(rig, lease)
    before = job(rig, queued.id)
    for act in ACTS.values():
        with pytest.raises(LeaseLost):
            act(rig.queue, lease)
    assert rig.queue.heartbeat([lease]) == set()
    assert rig.queue.release([lease]) == set()
    assert job(rig, queued.id) == before


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_a_lease_of_another_job_can_do_nothing(rig: QueueRig, act: Callable[[JobQueue, Lease], Any]) -> None:
    """Job and lease belong together, even where one claim took both jobs."""
    enqueue(rig)
    enqueue(rig)
    first, second = rig.queue.claim("a", 2)
    rig.queue.release([first])
    again = claim_one(rig)
    crossed = Lease(**{**vars(first), "lease_id": second.lease_id})
    with pytest.raises(LeaseLost):
        act(rig.queue, crossed)
    assert rig.queue.heartbeat([crossed, second]) == {second.job_id}
    assert rig.queue.release([crossed, second]) == {second.job_id}
    rig.queue.complete(again)


def test_a_valid_lease_passes_the_fence(rig: QueueRig) -> None:
    enqueue(rig)
    lease = claim_one(rig)
    rig.queue.fence(lease)
    rig.queue.complete(lease)


# Failures.


def test_failures_are_counted_until_none_is_left(rig: QueueRig) -> None:
    queued = enqueue(rig, max_attempts=3)
    seen = []
    for _ in range(3):
        rig.pass_time(1000)
        lease = claim_one(rig)
        seen.append((lease.attempts, rig.queue.fail(lease, BROKEN)))
    assert seen == [(0, JobStatus.PENDING), (1, JobStatus.PENDING), (2, JobStatus.FAILED)]
    rig.pass_time(1000)
    assert rig.queue.claim("a") == []
    failed = job(rig, queued.id)
    assert (failed.status, failed.attempts) == (JobStatus.FAILED, 3)
    assert failed.completed_at is not None
    assert [entry["attempt"] for entry in failed.error_log] == [1, 2, 3]


def test_a_permanent_failure_is_the_last(rig: QueueRig) -> None:
    queued = enqueue(rig, max_attempts=5)
    assert rig.queue.fail(claim_one(rig), BROKEN, permanent=True) is JobStatus.FAILED
    assert job(rig, queued.id).attempts == 1


def test_an_error_says_when_where_and_what(rig: QueueRig) -> None:
    queued = enqueue(rig)
    error = JobError("rate_limited", "try later", exception="RateLimited", step="embedding")
    rig.queue.fail(claim_one(rig, "host:1"), error)
    (entry,) = job(rig, queued.id).error_log
    at = datetime.fromisoformat(entry["at"])
    assert abs(utc_now() - at) < timedelta(minutes=5)
    assert {**entry, "at": ""} == {
        "at": "",
        "attempt": 1,
        "worker": "host:1",
        "code": "rate_limited",
        "step": "embedding",
        "exception": "RateLimited",
        "message": "try later",
    }


def waited_seconds(found: JobSnapshot) -> float:
    assert found.available_at is not None
    return (found.available_at - datetime.fromisoformat(found.error_log[-1]["at"])).total_seconds()


def test_the_wait_grows_with_each_failure_up_to_its_limit(rig: QueueRig) -> None:
    queued = enqueue(rig, max_attempts=8)
    for expected in (30, 60, 120, 240, 480, 600, 600):
        rig.queue.fail(claim_one(rig), BROKEN)
        waits = waited_seconds(job(rig, queued.id))
        assert expected - 0.01 <= waits <= expected * (1 + RETRY.jitter) + 0.01
        rig.pass_time(expected - 1)
        assert rig.queue.claim("a") == []
        rig.pass_time(expected)


def test_a_provider_may_ask_for_a_longer_wait_not_for_a_shorter_one(rig: QueueRig) -> None:
    queued = enqueue(rig, max_attempts=5)
    for asked, expected in ((200, 200), (1, 60)):
        rig.queue.fail(claim_one(rig), BROKEN, retry_after_seconds=asked)
        waits = waited_seconds(job(rig, queued.id))
        assert expected - 0.01 <= waits <= expected * (1 + RETRY.jitter) + 0.01
        rig.pass_time(1000)


def test_the_error_log_is_bounded(rig: QueueRig) -> None:
    queued = enqueue(rig, max_attempts=30)
    for number in range(25):
        rig.queue.fail(claim_one(rig), JobError("unavailable", f"{number} " + "long " * 10_000))
        rig.pass_time(1000)
    log = job(rig, queued.id).error_log
    assert [entry["attempt"] for entry in log] == list(range(6, 26))
    assert all(len(entry["message"]) <= 2000 for entry in log)
    assert log[-1]["message"].startswith("24 long")


def test_the_error_log_keeps_no_secret_and_takes_any_text(rig: QueueRig) -> None:
    queued = enqueue(rig)
    message = "\x00\ud800 401 for Authorization: Bearer swordfish-1 at postgresql://u:swordfish-2@h/db\x1b[31m"
    rig.queue.fail(claim_one(rig), JobError("unavailable", message, exception="A\x00", step="b\x00"))
    kept = json.dumps(job(rig, queued.id).error_log, ensure_ascii=False)
    assert "swordfish" not in kept
    assert "401 for" in kept
    assert not any(character in kept for character in "\x00\x1b\ud800")


# Silent workers.


def test_a_silent_worker_loses_its_job_and_an_attempt(rig: QueueRig) -> None:
    queued = enqueue(rig)
    claim_one(rig, "host:1")
    assert rig.queue.reset_stale(HOURS, SILENT) == []
    rig.pass_time(HOURS + 1)
    (found,) = rig.queue.reset_stale(HOURS, SILENT)
    assert (found.job_id, found.org_id, found.document_id, found.run_id) == (
        queued.id,
        queued.org_id,
        queued.document_id,
        queued.run_id,
    )
    assert (found.status, found.attempts, found.locked_by) == (JobStatus.PENDING, 1, "host:1")
    assert rig.queue.reset_stale(HOURS, SILENT) == []
    (entry,) = job(rig, queued.id).error_log
    assert (entry["code"], entry["attempt"], entry["worker"]) == ("worker_silent", 1, "host:1")
    assert claim_one(rig).attempts == 1


def test_a_job_that_silences_its_workers_fails_in_the_end(rig: QueueRig) -> None:
    queued = enqueue(rig, max_attempts=2)
    outcomes = []
    for _ in range(2):
        claim_one(rig)
        rig.pass_time(HOURS + 1)
        outcomes += [found.status for found in rig.queue.reset_stale(HOURS, SILENT)]
    assert outcomes == [JobStatus.PENDING, JobStatus.FAILED]
    assert job(rig, queued.id).attempts == 2


def test_a_heartbeat_keeps_all_of_a_workers_jobs(rig: QueueRig) -> None:
    rig.queue.enqueue([run.job() for run in rig.new_runs(5)])
    leases = rig.queue.claim("a", 5)
    rig.pass_time(HOURS - 10)
    assert rig.queue.heartbeat(leases[:4]) == set(ids(leases[:4]))
    rig.pass_time(100)
    assert ids_of_reset(rig) == [leases[4].job_id]
    rig.queue.complete(leases[0])
    assert rig.queue.heartbeat(leases) == set(ids(leases[1:4]))
    assert rig.queue.heartbeat([]) == set()


def test_each_silence_counts_once_however_many_watch(rig: QueueRig) -> None:
    rig.queue.enqueue([run.job() for run in rig.new_runs(30)])
    claimed = ids(rig.queue.claim("a", 30))
    rig.pass_time(HOURS + 1)
    found = rig.together(*[lambda: rig.queue.reset_stale(HOURS, SILENT)] * 3)
    assert sorted(one.job_id for resets in found for one in resets) == sorted(claimed)
    assert {job(rig, job_id).attempts for job_id in claimed} == {1}


def test_a_watch_takes_no_more_than_its_limit(rig: QueueRig) -> None:
    rig.queue.enqueue([run.job() for run in rig.new_runs(5)])
    rig.queue.claim("a", 5)
    rig.pass_time(HOURS + 1)
    assert [len(rig.queue.reset_stale(HOURS, SILENT, limit=2)) for _ in range(4)] == [2, 2, 1, 0]
