"""What every implementation of `JobQueue` promises: the life of a job, and its place in the queue.

The suites of the queue speak of jobs, not of how they are kept.
"""

from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tests.jobs.rig import QueueRig, claim_one, enqueue, ids, job, new_run
from webapp.clock import utc_now
from webapp.jobs.queue import AlreadyQueued, JobError, JobSnapshot, Lease
from webapp.jobs.states import JobStatus, Priority

BROKEN = JobError("unavailable", "it broke")
HOURS = 7200

# The life of a job.


def test_a_job_waits_is_worked_on_and_ends(rig: QueueRig) -> None:
    queued = enqueue(rig)
    assert job(rig, queued.id).status is JobStatus.PENDING
    lease = claim_one(rig, "host:1")
    claimed = job(rig, queued.id)
    assert (claimed.status, claimed.locked_by) == (JobStatus.PROCESSING, "host:1")
    assert claimed.started_at is not None
    assert claimed.heartbeat_at is not None
    rig.queue.complete(lease)
    done = job(rig, queued.id)
    assert (done.status, done.locked_by, done.attempts) == (JobStatus.COMPLETED, None, 0)
    assert done.completed_at is not None
    assert rig.queue.claim("a") == []


def test_a_lease_brings_all_that_was_enqueued(rig: QueueRig) -> None:
    payload, checkpoint = {"name": "Ümläut 🙂", "deep": [1, {"a": None}]}, {"completed_stages": ["extract"]}
    queued = enqueue(rig, payload=payload, checkpoint=checkpoint, priority=Priority.BULK, max_attempts=7)
    lease = claim_one(rig)
    assert lease == Lease(
        job_id=queued.id,
        lease_id=lease.lease_id,
        org_id=queued.org_id,
        run=queued.run,
        operation_id=None,
        stage="process_document",
        payload=payload,
        checkpoint=checkpoint,
        attempts=0,
        max_attempts=7,
        priority=Priority.BULK,
        content_type="text/plain",
    )


def test_times_are_of_today_and_know_their_zone(rig: QueueRig) -> None:
    queued = enqueue(rig)
    rig.queue.complete(claim_one(rig))
    done = job(rig, queued.id)
    for at in (done.created_at, done.started_at, done.completed_at):
        assert at is not None
        assert abs(utc_now() - at) < timedelta(minutes=5)


def test_a_checkpoint_outlives_its_attempt(rig: QueueRig) -> None:
    enqueue(rig)
    lease = claim_one(rig)
    rig.queue.checkpoint(lease, {"artifacts": {"markdown": "a/b.md"}})
    rig.queue.release([lease])
    again = claim_one(rig)
    assert again.checkpoint == {"artifacts": {"markdown": "a/b.md"}}
    assert again.lease_id != lease.lease_id


def test_one_live_job_of_a_stage_for_each_run(rig: QueueRig) -> None:
    run = new_run(rig)
    rig.queue.enqueue([run.job("extract")])
    with pytest.raises(AlreadyQueued):
        rig.queue.enqueue([run.job("extract")])
    lease = claim_one(rig)
    with pytest.raises(AlreadyQueued):
        rig.queue.enqueue([run.job("extract", must_wait=True)])
    rig.queue.enqueue([run.job("chunk")])
    rig.queue.complete(lease)
    rig.queue.enqueue([run.job("extract")])
    assert [found.stage for found in rig.queue.of_run(run.id)] == ["extract", "chunk", "extract"]


def test_many_are_enqueued_together_or_not_at_all(rig: QueueRig) -> None:
    first, second = rig.new_runs(2)
    with pytest.raises(AlreadyQueued):
        rig.queue.enqueue([first.job(), second.job(), first.job()])
    rig.queue.enqueue([])
    assert rig.queue.claim("a", 10) == []


# The line.


def test_first_in_first_out(rig: QueueRig) -> None:
    one_by_one = [enqueue(rig) for _ in range(3)]
    at_once = [run.job() for run in rig.new_runs(5)]
    rig.queue.enqueue(at_once)
    assert [claim_one(rig).job_id for _ in range(8)] == ids(one_by_one) + ids(at_once)


def test_the_urgent_go_first(rig: QueueRig) -> None:
    late, bulk, person = (enqueue(rig, priority=priority) for priority in (20, Priority.BULK, Priority.PERSON))
    second = enqueue(rig)
    assert ids(rig.queue.claim("a", 10)) == ids([person, second, bulk, late])


def test_a_claim_takes_no_more_than_its_limit_and_in_order(rig: QueueRig) -> None:
    jobs = [run.job() for run in rig.new_runs(25)]
    rig.queue.enqueue(jobs)
    taken = [ids(rig.queue.claim("a", limit)) for limit in (0, 1, 7, 10, 10)]
    assert [len(claim) for claim in taken] == [0, 1, 7, 10, 7]
    assert [job_id for claim in taken for job_id in claim] == ids(jobs)


def test_an_org_does_not_wait_behind_the_bulk_of_another(rig: QueueRig) -> None:
    ours, theirs = rig.new_org(), rig.new_org()
    bulk = [run.job() for run in rig.new_runs(20, theirs)]
    rig.queue.enqueue(bulk)
    assert ids(rig.queue.claim("a")) == ids(bulk[:1])
    few = [run.job() for run in rig.new_runs(2, ours)]
    rig.queue.enqueue(few)
    one_by_one = [claim_one(rig).job_id for _ in range(4)]
    assert one_by_one == [few[0].id, bulk[1].id, few[1].id, bulk[2].id]


def test_a_claim_of_many_is_shared_out(rig: QueueRig) -> None:
    orgs = [rig.new_org() for _ in range(3)]
    lines = [[run.job() for run in rig.new_runs(number, org)] for number, org in zip((9, 1, 4), orgs, strict=True)]
    rig.queue.enqueue([job for line in lines for job in line])
    first = rig.queue.claim("a", 6)
    assert ids(first) == ids([lines[0][0], lines[1][0], lines[2][0], lines[0][1], lines[2][1], lines[0][2]])


def test_who_has_many_seats_waits_for_who_has_few(rig: QueueRig) -> None:
    ours, theirs = rig.new_org(), rig.new_org()
    rig.queue.enqueue([run.job() for run in rig.new_runs(2, theirs)])
    held = Counter(lease.org_id for lease in rig.queue.claim("a", 2))
    rig.queue.enqueue([run.job() for org in (theirs, ours) for run in rig.new_runs(4, org)])
    taken = rig.queue.claim("a", 3, seats=held)
    assert [lease.org_id for lease in taken] == [ours, ours, theirs]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 3])
def test_of_many_orgs_each_has_its_turn_however_much_the_others_bring(rig: QueueRig, limit: int) -> None:
    """More of them than a claim looks at, and than are remembered; some have their work in other stages."""
    runs = [rig.new_runs(1, rig.new_org())[0] for _ in range(300)]
    stages = ["process_document", "transcribe"]
    rig.queue.enqueue([run.job(stages[place % 2]) for place, run in enumerate(runs)])
    rig.queue.enqueue([run.job(stages[1 - place % 2]) for place, run in enumerate(runs)])
    served = Counter(lease.org_id for _ in range(300 // limit) for lease in rig.queue.claim("a", limit))
    assert served.total() == 300
    assert max(served.values()) <= 2
    rest = Counter(lease.org_id for _ in range(300 // limit) for lease in rig.queue.claim("a", limit))
    assert served + rest == Counter({run.org_id: 2 for run in runs})
    assert rig.queue.claim("a", limit) == []


@pytest.mark.slow
@pytest.mark.parametrize("served", [0, 80])
def test_orgs_whose_time_has_not_come_hide_nobody(rig: QueueRig, served: int) -> None:
    """As after a provider's bad hour: many orgs back off, and behind and before them somebody has work."""
    orgs = sorted(rig.new_org() for _ in range(200))
    before, later, behind = orgs[0], orgs[1:-1], orgs[-1]
    rig.queue.enqueue([rig.new_runs(1, org)[0].job() for org in later[:served]])
    assert sum(len(rig.queue.claim("a")) for _ in range(served)) == served
    rig.queue.enqueue([rig.new_runs(1, org)[0].job(delay_seconds=1000) for org in later])
    due = [rig.new_runs(1, org)[0].job() for org in (before, behind)]
    rig.queue.enqueue(due)
    assert {lease.job_id for _ in due for lease in rig.queue.claim("a")} == {job.id for job in due}
    assert rig.queue.claim("a") == []


def test_the_urgent_of_one_org_go_before_the_turn_of_another(rig: QueueRig) -> None:
    ours, theirs = rig.new_org(), rig.new_org()
    urgent = [run.job(priority=Priority.PERSON) for run in rig.new_runs(3, theirs)]
    rig.queue.enqueue([*urgent, *(run.job(priority=Priority.BULK) for run in rig.new_runs(3, ours))])
    assert ids(rig.queue.claim("a", 3)) == ids(urgent)


def test_stages_can_be_chosen(rig: QueueRig) -> None:
    extract, chunk, embed = (enqueue(rig, stage=stage) for stage in ("extract", "chunk", "embed"))
    assert ids(rig.queue.claim("a", 5, stages=["chunk", "unknown"])) == [chunk.id]
    assert ids(rig.queue.claim("a", 5, stages=[])) == []
    assert set(ids(rig.queue.claim("a", 5))) == {extract.id, embed.id}


def test_a_delayed_job_comes_when_it_is_due(rig: QueueRig) -> None:
    delayed, due = enqueue(rig, delay_seconds=60), enqueue(rig)
    assert ids(rig.queue.claim("a", 10)) == [due.id]
    rig.pass_time(61)
    assert ids(rig.queue.claim("a", 10)) == [delayed.id]


def test_a_snoozed_job_comes_later_and_no_attempt_is_counted(rig: QueueRig) -> None:
    enqueue(rig, checkpoint={"a": 1})
    rig.queue.snooze(claim_one(rig), 30)
    assert rig.queue.claim("a") == []
    rig.pass_time(31)
    lease = claim_one(rig)
    assert (lease.attempts, lease.checkpoint) == (0, {"a": 1})
    rig.queue.snooze(lease, 0, {"operation": "x"})
    assert claim_one(rig).checkpoint == {"operation": "x"}


def test_a_released_job_keeps_its_place_and_its_attempts(rig: QueueRig) -> None:
    jobs = [enqueue(rig) for _ in range(3)]
    leases = rig.queue.claim("a", 2)
    assert rig.queue.release(leases) == {jobs[0].id, jobs[1].id}
    assert job(rig, jobs[0].id).locked_by is None
    again = rig.queue.claim("b", 3)
    assert ids(again) == ids(jobs)
    assert [lease.attempts for lease in again] == [0, 0, 0]
    assert rig.queue.release([]) == set()


def test_a_waiting_job_is_not_claimed_before_it_is_let_in(rig: QueueRig) -> None:
    held, other = enqueue(rig, must_wait=True), enqueue(rig)
    assert ids(rig.queue.claim("a", 10)) == [other.id]
    rig.pass_time(HOURS)
    assert rig.queue.claim("a", 10) == []
    assert rig.queue.let_in(held.run_id) == 1
    assert ids(rig.queue.claim("a", 10)) == [held.id]


def test_a_job_that_was_let_in_is_as_old_as_its_run(rig: QueueRig) -> None:
    held, other = enqueue(rig, must_wait=True), enqueue(rig)
    made = job(rig, held.id).created_at
    assert rig.queue.let_in(held.run_id, since=made - timedelta(seconds=1)) == 1
    assert ids(rig.queue.claim("a", 10)) == ids([held, other])


def test_only_waiting_jobs_are_let_in(rig: QueueRig) -> None:
    delayed = enqueue(rig, delay_seconds=60)
    assert rig.queue.let_in(delayed.run_id) == 0
    assert rig.queue.let_in(uuid4()) == 0
    enqueue(rig)
    lease = claim_one(rig)
    assert rig.queue.let_in(lease.run_id) == 0
    waiting = enqueue(rig, must_wait=True)
    assert rig.queue.claim("a") == []
    assert rig.queue.let_in(waiting.run_id) == 1
    assert rig.queue.let_in(waiting.run_id) == 0
    assert claim_one(rig).job_id == waiting.id


# Runs that end.


def live_and_ended(rig: QueueRig) -> tuple[UUID, list[JobSnapshot]]:
    """A run with a finished job, one that runs, one that waits and one that is held; and a job of another run."""
    run = new_run(rig)
    for stage in ("extract", "chunk"):
        rig.queue.enqueue([run.job(stage)])
        lease = claim_one(rig)
        if stage == "extract":
            rig.queue.complete(lease)
    rig.queue.enqueue([run.job("embed"), run.job("publish", must_wait=True)])
    enqueue(rig)
    return run.id, rig.queue.of_run(run.id)


def test_a_cancelled_run_ends_its_live_jobs_only(rig: QueueRig) -> None:
    run_id, before = live_and_ended(rig)
    assert rig.queue.cancel_run(run_id) == 3
    after = rig.queue.of_run(run_id)
    assert after[0] == before[0]
    assert {found.status for found in after[1:]} == {JobStatus.CANCELLED}
    assert all(found.completed_at and not found.locked_by for found in after)
    assert rig.queue.cancel_run(run_id) == 0
    assert len(rig.queue.claim("a", 10)) == 1


def test_several_runs_are_cancelled_at_once(rig: QueueRig) -> None:
    one, _ = live_and_ended(rig)
    other, _ = live_and_ended(rig)
    assert rig.queue.cancel_runs([one, other]) == 6
    found = rig.queue.of_runs([one, other])
    assert sorted({job.status for job in found}) == [JobStatus.CANCELLED, JobStatus.COMPLETED]
    assert (rig.queue.cancel_runs([one, other]), rig.queue.cancel_runs([])) == (0, 0)


def test_a_failed_run_fails_its_live_jobs_only(rig: QueueRig) -> None:
    run_id, before = live_and_ended(rig)
    assert rig.queue.fail_run(run_id, JobError("process_terminated", "gone")) == 3
    after = rig.queue.of_run(run_id)
    assert after[0] == before[0]
    assert {found.status for found in after[1:]} == {JobStatus.FAILED}
    assert [found.attempts for found in after] == [0, 1, 0, 0]
    assert all(found.error_log[0]["code"] == "process_terminated" for found in after[1:])
    assert rig.queue.fail_run(run_id, BROKEN) == 0
    assert len(rig.queue.claim("a", 10)) == 1


# Looking.


def test_an_unknown_job_is_none(rig: QueueRig) -> None:
    assert rig.queue.get(uuid4()) is None
    assert rig.queue.of_run(uuid4()) == []
    assert rig.queue.live_of_runs([uuid4()]) == {}
    assert rig.queue.live_of_runs([]) == {}


def test_counts_of_one_org_and_of_all(rig: QueueRig) -> None:
    ours, theirs = rig.new_org(), rig.new_org()
    rig.queue.enqueue([run.job() for run in rig.new_runs(3, ours)])
    first, second, _ = rig.queue.claim("a", 3)
    rig.queue.enqueue([run.job() for run in rig.new_runs(3, theirs)])
    rig.queue.claim("a", 1)
    rig.queue.complete(first)
    rig.queue.fail(second, BROKEN, permanent=True)
    assert rig.queue.counts(ours) == {
        JobStatus.PENDING: 0,
        JobStatus.PROCESSING: 1,
        JobStatus.COMPLETED: 1,
        JobStatus.FAILED: 1,
        JobStatus.CANCELLED: 0,
    }
    assert rig.queue.counts()[JobStatus.PENDING] == 2
    assert rig.queue.counts()[JobStatus.PROCESSING] == 2


def pages(rig: QueueRig, org_id: UUID, wanted: JobStatus | None, limit: int) -> list[list[UUID]]:
    found: list[list[UUID]] = []
    while page := rig.queue.find(org_id, wanted, before=found[-1][-1] if found else None, limit=limit):
        found.append(ids(page))
    return found


def test_pages_go_from_the_newest_to_the_oldest(rig: QueueRig) -> None:
    ours, theirs = rig.new_org(), rig.new_org()
    jobs = [run.job() for run in rig.new_runs(7, ours)]
    rig.queue.enqueue(jobs)
    leases = rig.queue.claim("a", 5)
    rig.queue.enqueue([run.job() for run in rig.new_runs(2, theirs)])
    for lease in leases[::2]:
        rig.queue.fail(lease, BROKEN, permanent=True)
    newest = ids(jobs)[::-1]
    assert pages(rig, ours, None, 3) == [newest[:3], newest[3:6], newest[6:]]
    failed = [newest[2], newest[4], newest[6]]
    assert pages(rig, ours, JobStatus.FAILED, 2) == [failed[:2], failed[2:]]
    assert pages(rig, ours, JobStatus.COMPLETED, 2) == []
    assert len(rig.queue.find(theirs)) == 2


def test_the_newest_job_shows_how_far_a_run_is(rig: QueueRig) -> None:
    first, second, idle = rig.new_runs(3)
    rig.queue.enqueue([first.job("extract"), second.job("extract")])
    rig.queue.complete(claim_one(rig))
    rig.queue.enqueue([first.job("connect")])
    found = rig.queue.live_of_runs([first.id, second.id, idle.id])
    assert {run_id: one.stage for run_id, one in found.items()} == {first.id: "connect", second.id: "extract"}
    assert [one.stage for one in rig.queue.of_run(first.id)] == ["extract", "connect"]
