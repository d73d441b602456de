"""What alerts and monitors look at: the installation and one org, by a fixed number of cheap queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, bindparam, func, literal_column, select, text, type_coerce

from webapp.clock import after, now
from webapp.db import UtcDateTime, reading, session
from webapp.db.bounded import Count, plan_by_indexes
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import ProcessingRun
from webapp.documents.states import RunTrigger
from webapp.jobs.controls import EVERY_STAGE, StageControl, StageCounts
from webapp.jobs.model import LEASED, Job
from webapp.library import lookup, pages, webhooks
from webapp.library.status_filter import StatusFilter
from webapp.statistics import ended, incidents
from webapp.statistics.disk import Disk, disk_of
from webapp.statistics.ended import EndedJobs
from webapp.statistics.incidents import IncidentName, RecentIncident
from webapp.web.access import services
from webapp.web.ops import figures
from webapp.web.ops.failure_groups import FailureGroup, failure_groups
from webapp.web.ops.figures import WorkerFigure
from webapp.web.ops.limits_view import OrgLimits, has_space, org_limits

SILENT_SECONDS = 1800.0
_NOTED_SECONDS = 300.0
# Of a day's calls the newest are looked at: how many of them a cache answered changes slowly.
_CALLS_MAX = 2_000

_jobs = cast(Table, Job.__table__)
_calls = cast(Table, ProviderCall.__table__)

_CONTINUED = select(func.count()).where(
    text("state = 'RUNNING'"), ProcessingRun.org_id == bindparam("org"), ProcessingRun.trigger == RunTrigger.CONTINUED
)


@dataclass(frozen=True)
class Silent:
    """The PROCESSING jobs of the installation whose last heartbeat is too old, and when the oldest was."""

    number: int
    since: datetime | None


@dataclass(frozen=True)
class Watched:
    """One reading. What is an org's is the asking org's; all else is the installation's."""

    present: datetime
    jobs: Mapping[str, Count]
    stages: Mapping[str, StageCounts]
    controls: Mapping[str, StageControl]
    workers: Sequence[WorkerFigure]
    silent: Silent
    incidents: Sequence[RecentIncident]
    last_hour: Mapping[tuple[str, int], EndedJobs]
    limits: OrgLimits
    has_space: bool
    disk: Disk | None
    disk_is_nearly_full: bool

    @property
    def workers_alive(self) -> int:
        """How many worker processes are alive."""
        return sum(worker.alive for worker in self.workers)

    @property
    def paused(self) -> list[StageControl]:
        """The stages that are paused; EVERY_STAGE where no new work is taken."""
        return [control for control in self.controls.values() if control.is_paused]

    @property
    def resting(self) -> list[StageControl]:
        """The stages that start no job since a service asked for patience."""
        return [control for control in self.controls.values() if control.rests_seconds and not control.is_paused]

    @property
    def full_disks(self) -> list[RecentIncident]:
        """Other machines whose disk was nearly full minutes ago."""
        return [
            each
            for each in self.incidents
            if each.name == IncidentName.DISK_NEARLY_FULL
            and (self.present - each.last_at).total_seconds() < _NOTED_SECONDS
        ]

    @property
    def disks_nearly_full(self) -> int:
        """How many machines' disks are nearly full: those that workers noted, and this one's."""
        return len(self.full_disks) or int(self.disk_is_nearly_full)

    @property
    def ended(self) -> EndedJobs:
        """What ended in the last hour."""
        return sum(self.last_hour.values(), EndedJobs())


def watched(org_id: UUID) -> Watched:
    """Look, in two transactions: one about the org, and one about the installation."""
    queue, settings = services().queue, services().settings
    with reading(org_id):
        jobs = figures.counts_by_status(queue, org_id)
        stages = queue.stage_counts(org_id)
        limits, last_hour = org_limits(org_id), ended.last_hour(org_id)
    with reading(everywhere=True):
        controls = queue.controls()
        workers = figures.workers(settings.queue.worker_silent_seconds)
        silent, present = _silent()
        recent = incidents.recent()
    disk = disk_of(settings.data_dir)
    return Watched(
        present=present,
        jobs=jobs,
        stages=stages,
        controls=controls,
        workers=workers,
        silent=silent,
        incidents=recent,
        last_hour=last_hour,
        limits=limits,
        has_space=has_space(),
        disk=disk,
        disk_is_nearly_full=disk is not None and disk.is_nearly_full(settings.limits.disk_free_min_bytes),
    )


@dataclass(frozen=True)
class ForMonitors:
    """What only monitors ask for, of an org."""

    documents: Mapping[StatusFilter, Count]
    pages: Mapping[tuple[str, str], Count]
    """By how they were read, and why."""
    failures: Sequence[FailureGroup]
    kept_calls: int
    paid_calls: int
    continued_runs: int
    deliveries: Mapping[str, int]
    """Of webhooks, by state: those that are not delivered."""


def for_monitors(org_id: UUID) -> ForMonitors:
    """Look once more, for monitors."""
    with reading(org_id):
        plan_by_indexes()
        documents, failures = lookup.counts(org_id), failure_groups(org_id)
        by_reading = pages.counts_by_reading(org_id)
        kept, paid = _retry_calls(org_id)
        continued = session().scalar(_CONTINUED, {"org": org_id}) or 0
        deliveries = webhooks.numbers(org_id)
    return ForMonitors(documents, by_reading, failures, kept, paid, continued, deliveries)


def name_of(control: StageControl) -> str:
    """The label of a stage in metrics."""
    return "all" if control.stage == EVERY_STAGE else control.stage


def _silent() -> tuple[Silent, datetime]:
    beat = func.coalesce(_jobs.c.heartbeat_at, _jobs.c.started_at)
    number = func.count().label("number")
    oldest = type_coerce(func.min(beat), UtcDateTime).label("oldest")
    present = type_coerce(now(), UtcDateTime).label("present")
    row = session().execute(select(number, oldest, present).where(text(LEASED), beat < after(-SILENT_SECONDS))).one()
    return Silent(row.number, row.oldest), row.present


def _retry_calls(org_id: UUID) -> tuple[int, int]:
    """Of the newest calls of the last day in runs that were retried: how many a cache answered, and how many not."""
    plan_by_indexes()
    newest = (
        select(_calls.c.run_id, _calls.c.reused)
        .where(_calls.c.org_id == org_id, _calls.c.created_at >= after(-86_400))
        .order_by(_calls.c.created_at.desc())
        .limit(literal_column(str(_CALLS_MAX)))
        .subquery()
    )
    # A value, not a join: that one a planner may turn around, and read all runs.
    trigger = (
        select(ProcessingRun.trigger).where(ProcessingRun.id == newest.c.run_id).limit(literal_column("1"))
    ).scalar_subquery()
    retried = select(newest.c.reused, func.count()).where(trigger == RunTrigger.RETRY).group_by(newest.c.reused)
    found: dict[Any, int] = {row[0]: row[1] for row in session().execute(retried)}
    return found.get(True, 0), found.get(False, 0)
