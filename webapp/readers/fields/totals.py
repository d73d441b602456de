"""Chooses an invoice's net amount, taxes and total so that they agree with each other and with its lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import takewhile

from webapp.readers.fields.amounts import CENT
from webapp.readers.fields.found import BARE, BELOW, Candidate, Findings, Value
from webapp.readers.fields.line_items import LineItems
from webapp.readers.fields.values import amount_at_end, amounts_in, rate_of
from webapp.readers.fields.words import Row

CLOSE = Decimal("0.02")
RATE_MAX = 40


@dataclass
class Totals:
    """The sums of an invoice, and what contradicts them (codes; people read sentences)."""

    net: Candidate | None = None
    taxes: list[Candidate] = field(default_factory=list)
    total: Candidate | None = None
    doubt: str | None = None


def choose_totals(rows: Sequence[Row], findings: Findings, items: LineItems | None) -> Totals:
    """Choose the sums of an invoice."""
    taxes = _taxes(rows, findings)
    nets, totals = findings.of("net"), findings.of("total")
    tax = sum((_number(each) for each in taxes), Decimal(0))
    lines = items.sum if items else None
    agreeing = [
        (net, total) for net in nets for total in totals if taxes and _is_close(_number(net) + tax, _number(total))
    ]
    if agreeing:
        net, total = max(agreeing, key=lambda pair: (pair[1].weight, pair[0].weight))
        return Totals(net, taxes, total, _doubt_of_lines(lines, net, total))
    found = Totals(_best(nets, lines), taxes, _best_total(totals, lines, tax))
    found.doubt = _contradiction(found, tax, lines)
    return found


def _taxes(rows: Sequence[Row], findings: Findings) -> list[Candidate]:
    """One tax for each rate; those that name no rate count only where none does."""
    rated: dict[Decimal, Candidate] = {}
    for each in (*findings.of("tax"), *_tax_rows(rows)):
        rate = each.value.rate
        if rate is not None and rate <= RATE_MAX:
            chosen = replace(each, value=_tax_among(each.value))
            if rate not in rated or (each.how != BARE and rated[rate].how == BARE):
                rated[rate] = chosen
    if rated:
        return list(rated.values())
    unrated = [each for each in findings.of("tax") if each.value.rate is None]
    return unrated[:1]


def _tax_among(value: Value) -> Value:
    """The tax in a row that shows what it is computed on, too: the amount that is the rate's share of another."""
    amounts = [*value.others, value.number or Decimal(0)]
    for base in amounts:
        for tax in amounts:
            if value.rate and tax and _is_close((base * value.rate / 100).quantize(CENT), tax):
                return replace(value, number=tax)
    return value


def _tax_rows(rows: Sequence[Row]) -> list[Candidate]:
    """Rows of a table of taxes: a rate, then two amounts of which one is the rate's share of the other."""
    return [found for row in rows for at in range(len(row.words)) if (found := _tax_in(row, at))]


def _tax_in(row: Row, at: int) -> Candidate | None:
    rate = rate_of(row.words[at].text) if "%" in row.words[at].text else None
    if not rate:
        return None
    following = takewhile(lambda word: amount_at_end([word]) is not None, row.words[at + 1 : at + 13])
    amounts = amounts_in(list(following))
    if len(amounts) < 2:
        return None
    base, tax = amounts[:2]
    if not base.number or not tax.number:
        return None
    is_share = _is_close((base.number * rate / 100).quantize(CENT), tax.number)
    return Candidate("tax", 2, replace(tax, rate=rate), row.page, row.place, BARE) if is_share else None


def _best(candidates: Sequence[Candidate], lines: Decimal | None) -> Candidate | None:
    # What is below a label may be the first line of a column with that name.
    ordered = sorted(
        candidates, key=lambda each: (not _is_close(_number(each), lines), -each.weight, each.how == BELOW)
    )
    return ordered[0] if ordered else None


def _best_total(totals: Sequence[Candidate], lines: Decimal | None, tax: Decimal) -> Candidate | None:
    """The total that its label names most plainly; of those alike the one that the lines make, else the largest."""
    if not totals:
        return None
    weight = max(each.weight for each in totals)
    plain = [each for each in totals if each.weight == weight]
    gross = None if lines is None else lines + tax
    return max(plain, key=lambda each: (_is_close(_number(each), gross), _number(each), each.place))


def _contradiction(found: Totals, tax: Decimal, lines: Decimal | None) -> str | None:
    if found.net and found.total and not _is_close(_number(found.net) + tax, _number(found.total)):
        return "sum"
    return _doubt_of_lines(lines, found.net, found.total) if found.total else None


def _doubt_of_lines(lines: Decimal | None, *sums: Candidate | None) -> str | None:
    known = [_number(each) for each in sums if each]
    return "lines" if lines is not None and known and not any(_is_close(lines, each) for each in known) else None


def _number(candidate: Candidate) -> Decimal:
    return candidate.value.number or Decimal(0)


def _is_close(one: Decimal, other: Decimal | None) -> bool:
    return other is not None and abs(one - other) <= CLOSE
