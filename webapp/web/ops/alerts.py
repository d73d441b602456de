"""The table of alerts: what is wrong, since when, and what to do.

The page for operations shows those that hold, so nobody needs a monitor to see them. The rules for Prometheus are made
of the same table (prometheus_rules.py).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from webapp.jobs.controls import EVERY_STAGE
from webapp.statistics.incidents import IncidentName
from webapp.web.ops.watched import SILENT_SECONDS, Watched

OLDEST_DUE_SECONDS = 1800
TAKEN_BACK_MAX = 20
FAILED_SHARE, FAILED_MIN = 0.5, 10


@dataclass(frozen=True)
class Holds:
    """That the condition of an alert holds: about what (stages, tables, hosts), and since when, where that is known."""

    subjects: tuple[str, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True)
class Alert:
    """One line of the table. `expression` and `holds` say the same, to Prometheus and to the page."""

    name: str
    severity: str
    title: str
    advice: str
    expression: str
    holds: Callable[[Watched], Holds | None]
    minutes: int = 0
    """For how long the condition must hold first."""


@dataclass(frozen=True)
class Firing:
    """An alert whose condition holds now."""

    name: str
    severity: str
    title: str
    advice: str
    subjects: tuple[str, ...]
    since: datetime | None


def firing(watched: Watched) -> list[Firing]:
    """The alerts that hold, the most severe first."""
    found = []
    for alert in ALERTS:
        holds = alert.holds(watched)
        if holds is None or (holds.since and watched.present - holds.since < timedelta(minutes=alert.minutes)):
            continue
        found.append(Firing(alert.name, alert.severity, alert.title, alert.advice, holds.subjects, holds.since))
    return sorted(found, key=lambda each: SEVERITIES.index(each.severity))


SEVERITIES = ("critical", "warning", "info")


def _incident(name: IncidentName, more_than: int = 0) -> Callable[[Watched], Holds | None]:
    def holds(watched: Watched) -> Holds | None:
        found = [each for each in watched.incidents if each.name == name]
        if sum(each.number for each in found) <= more_than:
            return None
        return Holds(tuple(each.subject for each in found if each.subject), min(each.since for each in found))

    return holds


def _unseen(watched: Watched) -> Holds | None:
    """Only a monitor can tell that nothing answers: this page would not open."""
    return None


def _no_worker(watched: Watched) -> Holds | None:
    if watched.workers_alive:
        return None
    return Holds(since=max((worker.last_seen for worker in watched.workers), default=None))


def _silent(watched: Watched) -> Holds | None:
    since = watched.silent.since
    return Holds(since=since + timedelta(seconds=SILENT_SECONDS)) if since else None


def _no_space(watched: Watched) -> Holds | None:
    return None if watched.has_space else Holds()


def _disk(watched: Watched) -> Holds | None:
    found = watched.full_disks
    if found:
        return Holds(tuple(each.subject for each in found), min(each.since for each in found))
    return Holds() if watched.disk_is_nearly_full else None


def _paused(watched: Watched) -> Holds | None:
    return _of_stages((control.stage, control.updated_at) for control in watched.paused)


def _resting(watched: Watched) -> Holds | None:
    return _of_stages((control.stage, control.updated_at) for control in watched.resting)


def _old_jobs(watched: Watched) -> Holds | None:
    return _of_stages(
        (stage, watched.present - timedelta(seconds=counts.oldest_due_seconds - OLDEST_DUE_SECONDS))
        for stage, counts in watched.stages.items()
        if counts.oldest_due_seconds is not None and counts.oldest_due_seconds > OLDEST_DUE_SECONDS
    )


def _of_stages(found: Iterable[tuple[str, datetime | None]]) -> Holds | None:
    stages = dict(found)
    if not stages:
        return None
    return Holds(
        tuple("all" if stage == EVERY_STAGE else stage for stage in stages),
        min((since for since in stages.values() if since), default=None),
    )


def _many_fail(watched: Watched) -> Holds | None:
    ended = watched.ended
    return Holds() if ended.failed >= FAILED_MIN and ended.failed > FAILED_SHARE * ended.number else None


def _spent(watched: Watched) -> Holds | None:
    limits = watched.limits
    if not limits.spend_per_day or limits.spent_today < limits.spend_per_day:
        return None
    return Holds()


ALERTS = (
    Alert(
        name="DocmillDown",
        severity="critical",
        title="Docmill does not answer",
        advice="The web process gives no figures. Look at its log, at GET /readyz, and at the token of the monitor.",
        expression="absent(docmill_workers_alive)",
        holds=_unseen,
        minutes=2,
    ),
    Alert(
        name="DocmillNoWorker",
        severity="critical",
        title="No worker is running",
        advice="Documents wait until one starts. Start a worker process, and look at the log of the last one.",
        expression="docmill_workers_alive == 0",
        holds=_no_worker,
        minutes=1,
    ),
    Alert(
        name="DocmillNoSpace",
        severity="critical",
        title="Files cannot be stored",
        advice="Uploads are refused and no paid call is made. Free disk space, or repair the file store; work goes on "
        "by itself.",
        expression="docmill_storage_room == 0",
        holds=_no_space,
    ),
    Alert(
        name="DocmillForeignKeyViolation",
        severity="critical",
        title="The database refused rows that refer to missing ones",
        advice="This must never happen: it is a fault of the program. Nothing wrong was stored. Keep the log of the "
        "last day, and report it with the names of the tables.",
        expression="docmill_foreign_key_violations_last_day > 0",
        holds=_incident(IncidentName.FOREIGN_KEY_VIOLATION),
    ),
    Alert(
        name="DocmillJobWithoutHeartbeat",
        severity="critical",
        title="A job is running without a heartbeat",
        advice="Its worker is frozen or cut off from the database. Restart that worker: its jobs go back to others. "
        "Otherwise they are taken back after ZOMBIE_AFTER_SECONDS.",
        expression="docmill_silent_jobs > 0",
        holds=_silent,
    ),
    Alert(
        name="DocmillPassagesLost",
        severity="warning",
        title="A document lost more than half of its passages",
        advice="A new result has far fewer passages than the one that it replaced. Compare the document with its "
        "original; if text is missing, keep the file and report it. The alert ends after a day.",
        expression="docmill_passages_lost_last_day > 0",
        holds=_incident(IncidentName.PASSAGES_LOST),
    ),
    Alert(
        name="DocmillRulesFailed",
        severity="warning",
        title="Rules failed at documents",
        advice="The documents were published without what the rules would have given them. The log names them. Look at "
        "the rules, then apply them to the library. The alert ends after a day.",
        expression="docmill_rules_failed_last_day > 0",
        holds=_incident(IncidentName.RULES_FAILED),
    ),
    Alert(
        name="DocmillJobsTakenBack",
        severity="warning",
        title="Many jobs were taken back from their workers",
        advice="Workers die or fall silent again and again. Look into the log of the system: a worker that is "
        "killed because it needs too much memory needs fewer WORKER_THREADS.",
        expression=f"sum(docmill_jobs_taken_back_last_day) > {TAKEN_BACK_MAX}",
        holds=_incident(IncidentName.JOB_TAKEN_BACK, more_than=TAKEN_BACK_MAX),
    ),
    Alert(
        name="DocmillManyFailures",
        severity="warning",
        title="Most jobs of the last hour failed",
        advice="Look at the failed jobs, grouped by error: one cause for all is most often a service or a setting.",
        expression=f'sum(docmill_jobs_ended_last_hour{{outcome="failed"}}) >= {FAILED_MIN} and '
        f'sum(docmill_jobs_ended_last_hour{{outcome="failed"}}) > {FAILED_SHARE} * sum(docmill_jobs_ended_last_hour)',
        holds=_many_fail,
    ),
    Alert(
        name="DocmillOldestJob",
        severity="warning",
        title="Jobs have waited for more than half an hour",
        advice="There is more work than the workers do, or its stage is paused, full or limited. Start more workers, "
        "raise the limit, or resume the stage.",
        expression=f"docmill_stage_oldest_due_seconds > {OLDEST_DUE_SECONDS}",
        holds=_old_jobs,
        minutes=5,
    ),
    Alert(
        name="DocmillStagePaused",
        severity="warning",
        title="A stage is paused",
        advice="Its documents keep their place. The stage says why, and who paused it: repair the cause, then choose "
        "Resume.",
        expression="docmill_stage_paused == 1",
        holds=_paused,
    ),
    Alert(
        name="DocmillDiskNearlyFull",
        severity="warning",
        title="The disk for files is nearly full",
        advice="Free space or make the disk larger. Below DISK_FREE_MIN_MB uploads are refused and paid work waits.",
        expression="docmill_disks_nearly_full > 0",
        holds=_disk,
    ),
    Alert(
        name="DocmillStageResting",
        severity="info",
        title="A stage rests since a service was asked too often",
        advice="It goes on by itself. If it happens every day, set a limit for the stage, or ask the service for more.",
        expression="docmill_stage_resting == 1",
        holds=_resting,
        minutes=5,
    ),
    Alert(
        name="DocmillSpendLimit",
        severity="info",
        title="The organisation has spent what it may spend today",
        advice="Paid work waits until midnight (UTC). To go on now, raise SPEND_PER_DAY and restart.",
        expression="docmill_spent_today >= docmill_spend_limit and docmill_spend_limit > 0",
        holds=_spent,
    ),
)
