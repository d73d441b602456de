"""Reads a receipt: shop, number, date, sums and what was paid, checked against each other."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from webapp.readers.fields.amounts import CENT
from webapp.readers.fields.choose import Days, Paper, best_of, fields_of
from webapp.readers.fields.codes import VAT
from webapp.readers.fields.dates import month_number
from webapp.readers.fields.found import BARE, BLOCK, Candidate, Findings, Value
from webapp.readers.fields.invoice import currency_field, tax_field
from webapp.readers.fields.labels import folded_words, match_title
from webapp.readers.fields.line_items import INVOICE_LINES, find_line_items, without_items
from webapp.readers.fields.pairs import find_bare, find_pairs
from webapp.readers.fields.parties import labelled_party, name_in, with_form
from webapp.readers.fields.receipt_words import RECEIPT, RECEIPT_COLUMNS
from webapp.readers.fields.ruled import RuledField
from webapp.readers.fields.slips import find_slip_lines
from webapp.readers.fields.totals import Totals, choose_totals
from webapp.readers.fields.values import read_value
from webapp.readers.fields.words import Row
from webapp.readers.fields.wraps import wrapped_pairs

PAPER = "receipt"
PAGES_MAX, HEAD_ROWS = 2, 8
LINES = replace(
    INVOICE_LINES,
    columns=RECEIPT_COLUMNS,
    labels=RECEIPT.labels,
    columns_min=2,
    ends=frozenset({"net", "total", "tax", "paid", "change"}),
    main=("amount", "price"),
    stand_ins={"code": "description"},
)


def read_receipt(rows: Sequence[Row]) -> Paper | None:
    """Read a receipt; None where the document is none."""
    if rows[-1].page > PAGES_MAX:
        return None
    title = _title(rows)
    items = find_line_items(rows, LINES) or find_slip_lines(rows, RECEIPT.labels)
    rest = without_items(rows, items)
    findings = find_pairs(rest, RECEIPT)
    findings.candidates += wrapped_pairs(rest, RECEIPT)
    findings.candidates += find_bare(rest, "vat_number", VAT)
    totals = choose_totals(rows, findings, items)
    chosen = best_of(findings.candidates)
    if totals.total is None or not (title or _is_paid(chosen, totals)):
        return None
    if "purchase_date" not in chosen:
        chosen |= {each.kind: each for each in _bare_date(rows)}
    if "purchase_date" not in chosen or ("invoice_number" in chosen and not title):
        return None
    merchant = _merchant(rows, findings)
    if merchant:
        chosen["merchant"] = with_form(rows, merchant)
    return Paper(tuple(_fields(chosen, totals)), items)


def _title(rows: Sequence[Row]) -> bool:
    """Whether a line begins with the name of a receipt, before any line with that of an invoice."""
    for row in rows:
        for piece in row.pieces:
            folds = folded_words(piece.words)
            found, other = RECEIPT.titles.longest(folds), match_title(folds)
            if found and (other is None or found.words >= other.words):
                return True
            if other:
                return False
    return False


def _is_paid(chosen: dict[str, Candidate], totals: Totals) -> bool:
    """Whether what was given, the change and the total agree: that is said on receipts alone."""
    given, change = chosen.get("paid"), chosen.get("change")
    return bool(given and change and totals.total and _left(given, change, totals.total) == 0)


def _left(given: Candidate, change: Candidate, total: Candidate) -> Decimal:
    """What was given too much or too little, besides the change."""
    amounts = [each.value.number or Decimal(0) for each in (given, change, total)]
    left = amounts[0] - abs(amounts[1]) - amounts[2]
    return left if abs(left) > CENT else Decimal(0)


def _bare_date(rows: Sequence[Row]) -> Iterator[Candidate]:
    """The only day that the receipt names, where it has no label."""
    found: list[Candidate] = []
    for row in rows:
        for piece in row.pieces:
            for at, word in enumerate(piece.words):
                may_begin = any(map(str.isdigit, word.text)) or month_number(word.text)
                value = read_value("purchase_date", piece.words[at:]) if may_begin else None
                if value:
                    found.append(Candidate("purchase_date", 1, value[0], row.page, row.place, BARE))
                    break
    if len({each.value.date.day for each in found if each.value.date}) == 1:
        yield found[0]


def _merchant(rows: Sequence[Row], findings: Findings) -> Candidate | None:
    """The name that a label names, else the first one at the top."""
    for label in findings.labels:
        if label.kind == "merchant" and (found := labelled_party(label, findings.labels, rows)):
            return found
    for row in rows[:HEAD_ROWS]:
        for piece in row.pieces:
            folds = folded_words(piece.words)
            named = name_in(piece.words)
            if named and not RECEIPT.titles.longest(folds) and not RECEIPT.labels.longest(folds):
                return Candidate("merchant", 1, Value(named[0], tuple(named[1])), row.page, row.place, BLOCK)
    return None


def _fields(chosen: dict[str, Candidate], totals: Totals) -> Iterator[RuledField]:
    is_american = totals.total is not None and totals.total.value.currency == "USD"
    days = Days(list(chosen.values()), is_american=is_american)
    given, change = chosen.get("paid"), chosen.get("change")
    paid = "paid" if given and change and totals.total and _left(given, change, totals.total) else None
    doubts = {"paid": paid, "change": paid, "net": totals.doubt, "total": totals.doubt or paid}
    sums = {"net": totals.net, "total": totals.total}
    chosen = {**chosen, **{kind: each for kind, each in sums.items() if each}}
    if totals.net is None:
        chosen.pop("net", None)
    yield from fields_of(PAPER, chosen, ("merchant", "receipt_number", "purchase_date", "net"), days, doubts)
    yield from (tax_field(each, totals, PAPER) for each in totals.taxes)
    yield from fields_of(PAPER, chosen, ("total",), days, doubts)
    yield from currency_field(totals, PAPER)
    shown = ("paid", "change", "vat_number", "email", "phone")
    yield from fields_of(PAPER, chosen, shown, days, doubts)
