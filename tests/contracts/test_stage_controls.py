"""What every implementation of `JobQueue` promises about its stages: paused, limited, slowed, counted, pruned."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.jobs.letterbox import Letterbox, claim_one, enqueue, ids, job, new_run
from webapp.clock import utc_now
from webapp.jobs.controls import EVERY_STAGE, RECOVERED_AT, RECOVERY_SECONDS, StageControl, StageCounts, with_defaults
from webapp.jobs.queue import JobError, Lease, NewJob
from webapp.jobs.states import JobStatus, Priority

BROKEN = JobError("unavailable", "it broke")
DAY = 86_400.0


def enqueue_many(letterbox: Letterbox, number: int, stage: str = "extract", **more: int) -> list[NewJob]:
    jobs = [run.job(stage, **more) for run in letterbox.new_runs(number)]
    letterbox.queue.enqueue(jobs)
    return jobs


def stages(leases: list[Lease]) -> list[str]:
    return [lease.stage for lease in leases]


# Pause and resume.


def test_a_paused_stage_is_passed_by_and_the_others_go_on(letterbox: Letterbox) -> None:
    first = enqueue(letterbox, stage="extract")
    other = enqueue(letterbox, stage="embed")
    letterbox.queue.pause("extract", "credentials_refused", "ana")
    assert ids(letterbox.queue.claim("a", 10)) == [other.id]
    assert letterbox.queue.claim("a", 10) == []
    assert job(letterbox, first.id).status is JobStatus.PENDING
    letterbox.queue.resume("extract")
    assert ids(letterbox.queue.claim("a", 10)) == [first.id]


def test_a_long_line_of_a_paused_stage_hides_nobody(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 60, "extract", priority=Priority.PERSON)
    behind = enqueue(letterbox, stage="embed", priority=Priority.BACKGROUND)
    letterbox.queue.pause("extract")
    assert ids(letterbox.queue.claim("a", 1)) == [behind.id]


def test_what_is_at_work_goes_on_in_a_pause(letterbox: Letterbox) -> None:
    queued = enqueue(letterbox)
    lease = claim_one(letterbox)
    letterbox.queue.pause(lease.stage)
    assert letterbox.queue.heartbeat([lease]) == {queued.id}
    letterbox.queue.checkpoint(lease, {"a": 1})
    letterbox.queue.complete(lease)
    assert job(letterbox, queued.id).status is JobStatus.COMPLETED


def test_every_stage_at_once(letterbox: Letterbox) -> None:
    jobs = [enqueue(letterbox, stage="extract"), enqueue(letterbox, stage="embed")]
    letterbox.queue.pause("embed")
    letterbox.queue.pause(EVERY_STAGE, by="ana")
    assert letterbox.queue.claim("a", 10) == []
    letterbox.queue.resume(EVERY_STAGE)
    # What was paused by itself stays so.
    assert ids(letterbox.queue.claim("a", 10)) == [jobs[0].id]
    letterbox.queue.resume("embed")
    assert ids(letterbox.queue.claim("a", 10)) == [jobs[1].id]


def test_controls_say_what_holds_and_who_said_so(letterbox: Letterbox) -> None:
    assert letterbox.queue.controls() == {}
    letterbox.queue.pause("extract", "credentials_refused", "ana")
    letterbox.queue.limit("extract", 4, "bob")
    (control,) = letterbox.queue.controls().values()
    assert (control.stage, control.is_paused, control.reason) == ("extract", True, "credentials_refused")
    assert (control.limit, control.changed_by, control.allowance()) == (4, "bob", 0)
    assert control.updated_at is not None
    assert abs(utc_now() - control.updated_at) < timedelta(minutes=5)
    letterbox.queue.resume("extract")
    (control,) = letterbox.queue.controls().values()
    assert (control.is_paused, control.reason, control.limit, control.allowance()) == (False, None, 4, 4)


def test_to_pause_again_changes_the_reason_only(letterbox: Letterbox) -> None:
    letterbox.queue.limit("extract", 2)
    letterbox.queue.pause("extract", "credentials_refused")
    letterbox.queue.pause("extract", None, "ana")
    control = letterbox.queue.controls()["extract"]
    assert (control.is_paused, control.reason, control.changed_by, control.limit) == (True, None, "ana", 2)


# Limits.


def test_a_limit_holds_for_the_whole_installation(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 6)
    other = enqueue(letterbox, stage="embed")
    letterbox.queue.limit("extract", 2)
    first = letterbox.queue.claim("a", 10)
    assert sorted(stages(first)) == ["embed", "extract", "extract"]
    assert other.id in ids(first)
    assert letterbox.queue.claim("b", 10) == []
    letterbox.queue.complete(next(lease for lease in first if lease.stage == "extract"))
    assert len(letterbox.queue.claim("b", 10)) == 1
    letterbox.queue.limit("extract", None)
    assert len(letterbox.queue.claim("b", 10)) == 3


def test_a_limit_takes_the_first_in_line(letterbox: Letterbox) -> None:
    jobs = enqueue_many(letterbox, 5)
    letterbox.queue.limit("extract", 2)
    assert ids(letterbox.queue.claim("a", 10)) == ids(jobs[:2])


def test_a_lower_limit_takes_nothing_away(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 4)
    leases = letterbox.queue.claim("a", 3)
    letterbox.queue.limit("extract", 1)
    assert letterbox.queue.heartbeat(leases) == {lease.job_id for lease in leases}
    assert letterbox.queue.claim("a", 10) == []
    for lease in leases:
        assert letterbox.queue.claim("a", 10) == []
        letterbox.queue.complete(lease)
    assert len(letterbox.queue.claim("a", 10)) == 1


def test_a_limit_is_kept_by_many_who_claim_at_once(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 40)
    letterbox.queue.limit("extract", 3)
    tasks = [lambda worker=f"w{number}": letterbox.queue.claim(worker, 4) for number in range(8)]
    taken = [lease for claim in letterbox.together(*tasks) for lease in claim]
    # None is over the limit; whoever met another one's claim may have got less.
    assert 1 <= len(taken) <= 3
    taken += letterbox.queue.claim("last", 10)
    assert len(taken) == 3


def test_a_limit_below_one_is_refused(letterbox: Letterbox) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        letterbox.queue.limit("extract", 0)


# Back-pressure.


def test_a_slowed_stage_rests_and_the_others_go_on(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 3)
    other = enqueue(letterbox, stage="embed")
    letterbox.queue.slow("extract", 60)
    assert ids(letterbox.queue.claim("a", 10)) == [other.id]
    control = letterbox.queue.controls()["extract"]
    assert control.allowance() == 0
    assert 50 < control.rests_seconds <= 60
    letterbox.queue.resume("extract")
    assert len(letterbox.queue.claim("a", 10)) == 3


def test_without_a_time_a_stage_rests_as_long_as_a_job_would(letterbox: Letterbox) -> None:
    letterbox.queue.slow("extract")
    assert 20 < letterbox.queue.controls()["extract"].rests_seconds <= 30


def test_the_most_patient_answer_counts(letterbox: Letterbox) -> None:
    letterbox.queue.slow("extract", 300)
    letterbox.queue.slow("extract", 40)
    assert 290 < letterbox.queue.controls()["extract"].rests_seconds <= 300


def test_a_stage_that_rested_begins_with_one_and_recovers_step_by_step(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 9)
    letterbox.queue.slow("extract", 60)
    letterbox.pass_time(61)
    leases = letterbox.queue.claim("a", 10)
    assert len(leases) == 1
    assert letterbox.queue.claim("a", 10) == []
    letterbox.pass_time(RECOVERY_SECONDS)
    assert len(letterbox.queue.claim("a", 10)) == 1
    letterbox.pass_time(RECOVERY_SECONDS)
    assert len(letterbox.queue.claim("a", 10)) == 2
    letterbox.pass_time(RECOVERY_SECONDS * RECOVERED_AT)
    assert len(letterbox.queue.claim("a", 10)) == 5
    assert letterbox.queue.controls()["extract"].allowance() is None


def test_a_limit_holds_while_a_stage_recovers_and_after(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 9)
    letterbox.queue.limit("extract", 3)
    letterbox.queue.slow("extract", 60)
    letterbox.pass_time(61)
    assert len(letterbox.queue.claim("a", 10)) == 1
    letterbox.pass_time(RECOVERY_SECONDS * RECOVERED_AT)
    assert len(letterbox.queue.claim("a", 10)) == 2


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


def test_counts_by_stage_of_one_org_and_of_all(letterbox: Letterbox) -> None:
    ours, theirs = letterbox.new_org(), letterbox.new_org()
    letterbox.queue.enqueue([run.job("extract") for run in letterbox.new_runs(4, ours)])
    letterbox.queue.enqueue([run.job("extract") for run in letterbox.new_runs(1, theirs)])
    letterbox.queue.enqueue([run.job("embed", delay_seconds=60) for run in letterbox.new_runs(1, ours)])
    letterbox.queue.enqueue([run.job("embed", held=True) for run in letterbox.new_runs(1, ours)])
    letterbox.pass_time(5)
    mine = [lease for lease in letterbox.queue.claim("a", 10) if lease.org_id == ours]
    letterbox.queue.complete(mine[0])
    letterbox.queue.fail(mine[1], BROKEN, permanent=True)
    letterbox.queue.release([mine[2]])
    found = letterbox.queue.stage_counts(ours)
    oldest = found["extract"].oldest_due_seconds
    assert oldest is not None
    assert 4 < oldest < 60
    assert found == {
        "embed": StageCounts(due=0, later=2),
        "extract": StageCounts(due=1, processing=1, failed=1, oldest_due_seconds=oldest),
    }
    assert letterbox.queue.stage_counts()["extract"].processing == 2


# Retention.


def prune_all(letterbox: Letterbox, days: float, page: int = 3) -> int:
    total, after = 0, UUID(int=0)
    while True:
        pruned = letterbox.queue.prune(days * DAY, after=after, limit=page)
        total += pruned.number
        if pruned.next_after is None:
            return total
        assert pruned.next_after > after
        after = pruned.next_after


def test_only_what_was_done_long_ago_is_forgotten(letterbox: Letterbox) -> None:
    done, failed, cancelled, waiting = enqueue_many(letterbox, 4)
    first, second, *_ = letterbox.queue.claim("a", 2)
    letterbox.queue.complete(first)
    letterbox.queue.fail(second, BROKEN, permanent=True)
    letterbox.queue.cancel_run(cancelled.run_id)
    assert prune_all(letterbox, 30) == 0
    letterbox.pass_time(31 * DAY)
    young = enqueue(letterbox)
    letterbox.queue.claim("a", 1)
    assert prune_all(letterbox, 32) == 0
    assert prune_all(letterbox, 30) == 1
    assert letterbox.queue.get(done.id) is None
    for kept in (failed, cancelled, waiting, young):
        assert letterbox.queue.get(kept.id) is not None
    assert prune_all(letterbox, 30) == 0


def test_a_job_that_took_long_is_kept_from_its_end_on(letterbox: Letterbox) -> None:
    enqueue(letterbox)
    letterbox.pass_time(31 * DAY)
    letterbox.queue.complete(claim_one(letterbox))
    assert prune_all(letterbox, 30) == 0


def test_pages_of_a_pass_go_on_behind_what_stays(letterbox: Letterbox) -> None:
    jobs = enqueue_many(letterbox, 25)
    for number, lease in enumerate(letterbox.queue.claim("a", 25)):
        if number % 5:
            letterbox.queue.complete(lease)
        else:
            letterbox.queue.fail(lease, BROKEN, permanent=True)
    letterbox.pass_time(31 * DAY)
    run = new_run(letterbox)
    letterbox.queue.enqueue([run.job()])
    assert prune_all(letterbox, 30) == 20
    left = [one for one in jobs if letterbox.queue.get(one.id)]
    assert ids(left) == ids(jobs[::5])


def test_whoever_prunes_at_once_forgets_each_job_once(letterbox: Letterbox) -> None:
    enqueue_many(letterbox, 30)
    for lease in letterbox.queue.claim("a", 30):
        letterbox.queue.complete(lease)
    letterbox.pass_time(31 * DAY)
    assert sum(letterbox.together(*[lambda: prune_all(letterbox, 30, page=7)] * 4)) == 30
