"""The tables of tags: names that people give to documents."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, Text, UniqueConstraint, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, UtcDateTime
from webapp.documents.model import belongs_to_document


class Tag(Base):
    """A name for documents. `word` is the name as it is compared: two tags differ in more than case and spaces."""

    __tablename__ = "tags"
    __table_args__ = (
        UniqueConstraint("org_id", "id"),
        UniqueConstraint("org_id", "word"),
        CheckConstraint("length(name) BETWEEN 1 AND 100 AND length(word) BETWEEN 1 AND 300", name="name"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Text)
    word: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class DocumentTag(Base):
    """A tag of a document."""

    __tablename__ = "document_tags"
    __table_args__ = (
        belongs_to_document(),
        ForeignKeyConstraint(["org_id", "tag_id"], ["tags.org_id", "tags.id"], ondelete="CASCADE"),
        Index("ix_document_tags_org_id_tag_id_document_id", "org_id", "tag_id", "document_id"),
        Index("ix_document_tags_org_id_document_id", "org_id", "document_id"),
    )

    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    tag_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
