"""The tables of tags: names that people give to documents, and what was changed of them, so that it can be undone."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, Text, UniqueConstraint, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime
from webapp.documents.model import belongs_to_document


class Tag(Base):
    """A name for documents. `word` is the name as it is compared: two tags differ in more than case and spaces."""

    __tablename__ = "tags"
    __table_args__ = (
        UniqueConstraint("org_id", "id"),
        UniqueConstraint("org_id", "word"),
        CheckConstraint("length(name) BETWEEN 1 AND 100 AND length(word) BETWEEN 1 AND 300", name="name"),
        CheckConstraint(
            "color IN ('blue', 'yellow', 'green', 'brown', 'red', 'purple')",
            name="color",
        ),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Text)
    word: Mapped[str] = mapped_column(Text)
    color: Mapped[str | None] = mapped_column(Text)
    """How it is shown; NULL is grey."""
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


class TagChange(Base):
    """A change of a tag and of the tags in it; `before` has them as they were."""

    __tablename__ = "tag_changes"
    __table_args__ = (
        UniqueConstraint("org_id", "id"),
        CheckConstraint("action IN ('rename', 'merge', 'color', 'delete')", name="action"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    action: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    """What the tag was called."""
    new_name: Mapped[str | None] = mapped_column(Text)
    before: Mapped[list[Any]] = mapped_column(Json)
    by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    undone_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class TagChangeDocument(Base):
    """A document that a change gave a tag (`is_added`), or from which it took one."""

    __tablename__ = "tag_change_documents"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "change_id"], ["tag_changes.org_id", "tag_changes.id"], ondelete="CASCADE"),
        belongs_to_document(),
        Index("ix_tag_change_documents_org_id_document_id", "org_id", "document_id"),
    )

    change_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    tag_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    is_added: Mapped[bool] = mapped_column(Boolean)
