"""The letterbox in the application's own database: PostgreSQL or SQLite, from one set of statements.

Each method joins the transaction that its caller has open, or else has one of its own.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Row
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.sql.expression import Executable

from webapp.clock import new_id
from webapp.db import Scope, reading, transaction
from webapp.jobs import control_statements, error_log, retention, statements
from webapp.jobs.along import Along
from webapp.jobs.bell import ring
from webapp.jobs.claims import Claims
from webapp.jobs.connections import hot
from webapp.jobs.controls import StageControl, StageCounts, with_defaults
from webapp.jobs.hot import Lane, Taken, Wanted
from webapp.jobs.queue import AlreadyQueued, Job, JobError, Lease, LeaseLost, NewJob, Reset
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.states import JobStatus
from webapp.jobs.turns import Turns
from webapp.pruning import Pruned

AnyRow = Row[*tuple[Any, ...]]
Found = TypeVar("Found")

_NEWEST = UUID(int=2**128 - 1)


class SqlJobQueue:
    """Durable jobs as rows. See `JobQueue` for what each method promises."""

    def __init__(
        self,
        retry: RetryPolicy,
        chance: Callable[[], float] = random.random,
        stage_limits: Mapping[str, int] | None = None,
    ) -> None:
        self._retry = retry
        self._chance = chance
        self._stage_limits = dict(stage_limits or {})
        self._claims = Claims(self._stage_limits)
        self._turns = Turns()

    # Coming and going.

    def enqueue(self, jobs: Sequence[NewJob]) -> None:
        if not jobs:
            return
        are_due = any(not job.held and job.delay_seconds <= 0 for job in jobs)
        with _refusing_duplicates(), hot() as here:
            has_rung = here.statements.enqueue(here, jobs, rings=are_due and here.is_own)
        if are_due and not has_rung:
            ring()

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        busy: Mapping[UUID, int] | None = None,
        only: Collection[str] | None = None,
        without: Collection[str] = (),
    ) -> list[Lease]:
        lane = Lane(list(without), is_inside=False) if only is None else Lane(list(only), is_inside=True)
        return self._claim(worker, limit, busy, lane).leases if limit > 0 else []

    def claim_along(
        self,
        along: Along[Found],
        worker: str,
        limit: int = 1,
        *,
        busy: Mapping[UUID, int] | None = None,
        without: Collection[str] = (),
    ) -> list[tuple[Lease, Found]]:
        taken = self._claim(worker, limit, busy, Lane(list(without), is_inside=False), along)
        return list(zip(taken.leases, map(along.read, taken.along), strict=True))

    def heartbeat(self, leases: Sequence[Lease]) -> set[UUID]:
        if not leases:
            return set()
        with _scoped(transaction) as (connection, _):
            beaten = set(connection.execute(statements.BEAT, _these(leases)).scalars())
            passed_by = [lease for lease in leases if lease.job_id not in beaten]
            # Locked by its own store, or lost: a look without a lock tells them apart.
            still = connection.execute(statements.STILL_MINE, _these(passed_by)).scalars() if passed_by else ()
            return beaten.union(still)

    # What a worker does with its own job.

    def fence(self, lease: Lease) -> None:
        with _scoped(transaction) as (connection, _):
            if connection.execute(statements.FENCE, _this(lease)).first() is None:
                raise _lost(lease)

    def checkpoint(self, lease: Lease, checkpoint: Mapping[str, Any]) -> None:
        self._change(statements.CHECKPOINT, lease, to_checkpoint=checkpoint)

    def complete(self, lease: Lease) -> None:
        with hot() as here:
            if not here.statements.complete(here, lease):
                raise _lost(lease)

    def complete_many(self, leases: Sequence[Lease]) -> set[UUID]:
        if not leases:
            return set()
        with hot() as here:
            ended: set[UUID] = here.statements.complete_many(here.cursor, leases)
        return ended

    def fail(
        self, lease: Lease, error: JobError, *, permanent: bool = False, retry_after_seconds: float | None = None
    ) -> JobStatus:
        delay = self._retry.delay_seconds(lease.attempts, self._chance(), retry_after_seconds)
        values = {"permanent": permanent, "delay": delay, "error": error_log.entry(error)}
        with _scoped(transaction) as (connection, _):
            status = connection.execute(statements.FAIL, {**_this(lease), **values}).scalar_one_or_none()
            if status is None:
                raise _lost(lease)
        return JobStatus(status)

    def snooze(self, lease: Lease, delay_seconds: float, checkpoint: Mapping[str, Any] | None = None) -> None:
        self._change(statements.SNOOZE, lease, delay=delay_seconds, to_checkpoint=checkpoint)

    def hold(self, lease: Lease) -> None:
        self._change(statements.HOLD, lease)

    def release(self, leases: Sequence[Lease]) -> set[UUID]:
        if not leases:
            return set()
        with _scoped(transaction) as (connection, _):
            released = set(connection.execute(statements.RELEASE, _these(leases)).scalars())
        return _rung(released)

    # What is done to jobs from outside.

    def unhold(self, run_id: UUID, since: datetime | None = None) -> int:
        return _rung(self._change_run(statements.UNHOLD, run_id, since=since))

    def reset_stale(self, silent_seconds: float, error: JobError, limit: int = 100) -> list[Reset]:
        values = {"silent": silent_seconds, "error": error_log.entry(error), "limit": limit}
        with _scoped(transaction) as (connection, _):
            found = [_reset(row) for row in connection.execute(statements.RESET_STALE, values)]
        return _rung(found)

    def reset_worker(self, worker: str, error: JobError, limit: int = 100) -> list[Reset]:
        values = {"worker": worker, "error": error_log.entry(error), "limit": limit}
        with _scoped(transaction) as (connection, _):
            found = [_reset(row) for row in connection.execute(statements.RESET_WORKER, values)]
        return _rung(found)

    def held_by(self, worker: str) -> list[Lease]:
        with _scoped(reading) as (connection, _):
            return [_lease(row) for row in connection.execute(statements.HELD_BY, {"worker": worker})]

    def fail_run(self, run_id: UUID, error: JobError) -> int:
        return self._change_run(statements.FAIL_RUN, run_id, error=error_log.entry(error))

    def cancel_run(self, run_id: UUID) -> int:
        return self._change_run(statements.CANCEL_RUN, run_id)

    # Looking.

    def get(self, job_id: UUID) -> Job | None:
        with _scoped(reading) as (connection, org):
            row = connection.execute(statements.GET, {"job": job_id, "org": org}).first()
        return None if row is None else _job(row)

    def find(
        self,
        org_id: UUID,
        status: JobStatus | None = None,
        *,
        stage: str | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[Job]:
        values = {"org": org_id, "stage": stage, "before": before or _NEWEST, "limit": limit}
        with _scoped(reading) as (connection, _):
            return [_job(row) for row in connection.execute(statements.PAGES[status], values)]

    def of_run(self, run_id: UUID) -> list[Job]:
        return self._of_runs([run_id])

    def live_of_runs(self, run_ids: Sequence[UUID]) -> dict[UUID, Job]:
        # From the oldest to the newest: of each run the last one stays.
        return {job.run_id: job for job in self._of_runs(run_ids)} if run_ids else {}

    def counts(self, org_id: UUID | None = None) -> dict[JobStatus, int]:
        with _scoped(reading) as (connection, org):
            values = {"org": org_id or org}
            statement = statements.COUNTS_OF_ORG if values["org"] else statements.COUNTS
            found = {row.status: row.number for row in connection.execute(statement, values)}
        return {status: found.get(status, 0) for status in JobStatus}

    # What holds for a stage.

    def pause(self, stage: str, reason: str | None = None, by: str | None = None) -> None:
        with _scoped(transaction) as (connection, _):
            control_statements.put(connection, stage, paused=True, reason=reason, changed_by=by)

    def resume(self, stage: str, by: str | None = None) -> None:
        with _scoped(transaction) as (connection, _):
            control_statements.put(connection, stage, paused=False, reason=None, changed_by=by, slowed_until=None)
        ring()

    def limit(self, stage: str, number: int | None, by: str | None = None) -> None:
        if number is not None and number < 1:
            raise ValueError("a limit is at least 1: pause the stage instead")
        with _scoped(transaction) as (connection, _):
            control_statements.put(connection, stage, job_limit=number, changed_by=by)
        ring()

    def slow(self, stage: str, retry_after_seconds: float | None = None) -> None:
        seconds = self._retry.delay_seconds(0, 0.0, retry_after_seconds)
        with _scoped(transaction) as (connection, _):
            control_statements.slow(connection, stage, seconds)

    def controls(self) -> dict[str, StageControl]:
        with _scoped(reading) as (connection, _):
            return with_defaults(control_statements.read(connection), self._stage_limits)

    def stage_counts(self, org_id: UUID | None = None) -> dict[str, StageCounts]:
        with _scoped(reading) as (connection, org):
            return control_statements.counts(connection, org_id or org)

    def begun_runs(self, stage: str | None) -> list[UUID]:
        with _scoped(reading) as (connection, _):
            return control_statements.begun_runs(connection, stage)

    def prune(self, older_than_seconds: float, *, after: UUID | None = None, limit: int = 500) -> Pruned:
        return retention.DONE.prune_page(older_than_seconds, after, limit)

    def _claim(
        self, worker: str, limit: int, busy: Mapping[UUID, int] | None, lane: Lane, along: Along[Any] | None = None
    ) -> Taken:
        taken = self._claims.claim(Wanted(worker, new_id(), limit, lane, self._turns.standing(busy), along))
        self._turns.note(lease.org_id for lease in taken.leases)
        return taken

    def _change(self, statement: Executable, lease: Lease, **values: Any) -> None:
        with _scoped(transaction) as (connection, _):
            if connection.execute(statement, {**_this(lease), **values}).rowcount != 1:
                raise _lost(lease)

    def _change_run(self, statement: Executable, run_id: UUID, **values: Any) -> int:
        with _scoped(transaction) as (connection, org):
            return len(connection.execute(statement, {"run": run_id, "org": org, **values}).all())

    def _of_runs(self, run_ids: Sequence[UUID]) -> list[Job]:
        with _scoped(reading) as (connection, org):
            return [_job(row) for row in connection.execute(statements.OF_RUNS, {"runs": run_ids, "org": org})]


@contextmanager
def _scoped(opener: Callable[..., AbstractContextManager[Session]]) -> Iterator[tuple[Connection, UUID | None]]:
    """The caller's transaction and its org; where none is open, one of our own that sees every org."""
    with opener(everywhere=True) as opened:
        scope: Scope = opened.info["scope"]
        yield opened.connection(), scope.org_id


@contextmanager
def _refusing_duplicates() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if _is_duplicate(error.orig):
            raise AlreadyQueued("the run has a live job of this stage already") from error
        raise


def _is_duplicate(error: BaseException | None) -> bool:
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    return code in {"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(f"job {lease.job_id} is no longer held under lease {lease.lease_id}")


def _this(lease: Lease) -> dict[str, UUID]:
    return {"job": lease.job_id, "lease": lease.lease_id}


def _these(leases: Sequence[Lease]) -> dict[str, Any]:
    pairs = [(lease.job_id, lease.lease_id) for lease in leases]
    return {"pairs": pairs, "job_ids": [job_id for job_id, _ in pairs]}


def _rung(found: Found) -> Found:
    """Somebody has to know of jobs that may be claimed now."""
    if found:
        ring()
    return found


def _lease(row: AnyRow) -> Lease:
    return Lease(*row)


def _job(row: AnyRow) -> Job:
    return Job(**{**row._mapping, "status": JobStatus(row.status)})  # noqa: SLF001 - its public name for "as a mapping"


def _reset(row: AnyRow) -> Reset:
    worker = row.error_log[-1]["worker"]
    return Reset(row.id, row.org_id, row.document_id, row.run_id, JobStatus(row.status), row.attempts, worker)
