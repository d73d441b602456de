"""Writes the fields of a new result, in the transaction that publishes it."""

import math
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, insert

from webapp.clock import new_id
from webapp.db import session
from webapp.documents.model import DocumentField
from webapp.library import corrections
from webapp.library.corrections import Target
from webapp.library.doubts import order_of
from webapp.library.fields import numbered
from webapp.readers.extraction import Field

_ADD = insert(cast(Table, DocumentField.__table__))


def add(org_id: UUID, document_id: UUID, found: Sequence[Field]) -> bool:
    """Add the fields of a document that has none, and say whether people corrected some: these need not be checked."""
    if not found:
        return False
    said = {(each.name, each.nth) for each in corrections.of_document(org_id, document_id, Target.FIELD)}
    rows = [
        {
            "id": new_id(),
            "org_id": org_id,
            "document_id": document_id,
            "ordinal": ordinal,
            "name": field.name,
            "value": field.value,
            "confidence": share(field.confidence),
            "page": field.page,
            "polygon": _finite(field.polygon),
            "kind": field.kind,
            "normalized": field.normalized,
            "doubt": field.doubt,
            "check_order": None if (field.name, nth) in said else order_of(field.doubt, share(field.confidence)),
        }
        for ordinal, (field, nth) in enumerate(numbered(found))
    ]
    session().execute(_ADD, rows)
    return bool(said)


def share(confidence: float | None) -> float | None:
    """A confidence between 0 and 1, as the table's CHECK demands; None for NaN."""
    if confidence is None or math.isnan(confidence):
        return None
    return min(1.0, max(0.0, confidence))


def _finite(polygon: Sequence[float] | None) -> list[Any] | None:
    """A polygon without infinite numbers, which JSON can't express."""
    return list(polygon) if polygon and all(math.isfinite(number) for number in polygon) else None
