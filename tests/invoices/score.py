"""Compares what a reader found in an invoice with the truth: right, wrong, missing, junk."""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal

from tests.invoices.labelled import Labelled
from tests.papers.made import Made
from webapp.readers.extraction import Field, Table
from webapp.readers.fields.amounts import read_amount

RIGHT, WRONG, MISSING, JUNK = "right", "wrong", "missing", "junk"
# Written in groups or not, it is the same number.
_IN_GROUPS = frozenset({"invoice_number", "order_number", "iban", "account_number", "vat_number", "phone"})
_LINE = ("description", "quantity", "price", "amount")


def judged(one: Labelled | Made, fields: Iterable[Field]) -> list[tuple[str, str, Field | None]]:
    """Each true value as (kind, verdict, field), then what is no true value of any kind."""
    found: dict[str, list[Field]] = {}
    for field in fields:
        found.setdefault(field.kind or field.name, []).append(field)
    verdicts: list[tuple[str, str, Field | None]] = []
    for kind, values in one.truth.items():
        verdicts += _of_kind(kind, values, found.pop(kind, []))
    return verdicts + [(kind, JUNK, field) for kind, each in found.items() for field in each]


def counted(verdicts: Iterable[tuple[str, str, Field | None]]) -> Counter[tuple[str, str]]:
    """How often each kind had each verdict."""
    return Counter((kind, verdict) for kind, verdict, _ in verdicts)


def are_lines_right(one: Labelled, tables: Sequence[Table]) -> bool:
    """Whether one table holds exactly the invoice's lines, each cell in its column."""
    wanted = [(text, *map(Decimal, numbers)) for text, *numbers in one.lines]
    return any(_lines(one, table) == wanted for table in tables if set(_LINE) <= set(table.columns))


def _lines(one: Labelled, table: Table) -> list[tuple[str | Decimal | None, ...]]:
    at = {kind: table.columns.index(kind) for kind in _LINE}
    rows = []
    for row in table.rows[1:]:
        numbers = (read_amount(row[at[kind]]) for kind in _LINE[1:])
        text = row[at["description"]]
        if one.has_codes_below:
            # The second line of a description ends with the article's number.
            text = next((line[0] for line in one.lines if text.startswith(f"{line[0]} ")), text)
        rows.append((text, *(number.value if number else None for number in numbers)))
    return rows


def _of_kind(kind: str, values: Sequence[str], fields: list[Field]) -> list[tuple[str, str, Field | None]]:
    left = list(fields)
    verdicts: list[tuple[str, str, Field | None]] = []
    for value in values:
        hit = next((field for field in left if _same(kind, value, field)), None)
        if hit:
            left.remove(hit)
        verdicts.append((kind, RIGHT if hit else MISSING, hit))
    for field in left:
        # A value in the place of one that is missing is wrong; one more is junk.
        at = next((number for number, (_, verdict, _) in enumerate(verdicts) if verdict == MISSING), None)
        if at is None:
            verdicts.append((kind, JUNK, field))
        else:
            verdicts[at] = (kind, WRONG, field)
    return verdicts


def _same(kind: str, value: str, field: Field) -> bool:
    said = field.normalized or field.value
    if kind == "tax":
        said = f"{field.name.removeprefix('Tax ').replace(' ', '')} {said}"
    if kind in _IN_GROUPS:
        return value.replace(" ", "") == said.replace(" ", "")
    return value == said
