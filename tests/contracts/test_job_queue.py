"""What every implementation of `JobQueue` promises: the life of a job, and the line that it stands in.

The suites of the queue speak of jobs, not of how they are kept.
"""

from collections import Counter
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tests.jobs.letterbox import Letterbox, claim_one, enqueue, ids, job, new_run
from webapp.clock import utc_now
from webapp.jobs.queue import AlreadyQueued, Job, JobError, Lease
from webapp.jobs.states import JobStatus, Priority

BROKEN = JobError("unavailable", "it broke")
HOURS = 7200

# The life of a job.


def test_a_job_waits_is_worked_on_and_ends(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox)
    assert job(letterbox, queued.id).status is JobStatus.PENDING
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


# The line.


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


def test_an_org_does_not_wait_behind_the_bulk_of_another(letterbox: Letterbox) -> None:
    ours, theirs = letterbox.new_org(), letterbox.new_org()
    bulk = [run.job() for run in letterbox.new_runs(20, theirs)]
    letterbox.queue.enqueue(bulk)
    assert ids(letterbox.queue.claim("a")) == ids(bulk[:1])
    few = [run.job() for run in letterbox.new_runs(2, ours)]
    letterbox.queue.enqueue(few)
    one_by_one = [claim_one(letterbox).job_id for _ in range(4)]
    assert one_by_one == [few[0].id, bulk[1].id, few[1].id, bulk[2].id]


def test_a_claim_of_many_is_shared_out(letterbox: Letterbox) -> None:
    orgs = [letterbox.new_org() for _ in range(3)]
    lines = [
        [run.job() for run in letterbox.new_runs(number, org)] for number, org in zip((9, 1, 4), orgs, strict=True)
    ]
    letterbox.queue.enqueue([job for line in lines for job in line])
    first = letterbox.queue.claim("a", 6)
    assert ids(first) == ids([lines[0][0], lines[1][0], lines[2][0], lines[0][1], lines[2][1], lines[0][2]])


def test_who_has_many_seats_waits_for_who_has_few(letterbox: Letterbox) -> None:
    ours, theirs = letterbox.new_org(), letterbox.new_org()
    letterbox.queue.enqueue([run.job() for org in (theirs, ours) for run in letterbox.new_runs(4, org)])
    taken = letterbox.queue.claim("a", 3, busy={theirs: 2})
    assert [lease.org_id for lease in taken] == [ours, ours, theirs]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 3])
def test_of_many_orgs_each_has_its_turn_however_much_the_others_bring(letterbox: Letterbox, limit: int) -> None:
    """More of them than a claim looks at, and than are remembered; some have their work in other stages."""
    runs = [letterbox.new_runs(1, letterbox.new_org())[0] for _ in range(300)]
    stages = ["process_document", "transcribe"]
    letterbox.queue.enqueue([run.job(stages[place % 2]) for place, run in enumerate(runs)])
    letterbox.queue.enqueue([run.job(stages[1 - place % 2]) for place, run in enumerate(runs)])
    served = Counter(lease.org_id for _ in range(300 // limit) for lease in letterbox.queue.claim("a", limit))
    assert served.total() == 300
    assert max(served.values()) <= 2
    rest = Counter(lease.org_id for _ in range(300 // limit) for lease in letterbox.queue.claim("a", limit))
    assert served + rest == Counter({run.org_id: 2 for run in runs})
    assert letterbox.queue.claim("a", limit) == []


@pytest.mark.slow
@pytest.mark.parametrize("served", [0, 80])
def test_orgs_whose_time_has_not_come_hide_nobody(letterbox: Letterbox, served: int) -> None:
    """As after a provider's bad hour: many orgs back off, and behind and before them somebody has work."""
    orgs = sorted(letterbox.new_org() for _ in range(200))
    before, later, behind = orgs[0], orgs[1:-1], orgs[-1]
    letterbox.queue.enqueue([letterbox.new_runs(1, org)[0].job() for org in later[:served]])
    assert sum(len(letterbox.queue.claim("a")) for _ in range(served)) == served
    letterbox.queue.enqueue([letterbox.new_runs(1, org)[0].job(delay_seconds=1000) for org in later])
    due = [letterbox.new_runs(1, org)[0].job() for org in (before, behind)]
    letterbox.queue.enqueue(due)
    assert {lease.job_id for _ in due for lease in letterbox.queue.claim("a")} == {job.id for job in due}
    assert letterbox.queue.claim("a") == []


def test_the_urgent_of_one_org_go_before_the_turn_of_another(letterbox: Letterbox) -> None:
    ours, theirs = letterbox.new_org(), letterbox.new_org()
    urgent = [run.job(priority=Priority.PERSON) for run in letterbox.new_runs(3, theirs)]
    letterbox.queue.enqueue([*urgent, *(run.job(priority=Priority.BULK) for run in letterbox.new_runs(3, ours))])
    assert ids(letterbox.queue.claim("a", 3)) == ids(urgent)


def test_stages_can_be_chosen(letterbox: Letterbox) -> None:
    extract, chunk, embed = (enqueue(letterbox, stage=stage) for stage in ("extract", "chunk", "embed"))
    assert ids(letterbox.queue.claim("a", 5, only=["chunk", "unknown"])) == [chunk.id]
    assert ids(letterbox.queue.claim("a", 5, without=["extract"])) == [embed.id]
    assert ids(letterbox.queue.claim("a", 5, only=[])) == []
    assert ids(letterbox.queue.claim("a", 5)) == [extract.id]


def test_many_are_completed_together(letterbox: Letterbox) -> None:
    jobs = [enqueue(letterbox) for _ in range(5)]
    leases = [*letterbox.queue.claim("a", 3), *letterbox.queue.claim("a", 2)]
    letterbox.queue.cancel_run(leases[1].run_id)
    letterbox.queue.release([leases[3]])
    again = claim_one(letterbox)
    assert letterbox.queue.complete_many(leases) == {leases[0].job_id, leases[2].job_id, leases[4].job_id}
    assert job(letterbox, again.job_id).status is JobStatus.PROCESSING
    assert letterbox.queue.complete_many([again]) == {again.job_id}
    assert letterbox.queue.complete_many([]) == set()
    ended = [job(letterbox, one.id).status for one in jobs]
    assert ended.count(JobStatus.COMPLETED) == 4


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


# Runs that end.


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


# Looking.


def test_an_unknown_job_is_none(letterbox: Letterbox) -> None:
    assert letterbox.queue.get(uuid4()) is None
    assert letterbox.queue.of_run(uuid4()) == []
    assert letterbox.queue.live_of_runs([uuid4()]) == {}
    assert letterbox.queue.live_of_runs([]) == {}


def test_counts_of_one_org_and_of_all(letterbox: Letterbox) -> None:
    ours, theirs = letterbox.new_org(), letterbox.new_org()
    letterbox.queue.enqueue([run.job() for run in letterbox.new_runs(3, ours)])
    first, second, _ = letterbox.queue.claim("a", 3)
    letterbox.queue.enqueue([run.job() for run in letterbox.new_runs(3, theirs)])
    letterbox.queue.claim("a", 1)
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
    letterbox.queue.enqueue(jobs)
    leases = letterbox.queue.claim("a", 5)
    letterbox.queue.enqueue([run.job() for run in letterbox.new_runs(2, theirs)])
    for lease in leases[::2]:
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
