"""The table of saved views: filters of the library that people have named."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, Integer, Text, UniqueConstraint, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, UtcDateTime


class SavedView(Base):
    """A filter of the library with a name: of the whole org, or private to a person."""

    __tablename__ = "saved_views"
    __table_args__ = (
        UniqueConstraint("org_id", "id"),
        ForeignKeyConstraint(["org_id", "private_to"], ["users.org_id", "users.id"], ondelete="CASCADE"),
        CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        CheckConstraint("sort IN ('newest', 'oldest', 'name', 'largest')", name="sort"),
        CheckConstraint("position >= 0", name="position"),
        Index("ix_saved_views_org_id_position_id", "org_id", "position", "id"),
        Index("ix_saved_views_org_id_private_to", "org_id", "private_to"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Text)
    query: Mapped[str] = mapped_column(Text)
    folder: Mapped[str | None] = mapped_column(Text)
    status: Mapped[str | None] = mapped_column(Text)
    sort: Mapped[str] = mapped_column(Text)
    position: Mapped[int] = mapped_column(Integer)
    private_to: Mapped[UUID | None] = mapped_column(Uuid)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())
