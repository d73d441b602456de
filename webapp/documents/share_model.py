"""The table of share links: a document or a saved view, shown to somebody outside."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, Integer, Text, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, UtcDateTime


class ShareLink(Base):
    """A link by which somebody without an account sees one document, or what a saved view shows."""

    __tablename__ = "share_links"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "document_id"], ["documents.org_id", "documents.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(["org_id", "view_id"], ["saved_views.org_id", "saved_views.id"], ondelete="CASCADE"),
        CheckConstraint("(document_id IS NULL) <> (view_id IS NULL)", name="target"),
        CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        CheckConstraint("expires_at >= created_at", name="expires_at"),
        CheckConstraint("openings >= 0 AND (openings = 0) = (last_opened_at IS NULL)", name="openings"),
        Index("ix_share_links_org_id_document_id", "org_id", "document_id"),
        Index("ix_share_links_org_id_view_id", "org_id", "view_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    document_id: Mapped[UUID | None] = mapped_column(Uuid)
    view_id: Mapped[UUID | None] = mapped_column(Uuid)
    name: Mapped[str | None] = mapped_column(Text)
    with_original: Mapped[bool] = mapped_column(Boolean)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    openings: Mapped[int] = mapped_column(Integer, default=0)
    last_opened_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
