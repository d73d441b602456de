"""Doubts: fields that a person should look at, the worst first.

`document_fields.check_order` is kept when a result is published and when somebody says something of a field, so that
the queue is one walk along an index, however many documents there are.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Table, Text, func, literal, literal_column, select, tuple_, update

from webapp.db import session
from webapp.db.bounded import plan_by_indexes
from webapp.documents.binned import in_library
from webapp.documents.correction_model import Correction
from webapp.documents.model import Document, DocumentField
from webapp.documents.states import DocumentStatus
from webapp.library.corrections import Target, Verdict
from webapp.library.fields import ShownField

# Below this a measured confidence is worth a look.
SURE_MIN = 0.85
CONTRADICTED = -1.0
LEFT_MAX = 1_000
_fields, _documents = cast(Table, DocumentField.__table__), cast(Table, Document.__table__)
_corrections = cast(Table, Correction.__table__)
# A literal: how many rows fulfil a parameter, no planner knows.
_READY: ColumnElement[str] = literal_column(f"'{DocumentStatus.READY}'", Text)
_ORDER = (_fields.c.check_order, _fields.c.id)


class NoPlace(ValueError):
    """A text that no place in the queue is written as."""


@dataclass(frozen=True)
class QueuePlace:
    """A place in the queue: right behind this field."""

    check_order: float
    field_id: UUID

    def __str__(self) -> str:
        """As it travels in addresses."""
        return urlsafe_b64encode(json.dumps([self.check_order, self.field_id.hex]).encode()).decode().rstrip("=")

    def before(self) -> "QueuePlace":
        """The place right before: this field comes next."""
        return QueuePlace(self.check_order, UUID(int=max(0, self.field_id.int - 1)))

    @classmethod
    def parse(cls, text: str) -> "QueuePlace":
        """Read what `str` wrote; NoPlace for anything else."""
        try:
            order, field_id = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            return cls(float(order), UUID(field_id))
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise NoPlace from error


@dataclass(frozen=True)
class Doubt:
    """The field that comes next."""

    document_id: UUID
    ordinal: int
    place: QueuePlace


@dataclass(frozen=True)
class Progress:
    """How many fields are left to check, and what people said of those that they checked."""

    left: int
    """Counted up to LEFT_MAX."""
    is_more: bool
    confirmed: int
    corrected: int

    @property
    def checked(self) -> int:
        """How many somebody looked at."""
        return self.confirmed + self.corrected

    @property
    def untouched_share(self) -> float | None:
        """The share of the checked fields that were right as they were found."""
        return self.confirmed / self.checked if self.checked else None


def order_of(doubt: str | None, confidence: float | None) -> float | None:
    """When it is a field's turn; None where nobody need look at it."""
    if doubt is not None:
        return CONTRADICTED
    return confidence if confidence is not None and confidence < SURE_MIN else None


def first(org_id: UUID, behind: QueuePlace | None = None) -> Doubt | None:
    """The first field of the queue, or the next one behind a place."""
    plan_by_indexes()
    asked = _waiting(org_id)
    if behind is not None:
        asked = asked.where(tuple_(*_ORDER) > tuple_(literal(behind.check_order), literal(behind.field_id)))
    row = session().execute(asked.order_by(*_ORDER).limit(literal_column("1"))).one_or_none()
    return Doubt(row.document_id, row.ordinal, QueuePlace(row.check_order, row.id)) if row is not None else None


def place_of(org_id: UUID, document_id: UUID, name: str, nth: int) -> QueuePlace | None:
    """The place of a field in the queue; None where it is not in it."""
    f = _fields.c
    named = select(f.check_order, f.id).where(f.org_id == org_id, f.document_id == document_id, f.name == name)
    row = session().execute(named.order_by(f.ordinal).offset(nth).limit(1)).one_or_none()
    return QueuePlace(row.check_order, row.id) if row is not None and row.check_order is not None else None


def progress(org_id: UUID) -> Progress:
    """How far the queue is worked through."""
    # A literal: for a parameter the planner expects a tenth of the table.
    some = _waiting(org_id).with_only_columns(literal_column("1")).limit(literal_column(str(LEFT_MAX + 1))).subquery()
    left = session().scalar(select(func.count()).select_from(some)) or 0
    c = _corrections.c
    counted = select(c.verdict, func.count()).where(c.org_id == org_id, c.target == Target.FIELD).group_by(c.verdict)
    numbers: dict[str, int] = {row[0]: row[1] for row in session().execute(counted)}
    confirmed = numbers.pop(Verdict.CONFIRMED, 0)
    return Progress(min(left, LEFT_MAX), left > LEFT_MAX, confirmed, sum(numbers.values()))


def _waiting(org_id: UUID) -> Select[Any]:
    f = _fields.c
    asked: Select[Any] = select(f.document_id, f.ordinal, f.check_order, f.id).join(
        _documents, (_documents.c.org_id == f.org_id) & (_documents.c.id == f.document_id)
    )
    return asked.where(f.org_id == org_id, f.check_order.is_not(None), _documents.c.status == _READY, in_library)


def note(org_id: UUID, document_id: UUID, field: ShownField, order: float | None) -> None:
    """Put a field into the queue, or take it out."""
    f = _fields.c
    own = update(_fields).where(f.org_id == org_id, f.document_id == document_id, f.ordinal == field.ordinal)
    session().execute(own.values(check_order=order))
