"""Identifying values in passages: an invoice's number, a code, an e-mail address, an account.

Two passages that hold the same one belong together, however different their words are.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from sqlalchemy import Table, bindparam, delete, func, insert, select

from webapp.batches import batches
from webapp.db import session
from webapp.documents.binned import binned
from webapp.search.index import NewChunk
from webapp.search.model import ChunkValue

VALUES_PER_PASSAGE_MAX = 20
VALUE_CHARACTERS = (5, 100)
ROWS_PER_STATEMENT = 500
# A value in more passages than this is a letterhead, and says nothing.
PASSAGES_PER_VALUE_MAX = 40

_values = cast(Table, ChunkValue.__table__)
_ADD = insert(_values)
_REMOVE = delete(_values).where(_values.c.org_id == bindparam("org"), _values.c.document_id == bindparam("document"))

_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,24}")
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
# The look-ahead skips words without digits, nearly all of a text, at little cost.
_CODE = re.compile(r"(?<![\w@./-])(?=[A-Za-z/._-]*+\d)[A-Za-z0-9]{1,30}(?:[-/._][A-Za-z0-9]{1,30}){0,6}(?![\w@])")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_AMOUNT = re.compile(r"\d{1,3}(?:[.,]\d{3})*[.,]?\d*")
_YEARS = re.compile(r"(?:1\d|20)\d\d[-/](?:(?:1\d|20)\d\d|\d\d)")
_NAMES_ONE = re.compile(
    r"number|\bno\b|\bnr\b|\bid\b|iban|account|reference|\bref\b|order|invoice|customer|contract|policy|mail|\bvat\b|\btax\b",
    re.IGNORECASE,
)
# Of the kinds that readers know, those whose values name one thing: a sum or a date does not.
_KINDS = frozenset(
    {
        "invoice_number", "order_number", "customer_number", "contract_number", "delivery_note",
        "receipt_number", "reference", "iban", "account_number", "vat_number", "customer_vat_number", "email",
    }
)  # fmt: skip
_CODE_DIGITS_MIN = 4
_ALL_BUT_DIGITS = bytes(byte for byte in range(256) if byte not in b"0123456789")
_NUMBER_DIGITS_MIN = 6
_FIELD_DIGITS_MIN = 3


@dataclass(frozen=True)
class NamedValue:
    """A value that was read out of a document under a name."""

    name: str
    value: str
    page: int | None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """A passage of the document and one of another that hold the same value, and how rare it is (1: only there)."""

    source: UUID
    target: UUID
    document_id: UUID
    rarity: float


FoundValues = Sequence[tuple[UUID, str]]
"""Passages, each with a value that it holds."""


def values_of(text: str) -> list[str]:
    """The values that a text holds, each once, in one spelling."""
    found: dict[str, None] = {}
    # Most texts have none, and the search for one would take the most time of all.
    for match in _EMAIL.finditer(text) if "@" in text else ():
        found[match[0].casefold()] = None
    if len(text.encode(errors="ignore").translate(None, _ALL_BUT_DIGITS)) < _CODE_DIGITS_MIN:
        return list(found)[:VALUES_PER_PASSAGE_MAX]
    for match in _ACCOUNT.finditer(text):
        found[match[0].replace(" ", "").casefold()] = None
    for match in _CODE.finditer(text):
        if _is_code(match[0]):
            found[match[0].casefold()] = None
    return list(found)[:VALUES_PER_PASSAGE_MAX]


def values_in(chunks: Sequence[NewChunk], named: Iterable[NamedValue]) -> FoundValues:
    """Find the values of all passages of a document: too much work for an open transaction."""
    pairs = {(chunk.id, value) for chunk in chunks for value in values_of(chunk.text)}
    pairs.update(_placed(chunks, named))
    return sorted(pairs)


def remove(org_id: UUID, document_id: UUID) -> None:
    """Forget what a document's passages hold, in the transaction that publishes others."""
    session().execute(_REMOVE, {"org": org_id, "document": document_id})


def add(org_id: UUID, document_id: UUID, held: FoundValues) -> None:
    """Let a document's passages have these values, in the transaction that publishes them."""
    own = {"org_id": org_id, "document_id": document_id}
    for part in batches(held, ROWS_PER_STATEMENT):
        session().execute(_ADD, [own | {"chunk_id": chunk_id, "value": value} for chunk_id, value in part])


def shared(org_id: UUID, document_id: UUID) -> list[Shared]:
    """The passages of other documents that hold a value of this one's."""
    mine: dict[str, list[UUID]] = {}
    own = select(ChunkValue.value, ChunkValue.chunk_id).where(
        ChunkValue.org_id == org_id, ChunkValue.document_id == document_id
    )
    for value, chunk_id in session().execute(own):
        mine.setdefault(value, []).append(chunk_id)
    theirs = _elsewhere(org_id, document_id, mine)
    return [
        Shared(source, target, other, round(1 / len(theirs[value]), 4))
        for value, sources in mine.items()
        if len(sources) <= PASSAGES_PER_VALUE_MAX and len(theirs.get(value, ())) <= PASSAGES_PER_VALUE_MAX
        for source in sources
        for target, other in theirs.get(value, ())
    ]


def in_common(org_id: UUID, pairs: Collection[tuple[UUID, UUID]]) -> dict[tuple[UUID, UUID], list[str]]:
    """What the two passages of each pair both hold."""
    held: dict[UUID, set[str]] = {}
    wanted = sorted({chunk_id for pair in pairs for chunk_id in pair})
    for part in batches(wanted, ROWS_PER_STATEMENT):
        rows = select(ChunkValue.chunk_id, ChunkValue.value)
        for chunk_id, value in session().execute(
            rows.where(ChunkValue.org_id == org_id, ChunkValue.chunk_id.in_(part))
        ):
            held.setdefault(chunk_id, set()).add(value)
    return {(one, other): sorted(held.get(one, set()) & held.get(other, set())) for one, other in pairs}


def _elsewhere(org_id: UUID, document_id: UUID, values: Iterable[str]) -> dict[str, list[tuple[UUID, UUID]]]:
    """The other passages with these values: a few more than count, so that too many show as too many."""
    found: dict[str, list[tuple[UUID, UUID]]] = {}
    for part in batches(sorted(values), ROWS_PER_STATEMENT):
        number = func.row_number().over(partition_by=ChunkValue.value, order_by=ChunkValue.chunk_id).label("number")
        others = (
            select(ChunkValue.value, ChunkValue.chunk_id, ChunkValue.document_id, number)
            .where(ChunkValue.org_id == org_id, ChunkValue.document_id != document_id, ChunkValue.value.in_(part))
            .where(ChunkValue.document_id.not_in(binned(org_id)))
            .subquery()
        )
        rows = select(others.c.value, others.c.chunk_id, others.c.document_id)
        for value, chunk_id, other in session().execute(rows.where(others.c.number <= PASSAGES_PER_VALUE_MAX + 1)):
            found.setdefault(value, []).append((chunk_id, other))
    return found


def _placed(chunks: Sequence[NewChunk], named: Iterable[NamedValue]) -> Iterator[tuple[UUID, str]]:
    """Fields whose name says that their value identifies something, with the first passage that shows it."""
    telling = [(field, value) for field in named if (value := _telling(field))]
    folded = [(chunk, _folded(chunk.text)) for chunk in chunks] if telling else []
    for field, value in telling:
        place = next((chunk for chunk, text in folded if _is_on(chunk, field.page) and value in text), None)
        if place is not None:
            yield place.id, value


def _is_on(chunk: NewChunk, page: int | None) -> bool:
    return page is None or chunk.page_from is None or chunk.page_from <= page <= (chunk.page_to or chunk.page_from)


def _telling(field: NamedValue) -> str | None:
    value = _folded(field.value)
    names_one = field.kind in _KINDS if field.kind else bool(_NAMES_ONE.search(field.name))
    return value if names_one and _is_telling(value) else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _is_telling(value: str) -> bool:
    least, most = VALUE_CHARACTERS
    is_one = "@" in value or (_digits(value) >= _FIELD_DIGITS_MIN and not _is_date(value))
    return least - 1 <= len(value) <= most and is_one


def _is_code(token: str) -> bool:
    """Numbers that name something; not dates, amounts, years and what else is counted."""
    least, most = VALUE_CHARACTERS
    if not least <= len(token) <= most or _digits(token) < _CODE_DIGITS_MIN or _is_date(token):
        return False
    if token.isdigit():
        return len(token) >= _NUMBER_DIGITS_MIN
    return not _AMOUNT.fullmatch(token) and not _YEARS.fullmatch(token)


def _is_date(token: str) -> bool:
    return bool(_DATE.fullmatch(token))


def _digits(token: str) -> int:
    return sum(map(str.isdigit, token))
