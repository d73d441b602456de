"""Checks the values that a chat model read in a document: only what the text holds becomes a field.

A value has to be in the text word for word, and to be of its field's type. What it means (which day, which amount) is
read by the same rules as everywhere. A value that the rules read differently stays theirs, and becomes doubtful.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from itertools import accumulate

from webapp.readers.extraction import Extraction, Field, Page
from webapp.readers.fields.amounts import CENT
from webapp.readers.fields.choose import Days
from webapp.readers.fields.found import BARE, Candidate, Value
from webapp.readers.fields.markdown import laid_out
from webapp.readers.fields.values import read_value
from webapp.readers.fields.vocabulary import KINDS
from webapp.readers.fields.words import PageWords, PlacedWord, folded, polygon, rows_of
from webapp.typed_json import TypedJson

_INVOICE = (
    "invoice_number order_number customer_number delivery_note invoice_date due_date delivery_date order_date supplier "
    "customer net tax total iban account_number vat_number customer_vat_number email phone"
)
KINDS_BY_PAPER: dict[str, tuple[str, ...]] = {
    "invoice": tuple(_INVOICE.split()),
    "receipt": ("merchant", "receipt_number", "purchase_date", "net", "tax", "total", "vat_number", "phone"),
    "bank_statement": (
        "bank", "account_holder", "iban", "account_number", "statement_number", "statement_date", "period_start",
        "period_end", "opening_balance", "credits", "debits", "closing_balance",
    ),
    "contract": (
        "party", "contract_number", "contract_date", "start_date", "end_date", "term", "notice_period", "iban",
    ),
    "letter": ("sender", "recipient", "letter_date", "subject", "reference"),
}  # fmt: skip
"""The fields that each kind of document may have."""

OF_MODEL = "model"
"""The code of a doubt: a chat model read another value."""
_PARTIES = ("First party", "Second party")
# Of these a document may have several.
_REPEATED = frozenset({"tax", "party"})
_CLOSE = 2 * CENT
VALUES_MAX = 60


@dataclass(frozen=True, slots=True)
class ProposedValue:
    """A value as the document writes it, the field that it fills, and the page that it is on."""

    kind: str
    text: str
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ProposedFields(TypedJson):
    """What a model read of a document: its kind (None: of no kind that is known), and values of its fields."""

    paper: str | None
    values: tuple[ProposedValue, ...] = ()


def with_proposed(extraction: Extraction, proposed: ProposedFields) -> Extraction:
    """Add the values that the text holds to the fields of an extraction."""
    if proposed.paper is None:
        return extraction
    pages = list(_pages(extraction))
    allowed = KINDS_BY_PAPER[proposed.paper]
    found = [
        candidate
        for value in proposed.values[:VALUES_MAX]
        if value.kind in allowed and (candidate := _found(value, pages))
    ]
    days = Days(found, is_american=None)
    is_paged = bool(extraction.pages)
    read = [_field(each, days, is_paged=is_paged) for each in found]
    return replace(extraction, fields=_checked(_merged(extraction.fields, read)))


@dataclass(frozen=True)
class _PageText:
    """A page's words in the order of reading, and their letters in one text."""

    number: int
    words: Sequence[PlacedWord]
    letters: str
    starts: Sequence[int]
    """Where each word begins in `letters`."""
    has_places: bool

    def words_of(self, text: str) -> Sequence[PlacedWord]:
        """The whole words that a text consists of, at its first place; none where the page does not hold it."""
        wanted = "".join(map(folded, text.split()))
        at = self.letters.find(wanted) if wanted else -1
        while at >= 0:
            first = bisect_right(self.starts, at) - 1
            behind = bisect_right(self.starts, at + len(wanted) - 1)
            end = self.starts[behind] if behind < len(self.starts) else len(self.letters)
            if self.starts[first] == at and end == at + len(wanted):
                return self.words[first:behind]
            at = self.letters.find(wanted, at + 1)
        return ()


def _pages(extraction: Extraction) -> Iterator[_PageText]:
    """The pages of an extraction, by their words' places where they are known, else by its Markdown."""
    placed = {page.number: words for page in extraction.pages if (words := _placed(page))}
    for page in laid_out(extraction.markdown):
        if page.number not in placed:
            yield _page_text(page, has_places=False)
    for words in placed.values():
        yield _page_text(words, has_places=True)


def _placed(page: Page) -> PageWords | None:
    words = [
        PlacedWord(word.text, min(box[::2]), min(box[1::2]), max(box[::2]), max(box[1::2]))
        for word in page.words
        if (box := word.polygon)
    ]
    return PageWords(page.number, tuple(words), page.width or 1.0, page.height or 1.0) if words else None


def _page_text(page: PageWords, *, has_places: bool) -> _PageText:
    # A word without letters and digits would be at the same place as the next one.
    words = [word for row in rows_of([page]) for word in row.words if folded(word.text)]
    letters = [folded(word.text) for word in words]
    starts = list(accumulate(map(len, letters), initial=0))[:-1]
    return _PageText(page.number, words, "".join(letters), starts, has_places)


@dataclass(frozen=True)
class _Found(Candidate):
    """A value in the text, and whether its place on the page is known."""

    has_place: bool = False


def _found(proposed: ProposedValue, pages: Sequence[_PageText]) -> _Found | None:
    """A proposed value where the text holds it: on the page that was named, else on another."""
    for page in sorted(pages, key=lambda each: (each.number != proposed.page, each.number)):
        words = page.words_of(proposed.text)
        value = _value(proposed.kind, words) if words else None
        if value is not None:
            return _Found(proposed.kind, 1, value, page.number, 0, BARE, has_place=page.has_places)
    return None


def _value(kind: str, words: Sequence[PlacedWord]) -> Value | None:
    """The value that words make, if all of them are of the field's type."""
    if KINDS[kind][1] == "party":
        text = " ".join(word.text for word in words).strip(" ,;:")
        return Value(text, tuple(words), code=text)
    read = read_value(kind, words)
    return read[0] if read is not None and read[1] == len(words) else None


def _field(found: _Found, days: Days, *, is_paged: bool) -> Field:
    value = found.value
    doubt = None if value.is_checked else "iban"
    normalized = value.code or value.text
    if value.date is not None:
        normalized, doubt = days.meant(value.date).isoformat(), days.doubt(value.date)
    elif value.number is not None:
        normalized = f"{value.number:.2f}"
    return Field(
        KINDS[found.kind][0],
        value.text,
        page=found.page if is_paged else None,
        polygon=polygon(value.words) if found.has_place else None,
        kind=found.kind,
        normalized=normalized,
        doubt=doubt,
    )


def _merged(known: Sequence[Field], read: Sequence[Field]) -> list[Field]:
    """The rules' fields, doubtful where the model read another value, and after them what the rules did not find."""
    kinds = {field.kind for field in known}
    values = {_plain(field.value) for field in read}
    # A line of a form whose value has a meaning now would be shown twice.
    merged = [_compared(field, read) for field in known if field.kind or _plain(field.value) not in values]
    taken: set[str] = set()
    parties = iter(_PARTIES)
    for field in read:
        if field.kind in kinds or field.kind is None or (field.kind in taken and field.kind not in _REPEATED):
            continue
        taken.add(field.kind)
        name = next(parties, None) if field.kind == "party" else field.name
        if name:
            merged.append(replace(field, name=name))
    return merged


def _compared(field: Field, read: Sequence[Field]) -> Field:
    others = [other for other in read if other.kind == field.kind]
    is_same = not others or any(_plain(other.normalized) == _plain(field.normalized) for other in others)
    return field if is_same or field.doubt else replace(field, doubt=OF_MODEL, confidence=None)


def _plain(text: str | None) -> str:
    return "".join(map(folded, (text or "").split()))


def _checked(fields: Sequence[Field]) -> tuple[Field, ...]:
    """The fields, doubtful where the added ones contradict the others."""
    wrong: dict[str, str] = {}
    net, total = _amount(fields, "net"), _amount(fields, "total")
    tax = sum((Decimal(field.normalized or 0) for field in fields if field.kind == "tax"), Decimal(0))
    if net is not None and total is not None and abs(net + tax - total) > _CLOSE:
        wrong |= dict.fromkeys(("net", "tax", "total"), "sum")
    for first, last, doubt in (("invoice_date", "due_date", "dates"), ("start_date", "end_date", "term")):
        begins, ends = _day(fields, first), _day(fields, last)
        if begins and ends and ends < begins:
            wrong |= {first: doubt, last: doubt}
    return tuple(
        replace(field, doubt=wrong[field.kind], confidence=None) if field.kind in wrong and not field.doubt else field
        for field in fields
    )


def _amount(fields: Sequence[Field], kind: str) -> Decimal | None:
    return next((Decimal(field.normalized) for field in fields if field.kind == kind and field.normalized), None)


def _day(fields: Sequence[Field], kind: str) -> date | None:
    return next(
        (date.fromisoformat(field.normalized) for field in fields if field.kind == kind and field.normalized), None
    )
