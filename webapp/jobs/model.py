"""The tables of the queue: jobs, worker processes, and the controls of stages."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    Uuid,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime, row_rules

# The conditions of the partial indexes. Statements use the same text: a planner uses such an index only where it can
# prove its condition, which it can't do from a parameter.
DUE = "status = 'PENDING' AND wakes_at IS NULL"
DELAYED = "status = 'PENDING' AND wakes_at IS NOT NULL"
LEASED = "status = 'PROCESSING'"
LIVE = "status IN ('PENDING', 'PROCESSING')"
# Pages of jobs are read from an index of the jobs that are not running, so that a claim need not insert into it.
AT_REST = "status <> 'PROCESSING'"
# A failure is open until it is resolved: retried, superseded by a later run, or discarded.
OPEN_FAILURE = "status = 'FAILED' AND resolved_at IS NULL"
RESOLVED_FAILURE = "status = 'FAILED' AND resolved_at IS NOT NULL"
ENDED = "completed_at IS NOT NULL"
# The `wakes_at` of a job that waits for another run of its document, not for a time.
NEVER = datetime(9000, 1, 1, tzinfo=UTC)

# The rules of a row, which no statement can break.
_RULES = {
    "status": "status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED')",
    "lease": "(status = 'PROCESSING') = (lease_id IS NOT NULL)",
    "locked_by": "(status = 'PROCESSING') = (locked_by IS NOT NULL)",
    "started": "status <> 'PROCESSING' OR (started_at IS NOT NULL AND heartbeat_at IS NOT NULL)",
    "ended": "(status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL)",
    "attempts": "attempts >= 0 AND max_attempts >= 1 AND attempts <= max_attempts",
    "wakes": "wakes_at IS NULL OR status = 'PENDING'",
    "due": "status <> 'PENDING' OR wakes_at IS NOT NULL OR available_at IS NOT NULL",
    "resolved": (
        "(resolution IS NULL) = (resolved_at IS NULL) AND (resolution IS NULL OR status = 'FAILED' "
        "AND resolution IN ('RETRIED', 'SUPERSEDED', 'DISCARDED'))"
    ),
    "sealed": "sealed_password IS NULL OR status IN ('PENDING', 'PROCESSING')",
    "owner": "(run_id IS NULL) = (document_id IS NULL) AND (run_id IS NULL) = (operation_id IS NOT NULL)",
}


def _failure_index(name: str, *columns: str, where: str) -> Index:
    """An index of an org's failures, the newest last."""
    return Index(name, "org_id", *columns, "id", postgresql_where=text(where), sqlite_where=text(where))


class Job(Base):
    """One unit of queued work of a run, or of an operation, which has no document.

    A PENDING job is due, delayed or waiting. Only due jobs (`wakes_at` is NULL) are in the index that a claim reads. A
    delayed one has a time in `wakes_at`; one that waits for another run of its document has NEVER there, and no
    `available_at`.
    """

    __tablename__ = "document_processing_jobs"
    __table_args__ = (
        *row_rules("job_is_possible(document_processing_jobs)", _RULES),
        # One foreign key for document and run, at half the price: a run never changes its document.
        ForeignKeyConstraint(
            ["org_id", "document_id", "run_id"],
            ["processing_runs.org_id", "processing_runs.document_id", "processing_runs.id"],
            ondelete="CASCADE",
            name="fk_document_processing_jobs_run",
        ),
        # Due jobs. A claim jumps from org to org within a stage and priority, and reads each org's jobs oldest first.
        Index(
            "ix_jobs_due",
            "stage",
            "priority",
            "org_id",
            "available_at",
            "id",
            postgresql_where=text(DUE),
            sqlite_where=text(DUE),
        ),
        Index("ix_jobs_delayed", "wakes_at", postgresql_where=text(DELAYED), sqlite_where=text(DELAYED)),
        # Leased jobs. The heartbeat's time is in no index, or each beat would have to change all of them.
        Index("ix_jobs_held", "stage", "locked_by", postgresql_where=text(LEASED), sqlite_where=text(LEASED)),
        # Unique (run, stage) among live jobs: for ended ones the CASE is NULL, and NULLs never collide. It also finds
        # a run's jobs; one index instead of two, since a claim has to insert into each.
        Index("uq_jobs_live_run_stage", "run_id", "stage", text(f"(CASE WHEN {LIVE} THEN 1 END)"), unique=True),
        # Ids sort by time: this one serves the pages of jobs in a state (of a stage), newest first, and their counts.
        Index(
            "ix_jobs_org_id_status_stage_id",
            "org_id",
            "status",
            "stage",
            "id",
            postgresql_where=text(AT_REST),
            sqlite_where=text(AT_REST),
        ),
        # Failures are few beside the jobs that were completed: three small indexes for the pages about them.
        _failure_index("ix_jobs_open_failures", "stage", where=OPEN_FAILURE),
        _failure_index("ix_jobs_open_failures_by_error", "stage", "error_code", where=OPEN_FAILURE),
        _failure_index("ix_jobs_resolved_failures", "resolution", where=RESOLVED_FAILURE),
        # The jobs that ended in a minute, to count them.
        Index("ix_jobs_completed_at", "completed_at", postgresql_where=text(ENDED), sqlite_where=text(ENDED)),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID | None] = mapped_column(Uuid)
    run_id: Mapped[UUID | None] = mapped_column(Uuid)
    operation_id: Mapped[UUID | None] = mapped_column(Uuid)
    stage: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(Text, default="PENDING")
    priority: Mapped[int] = mapped_column(Integer, default=0)
    payload: Mapped[dict[str, Any]] = mapped_column(Json, default=dict)
    checkpoint: Mapped[dict[str, Any]] = mapped_column(Json, default=dict)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    max_attempts: Mapped[int] = mapped_column(Integer)
    available_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    wakes_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    started_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    heartbeat_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    completed_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    locked_by: Mapped[str | None] = mapped_column(Text)
    lease_id: Mapped[UUID | None] = mapped_column(Uuid)
    error_log: Mapped[list[dict[str, Any]]] = mapped_column(Json, default=list)
    # Of a failed job: the code of its last error, and what became of the failure.
    error_code: Mapped[str | None] = mapped_column(Text)
    resolution: Mapped[str | None] = mapped_column(Text)
    resolved_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    resolved_by: Mapped[str | None] = mapped_column(Text)
    # The password of the document's file, until the copy that needs none is stored, or the attempt ends.
    sealed_password: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())


class Worker(Base):
    """A worker process, as it last reported itself.

    `lock_key` is the advisory lock that its database session holds for as long as it lives; without a lock only its
    heartbeats show that it lives. It takes the jobs of `stages`, of all where NULL. `ended_at` is set when
    it was found dead.
    """

    __tablename__ = "workers"

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(Text)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int] = mapped_column(Integer)
    threads: Mapped[int] = mapped_column(Integer)
    stages: Mapped[list[str] | None] = mapped_column(Json)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    last_seen: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    lock_key: Mapped[int | None] = mapped_column(BigInteger)
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class StageControlRow(Base):
    """The control of a stage, for the whole installation; a stage without a row has no pause and no limit."""

    __tablename__ = "stage_controls"
    __table_args__ = (CheckConstraint("job_limit >= 1", name="job_limit"),)

    stage: Mapped[str] = mapped_column(Text, primary_key=True)
    paused: Mapped[bool] = mapped_column(Boolean, default=False)
    reason: Mapped[str | None] = mapped_column(Text)
    changed_by: Mapped[str | None] = mapped_column(Text)
    job_limit: Mapped[int | None] = mapped_column(Integer)
    slowed_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())
