"""The queue in the application's own database, PostgreSQL or SQLite.

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

from webapp.db import reading, transaction
from webapp.db.bounded import Count, plan_by_indexes
from webapp.db.engines import TransactionScope
from webapp.db.pruning import Prunable, Pruned
from webapp.jobs import control_statements, error_log, statements
from webapp.jobs.claim import Claims, lease_of, run_of
from webapp.jobs.controls import StageControl, StageCounts, with_defaults
from webapp.jobs.queue import AlreadyQueued, JobError, JobSnapshot, Lease, LeaseLost, NewJob, Reset
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.states import JobStatus, Resolution
from webapp.jobs.wakeup import wake_workers

AnyRow = Row[*tuple[Any, ...]]
Found = TypeVar("Found")

_NEWEST = UUID(int=2**128 - 1)
# Of one call; the rest become due with the next one.
_WOKEN_MAX = 1_000

_ENDED = Prunable(statements.jobs, statements.jobs.c.completed_at, statements.FORGETTABLE)


class SqlJobQueue(Claims):
    """Durable jobs as rows. See `JobQueue` for what each method promises; `claim` is in claim.py."""

    def __init__(
        self,
        retry: RetryPolicy,
        chance: Callable[[], float] = random.random,
        stage_limits: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(stage_limits or {})
        self._retry = retry
        self._chance = chance

    # Enqueue, heartbeat.

    def enqueue(self, jobs: Sequence[NewJob]) -> None:
        if not jobs:
            return
        with _refusing_duplicates(), _scoped(transaction) as (connection, _):
            connection.execute(statements.ENQUEUE, [_values_of(job) for job in jobs])
            if any(not job.must_wait and job.delay_seconds <= 0 for job in jobs):
                wake_workers()

    def wake_delayed(self) -> int:
        with _scoped(transaction) as (connection, _):
            woken = connection.execute(statements.WAKE_DELAYED, {"limit": _WOKEN_MAX}).all()
        return _announced(len(woken))

    def heartbeat(self, leases: Sequence[Lease]) -> set[UUID]:
        if not leases:
            return set()
        with _scoped(transaction) as (connection, _):
            beaten = set(connection.execute(statements.BEAT, _these(leases)).scalars())
            passed_by = [lease for lease in leases if lease.job_id not in beaten]
            # A row that was skipped is locked by its own attempt's store, or its lease is lost: a read tells which.
            still = connection.execute(statements.STILL_MINE, _these(passed_by)).scalars() if passed_by else ()
            return beaten.union(still)

    # What a worker does with a job that it has a lease for.

    def fence(self, lease: Lease) -> None:
        with _scoped(transaction) as (connection, _):
            if connection.execute(statements.FENCE, _this(lease)).first() is None:
                raise _lost(lease)

    def checkpoint(self, lease: Lease, checkpoint: Mapping[str, Any]) -> None:
        self._change(statements.CHECKPOINT, lease, to_checkpoint=checkpoint)

    def sealed_password(self, lease: Lease) -> bytes | None:
        with _scoped(reading) as (connection, _):
            found: bytes | None = connection.execute(statements.SEALED_PASSWORD, _this(lease)).scalar_one_or_none()
        return found

    def forget_password(self, lease: Lease) -> None:
        self._change(statements.FORGET_PASSWORD, lease)

    def complete(self, lease: Lease) -> None:
        self._change(statements.COMPLETE, lease)

    def fail(
        self, lease: Lease, error: JobError, *, permanent: bool = False, retry_after_seconds: float | None = None
    ) -> JobStatus:
        delay = self._retry.delay_seconds(lease.attempts, self._chance(), retry_after_seconds)
        values = {"permanent": permanent, "delay": delay, **_as_values(error)}
        with _scoped(transaction) as (connection, _):
            status = connection.execute(statements.FAIL, {**_this(lease), **values}).scalar_one_or_none()
            if status is None:
                raise _lost(lease)
        return JobStatus(status)

    def snooze(self, lease: Lease, delay_seconds: float, checkpoint: Mapping[str, Any] | None = None) -> None:
        self._change(statements.SNOOZE, lease, delay=delay_seconds, to_checkpoint=checkpoint)

    def release(self, leases: Sequence[Lease]) -> set[UUID]:
        if not leases:
            return set()
        with _scoped(transaction) as (connection, _):
            released = set(connection.execute(statements.RELEASE, _these(leases)).scalars())
        return _announced(released)

    # What is done to jobs from outside.

    def let_in(self, run_id: UUID, since: datetime | None = None) -> int:
        return _announced(self._change_run(statements.LET_IN, run_id, since=since))

    def wake(self, org_id: UUID, reason: str) -> int:
        with _scoped(transaction) as (connection, _):
            woken = connection.execute(statements.WAKE, {"org": org_id, "reason": reason}).all()
        return _announced(len(woken))

    def waiting_orgs(self, reason: str) -> list[UUID]:
        with _scoped(reading) as (connection, _):
            return list(connection.execute(statements.WAITING_ORGS, {"reason": reason}).scalars())

    def reset_stale(self, silent_seconds: float, error: JobError, limit: int = 100) -> list[Reset]:
        return self._take_back(statements.RESET_STALE, error, limit, silent=silent_seconds)

    def reset_stale_http(self, silent_seconds: float, error: JobError, limit: int = 100) -> list[Reset]:
        return self._take_back(statements.RESET_STALE_HTTP, error, limit, silent=silent_seconds)

    def reset_worker(self, worker: str, error: JobError, limit: int = 100) -> list[Reset]:
        return self._take_back(statements.RESET_WORKER, error, limit, worker=worker)

    def held(self, job_id: UUID, lease_id: UUID, workers: str) -> Lease | None:
        values = {"job": job_id, "lease": lease_id, "worker": workers}
        with _scoped(reading) as (connection, _):
            row = connection.execute(statements.HELD, values).one_or_none()
        return None if row is None else lease_of(row)

    def held_by(self, worker: str) -> list[Lease]:
        with _scoped(reading) as (connection, _):
            return [lease_of(row) for row in connection.execute(statements.HELD_BY, {"worker": worker})]

    def fail_run(self, run_id: UUID, error: JobError) -> int:
        return self._change_run(statements.FAIL_RUN, run_id, **_as_values(error))

    def cancel_run(self, run_id: UUID) -> int:
        return self._change_run(statements.CANCEL_RUN, run_id)

    def cancel_runs(self, run_ids: Sequence[UUID]) -> int:
        if not run_ids:
            return 0
        with _scoped(transaction) as (connection, org):
            return len(connection.execute(statements.CANCEL_RUNS, {"runs": list(run_ids), "org": org}).all())

    def cancel_job(self, job_id: UUID) -> bool:
        with _scoped(transaction) as (connection, org):
            return connection.execute(statements.CANCEL_JOB, {"job": job_id, "org": org}).first() is not None

    # Reads.

    def get(self, job_id: UUID) -> JobSnapshot | None:
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
    ) -> list[JobSnapshot]:
        values = {"org": org_id, "before": before or _NEWEST, "limit": limit}
        with _scoped(reading) as (connection, _):
            plan_by_indexes()
            pieces = [
                piece
                for one in ([status] if status else JobStatus)
                for piece in _pieces(connection, values, one, stage)
            ]
            ids = connection.scalars(statements.page(pieces), values).all() if pieces else []
            return self.of_ids(ids)

    def of_ids(self, ids: Sequence[UUID]) -> list[JobSnapshot]:
        if not ids:
            return []
        with _scoped(reading) as (connection, org):
            return [_job(row) for row in connection.execute(statements.OF_IDS, {"ids": list(ids), "org": org})]

    def of_run(self, run_id: UUID) -> list[JobSnapshot]:
        return self.of_runs([run_id])

    def of_runs(self, run_ids: Sequence[UUID]) -> list[JobSnapshot]:
        with _scoped(reading) as (connection, org):
            return [_job(row) for row in connection.execute(statements.OF_RUNS, {"runs": run_ids, "org": org})]

    def live_of_runs(self, run_ids: Sequence[UUID]) -> dict[UUID, JobSnapshot]:
        # Oldest first, so that each run's newest job is the one that stays in the mapping.
        found = self.of_runs(run_ids) if run_ids else []
        return {job.run_id: job for job in found}

    def counts(self, org_id: UUID | None = None) -> dict[JobStatus, int]:
        with _scoped(reading) as (connection, org):
            values = {"org": org_id or org}
            statement = statements.COUNTS_OF_ORG if values["org"] else statements.COUNTS
            found = {row.status: row.number for row in connection.execute(statement, values)}
        return {status: found.get(status, 0) for status in JobStatus}

    def counts_up_to_most(self, org_id: UUID | None = None) -> dict[JobStatus, Count]:
        statement = statements.COUNTS_UP_TO_MOST if org_id else statements.COUNTS_OF_ALL_UP_TO_MOST
        with _scoped(reading) as (connection, _):
            plan_by_indexes()
            found = connection.execute(statement, {"org": org_id}).one()
        return {status: Count.of(number) for status, number in zip(JobStatus, found, strict=True)}

    # Stage controls.

    def pause(self, stage: str, reason: str | None = None, by: str | None = None) -> None:
        with _scoped(transaction) as (connection, _):
            control_statements.pause(connection, stage, reason=reason, by=by)

    def resume(self, stage: str, by: str | None = None) -> None:
        with _scoped(transaction) as (connection, _):
            control_statements.put(connection, stage, paused=False, reason=None, changed_by=by, slowed_until=None)
        wake_workers()

    def resume_after(self, stage: str, reasons: Collection[str]) -> bool:
        with _scoped(transaction) as (connection, _):
            is_resumed = control_statements.resume_after(connection, stage, reasons)
        if is_resumed:
            wake_workers()
        return is_resumed

    def limit(self, stage: str, number: int | None, by: str | None = None) -> None:
        if number is not None and number < 1:
            raise ValueError("a limit is at least 1: pause the stage instead")
        with _scoped(transaction) as (connection, _):
            control_statements.put(connection, stage, job_limit=number, changed_by=by)
        wake_workers()

    def slow(self, stage: str, retry_after_seconds: float | None = None) -> None:
        seconds = self._retry.delay_seconds(0, 0.0, retry_after_seconds)
        with _scoped(transaction) as (connection, _):
            control_statements.slow(connection, stage, seconds)

    def controls(self) -> dict[str, StageControl]:
        with _scoped(reading) as (connection, _):
            return with_defaults(control_statements.read(connection), self._stage_limits)

    def running(self) -> dict[str, int]:
        with _scoped(reading) as (connection, _):
            return control_statements.running(connection)

    def stage_counts(self, org_id: UUID | None = None) -> dict[str, StageCounts]:
        with _scoped(reading) as (connection, org):
            one_org = org_id or org
            if one_org is None:
                return control_statements.counts(connection)
            plan_by_indexes()
            return control_statements.counts_of_org(connection, one_org)

    def begun_runs(self, stage: str | None) -> list[UUID]:
        with _scoped(reading) as (connection, _):
            return control_statements.begun_runs(connection, stage)

    def prune(self, older_than_seconds: float, *, after: UUID | None = None, limit: int = 500) -> Pruned:
        return _ENDED.prune_page(older_than_seconds, after, limit)

    def _take_back(self, statement: Executable, error: JobError, limit: int, **values: Any) -> list[Reset]:
        values |= {"limit": limit, **_as_values(error)}
        with _scoped(transaction) as (connection, _):
            found = [_reset(row) for row in connection.execute(statement, values)]
        return _announced(found)

    def _change(self, statement: Executable, lease: Lease, **values: Any) -> None:
        with _scoped(transaction) as (connection, _):
            if connection.execute(statement, {**_this(lease), **values}).rowcount != 1:
                raise _lost(lease)

    def _change_run(self, statement: Executable, run_id: UUID, **values: Any) -> int:
        with _scoped(transaction) as (connection, org):
            return len(connection.execute(statement, {"run": run_id, "org": org, **values}).all())


def _pieces(
    connection: Connection, values: dict[str, Any], status: JobStatus, stage: str | None
) -> list[tuple[JobStatus, str | None]]:
    """The ranges of the index that have the jobs of a state: one for each stage."""
    if stage is not None or status is JobStatus.PROCESSING:
        return [(status, stage)]
    stages = connection.scalars(statements.stages_of(*statements.in_state(status)), values).all()
    return [(status, found) for found in stages] if len(stages) <= statements.STAGES_MAX else [(status, None)]


@contextmanager
def _scoped(opener: Callable[..., AbstractContextManager[Session]]) -> Iterator[tuple[Connection, UUID | None]]:
    """The caller's transaction and its org; where none is open, a new one for all orgs."""
    with opener(everywhere=True) as opened:
        scope: TransactionScope = opened.info["scope"]
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
    return LeaseLost(f"job {lease.job_id} no longer has the lease {lease.lease_id}")


def _values_of(job: NewJob) -> dict[str, Any]:
    return {
        "job": job.id,
        "org": job.org_id,
        "document": job.run.document_id if job.run else None,
        "run": job.run.id if job.run else None,
        "stage": job.stage,
        "priority": int(job.priority),
        "payload": dict(job.payload),
        "to_checkpoint": dict(job.checkpoint),
        "attempts_max": job.max_attempts,
        "must_wait": job.must_wait,
        "operation": job.operation_id,
        "delay": float(job.delay_seconds),
        "sealed": job.sealed_password,
    }


def _as_values(error: JobError) -> dict[str, Any]:
    entry = error_log.entry(error)
    return {"error": entry, "to_error_code": entry["code"]}


def _this(lease: Lease) -> dict[str, UUID]:
    return {"job": lease.job_id, "lease": lease.lease_id}


def _these(leases: Sequence[Lease]) -> dict[str, Any]:
    pairs = [(lease.job_id, lease.lease_id) for lease in leases]
    return {"pairs": pairs, "job_ids": [job_id for job_id, _ in pairs]}


def _announced(found: Found) -> Found:
    """Wake idle workers if jobs have become due."""
    if found:
        wake_workers()
    return found


def _job(row: AnyRow) -> JobSnapshot:
    columns = dict(row._mapping)  # noqa: SLF001 - its public name for "as a mapping"
    del columns["document_id"], columns["run_id"]
    resolution = Resolution(row.resolution) if row.resolution else None
    return JobSnapshot(**{**columns, "run": run_of(row), "status": JobStatus(row.status), "resolution": resolution})


def _reset(row: AnyRow) -> Reset:
    worker = row.error_log[-1]["worker"]
    return Reset(row.id, row.org_id, run_of(row), JobStatus(row.status), row.attempts, worker, row.operation_id)
