"""The tables of rules: what documents of a saved view are given, and which rule has given a document what."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime
from webapp.documents.model import belongs_to_document


class Rule(Base):
    """What documents that a saved view shows are given: tags, a kind, a title."""

    __tablename__ = "rules"
    __table_args__ = (
        UniqueConstraint("org_id", "id"),
        # A view that a rule needs is not deleted.
        ForeignKeyConstraint(["org_id", "view_id"], ["saved_views.org_id", "saved_views.id"]),
        CheckConstraint("length(name) BETWEEN 1 AND 100", name="name"),
        Index("ix_rules_org_id_view_id", "org_id", "view_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    view_id: Mapped[UUID] = mapped_column(Uuid)
    name: Mapped[str] = mapped_column(Text)
    tags: Mapped[list[Any]] = mapped_column(Json)
    kind: Mapped[str | None] = mapped_column(Text)
    title: Mapped[str | None] = mapped_column(Text)
    """A pattern with placeholders, as in "{seller}, {date}"."""
    is_on: Mapped[bool] = mapped_column(Boolean)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())


class RuleApplication(Base):
    """A document that a rule was applied to: for which run last, and the tags that it has been given by the rule."""

    __tablename__ = "rule_applications"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "rule_id"], ["rules.org_id", "rules.id"], ondelete="CASCADE"),
        belongs_to_document(),
        Index("ix_rule_applications_org_id_document_id", "org_id", "document_id"),
    )

    rule_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    run_id: Mapped[UUID | None] = mapped_column(Uuid)
    tags: Mapped[list[Any]] = mapped_column(Json)
    applied_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())
