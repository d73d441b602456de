"""The fields of documents as everybody sees them: what was found, with what people say of it.

Whoever reads fields reads them here: one rule says what holds. A correction belongs to the field of its name that has
as many fields of that name before it as the one that was corrected.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

from sqlalchemy import Table, select

from webapp.batches import batches
from webapp.db import session
from webapp.documents.correction_model import Correction
from webapp.documents.model import DocumentField
from webapp.library import corrections
from webapp.library.corrections import Target, Verdict

_IDS_PER_STATEMENT = 500
_fields = cast(Table, DocumentField.__table__)
_COLUMNS = ("name", "value", "normalized", "confidence", "page", "polygon", "kind", "doubt", "ordinal")


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str: ...


NamedField = TypeVar("NamedField", bound=Named)


class FoundField(Protocol):
    """A row of what was found."""

    name: Any
    value: Any
    normalized: Any
    confidence: Any
    page: Any
    polygon: Any
    kind: Any
    doubt: Any
    ordinal: Any


@dataclass(frozen=True)
class ShownField:
    """A field: what holds, what was found, and what a person says."""

    name: str
    nth: int
    """How many fields of this name are before it."""
    value: str | None
    """What holds; None where a person says that the document has no such thing."""
    normalized: str | None
    found: str | None
    """What processing found; None where it no longer finds a field of this name."""
    found_normalized: str | None
    ordinal: int | None
    """Its number among the fields that were found, from 0; None where it is no longer found."""
    page: int | None = None
    polygon: Sequence[float] | None = None
    kind: str | None = None
    doubt: str | None = None
    confidence: float | None = None
    correction: Correction | None = None

    @property
    def verdict(self) -> str | None:
        """What a person says of it, if anybody does."""
        return self.correction.verdict if self.correction else None

    @property
    def is_found(self) -> bool:
        """Whether processing still finds it."""
        return self.ordinal is not None

    @property
    def key(self) -> str:
        """What tells it from the others on a page."""
        return str(self.ordinal) if self.correction is None or self.is_found else self.correction.id.hex


def of_document(org_id: UUID, document_id: UUID) -> list[ShownField]:
    """The fields of a document in its order, and behind them those that are no longer found."""
    return of_documents(org_id, [document_id]).get(document_id, [])


def of_documents(org_id: UUID, ids: Collection[UUID]) -> dict[UUID, list[ShownField]]:
    """The fields of these documents; those that have none are left out."""
    said = corrections.of_documents(org_id, ids, Target.FIELD)
    found: dict[UUID, list[FoundField]] = defaultdict(list)
    asked = select(*_fields.c[("document_id", *_COLUMNS)]).where(_fields.c.org_id == org_id)
    for part in batches(ids, _IDS_PER_STATEMENT):
        rows = asked.where(_fields.c.document_id.in_(part)).order_by(_fields.c.document_id, _fields.c.ordinal)
        for row in session().execute(rows):
            found[row.document_id].append(cast(FoundField, row))
    return {each: merged(found[each], said.get(each, ())) for each in ids if each in found or each in said}


def merged(found: Iterable[FoundField], said: Iterable[Correction]) -> list[ShownField]:
    """What was found with what people say of it."""
    corrected = {(each.name, each.nth): each for each in said}
    shown = [_shown(row, nth, corrected.pop((row.name, nth), None)) for row, nth in numbered(found)]
    return [*shown, *(_no_longer_found(each) for each in corrected.values())]


def numbered(found: Iterable[NamedField]) -> Iterator[tuple[NamedField, int]]:
    """Each field with the number of those of its name before it."""
    seen: dict[str, int] = defaultdict(int)
    for row in found:
        yield row, seen[row.name]
        seen[row.name] += 1


def _shown(row: FoundField, nth: int, said: Correction | None) -> ShownField:
    # A value that was confirmed holds, also where another one is found since.
    holds: Mapping[str, Any] = {"value": row.value, "normalized": row.normalized, "confidence": row.confidence}
    if said is not None:
        is_same = said.verdict == Verdict.CONFIRMED and said.value == row.value
        sure = row.confidence if is_same else None
        holds = {"value": said.value, "normalized": said.normalized, "confidence": sure}
    return ShownField(
        name=row.name,
        nth=nth,
        found=row.value,
        found_normalized=row.normalized,
        ordinal=row.ordinal,
        page=row.page,
        polygon=row.polygon,
        kind=row.kind,
        doubt=None if said else row.doubt,
        correction=said,
        **holds,
    )


def _no_longer_found(said: Correction) -> ShownField:
    return ShownField(said.name, said.nth, said.value, said.normalized, None, None, None, correction=said)
