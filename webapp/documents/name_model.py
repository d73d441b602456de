"""The table of further names: what else a document's file was called where it was uploaded again."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Text, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import now
from webapp.db import Base, UtcDateTime
from webapp.documents.model import belongs_to_document


class FurtherName(Base):
    """Another name under which the same file was uploaded, with the folder that it lay in; "" for none."""

    __tablename__ = "further_names"
    __table_args__ = (
        belongs_to_document(),
        CheckConstraint("length(filename) > 0", name="filename"),
        Index("ix_further_names_org_id_document_id", "org_id", "document_id"),
    )

    document_id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    filename: Mapped[str] = mapped_column(Text, primary_key=True)
    folder: Mapped[str] = mapped_column(Text, primary_key=True, default="")
    org_id: Mapped[UUID] = mapped_column(Uuid)
    uploaded_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
