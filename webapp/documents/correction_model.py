"""The table of corrections: what people say of a document, beside what was found."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Integer, Text, Uuid, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime
from webapp.documents.model import belongs_to_document

_NO_CELL = "target <> 'cell'"


class Correction(Base):
    """What a person says of a fact of a document, of a field, or of a cell of a table.

    A fact is found again by its name, a field by its name and how many of that name are before it, a cell by its
    table's number, its place and its `neighbours`. What processing found stays where it is.
    """

    __tablename__ = "corrections"
    __table_args__ = (
        belongs_to_document(),
        CheckConstraint("target IN ('fact', 'field', 'cell')", name="target"),
        CheckConstraint("verdict IN ('value', 'absent', 'confirmed')", name="verdict"),
        CheckConstraint("(verdict = 'absent') = (value IS NULL)", name="value"),
        CheckConstraint("nth >= 0", name="nth"),
        CheckConstraint(
            "(target = 'cell') = (row_number IS NOT NULL) AND (target = 'cell') = (column_number IS NOT NULL)",
            name="cell",
        ),
        Index(
            "uq_corrections_place",
            "document_id",
            "target",
            "name",
            "nth",
            unique=True,
            postgresql_where=text(_NO_CELL),
            sqlite_where=text(_NO_CELL),
        ),
        Index("ix_corrections_org_id_document_id", "org_id", "document_id"),
        Index("ix_corrections_org_id_target_verdict", "org_id", "target", "verdict"),
        Index("ix_corrections_org_id_id", "org_id", "id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    document_id: Mapped[UUID] = mapped_column(Uuid)
    target: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    """Of a cell the heading of its column."""
    nth: Mapped[int] = mapped_column(Integer)
    """How many fields of this name are before it; of a cell the number of its table, from 0."""
    row_number: Mapped[int | None] = mapped_column(Integer)
    column_number: Mapped[int | None] = mapped_column(Integer)
    neighbours: Mapped[list[Any] | None] = mapped_column(Json)
    """How many rows with the same other cells are before it, how many there are, and these cells as they were found:
    by this its row is recognised."""
    verdict: Mapped[str] = mapped_column(Text)
    value: Mapped[str | None] = mapped_column(Text)
    """What is right: what a person wrote, or found and confirmed; NULL where there is no such thing."""
    normalized: Mapped[str | None] = mapped_column(Text)
    """The value as programs read it, where that is known."""
    found: Mapped[str | None] = mapped_column(Text)
    """What processing had found when the person said this."""
    by: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(UtcDateTime, default=now(), onupdate=now())
