"""Corrections: what people say of a document's facts, fields and cells. Nothing here changes what was found.

Who writes holds the lock of the document's row (`transitions.lock`), as `publish` does.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, delete, select, update

from webapp.batches import batches
from webapp.clock import now
from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.correction_model import Correction
from webapp.documents.model import Document

_IDS_PER_STATEMENT = 500
_corrections = cast(Table, Correction.__table__)


class Target(StrEnum):
    """What can be corrected."""

    FACT = "fact"
    """The title, the name, the kind or the date of a document."""
    FIELD = "field"
    CELL = "cell"


class Verdict(StrEnum):
    """What a person can say of a value."""

    VALUE = "value"
    """Another one is right."""
    ABSENT = "absent"
    """The document has no such thing."""
    CONFIRMED = "confirmed"
    """It is right."""


@dataclass(frozen=True)
class Said:
    """What a person says of a value; `value` is what is right, None where there is no such thing."""

    verdict: Verdict
    value: str | None
    normalized: str | None = None
    """The value as programs read it, where that is known."""


ABSENT = Said(Verdict.ABSENT, None)


def said(value: str, found: str | None, normalized: str | None = None) -> Said:
    """A person says that a value is right: they confirm it where it is the one that was found."""
    return Said(Verdict.CONFIRMED if value == found else Verdict.VALUE, value, normalized)


def of_document(org_id: UUID, document_id: UUID, target: Target | None = None) -> Sequence[Correction]:
    """The corrections of a document, or those of one target, the first ones first."""
    found = select(Correction).where(Correction.org_id == org_id, Correction.document_id == document_id)
    if target is not None:
        found = found.where(Correction.target == target)
    return session().scalars(found.order_by(Correction.id).execution_options(populate_existing=True)).all()


def of_documents(org_id: UUID, ids: Collection[UUID], target: Target) -> Mapping[UUID, Sequence[Correction]]:
    """The corrections of one target of these documents, by document."""
    found: dict[UUID, list[Correction]] = defaultdict(list)
    asked = select(Correction).where(Correction.org_id == org_id, Correction.target == target).order_by(Correction.id)
    asked = asked.execution_options(populate_existing=True)
    for part in batches(ids, _IDS_PER_STATEMENT):
        for each in session().scalars(asked.where(Correction.document_id.in_(part))):
            found[each.document_id].append(each)
    return found


def labelled(org_id: UUID, behind: UUID | None, most: int) -> Sequence[tuple[Correction, str]]:
    """Corrections of an org with the SHA-256 of their files, in the order of their ids, from behind one on."""
    asked = select(Correction, Document.sha256).join(
        Document, (Document.org_id == Correction.org_id) & (Document.id == Correction.document_id)
    )
    asked = asked.where(Correction.org_id == org_id, in_library).order_by(Correction.id).limit(most)
    if behind is not None:
        asked = asked.where(Correction.id > behind)
    return [(row[0], row[1]) for row in session().execute(asked)]


def find(org_id: UUID, correction_id: UUID) -> Correction | None:
    """One correction of an org."""
    found = session().scalar(select(Correction).where(Correction.id == correction_id))
    return found if found is not None and found.org_id == org_id else None


def get(org_id: UUID, document_id: UUID, correction_id: UUID) -> Correction | None:
    """One correction of a document."""
    found = find(org_id, correction_id)
    return found if found is not None and found.document_id == document_id else None


def put(known: Correction | None, place: Mapping[str, Any], what: Said, found: str | None, by: str) -> None:
    """Store what a person says of a place, instead of what was said of it before."""
    row = {"verdict": what.verdict, "value": what.value, "normalized": what.normalized, "found": found, "by": by}
    if known is None:
        session().add(Correction(**place, **row))
    else:
        session().execute(
            update(_corrections).where(_corrections.c.id == known.id).values(**place, **row, at=now()),
        )
    session().flush()


def remove(org_id: UUID, correction_id: UUID) -> None:
    """Forget a correction: what was found holds again."""
    session().execute(
        delete(_corrections).where(_corrections.c.org_id == org_id, _corrections.c.id == correction_id),
    )
