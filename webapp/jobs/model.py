"""The tables of the queue: jobs, worker processes, and the controls of stages."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, CheckConstraint, ForeignKeyConstraint, Index, Integer, Text, Uuid, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime

# The conditions of the partial indexes. Statements use the same text: a planner uses such an index only where it can
# prove its condition, which it can't do from a parameter.
DUE = "status = 'PENDING' AND wakes_at IS NULL"
DELAYED = "status = 'PENDING' AND wakes_at IS NOT NULL"
LEASED = "status = 'PROCESSING'"
LIVE = "status IN ('PENDING', 'PROCESSING')"
# Pages of jobs are read from an index of the jobs that are not running, so that a claim need not insert into it.
AT_REST = "status <> 'PROCESSING'"
# The `wakes_at` of a job that waits for another run of its document, not for a time.
NEVER = datetime(9000, 1, 1, tzinfo=UTC)

# The rules of a row, as CHECKs. PostgreSQL has them in one function, `job_is_possible`, which a migration makes.
_RULES = {
    "status": "status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED')",
    "lease": "(status = 'PROCESSING') = (lease_id IS NOT NULL)",
    "locked_by": "(status = 'PROCESSING') = (locked_by IS NOT NULL)",
    "started": "status <> 'PROCESSING' OR (started_at IS NOT NULL AND heartbeat_at IS NOT NULL)",
    "ended": "(status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL)",
    "attempts": "attempts >= 0 AND max_attempts >= 1 AND attempts <= max_attempts",
    "wakes": "wakes_at IS NULL OR status = 'PENDING'",
    "due": "status <> 'PENDING' OR wakes_at IS NOT NULL OR available_at IS NOT NULL",
    "owner": "(run_id IS NULL) = (document_id IS NULL) AND (run_id IS NULL) = (operation_id IS NOT NULL)",
}


class Job(Base):
    """One unit of queued work of a run, or of an operation, which has no document.

    A PENDING job is due, delayed or waiting. Only due jobs (`wakes_at` is NULL) are in the index that a claim reads. A
    delayed one has a time in `wakes_at`; one that waits for another run of its document has NEVER there, and no
    `available_at`.
    """

    __tablename__ = "document_processing_jobs"
    __table_args__ = (
        *(CheckConstraint(rule, name=name).ddl_if(dialect="sqlite") for name, rule in _RULES.items()),
        # PostgreSQL parses CHECKs again for each statement, which takes longer than ending a job; a function it caches.
        CheckConstraint("job_is_possible(document_processing_jobs)", name="possible").ddl_if(dialect="postgresql"),
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
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())


class Worker(Base):
    """A worker process, as it last reported itself.

    `lock_key` is the advisory lock that its database session holds for as long as it lives; without
    a lock only its heartbeats show that it lives. `ended_at` is set when it was found dead.
    """

    __tablename__ = "workers"

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(Text)
    host: Mapped[str] = mapped_column(Text)
    pid: Mapped[int] = mapped_column(Integer)
    threads: Mapped[int] = mapped_column(Integer)
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
