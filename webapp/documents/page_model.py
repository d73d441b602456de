"""The table of pages: how well each page of a document's result was read."""

from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, Float, Index, Integer, Text, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db import Base
from webapp.documents.model import belongs_to_document


class DocumentPage(Base):
    """How well one page of the result was read, and why not better. A page that is well read may be blank."""

    __tablename__ = "document_pages"
    __table_args__ = (
        belongs_to_document(),
        CheckConstraint("number >= 1", name="number"),
        CheckConstraint(
            "(reading = 'well' AND (reason IS NULL OR reason = 'blank'))"
            " OR (reading = 'in_part' AND reason IS NOT NULL AND reason IN ('ocr_off', 'unknown_script',"
            " 'low_confidence', 'damaged_text', 'page_failed', 'ocr_ended', 'time_limit'))"
            " OR (reading = 'not_read' AND reason IS NOT NULL AND reason IN ('no_text', 'ocr_off', 'unknown_script',"
            " 'page_failed', 'ocr_ended', 'time_limit', 'not_answered'))",
            name="possible",
        ),
        CheckConstraint("NOT by_ocr OR reading <> 'not_read'", name="by_ocr"),
        CheckConstraint("sure_share BETWEEN 0 AND 1", name="sure_share"),
        # Counts the pages of an org by how they were read.
        Index("ix_document_pages_org_id_reading_reason", "org_id", "reading", "reason"),
    )

    org_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    reading: Mapped[str] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    by_ocr: Mapped[bool] = mapped_column(Boolean)
    sure_share: Mapped[float | None] = mapped_column(Float)
    """The share of its letters in words of which their reader was sure."""
