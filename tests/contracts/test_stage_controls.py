"""What every implementation of `JobQueue` promises about its stages: paused, limited, slowed, counted, pruned."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.jobs.rig import QueueRig, claim_one, enqueue, ids, job, new_run
from webapp.clock import new_id, utc_now
from webapp.jobs.controls import EVERY_STAGE, RECOVERED_AT, RECOVERY_SECONDS, StageControl, StageCounts, with_defaults
from webapp.jobs.queue import WAITS_FOR, JobError, Lease, NewJob
from webapp.jobs.states import JobStatus, Priority

BROKEN = JobError("unavailable", "it broke")
DAY = 86_400.0


def enqueue_many(rig: QueueRig, number: int, stage: str = "extract", **more: int) -> list[NewJob]:
    jobs = [run.job(stage, **more) for run in rig.new_runs(number)]
    rig.queue.enqueue(jobs)
    return jobs


def stages(leases: list[Lease]) -> list[str]:
    return [lease.stage for lease in leases]


# Pause and resume.


def test_a_paused_stage_is_passed_by_and_the_others_go_on(rig: QueueRig) -> None:
    first = enqueue(rig, stage="extract")
    other = enqueue(rig, stage="embed")
    rig.queue.pause("extract", "credentials_refused", "ana")
    assert ids(rig.queue.claim("a", 10)) == [other.id]
    assert rig.queue.claim("a", 10) == []
    assert job(rig, first.id).status is JobStatus.PENDING
    rig.queue.resume("extract")
    assert ids(rig.queue.claim("a", 10)) == [first.id]


def test_a_long_line_of_a_paused_stage_hides_nobody(rig: QueueRig) -> None:
    enqueue_many(rig, 60, "extract", priority=Priority.PERSON)
    behind = enqueue(rig, stage="embed", priority=Priority.BACKGROUND)
    rig.queue.pause("extract")
    assert ids(rig.queue.claim("a", 1)) == [behind.id]


def test_running_jobs_go_on_in_a_pause(rig: QueueRig) -> None:
    queued = enqueue(rig)
    lease = claim_one(rig)
    rig.queue.pause(lease.stage)
    assert rig.queue.heartbeat([lease]) == {queued.id}
    rig.queue.checkpoint(lease, {"a": 1})
    rig.queue.complete(lease)
    assert job(rig, queued.id).status is JobStatus.COMPLETED


def test_every_stage_at_once(rig: QueueRig) -> None:
    jobs = [enqueue(rig, stage="extract"), enqueue(rig, stage="embed")]
    rig.queue.pause("embed")
    rig.queue.pause(EVERY_STAGE, by="ana")
    assert rig.queue.claim("a", 10) == []
    rig.queue.resume(EVERY_STAGE)
    # What was paused by itself stays so.
    assert ids(rig.queue.claim("a", 10)) == [jobs[0].id]
    rig.queue.resume("embed")
    assert ids(rig.queue.claim("a", 10)) == [jobs[1].id]


def test_controls_say_what_holds_and_who_said_so(rig: QueueRig) -> None:
    assert rig.queue.controls() == {}
    rig.queue.pause("extract", "credentials_refused", "ana")
    rig.queue.limit("extract", 4, "bob")
    (control,) = rig.queue.controls().values()
    assert (control.stage, control.is_paused, control.reason) == ("extract", True, "credentials_refused")
    assert (control.limit, control.changed_by, control.allowance()) == (4, "bob", 0)
    assert control.updated_at is not None
    assert abs(utc_now() - control.updated_at) < timedelta(minutes=5)
    rig.queue.resume("extract")
    (control,) = rig.queue.controls().values()
    assert (control.is_paused, control.reason, control.limit, control.allowance()) == (False, None, 4, 4)


def test_to_pause_again_changes_the_reason_only(rig: QueueRig) -> None:
    rig.queue.limit("extract", 2)
    rig.queue.pause("extract", "credentials_refused")
    rig.queue.pause("extract", None, "ana")
    control = rig.queue.controls()["extract"]
    assert (control.is_paused, control.reason, control.changed_by, control.limit) == (True, None, "ana", 2)


# Limits.


def test_a_limit_holds_for_the_whole_installation(rig: QueueRig) -> None:
    enqueue_many(rig, 6)
    other = enqueue(rig, stage="embed")
    rig.queue.limit("extract", 2)
    first = rig.queue.claim("a", 10)
    assert sorted(stages(first)) == ["embed", "extract", "extract"]
    assert other.id in ids(first)
    assert rig.queue.claim("b", 10) == []
    rig.queue.complete(next(lease for lease in first if lease.stage == "extract"))
    assert len(rig.queue.claim("b", 10)) == 1
    rig.queue.limit("extract", None)
    assert len(rig.queue.claim("b", 10)) == 3


def test_a_limit_takes_the_first_that_is_due(rig: QueueRig) -> None:
    jobs = enqueue_many(rig, 5)
    rig.queue.limit("extract", 2)
    assert ids(rig.queue.claim("a", 10)) == ids(jobs[:2])


def test_a_lower_limit_takes_nothing_away(rig: QueueRig) -> None:
    enqueue_many(rig, 4)
    leases = rig.queue.claim("a", 3)
    rig.queue.limit("extract", 1)
    assert rig.queue.heartbeat(leases) == {lease.job_id for lease in leases}
    assert rig.queue.claim("a", 10) == []
    for lease in leases:
        assert rig.queue.claim("a", 10) == []
        rig.queue.complete(lease)
    assert len(rig.queue.claim("a", 10)) == 1


def test_a_limit_is_kept_by_many_who_claim_at_once(rig: QueueRig) -> None:
    enqueue_many(rig, 40)
    rig.queue.limit("extract", 3)
    tasks = [lambda worker=f"w{number}": rig.queue.claim(worker, 4) for number in range(8)]
    taken = [lease for claim in rig.together(*tasks) for lease in claim]
    # None is over the limit; a claim beside another one may have got less.
    assert 1 <= len(taken) <= 3
    taken += rig.queue.claim("last", 10)
    assert len(taken) == 3


def test_a_limit_below_one_is_refused(rig: QueueRig) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        rig.queue.limit("extract", 0)


# Back-pressure.


def test_a_slowed_stage_rests_and_the_others_go_on(rig: QueueRig) -> None:
    enqueue_many(rig, 3)
    other = enqueue(rig, stage="embed")
    rig.queue.slow("extract", 60)
    assert ids(rig.queue.claim("a", 10)) == [other.id]
    control = rig.queue.controls()["extract"]
    assert control.allowance() == 0
    assert 50 < control.rests_seconds <= 60
    rig.queue.resume("extract")
    assert len(rig.queue.claim("a", 10)) == 3


def test_without_a_time_a_stage_rests_as_long_as_a_job_would(rig: QueueRig) -> None:
    rig.queue.slow("extract")
    assert 20 < rig.queue.controls()["extract"].rests_seconds <= 30


def test_the_most_patient_answer_counts(rig: QueueRig) -> None:
    rig.queue.slow("extract", 300)
    rig.queue.slow("extract", 40)
    assert 290 < rig.queue.controls()["extract"].rests_seconds <= 300


def test_a_stage_that_rested_begins_with_one_and_recovers_step_by_step(rig: QueueRig) -> None:
    enqueue_many(rig, 9)
    rig.queue.slow("extract", 60)
    rig.pass_time(61)
    leases = rig.queue.claim("a", 10)
    assert len(leases) == 1
    assert rig.queue.claim("a", 10) == []
    rig.pass_time(RECOVERY_SECONDS)
    assert len(rig.queue.claim("a", 10)) == 1
    rig.pass_time(RECOVERY_SECONDS)
    assert len(rig.queue.claim("a", 10)) == 2
    rig.pass_time(RECOVERY_SECONDS * RECOVERED_AT)
    assert len(rig.queue.claim("a", 10)) == 5
    assert rig.queue.controls()["extract"].allowance() is None


def test_a_limit_holds_while_a_stage_recovers_and_after(rig: QueueRig) -> None:
    enqueue_many(rig, 9)
    rig.queue.limit("extract", 3)
    rig.queue.slow("extract", 60)
    rig.pass_time(61)
    assert len(rig.queue.claim("a", 10)) == 1
    rig.pass_time(RECOVERY_SECONDS * RECOVERED_AT)
    assert len(rig.queue.claim("a", 10)) == 2


@pytest.mark.parametrize(
    ("since", "limit", "allowance"),
    [
        (-0.1, None, 0),
        (0, None, 1),
        (RECOVERY_SECONDS - 0.1, None, 1),
        (RECOVERY_SECONDS, None, 2),
        (RECOVERY_SECONDS * 5, None, 32),
        (RECOVERY_SECONDS * 6, None, None),
        (RECOVERY_SECONDS * 5, 4, 4),
        (RECOVERY_SECONDS, 4, 2),
        (1e9, 4, 4),
        (1e9, None, None),
        (None, None, None),
    ],
)
def test_the_allowance_doubles_from_one(since: float | None, limit: int | None, allowance: int | None) -> None:
    assert StageControl("a", limit=limit, seconds_since_slowed=since).allowance() == allowance


def test_the_settings_limit_what_ops_did_not() -> None:
    stored = {"a": StageControl("a", limit=9), "b": StageControl("b", is_paused=True)}
    found = with_defaults(stored, {"a": 2, "b": 3, "c": 4})
    assert [(one.stage, one.limit, one.is_default_limit) for one in found.values()] == [
        ("a", 9, False),
        ("b", 3, True),
        ("c", 4, True),
    ]
    assert found["b"].is_paused


# Looking.


def test_counts_by_stage_of_one_org_and_of_all(rig: QueueRig) -> None:
    ours, theirs = rig.new_org(), rig.new_org()
    rig.queue.enqueue([run.job("extract") for run in rig.new_runs(4, ours)])
    rig.queue.enqueue([run.job("extract") for run in rig.new_runs(1, theirs)])
    rig.queue.enqueue([run.job("embed", delay_seconds=60) for run in rig.new_runs(1, ours)])
    rig.queue.enqueue([run.job("embed", must_wait=True) for run in rig.new_runs(1, ours)])
    rig.pass_time(5)
    mine = [lease for lease in rig.queue.claim("a", 10) if lease.org_id == ours]
    rig.queue.complete(mine[0])
    rig.queue.fail(mine[1], BROKEN, permanent=True)
    rig.queue.release([mine[2]])
    found = rig.queue.stage_counts(ours)
    oldest = found["extract"].oldest_due_seconds
    assert oldest is not None
    assert 4 < oldest < 60
    assert found == {
        "embed": StageCounts(due=0, later=2),
        "extract": StageCounts(due=1, processing=1, failed=1, oldest_due_seconds=oldest),
    }
    assert rig.queue.stage_counts()["extract"].processing == 2


# Retention.


def prune_all(rig: QueueRig, days: float, page: int = 3) -> int:
    total, after = 0, UUID(int=0)
    while True:
        pruned = rig.queue.prune(days * DAY, after=after, limit=page)
        total += pruned.number
        if pruned.next_after is None:
            return total
        assert pruned.next_after > after
        after = pruned.next_after


def test_only_what_was_done_long_ago_is_forgotten(rig: QueueRig) -> None:
    done, failed, cancelled, waiting = enqueue_many(rig, 4)
    first, second, *_ = rig.queue.claim("a", 2)
    rig.queue.complete(first)
    rig.queue.fail(second, BROKEN, permanent=True)
    rig.queue.cancel_run(cancelled.run_id)
    assert prune_all(rig, 30) == 0
    rig.pass_time(31 * DAY)
    young = enqueue(rig)
    rig.queue.claim("a", 1)
    assert prune_all(rig, 32) == 0
    assert prune_all(rig, 30) == 2
    assert [rig.queue.get(each.id) for each in (done, cancelled)] == [None, None]
    # A failed job can be retried for as long as its run is its document's newest.
    for kept in (failed, waiting, young):
        assert rig.queue.get(kept.id) is not None
    assert prune_all(rig, 30) == 0


def test_a_job_that_took_long_is_kept_from_its_end_on(rig: QueueRig) -> None:
    enqueue(rig)
    rig.pass_time(31 * DAY)
    rig.queue.complete(claim_one(rig))
    assert prune_all(rig, 30) == 0


def test_pages_of_a_pass_go_on_behind_what_stays(rig: QueueRig) -> None:
    jobs = enqueue_many(rig, 25)
    for number, lease in enumerate(rig.queue.claim("a", 25)):
        if number % 5:
            rig.queue.complete(lease)
        else:
            rig.queue.fail(lease, BROKEN, permanent=True)
    rig.pass_time(31 * DAY)
    run = new_run(rig)
    rig.queue.enqueue([run.job()])
    assert prune_all(rig, 30) == 20
    left = [one for one in jobs if rig.queue.get(one.id)]
    assert ids(left) == ids(jobs[::5])


def test_pruning_at_the_same_time_deletes_each_job_once(rig: QueueRig) -> None:
    enqueue_many(rig, 30)
    for lease in rig.queue.claim("a", 30):
        rig.queue.complete(lease)
    rig.pass_time(31 * DAY)
    assert sum(rig.together(*[lambda: prune_all(rig, 30, page=7)] * 4)) == 30


# Paused and resumed by itself.


def test_what_pauses_by_itself_leaves_a_persons_word(rig: QueueRig) -> None:
    rig.queue.pause("extract", None, "ana")
    rig.queue.pause("extract", "storage_full")
    control = rig.queue.controls()["extract"]
    assert (control.is_paused, control.reason, control.changed_by) == (True, None, "ana")
    assert not rig.queue.resume_after("extract", ["storage_full"])
    assert rig.queue.controls()["extract"].is_paused


def test_a_stage_is_resumed_after_its_own_reason_alone(rig: QueueRig) -> None:
    queued = enqueue(rig, stage="extract")
    rig.queue.pause("extract", "storage_full")
    assert not rig.queue.resume_after("extract", ["credentials_refused"])
    assert rig.queue.claim("a", 10) == []
    assert rig.queue.resume_after("extract", ["credentials_refused", "storage_full"])
    assert not rig.queue.resume_after("extract", ["storage_full"])
    assert ids(rig.queue.claim("a", 10)) == [queued.id]


def test_who_waits_for_a_reason_can_be_woken(rig: QueueRig) -> None:
    first, other, third = enqueue_many(rig, 3)
    reasons = {first.id: "spend_limit", other.id: "another"}
    for lease in rig.queue.claim("a", 2):
        rig.queue.snooze(lease, 3600, {WAITS_FOR: reasons[lease.job_id]})
    assert rig.queue.waiting_orgs("spend_limit") == [first.org_id]
    assert rig.queue.waiting_orgs("nothing") == []
    assert rig.queue.wake(new_id(), "spend_limit") == 0
    assert rig.queue.wake(first.org_id, "spend_limit") == 1
    assert rig.queue.wake(first.org_id, "spend_limit") == 0
    assert set(ids(rig.queue.claim("a", 10))) == {first.id, third.id}
