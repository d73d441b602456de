"""The tables of answers: what a chat model answered to a question, and the passages that it was given."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, Integer, Text, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import now
from webapp.db import Base, Json, UtcDateTime
from webapp.documents.model import belongs_to_document


class AnsweredQuestion(Base):
    """An answer, by the hash of all that decides it: question, passages and model. The question is not stored."""

    __tablename__ = "answers"
    __table_args__ = (
        CheckConstraint("state IN ('ASKING', 'DONE', 'FAILED')", name="state"),
        Index("ix_answers_org_id_used_at", "org_id", "used_at"),
    )

    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    state: Mapped[str] = mapped_column(Text)
    sentences: Mapped[Any] = mapped_column(Json)
    """Each with its text and the numbers of its sources, in order."""
    left_out: Mapped[int] = mapped_column(Integer, default=0)
    """How many sentences had no source, or one that does not hold their numbers."""
    model: Mapped[str] = mapped_column(Text)
    call_id: Mapped[UUID] = mapped_column(Uuid)
    """The call that writes it: one that was given up writes nothing more."""
    ends_at: Mapped[datetime] = mapped_column(UtcDateTime)
    """When an answer that is still ASKING counts as failed: its process has died."""
    used_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class AnswerSource(Base):
    """A passage that an answer was made from; with its document the answer goes."""

    __tablename__ = "answer_sources"
    __table_args__ = (
        belongs_to_document(),
        ForeignKeyConstraint(["org_id", "key"], ["answers.org_id", "answers.key"], ondelete="CASCADE"),
        Index("ix_answer_sources_org_id_document_id", "org_id", "document_id"),
    )

    org_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    chunk_id: Mapped[UUID] = mapped_column(Uuid)
