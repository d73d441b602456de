"""What every implementation of `JobQueue` promises. It speaks of jobs, not of how they are kept."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.conftest import dispose, make_bare_app, settings_for
from tests.jobs.letterbox import RETRY, Letterbox, SqlLetterbox, claim_one, enqueue, ids, new_run
from webapp.clock import utc_now
from webapp.jobs.queue import AlreadyQueued, Job, JobError, JobQueue, Lease, LeaseLost
from webapp.jobs.states import JobStatus, Priority

BROKEN = JobError("unavailable", "it broke")
SILENT = JobError("worker_silent", "its worker fell silent")
HOURS = 7200


@pytest.fixture(params=["sqlite", "postgresql"])
def letterbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Letterbox]:
    """One for each implementation, and for each place that it can keep its jobs in."""
    url = request.getfixturevalue(f"{request.param}_database").url
    app = make_bare_app(settings_for(tmp_path / "data", DATABASE_URL=url))
    with app.app_context():
        yield SqlLetterbox(app)
    dispose(app)


def status(letterbox: Letterbox, job_id: UUID) -> JobStatus:
    return job(letterbox, job_id).status


def job(letterbox: Letterbox, job_id: UUID) -> Job:
    found = letterbox.queue.get(job_id)
    assert found is not None
    return found


# The life of a job -------------------------------------------------------------------------------


def test_a_job_waits_is_worked_on_and_ends(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox)
    assert status(letterbox, queued.id) is JobStatus.PENDING
    lease = claim_one(letterbox, "host:1")
    claimed = job(letterbox, queued.id)
    assert (claimed.status, claimed.locked_by) == (JobStatus.PROCESSING, "host:1")
    assert claimed.started_at is not None
    assert claimed.heartbeat_at is not None
    letterbox.queue.complete(lease)
    done = job(letterbox, queued.id)
    assert (done.status, done.locked_by, done.attempts) == (JobStatus.COMPLETED, None, 0)
    assert done.completed_at is not None
    assert letterbox.queue.claim("a") == []


def test_a_lease_brings_all_that_was_enqueued(letterbox: Letterbox) -> None:
    payload, checkpoint = {"name": "Ümläut 🙂", "deep": [1, {"a": None}]}, {"completed_stages": ["extract"]}
    queued = enqueue(letterbox, payload=payload, checkpoint=checkpoint, priority=Priority.BULK, max_attempts=7)
    lease = claim_one(letterbox)
    assert lease == Lease(
        job_id=queued.id,
        lease_id=lease.lease_id,
        org_id=queued.org_id,
        document_id=queued.document_id,
        run_id=queued.run_id,
        stage="process_document",
        payload=payload,
        checkpoint=checkpoint,
        attempts=0,
        max_attempts=7,
        priority=Priority.BULK,
    )


def test_times_are_of_today_and_know_their_zone(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox)
    letterbox.queue.complete(claim_one(letterbox))
    done = job(letterbox, queued.id)
    for at in (done.created_at, done.started_at, done.completed_at):
        assert at is not None
        assert abs(utc_now() - at) < timedelta(minutes=5)


def test_a_checkpoint_outlives_its_attempt(letterbox: Letterbox) -> None:
    enqueue(letterbox)
    lease = claim_one(letterbox)
    letterbox.queue.checkpoint(lease, {"artifacts": {"markdown": "a/b.md"}})
    letterbox.queue.release([lease])
    again = claim_one(letterbox)
    assert again.checkpoint == {"artifacts": {"markdown": "a/b.md"}}
    assert again.lease_id != lease.lease_id


def test_one_live_job_of_a_stage_for_each_run(letterbox: Letterbox) -> None:
    run = new_run(letterbox)
    letterbox.queue.enqueue([run.job("extract")])
    with pytest.raises(AlreadyQueued):
        letterbox.queue.enqueue([run.job("extract")])
    lease = claim_one(letterbox)
    with pytest.raises(AlreadyQueued):
        letterbox.queue.enqueue([run.job("extract", held=True)])
    letterbox.queue.enqueue([run.job("chunk")])
    letterbox.queue.complete(lease)
    letterbox.queue.enqueue([run.job("extract")])
    assert [found.stage for found in letterbox.queue.of_run(run.id)] == ["extract", "chunk", "extract"]


def test_many_are_enqueued_together_or_not_at_all(letterbox: Letterbox) -> None:
    first, second = letterbox.new_runs(2)
    with pytest.raises(AlreadyQueued):
        letterbox.queue.enqueue([first.job(), second.job(), first.job()])
    letterbox.queue.enqueue([])
    assert letterbox.queue.claim("a", 10) == []


# The line ----------------------------------------------------------------------------------------


def test_first_in_first_out(letterbox: Letterbox) -> None:
    one_by_one = [enqueue(letterbox) for _ in range(3)]
    at_once = [run.job() for run in letterbox.new_runs(5)]
    letterbox.queue.enqueue(at_once)
    assert [claim_one(letterbox).job_id for _ in range(8)] == ids(one_by_one) + ids(at_once)


def test_the_urgent_go_first(letterbox: Letterbox) -> None:
    late, bulk, person = (enqueue(letterbox, priority=priority) for priority in (20, Priority.BULK, Priority.PERSON))
    second = enqueue(letterbox)
    assert ids(letterbox.queue.claim("a", 10)) == ids([person, second, bulk, late])


def test_a_claim_takes_no_more_than_its_limit_and_in_order(letterbox: Letterbox) -> None:
    jobs = [run.job() for run in letterbox.new_runs(25)]
    letterbox.queue.enqueue(jobs)
    taken = [ids(letterbox.queue.claim("a", limit)) for limit in (0, 1, 7, 10, 10)]
    assert [len(claim) for claim in taken] == [0, 1, 7, 10, 7]
    assert [job_id for claim in taken for job_id in claim] == ids(jobs)


def test_a_delayed_job_comes_when_it_is_due(letterbox: Letterbox) -> None:
    delayed, due = enqueue(letterbox, delay_seconds=60), enqueue(letterbox)
    assert ids(letterbox.queue.claim("a", 10)) == [due.id]
    letterbox.pass_time(61)
    assert ids(letterbox.queue.claim("a", 10)) == [delayed.id]


def test_a_snoozed_job_comes_later_and_no_attempt_is_counted(letterbox: Letterbox) -> None:
    enqueue(letterbox, checkpoint={"a": 1})
    letterbox.queue.snooze(claim_one(letterbox), 30)
    assert letterbox.queue.claim("a") == []
    letterbox.pass_time(31)
    lease = claim_one(letterbox)
    assert (lease.attempts, lease.checkpoint) == (0, {"a": 1})
    letterbox.queue.snooze(lease, 0, {"operation": "x"})
    assert claim_one(letterbox).checkpoint == {"operation": "x"}


def test_a_released_job_keeps_its_place_and_its_attempts(letterbox: Letterbox) -> None:
    jobs = [enqueue(letterbox) for _ in range(3)]
    leases = letterbox.queue.claim("a", 2)
    assert letterbox.queue.release(leases) == {jobs[0].id, jobs[1].id}
    assert job(letterbox, jobs[0].id).locked_by is None
    again = letterbox.queue.claim("b", 3)
    assert ids(again) == ids(jobs)
    assert [lease.attempts for lease in again] == [0, 0, 0]
    assert letterbox.queue.release([]) == set()


def test_a_held_job_waits_until_its_run_may_start(letterbox: Letterbox) -> None:
    held, other = enqueue(letterbox, held=True), enqueue(letterbox)
    assert ids(letterbox.queue.claim("a", 10)) == [other.id]
    letterbox.pass_time(HOURS)
    assert letterbox.queue.claim("a", 10) == []
    assert letterbox.queue.unhold(held.run_id) == 1
    assert ids(letterbox.queue.claim("a", 10)) == [held.id]


def test_an_unheld_job_stands_where_its_run_was_made(letterbox: Letterbox) -> None:
    held, other = enqueue(letterbox, held=True), enqueue(letterbox)
    made = job(letterbox, held.id).created_at
    assert letterbox.queue.unhold(held.run_id, since=made - timedelta(seconds=1)) == 1
    assert ids(letterbox.queue.claim("a", 10)) == ids([held, other])


def test_only_held_jobs_are_unheld(letterbox: Letterbox) -> None:
    delayed = enqueue(letterbox, delay_seconds=60)
    assert letterbox.queue.unhold(delayed.run_id) == 0
    assert letterbox.queue.unhold(uuid4()) == 0
    enqueue(letterbox)
    lease = claim_one(letterbox)
    assert letterbox.queue.unhold(lease.run_id) == 0
    letterbox.queue.hold(lease)
    assert letterbox.queue.claim("a") == []
    assert letterbox.queue.unhold(lease.run_id) == 1
    assert letterbox.queue.unhold(lease.run_id) == 0
    assert claim_one(letterbox).attempts == 0


# Only one worker at a time -----------------------------------------------------------------------


def test_two_workers_never_share_a_job(letterbox: Letterbox) -> None:
    letterbox.queue.enqueue([run.job() for run in letterbox.new_runs(60)])

    def drain() -> list[UUID]:
        taken: list[UUID] = []
        while leases := letterbox.queue.claim("a", 3):
            taken += ids(leases)
        return taken

    taken = [job_id for claims in letterbox.together(*[drain] * 4) for job_id in claims]
    assert len(taken) == len(set(taken)) == 60


def reset(letterbox: Letterbox, lease: Lease) -> None:
    letterbox.pass_time(HOURS + 1)
    assert ids_of_reset(letterbox) == [lease.job_id]


def ids_of_reset(letterbox: Letterbox) -> list[UUID]:
    return [found.job_id for found in letterbox.queue.reset_stale(HOURS, SILENT)]


def reset_and_claimed_again(letterbox: Letterbox, lease: Lease) -> None:
    reset(letterbox, lease)
    assert claim_one(letterbox, "b").job_id == lease.job_id


def claimed_again_by_the_same_worker(letterbox: Letterbox, lease: Lease) -> None:
    reset(letterbox, lease)
    assert claim_one(letterbox, "a").job_id == lease.job_id


LOSSES: list[Callable[[Letterbox, Lease], Any]] = [
    reset,
    reset_and_claimed_again,
    claimed_again_by_the_same_worker,
    lambda letterbox, lease: letterbox.queue.release([lease]),
    lambda letterbox, lease: letterbox.queue.hold(lease),
    lambda letterbox, lease: letterbox.queue.complete(lease),
    lambda letterbox, lease: letterbox.queue.fail(lease, BROKEN),
    lambda letterbox, lease: letterbox.queue.fail(lease, BROKEN, permanent=True),
    lambda letterbox, lease: letterbox.queue.cancel_run(lease.run_id),
    lambda letterbox, lease: letterbox.queue.fail_run(lease.run_id, BROKEN),
]
LOSS_NAMES = [
    "reset",
    "taken",
    "retaken",
    "released",
    "held",
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
    "hold": lambda queue, lease: queue.hold(lease),
}


@pytest.mark.parametrize("lose", LOSSES, ids=LOSS_NAMES)
def test_a_lost_lease_can_do_nothing_any_more(letterbox: Letterbox, lose: Callable[[Letterbox, Lease], Any]) -> None:
    queued = enqueue(letterbox, checkpoint={"late": False})
    lease = claim_one(letterbox, "a")
    lose(letterbox, lease)
    before = job(letterbox, queued.id)
    for act in ACTS.values():
        with pytest.raises(LeaseLost):
            act(letterbox.queue, lease)
    assert letterbox.queue.heartbeat([lease]) == set()
    assert letterbox.queue.release([lease]) == set()
    assert job(letterbox, queued.id) == before


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_a_lease_of_another_job_can_do_nothing(letterbox: Letterbox, act: Callable[[JobQueue, Lease], Any]) -> None:
    """Job and lease belong together, even where one claim took both jobs."""
    enqueue(letterbox)
    enqueue(letterbox)
    first, second = letterbox.queue.claim("a", 2)
    letterbox.queue.release([first])
    again = claim_one(letterbox)
    crossed = Lease(**{**vars(first), "lease_id": second.lease_id})
    with pytest.raises(LeaseLost):
        act(letterbox.queue, crossed)
    assert letterbox.queue.heartbeat([crossed, second]) == {second.job_id}
    assert letterbox.queue.release([crossed, second]) == {second.job_id}
    letterbox.queue.complete(again)


def test_a_held_lease_passes_the_fence(letterbox: Letterbox) -> None:
    enqueue(letterbox)
    lease = claim_one(letterbox)
    letterbox.queue.fence(lease)
    letterbox.queue.complete(lease)


# Failures ----------------------------------------------------------------------------------------


def test_failures_are_counted_until_none_is_left(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox, max_attempts=3)
    seen = []
    for _ in range(3):
        letterbox.pass_time(1000)
        lease = claim_one(letterbox)
        seen.append((lease.attempts, letterbox.queue.fail(lease, BROKEN)))
    assert seen == [(0, JobStatus.PENDING), (1, JobStatus.PENDING), (2, JobStatus.FAILED)]
    letterbox.pass_time(1000)
    assert letterbox.queue.claim("a") == []
    failed = job(letterbox, queued.id)
    assert (failed.status, failed.attempts) == (JobStatus.FAILED, 3)
    assert failed.completed_at is not None
    assert [entry["attempt"] for entry in failed.error_log] == [1, 2, 3]


def test_a_permanent_failure_is_the_last(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox, max_attempts=5)
    assert letterbox.queue.fail(claim_one(letterbox), BROKEN, permanent=True) is JobStatus.FAILED
    assert job(letterbox, queued.id).attempts == 1


def test_an_error_says_when_where_and_what(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox)
    error = JobError("rate_limited", "try later", exception="RateLimited", step="embedding")
    letterbox.queue.fail(claim_one(letterbox, "host:1"), error)
    (entry,) = job(letterbox, queued.id).error_log
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


def waited_seconds(found: Job) -> float:
    assert found.available_at is not None
    return (found.available_at - datetime.fromisoformat(found.error_log[-1]["at"])).total_seconds()


def test_the_wait_grows_with_each_failure_up_to_its_limit(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox, max_attempts=8)
    for expected in (30, 60, 120, 240, 480, 600, 600):
        letterbox.queue.fail(claim_one(letterbox), BROKEN)
        waits = waited_seconds(job(letterbox, queued.id))
        assert expected - 0.01 <= waits <= expected * (1 + RETRY.jitter) + 0.01
        letterbox.pass_time(expected - 1)
        assert letterbox.queue.claim("a") == []
        letterbox.pass_time(expected)


def test_a_provider_may_ask_for_a_longer_wait_not_for_a_shorter_one(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox, max_attempts=5)
    for asked, expected in ((200, 200), (1, 60)):
        letterbox.queue.fail(claim_one(letterbox), BROKEN, retry_after_seconds=asked)
        waits = waited_seconds(job(letterbox, queued.id))
        assert expected - 0.01 <= waits <= expected * (1 + RETRY.jitter) + 0.01
        letterbox.pass_time(1000)


def test_the_error_log_is_bounded(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox, max_attempts=30)
    for number in range(25):
        letterbox.queue.fail(claim_one(letterbox), JobError("unavailable", f"{number} " + "long " * 10_000))
        letterbox.pass_time(1000)
    log = job(letterbox, queued.id).error_log
    assert [entry["attempt"] for entry in log] == list(range(6, 26))
    assert all(len(entry["message"]) <= 2000 for entry in log)
    assert log[-1]["message"].startswith("24 long")


def test_the_error_log_keeps_no_secret_and_takes_any_text(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox)
    message = "\x00\ud800 401 for Authorization: Bearer swordfish-1 at postgresql://u:swordfish-2@h/db\x1b[31m"
    letterbox.queue.fail(claim_one(letterbox), JobError("unavailable", message, exception="A\x00", step="b\x00"))
    kept = json.dumps(job(letterbox, queued.id).error_log, ensure_ascii=False)
    assert "swordfish" not in kept
    assert "401 for" in kept
    assert not any(character in kept for character in "\x00\x1b\ud800")


# Silent workers ----------------------------------------------------------------------------------


def test_a_silent_worker_loses_its_job_and_an_attempt(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox)
    claim_one(letterbox, "host:1")
    assert letterbox.queue.reset_stale(HOURS, SILENT) == []
    letterbox.pass_time(HOURS + 1)
    (found,) = letterbox.queue.reset_stale(HOURS, SILENT)
    assert (found.job_id, found.org_id, found.document_id, found.run_id) == (
        queued.id,
        queued.org_id,
        queued.document_id,
        queued.run_id,
    )
    assert (found.status, found.attempts, found.locked_by) == (JobStatus.PENDING, 1, "host:1")
    assert letterbox.queue.reset_stale(HOURS, SILENT) == []
    (entry,) = job(letterbox, queued.id).error_log
    assert (entry["code"], entry["attempt"], entry["worker"]) == ("worker_silent", 1, "host:1")
    assert claim_one(letterbox).attempts == 1


def test_a_job_that_silences_its_workers_fails_in_the_end(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox, max_attempts=2)
    outcomes = []
    for _ in range(2):
        claim_one(letterbox)
        letterbox.pass_time(HOURS + 1)
        outcomes += [found.status for found in letterbox.queue.reset_stale(HOURS, SILENT)]
    assert outcomes == [JobStatus.PENDING, JobStatus.FAILED]
    assert job(letterbox, queued.id).attempts == 2


def test_a_heartbeat_keeps_all_of_a_workers_jobs(letterbox: Letterbox) -> None:
    letterbox.queue.enqueue([run.job() for run in letterbox.new_runs(5)])
    leases = letterbox.queue.claim("a", 5)
    letterbox.pass_time(HOURS - 10)
    assert letterbox.queue.heartbeat(leases[:4]) == set(ids(leases[:4]))
    letterbox.pass_time(100)
    assert ids_of_reset(letterbox) == [leases[4].job_id]
    letterbox.queue.complete(leases[0])
    assert letterbox.queue.heartbeat(leases) == set(ids(leases[1:4]))
    assert letterbox.queue.heartbeat([]) == set()


def test_each_silence_counts_once_however_many_watch(letterbox: Letterbox) -> None:
    letterbox.queue.enqueue([run.job() for run in letterbox.new_runs(30)])
    claimed = ids(letterbox.queue.claim("a", 30))
    letterbox.pass_time(HOURS + 1)
    found = letterbox.together(*[lambda: letterbox.queue.reset_stale(HOURS, SILENT)] * 3)
    assert sorted(one.job_id for resets in found for one in resets) == sorted(claimed)
    assert {job(letterbox, job_id).attempts for job_id in claimed} == {1}


def test_a_watch_takes_no_more_than_its_limit(letterbox: Letterbox) -> None:
    letterbox.queue.enqueue([run.job() for run in letterbox.new_runs(5)])
    letterbox.queue.claim("a", 5)
    letterbox.pass_time(HOURS + 1)
    assert [len(letterbox.queue.reset_stale(HOURS, SILENT, limit=2)) for _ in range(4)] == [2, 2, 1, 0]


# Runs that end -----------------------------------------------------------------------------------


def live_and_ended(letterbox: Letterbox) -> tuple[UUID, list[Job]]:
    """A run with a finished job, one at work, one that waits and one that is held; and a stranger."""
    run = new_run(letterbox)
    for stage in ("extract", "chunk"):
        letterbox.queue.enqueue([run.job(stage)])
        lease = claim_one(letterbox)
        if stage == "extract":
            letterbox.queue.complete(lease)
    letterbox.queue.enqueue([run.job("embed"), run.job("publish", held=True)])
    enqueue(letterbox)
    return run.id, letterbox.queue.of_run(run.id)


def test_a_cancelled_run_ends_its_live_jobs_only(letterbox: Letterbox) -> None:
    run_id, before = live_and_ended(letterbox)
    assert letterbox.queue.cancel_run(run_id) == 3
    after = letterbox.queue.of_run(run_id)
    assert after[0] == before[0]
    assert {found.status for found in after[1:]} == {JobStatus.CANCELLED}
    assert all(found.completed_at and not found.locked_by for found in after)
    assert letterbox.queue.cancel_run(run_id) == 0
    assert len(letterbox.queue.claim("a", 10)) == 1


def test_a_failed_run_fails_its_live_jobs_only(letterbox: Letterbox) -> None:
    run_id, before = live_and_ended(letterbox)
    assert letterbox.queue.fail_run(run_id, JobError("process_terminated", "gone")) == 3
    after = letterbox.queue.of_run(run_id)
    assert after[0] == before[0]
    assert {found.status for found in after[1:]} == {JobStatus.FAILED}
    assert [found.attempts for found in after] == [0, 1, 0, 0]
    assert all(found.error_log[0]["code"] == "process_terminated" for found in after[1:])
    assert letterbox.queue.fail_run(run_id, BROKEN) == 0
    assert len(letterbox.queue.claim("a", 10)) == 1


# Looking -----------------------------------------------------------------------------------------


def test_an_unknown_job_is_none(letterbox: Letterbox) -> None:
    assert letterbox.queue.get(uuid4()) is None
    assert letterbox.queue.of_run(uuid4()) == []
    assert letterbox.queue.live_of_runs([uuid4()]) == {}
    assert letterbox.queue.live_of_runs([]) == {}


def test_counts_of_one_org_and_of_all(letterbox: Letterbox) -> None:
    ours, theirs = letterbox.new_org(), letterbox.new_org()
    jobs = [run.job() for org in (ours, theirs) for run in letterbox.new_runs(3, org)]
    letterbox.queue.enqueue(jobs)
    first, second, *_ = letterbox.queue.claim("a", 4)
    letterbox.queue.complete(first)
    letterbox.queue.fail(second, BROKEN, permanent=True)
    assert letterbox.queue.counts(ours) == {
        JobStatus.PENDING: 0,
        JobStatus.PROCESSING: 1,
        JobStatus.COMPLETED: 1,
        JobStatus.FAILED: 1,
        JobStatus.CANCELLED: 0,
    }
    assert letterbox.queue.counts()[JobStatus.PENDING] == 2
    assert letterbox.queue.counts()[JobStatus.PROCESSING] == 2


def pages(letterbox: Letterbox, org_id: UUID, wanted: JobStatus | None, limit: int) -> list[list[UUID]]:
    found: list[list[UUID]] = []
    while page := letterbox.queue.find(org_id, wanted, before=found[-1][-1] if found else None, limit=limit):
        found.append(ids(page))
    return found


def test_pages_go_from_the_newest_to_the_oldest(letterbox: Letterbox) -> None:
    ours, theirs = letterbox.new_org(), letterbox.new_org()
    jobs = [run.job() for run in letterbox.new_runs(7, ours)]
    letterbox.queue.enqueue([*jobs, *(run.job() for run in letterbox.new_runs(2, theirs))])
    for lease in letterbox.queue.claim("a", 5)[::2]:
        letterbox.queue.fail(lease, BROKEN, permanent=True)
    newest = ids(jobs)[::-1]
    assert pages(letterbox, ours, None, 3) == [newest[:3], newest[3:6], newest[6:]]
    failed = [newest[2], newest[4], newest[6]]
    assert pages(letterbox, ours, JobStatus.FAILED, 2) == [failed[:2], failed[2:]]
    assert pages(letterbox, ours, JobStatus.COMPLETED, 2) == []
    assert len(letterbox.queue.find(theirs)) == 2


def test_the_newest_job_shows_where_a_run_stands(letterbox: Letterbox) -> None:
    first, second, idle = letterbox.new_runs(3)
    letterbox.queue.enqueue([first.job("extract"), second.job("extract")])
    letterbox.queue.complete(claim_one(letterbox))
    letterbox.queue.enqueue([first.job("connect")])
    found = letterbox.queue.live_of_runs([first.id, second.id, idle.id])
    assert {run_id: one.stage for run_id, one in found.items()} == {first.id: "connect", second.id: "extract"}
    assert [one.stage for one in letterbox.queue.of_run(first.id)] == ["extract", "connect"]
