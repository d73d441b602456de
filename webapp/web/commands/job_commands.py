"""The queue from a terminal: look, retry, cancel, pause, limit, prune."""

from collections.abc import Callable
from uuid import UUID

import click

from webapp.accounts import audit
from webapp.accounts.audit import COMMAND_LINE, Action
from webapp.config.queue import STAGE_LIMIT_MAX
from webapp.db import reading, transaction
from webapp.jobs import failures
from webapp.jobs.controls import EVERY_STAGE, StageControl, StageCounts
from webapp.jobs.failures import FailureFilter
from webapp.jobs.queue import JobSnapshot
from webapp.jobs.states import JobStatus, Priority
from webapp.runs import lifecycle
from webapp.runs.lifecycle import JobRefusal
from webapp.runs.retention import prune
from webapp.runs.stage_pause import resume_stage
from webapp.runs.stages import STAGES
from webapp.web.commands.terminal import NAME, Commands, one_line, org_named, org_option, services
from webapp.web.ops.failure_groups import Retryable, retryable

group = Commands("jobs", help="The queue of work.")

_AT_ONCE_MAX = 500
_stage_option = click.option("--stage", help="Only jobs of this stage.")
_job_ids = click.argument("job_ids", nargs=-1, type=click.UUID)


@group.command("list")
@org_option
@click.option("--status", type=click.Choice([s.lower() for s in JobStatus]), default=JobStatus.FAILED.lower())
@_stage_option
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
def _list_jobs(org_name: str, status: str, stage: str | None, limit: int) -> None:
    """List jobs, the newest first: id, stage, attempts, document, last error; of failed ones those that are open."""
    with reading(everywhere=True):
        org = org_named(org_name)
        for job in _found(org.id, JobStatus(status.upper()), stage, limit):
            error = one_line(str(job.error_log[-1].get("message") or "")) if job.error_log else ""
            document = job.document_id if job.run else "-"
            click.echo(f"{job.id}\t{job.stage}\t{job.attempts}/{job.max_attempts}\t{document}\t{error}")


@group.command("counts")
@click.option("--org", "org_name", help="Only this organisation's jobs.")
def _show_counts(org_name: str | None) -> None:
    """Show the stages: name, state, limit, due, later, running, failed, longest wait in seconds."""
    queue = services().queue
    with reading(everywhere=True):
        org_id = org_named(org_name).id if org_name else None
        controls, counts = queue.controls(), queue.stage_counts(org_id)
    if EVERY_STAGE in controls and controls[EVERY_STAGE].is_paused:
        click.echo("Paused, no new jobs start: resume with “jobs resume --all”.", err=True)
    for stage in dict.fromkeys((*STAGES, *sorted({*controls, *counts} - {EVERY_STAGE}))):
        click.echo(_line(controls.get(stage, StageControl(stage)), counts.get(stage, StageCounts())))


@group.command("retry")
@org_option
@_job_ids
@click.option(
    "--all", "is_all", is_flag=True, help="All open failures of the organisation that trying again can help, up to 500."
)
@_stage_option
def _retry_jobs(org_name: str, job_ids: tuple[UUID, ...], stage: str | None, *, is_all: bool) -> None:
    """Retry failed jobs, each as a new run that goes on where it stopped."""
    if is_all == bool(job_ids):
        raise click.UsageError("Name the jobs to retry, or use --all.")
    with reading(everywhere=True):
        org = org_named(org_name)
        chosen = retryable(org.id, _AT_ONCE_MAX, stage) if is_all else Retryable(job_ids, ())
    for group in chosen.left_out:
        click.echo(
            f"Left out: {group.count.number} of “{group.failure.title}” ({group.stage}, {group.code}).", err=True
        )
    ids = list(chosen.ids)
    # Many retries must not delay a person who waits for one.
    priority = Priority.BULK if len(ids) > 1 else None
    _each(ids, "Retried", lambda job_id: _retry(org.id, job_id, priority))


@group.command("discard")
@org_option
@_job_ids
def _discard_jobs(org_name: str, job_ids: tuple[UUID, ...]) -> None:
    """Take failed jobs off the list of open failures; their rows stay."""
    _resolve(org_name, job_ids, Action.JOBS_DISCARDED)


@group.command("restore")
@org_option
@_job_ids
def _restore_jobs(org_name: str, job_ids: tuple[UUID, ...]) -> None:
    """Open discarded failures again."""
    _resolve(org_name, job_ids, Action.JOBS_RESTORED)


@group.command("cancel")
@org_option
@_job_ids
def _cancel_jobs(org_name: str, job_ids: tuple[UUID, ...]) -> None:
    """Cancel the runs of these jobs, waiting or running."""
    if not job_ids:
        raise click.UsageError("Name the jobs to cancel.")
    with reading(everywhere=True):
        org = org_named(org_name)
    _each(list(job_ids), "Cancelled", lambda job_id: _cancel(org.id, job_id))


@group.command("pause")
@click.argument("stages", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Take no new work at all.")
def _pause(stages: tuple[str, ...], *, is_all: bool) -> None:
    """Start no more jobs of these stages; running ones go on to their end."""
    for stage in _chosen(stages, is_all=is_all):
        with transaction(everywhere=True):
            services().queue.pause(stage, by=NAME)
            _note(stage, Action.WORK_STOPPED, Action.STAGE_PAUSED)
        _tell("paused", stage)


@group.command("resume")
@click.argument("stages", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Take new work again after “pause --all”.")
def _resume(stages: tuple[str, ...], *, is_all: bool) -> None:
    """Start jobs of these stages again, at once."""
    for stage in _chosen(stages, is_all=is_all):
        with transaction(everywhere=True):
            resume_stage(services().queue, stage, NAME)
            _note(stage, Action.WORK_RESUMED, Action.STAGE_RESUMED)
        _tell("resumed", stage)


@group.command("limit")
@click.argument("stage")
@click.argument("number", type=click.IntRange(1, STAGE_LIMIT_MAX), required=False)
def _limit(stage: str, number: int | None) -> None:
    """Let at most NUMBER jobs of a stage run at once; without a number, as the settings say."""
    with transaction(everywhere=True):
        services().queue.limit(_known(stage), number, NAME)
        audit.record(None, COMMAND_LINE, Action.STAGE_LIMITED, f"stage:{stage}", limit=number)
    _tell(f"limited to {number}" if number else "limited by the settings alone", stage)


@group.command("prune")
def _prune() -> None:
    """Delete what the settings say is old enough now; a running Docmill does so every hour."""
    for what, number in prune(services()).items():
        click.echo(f"{what}\t{number}")


def _found(org_id: UUID, status: JobStatus, stage: str | None, limit: int) -> list[JobSnapshot]:
    queue = services().queue
    if status is JobStatus.FAILED:
        return queue.of_ids(failures.page(org_id, FailureFilter(stage=stage), limit=limit))
    return queue.find(org_id, status, stage=stage, limit=limit)


def _line(control: StageControl, counts: StageCounts) -> str:
    if control.is_paused:
        state = f"paused ({one_line(control.reason or control.changed_by or 'by ops')})"
    elif control.slow_limit is not None:
        state = f"slowed ({control.rests_seconds:.0f} s, then {control.slow_limit or 1} at once)"
    else:
        state = "open"
    wait = "-" if counts.oldest_due_seconds is None else f"{counts.oldest_due_seconds:.0f}"
    numbers = (control.limit or "-", counts.due, counts.later, counts.processing, counts.failed, wait)
    return "\t".join([control.stage, state, *map(str, numbers)])


def _each(ids: list[UUID], done: str, act: Callable[[UUID], JobRefusal | None]) -> None:
    refused = sum(act(job_id) is not None for job_id in ids)
    click.echo(f"{done}: {len(ids) - refused}. Refused: {refused}.", err=True)
    if refused:
        raise SystemExit(1)


def _resolve(org_name: str, job_ids: tuple[UUID, ...], action: Action) -> None:
    if not job_ids:
        raise click.UsageError("Name the jobs.")
    with reading(everywhere=True):
        org_id = org_named(org_name).id
    with transaction(org_id):
        if action is Action.JOBS_DISCARDED:
            done = failures.discard(org_id, FailureFilter(ids=job_ids), NAME, limit=len(job_ids))
        else:
            done = lifecycle.restore_jobs(services().queue, org_id, job_ids)
        if done:
            audit.record(org_id, COMMAND_LINE, action, jobs=len(done))
    refused = len(set(job_ids)) - len(done)
    click.echo(
        f"{'Discarded' if action is Action.JOBS_DISCARDED else 'Restored'}: {len(done)}. Refused: {refused}.", err=True
    )
    if refused:
        raise SystemExit(1)


def _retry(org_id: UUID, job_id: UUID, priority: int | None) -> JobRefusal | None:
    found = services()
    attempts = found.settings.queue.job_max_attempts
    outcome = lifecycle.retry_job(found.queue, org_id, job_id, attempts, by=NAME, priority=priority)
    if not isinstance(outcome, JobRefusal):
        click.echo(f"{job_id}: run {outcome}")
        return None
    return _refused(job_id, outcome)


def _cancel(org_id: UUID, job_id: UUID) -> JobRefusal | None:
    refusal = lifecycle.cancel_job(services().queue, org_id, job_id, NAME)
    if refusal is None:
        click.echo(f"{job_id}: cancelled")
        return None
    return _refused(job_id, refusal)


def _refused(job_id: UUID, refusal: JobRefusal) -> JobRefusal:
    click.echo(f"{job_id}: refused ({refusal.replace('_', ' ')})", err=True)
    return refusal


def _chosen(stages: tuple[str, ...], *, is_all: bool) -> list[str]:
    if is_all == bool(stages):
        raise click.UsageError("Name the stages, or use --all.")
    return [EVERY_STAGE] if is_all else [_known(stage) for stage in stages]


def _known(stage: str) -> str:
    if stage not in STAGES and (stage == EVERY_STAGE or stage not in services().queue.controls()):
        raise click.ClickException(f"There is no stage “{stage}”. Stages: {', '.join(STAGES)}.")
    return stage


def _note(stage: str, of_all: Action, of_one: Action) -> None:
    """A lever is about the installation, and so is its line in the security log."""
    if stage == EVERY_STAGE:
        audit.record(None, COMMAND_LINE, of_all)
    else:
        audit.record(None, COMMAND_LINE, of_one, f"stage:{stage}")


def _tell(what: str, stage: str) -> None:
    click.echo(f"{'All stages' if stage == EVERY_STAGE else stage}: {what}.", err=True)
