"""The tables of figures over time."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Float, ForeignKey, Index, Integer, SmallInteger, Text, Uuid
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from webapp.db import Base, UtcDateTime

# Jobs by the size of their document: up to so many bytes, and larger ones. A job without a document is among the first.
SIZE_BYTES = (100_000, 1_000_000, 10_000_000, 100_000_000)
# Jobs by the seconds from their enqueuing to their end: up to so many, and longer ones.
LATENCY_SECONDS = (1, 3, 10, 30, 60, 300, 1800, 7200)


class Incident(Base):
    """Something that should not happen: how often it did in an hour, and when first and last.

    It is about the whole installation and names nobody. `subject` is a table, a code or a host.
    """

    __tablename__ = "incidents"
    __table_args__ = (CheckConstraint("number > 0", name="number"),)

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    subject: Mapped[str] = mapped_column(Text, primary_key=True)
    hour: Mapped[datetime] = mapped_column(UtcDateTime, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    first_at: Mapped[datetime] = mapped_column(UtcDateTime)
    last_at: Mapped[datetime] = mapped_column(UtcDateTime)


class _Ended:
    """The columns of the jobs of one org and stage, with documents of one size, that ended in a span of time."""

    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True)
    at: Mapped[datetime] = mapped_column(UtcDateTime, primary_key=True)
    stage: Mapped[str] = mapped_column(Text, primary_key=True)
    size: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    completed: Mapped[int] = mapped_column(BigInteger)
    failed: Mapped[int] = mapped_column(BigInteger)
    # Since the last start of the job; and since it was enqueued.
    seconds: Mapped[float] = mapped_column(Float)
    seconds_max: Mapped[float] = mapped_column(Float)
    latency: Mapped[float] = mapped_column(Float)
    latency_max: Mapped[float] = mapped_column(Float)
    took_1: Mapped[int] = mapped_column(BigInteger)
    took_3: Mapped[int] = mapped_column(BigInteger)
    took_10: Mapped[int] = mapped_column(BigInteger)
    took_30: Mapped[int] = mapped_column(BigInteger)
    took_60: Mapped[int] = mapped_column(BigInteger)
    took_300: Mapped[int] = mapped_column(BigInteger)
    took_1800: Mapped[int] = mapped_column(BigInteger)
    took_7200: Mapped[int] = mapped_column(BigInteger)
    took_more: Mapped[int] = mapped_column(BigInteger)

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Index]:  # noqa: N805 - a class is asked, once for each table
        return (Index(None, "at"),)


class StatsMinute(_Ended, Base):
    """The jobs that ended in a minute."""

    __tablename__ = "stats_minute"


class StatsHour(_Ended, Base):
    """The jobs that ended in an hour: the sums of its minutes."""

    __tablename__ = "stats_hour"


class StatsDay(_Ended, Base):
    """The jobs that ended in a day (UTC): the sums of its hours."""

    __tablename__ = "stats_day"


class StatsProgress(Base):
    """Up to when ended jobs were counted: one row, which the process that counts has locked."""

    __tablename__ = "stats_progress"
    __table_args__ = (CheckConstraint("id = 1", name="id"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    counted_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    counted_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
