"""The tables of operations: work on many documents that people ask for at once, and what became of each document."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime
from webapp.documents.model import belongs_to_document


class BulkOperation(Base):
    """Work on many documents, done by a job of its own; `wanted` says which documents, and with which tags."""

    __tablename__ = "operations"
    __table_args__ = (
        CheckConstraint(
            "action IN ('tag', 'untag', 'delete', 'restore', 'reprocess', 'export', 'import', 'rule', 'unrule', "
            "'tag_folders')",
            name="action",
        ),
        CheckConstraint("state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'STOPPED')", name="state"),
        CheckConstraint("(state IN ('SUCCEEDED', 'FAILED', 'STOPPED')) = (finished_at IS NOT NULL)", name="finished"),
        UniqueConstraint("org_id", "id"),
        Index("ix_operations_org_id_undo_of", "org_id", "undo_of"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    action: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text, default="QUEUED")
    wanted: Mapped[dict[str, Any]] = mapped_column(Json)
    # How many documents matched when it was asked for; how many were looked at since, and at how many it failed.
    matched: Mapped[int] = mapped_column(Integer)
    done: Mapped[int] = mapped_column(Integer, default=0)
    failed: Mapped[int] = mapped_column(Integer, default=0)
    undo_of: Mapped[UUID | None] = mapped_column(Uuid)
    # Of an export: the parts of its file, and where the next one begins. NULL where there is no file (any more).
    # Of a deletion, and a restoring: the container whose parts follow it at present.
    result: Mapped[dict[str, Any] | None] = mapped_column(Json)
    job_id: Mapped[UUID] = mapped_column(Uuid)
    requested_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class OperationItem(Base):
    """A document that an operation has changed, with what undoes the change, or that it could not change, with why."""

    __tablename__ = "operation_items"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "operation_id"], ["operations.org_id", "operations.id"], ondelete="CASCADE"),
        belongs_to_document(),
        Index("ix_operation_items_org_id_document_id", "org_id", "document_id"),
    )

    operation_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    undo: Mapped[dict[str, Any] | None] = mapped_column(Json)
    error: Mapped[str | None] = mapped_column(Text)
