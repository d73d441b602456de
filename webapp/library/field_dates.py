"""The day that a document is of, by its fields: found when it is read, and again when a person corrects them."""

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Protocol
from uuid import UUID

from webapp.library import facts, fields
from webapp.library.facts import Fact
from webapp.readers.creation import day_of_creation

INVOICE_DATE, DOUBTFUL_FIELD = "invoice_date", "doubtful_field"
"""Where a date is from: a field of this kind, or a field that may mean another day."""
_DAYS = (INVOICE_DATE, "purchase_date", "statement_date", "period_end", "contract_date", "letter_date")
_BY_FIELDS = frozenset({*_DAYS, DOUBTFUL_FIELD})


class DatedField(Protocol):
    """A field that may be a date."""

    @property
    def kind(self) -> Any: ...
    @property
    def normalized(self) -> Any: ...
    @property
    def doubt(self) -> Any: ...


def day_of(said: str | None) -> date | None:
    """The day that a text names first, if a document can be of it."""
    day = day_of_creation(said)
    return date.fromisoformat(day) if day else None


def day_by_fields(found: Sequence[DatedField]) -> tuple[date, str] | None:
    """The day that fields say, the strongest kind first, and where it is from."""
    days: Iterable[tuple[date, str]] = (
        (day, DOUBTFUL_FIELD if field.doubt else kind)
        for kind in _DAYS
        for field in found
        if field.kind == kind and (day := day_of(field.normalized))
    )
    return next(iter(days), None)


def follow(org_id: UUID, document_id: UUID) -> None:
    """Let a document's date follow its fields, as people corrected them, unless a person gave it a date."""
    origin, own = facts.date_origin(org_id, document_id)
    if Fact.DATE in own:
        return
    found = day_by_fields(fields.of_document(org_id, document_id))
    if found is None and origin not in _BY_FIELDS:
        return
    facts.set_found_date(org_id, document_id, *(found or (None, None)))
