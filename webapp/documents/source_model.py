"""The tables of sources: folders and mailboxes that are polled for new documents, and what became of each item."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime


class Source(Base):
    """A folder or a mailbox that is polled; one process at a time does so, under a lease."""

    __tablename__ = "sources"
    __table_args__ = (
        UniqueConstraint("org_id", "id"),
        CheckConstraint("kind IN ('folder', 'maildir', 'imap')", name="kind"),
        CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        CheckConstraint(
            "(kind = 'folder' AND after_taking IN ('leave', 'move', 'delete')) "
            "OR (kind = 'maildir' AND after_taking IN ('leave', 'seen')) "
            "OR (kind = 'imap' AND after_taking IN ('leave', 'seen', 'move'))",
            name="after_taking",
        ),
        CheckConstraint("(kind = 'imap') = (sealed_secret IS NOT NULL)", name="secret"),
        CheckConstraint("interval_seconds BETWEEN 10 AND 86400", name="interval"),
        CheckConstraint(
            "(lease_id IS NULL) = (lease_until IS NULL) AND (lease_id IS NULL) = (lease_by IS NULL)", name="lease"
        ),
        # What is turned off is not polled, nor is a poll of it going on.
        CheckConstraint("is_on OR lease_id IS NULL", name="off"),
        Index("ix_sources_org_id_name", "org_id", "name"),
        Index(
            "ix_sources_next_poll_at",
            "next_poll_at",
            postgresql_where=text("is_on"),
            sqlite_where=text("is_on"),
        ),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    place: Mapped[dict[str, Any]] = mapped_column(Json)
    """Where it is: the path of a folder; host, port, security, username, mailbox of a mailbox."""
    sealed_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    after_taking: Mapped[str] = mapped_column(Text)
    interval_seconds: Mapped[int] = mapped_column(Integer)
    is_on: Mapped[bool] = mapped_column(Boolean, default=True)
    lease_id: Mapped[UUID | None] = mapped_column(Uuid)
    lease_by: Mapped[str | None] = mapped_column(Text)
    lease_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    next_poll_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    last_poll_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_error: Mapped[str | None] = mapped_column(Text)
    """A code, for which pages have a sentence."""
    mark: Mapped[dict[str, Any] | None] = mapped_column(Json)
    """How far a mailbox has been looked through."""
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())


class SourceItem(Base):
    """A file or a message that a source has shown, in one version: it is written down before anything is done with it.

    `key` says which one it is, `version` how it was then (size and time of a file).
    """

    __tablename__ = "source_items"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "source_id"], ["sources.org_id", "sources.id"], ondelete="CASCADE"),
        UniqueConstraint("source_id", "key", "version"),
        CheckConstraint("state IN ('waiting', 'taken', 'skipped', 'failed')", name="state"),
        CheckConstraint("length(key) BETWEEN 1 AND 200", name="key"),
        CheckConstraint("(state = 'taken') = (document_id IS NOT NULL)", name="document"),
        CheckConstraint("(state = 'waiting') = (ended_at IS NULL)", name="ended"),
        CheckConstraint("state NOT IN ('skipped', 'failed') OR reason IS NOT NULL", name="reason"),
        CheckConstraint("is_settled OR state = 'taken'", name="settled"),
        # A file waits in its newest version alone.
        Index(
            "uq_source_items_waiting",
            "source_id",
            "key",
            unique=True,
            postgresql_where=text("state = 'waiting'"),
            sqlite_where=text("state = 'waiting'"),
        ),
        Index("ix_source_items_org_id_source_id", "org_id", "source_id", "state", "id"),
        Index("ix_source_items_source_id_ended_at", "source_id", "ended_at"),
        Index(
            "ix_source_items_unsettled",
            "source_id",
            postgresql_where=text("NOT is_settled"),
            sqlite_where=text("is_settled = 0"),
        ),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    source_id: Mapped[UUID] = mapped_column(Uuid)
    key: Mapped[str] = mapped_column(Text)
    version: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    """A code: why it waits, was skipped or failed; of what was taken, that the library had it already."""
    # No foreign key: what was taken stays taken when its document is deleted.
    document_id: Mapped[UUID | None] = mapped_column(Uuid)
    is_settled: Mapped[bool] = mapped_column(Boolean, default=True)
    """False until a file that was taken is moved or deleted, where the source says so."""
    tries: Mapped[int] = mapped_column(Integer, default=0)
    next_try_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    seen_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    """Since when it has been in this version."""
    ended_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    unneeded_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    """Since when nothing is compared with it: its file is gone, or its message lies behind the mark."""
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
