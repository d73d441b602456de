"""The tables of the ledger: what was paid for or saved, what a day cost, and calls that are being made."""

from datetime import date, datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Date,
    Float,
    ForeignKey,
    Index,
    Integer,
    Text,
    Uuid,
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, UtcDateTime


class ProviderCall(Base):
    """A line of the ledger: what was paid for, or what a cache saved. It outlives its run and its document."""

    __tablename__ = "provider_calls"
    __table_args__ = (
        CheckConstraint("outcome IN ('ok', 'error', 'unknown')", name="outcome"),
        CheckConstraint("units >= 0 AND seconds >= 0 AND price >= 0", name="amounts"),
        Index("ix_provider_calls_org_id_created_at", "org_id", "created_at"),
        Index("ix_provider_calls_org_id_run_id", "org_id", "run_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    run_id: Mapped[UUID | None] = mapped_column(Uuid)
    provider: Mapped[str] = mapped_column(Text)
    operation: Mapped[str] = mapped_column(Text)
    units: Mapped[int] = mapped_column(Integer)
    seconds: Mapped[float] = mapped_column(Float)
    outcome: Mapped[str] = mapped_column(Text)
    reused: Mapped[bool] = mapped_column(default=False)
    # Estimated by the settings of its day: what was spent or, where it was reused, what was saved.
    price: Mapped[float] = mapped_column(Float, default=0.0)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class SpendingDay(Base):
    """The sums of an org's ledger lines that were deleted by age: of a day (UTC), a provider and an operation."""

    __tablename__ = "spending_days"

    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    provider: Mapped[str] = mapped_column(Text, primary_key=True)
    operation: Mapped[str] = mapped_column(Text, primary_key=True)
    calls: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    units: Mapped[int] = mapped_column(BigInteger)
    seconds: Mapped[float] = mapped_column(Float)
    units_saved: Mapped[int] = mapped_column(BigInteger)
    price: Mapped[float] = mapped_column(Float)
    price_saved: Mapped[float] = mapped_column(Float)


class CallReservation(Base):
    """One answer that is being paid for right now: no other call of the org asks for it meanwhile.

    A call has a row for each answer that it brings (one for each text of a batch). The rows are the open line of
    the ledger: they are committed before the call leaves, and become a `ProviderCall` of the same id when they go.
    """

    __tablename__ = "call_reservations"
    __table_args__ = (
        CheckConstraint("units >= 0 AND price >= 0", name="amounts"),
        CheckConstraint("(job_id IS NULL) = (lease_id IS NULL) AND (job_id IS NULL) = (run_id IS NULL)", name="holder"),
        Index("ix_call_reservations_call_id", "call_id"),
    )

    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True)
    # Everything that decides the answer.
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    call_id: Mapped[UUID] = mapped_column(Uuid)
    # None where no job asks, but a person who searches.
    job_id: Mapped[UUID | None] = mapped_column(Uuid)
    lease_id: Mapped[UUID | None] = mapped_column(Uuid)
    run_id: Mapped[UUID | None] = mapped_column(Uuid)
    provider: Mapped[str] = mapped_column(Text)
    operation: Mapped[str] = mapped_column(Text)
    units: Mapped[int] = mapped_column(Integer)
    price: Mapped[float] = mapped_column(Float)
    made_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    # When the call must be over: after that a holder that sends no heartbeat is not waited for.
    ends_at: Mapped[datetime] = mapped_column(UtcDateTime)
