"""The fields of many documents as one table: a row for each document, a column for each field."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from webapp.library import fields, grid
from webapp.library.fields import ShownField
from webapp.library.status_filter import StatusFilter
from webapp.readers.fields.vocabulary import KINDS

DOCUMENTS_MAX = 1_000
COLUMNS_SHOWN, COLUMNS_MAX = 6, 60
_AMOUNTS = frozenset(kind for kind, (_, form) in KINDS.items() if form in {"amount", "tax", "balance"})
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_CURRENCY = "currency"
# Shown at first only where there is room: they say less about a document than its total, date or parties.
_LESS = frozenset(
    {
        "net", "tax", _CURRENCY, "order_number", "customer", "customer_number",
        "email", "phone", "vat_number", "customer_vat_number",
    }
)  # fmt: skip


@dataclass(frozen=True)
class FieldColumn:
    """A field that some of the documents have. `key` is its kind, or its name where nothing is known of it."""

    key: str
    name: str
    documents: int
    """How many of the documents have it."""

    @property
    def is_amount(self) -> bool:
        """Whether its values can be added up."""
        return self.key in _AMOUNTS


@dataclass(frozen=True)
class FieldValue:
    """A document's value of one field, or its values behind each other; `normalized` as programs read the first."""

    text: str
    normalized: str | None
    page: int | None
    doubt: str | None
    """The code of what contradicts it."""
    confidence: float | None
    verdict: str | None = None
    """What a person says of it, if anybody does."""

    @property
    def plain(self) -> str:
        """The value as it is compared and exported: the normalized one where there is one."""
        return self.normalized or self.text


@dataclass(frozen=True)
class FieldRow:
    """A document and its values by the keys of the columns."""

    document_id: UUID
    filename: str
    values: Mapping[str, FieldValue]


@dataclass(frozen=True)
class FieldTable:
    """The rows, all columns that there are, those that were chosen, and sums by column and currency."""

    rows: Sequence[FieldRow] = ()
    columns: Sequence[FieldColumn] = ()
    chosen: Sequence[FieldColumn] = ()
    without_fields: int = 0
    """How many of the documents have none, and so no row."""
    is_cut: bool = False
    """Whether more documents match than are shown."""
    sums: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)


def field_table(
    org_id: UUID,
    *,
    q: str = "",
    folder: str | None = None,
    status: StatusFilter | None = None,
    chosen: Sequence[str] = (),
    sort: str = "",
) -> FieldTable:
    """The fields of the newest documents that a query means, DOCUMENTS_MAX at most; Mistake where it is wrong.

    `sort` is the key of a column, behind a hyphen for the largest first; documents without it come last.
    """
    found = grid.page(org_id, q=q, folder=folder, status=status, limit=DOCUMENTS_MAX)
    names = {row.document.id: row.document.filename for row in found.rows}
    by_document = _read(org_id, list(names))
    counts = Counter(key for values in by_document.values() for key in values)
    known = _columns(counts)
    shown = chosen or [each.key for each in sorted(known, key=lambda each: each.key in _LESS)[:COLUMNS_SHOWN]]
    columns = [column for column in known if column.key in shown]
    rows = [FieldRow(each, names[each], by_document[each]) for each in names if each in by_document]
    return FieldTable(
        _sorted(rows, sort),
        known,
        columns,
        without_fields=len(names) - len(rows),
        is_cut=found.next_cursor is not None,
        sums={column.key: _sums(rows, column.key) for column in columns if column.is_amount},
    )


def _columns(counts: Counter[str]) -> list[FieldColumn]:
    """Fields whose meaning is known, as documents have them, before those that only have a name."""
    order = {kind: place for place, kind in enumerate(KINDS)}
    keys = sorted(
        counts, key=lambda key: (key not in order, -counts[key] if key not in order else 0, order.get(key, 0))
    )
    return [FieldColumn(key, KINDS[key][0] if key in KINDS else key, counts[key]) for key in keys[:COLUMNS_MAX]]


def _read(org_id: UUID, ids: Sequence[UUID]) -> dict[UUID, dict[str, FieldValue]]:
    found: dict[UUID, dict[str, FieldValue]] = {}
    for document_id, shown in fields.of_documents(org_id, ids).items():
        values: dict[str, FieldValue] = {}
        for each in shown:
            if each.is_found and each.value is not None:
                key = each.kind or each.name
                values[key] = _joined(values.get(key), each, each.value)
        if values:
            found[document_id] = values
    return found


def _joined(before: FieldValue | None, shown: ShownField, text: str) -> FieldValue:
    value = FieldValue(text, shown.normalized, shown.page, shown.doubt, shown.confidence, shown.verdict)
    if before is None:
        return value
    # Two parties, or a tax for each rate.
    doubt, verdict = before.doubt or value.doubt, before.verdict if before.verdict == value.verdict else None
    plain = f"{before.plain}; {value.plain}"
    return FieldValue(f"{before.text}; {text}", plain, before.page, doubt, None, verdict)


def _sorted(rows: Sequence[FieldRow], sort: str) -> list[FieldRow]:
    key = sort.removeprefix("-")
    if not key:
        return list(rows)
    having = [row for row in rows if key in row.values]
    having.sort(key=lambda row: _rank(row.values[key].plain), reverse=sort.startswith("-"))
    return [*having, *(row for row in rows if key not in row.values)]


def _rank(text: str) -> tuple[bool, Decimal, str]:
    """Numbers by their size, before texts."""
    is_number = _NUMBER.fullmatch(text) is not None
    return (not is_number, Decimal(text) if is_number else Decimal(0), text.casefold())


def _sums(rows: Sequence[FieldRow], key: str) -> dict[str, Decimal]:
    """The sum of a column's amounts by currency; "" is for documents that name none."""
    sums: dict[str, Decimal] = {}
    for row in rows:
        value, currency = row.values.get(key), row.values.get(_CURRENCY)
        amounts = [part for part in value.plain.split("; ") if _NUMBER.fullmatch(part)] if value else []
        for amount in amounts:
            name = currency.plain if currency else ""
            sums[name] = sums.get(name, Decimal(0)) + Decimal(amount)
    return sums
