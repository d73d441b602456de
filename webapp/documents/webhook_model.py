"""The tables of webhooks: the addresses that an org's events are sent to, and the outbox of deliveries."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
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
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime


class Webhook(Base):
    """An address that an org's events of some types are sent to."""

    __tablename__ = "webhooks"
    __table_args__ = (
        UniqueConstraint("org_id", "id"),
        CheckConstraint("length(url) BETWEEN 1 AND 2000", name="url"),
        CheckConstraint("(earlier_secret IS NULL) = (earlier_until IS NULL)", name="earlier_secret"),
        CheckConstraint("failures >= 0", name="failures"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    url: Mapped[str] = mapped_column(Text)
    events: Mapped[list[Any]] = mapped_column(Json)
    is_on: Mapped[bool] = mapped_column(Boolean)
    secret: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    """Sealed; so is the one before it, which signs as well until its time is over."""
    earlier_secret: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    earlier_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # How many tries in a row have failed, and until when nothing more is sent: one dead address costs few seats.
    failures: Mapped[int] = mapped_column(Integer, default=0)
    rests_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())


class WebhookDelivery(Base):
    """An event on its way to one webhook: a row of the outbox, written with what the event is about."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "webhook_id"], ["webhooks.org_id", "webhooks.id"], ondelete="CASCADE"),
        UniqueConstraint("webhook_id", "event_id"),
        CheckConstraint("state IN ('PENDING', 'DELIVERED', 'FAILED', 'HELD')", name="state"),
        CheckConstraint("(state = 'DELIVERED') = (delivered_at IS NOT NULL)", name="delivered"),
        CheckConstraint("state <> 'PENDING' OR job_id IS NOT NULL", name="job"),
        CheckConstraint("attempts >= 0", name="attempts"),
        CheckConstraint("length(answer) <= 1000", name="answer"),
        Index("ix_webhook_deliveries_org_id_webhook_id_id", "org_id", "webhook_id", "id"),
        Index("ix_webhook_deliveries_org_id_state_webhook_id", "org_id", "state", "webhook_id", "id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    webhook_id: Mapped[UUID] = mapped_column(Uuid)
    event_id: Mapped[UUID] = mapped_column(Uuid)
    """The same for all webhooks and all tries: receivers know repetitions by it."""
    event: Mapped[str] = mapped_column(Text)
    payload: Mapped[str] = mapped_column(Text)
    """The body as it is sent, byte for byte: a signature is of bytes."""
    state: Mapped[str] = mapped_column(Text)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    job_id: Mapped[UUID | None] = mapped_column(Uuid)
    queued_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    tried_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    next_try_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # Of the last try: the status of the answer and how it began, or why there was none.
    status: Mapped[int | None] = mapped_column(Integer)
    answer: Mapped[str | None] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(Text)
    delivered_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
