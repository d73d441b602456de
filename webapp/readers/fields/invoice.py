"""Reads an invoice: chooses one value for each kind, and checks them against each other."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from webapp.readers.fields.amounts import shown
from webapp.readers.fields.choose import Days, Paper, in_order
from webapp.readers.fields.codes import IBAN, VAT
from webapp.readers.fields.dates import FoundDate
from webapp.readers.fields.found import Candidate, Findings
from webapp.readers.fields.labels import folded_words, match_title
from webapp.readers.fields.line_items import find_line_items, without_items
from webapp.readers.fields.pairs import find_bare, find_pairs
from webapp.readers.fields.parties import Block, find_parties
from webapp.readers.fields.ruled import RuledField, ruled_field
from webapp.readers.fields.totals import Totals, choose_totals
from webapp.readers.fields.vocabulary import KINDS, NOT_SHOWN
from webapp.readers.fields.words import Row
from webapp.readers.fields.wraps import wrapped_pairs

TITLE_ROWS = 60
_EMAIL = re.compile(r"[^\s@]{1,64}@")
_PLACES = frozenset({"email", "phone", "vat_number"})
"""Kinds that both parties have."""


def read_invoice(rows: Sequence[Row]) -> Paper | None:
    """Read an invoice; None where the document is none."""
    if not _has_title(rows):
        return None
    items = find_line_items(rows)
    rows = without_items(rows, items)
    findings = find_pairs(rows)
    findings.candidates += wrapped_pairs(rows)
    for kind, pattern in (("iban", IBAN), ("email", _EMAIL), ("vat_number", VAT)):
        findings.candidates += find_bare(rows, kind, pattern)
    totals = choose_totals(rows, findings, items)
    if not _is_invoice(findings, totals):
        return None
    head = [row for row in rows if items is None or row.place < items.taken[0].place]
    customer = find_parties(rows, head, findings)
    return Paper(tuple(_fields(rows, findings, totals, customer)), items)


def _has_title(rows: Sequence[Row]) -> bool:
    """Whether a line begins with the name of an invoice, as a title or in a label."""
    return any(match_title(folded_words(piece.words)) for row in rows[:TITLE_ROWS] for piece in row.pieces)


def _is_invoice(findings: Findings, totals: Totals) -> bool:
    has_number = bool(findings.of("invoice_number"))
    has_date = bool(findings.of("invoice_date") or findings.of("due_date"))
    return totals.total is not None and (has_number or (has_date and totals.net is not None))


def _fields(rows: Sequence[Row], findings: Findings, totals: Totals, customer: Sequence[Block]) -> Iterator[RuledField]:
    chosen = _chosen(rows, findings, customer)
    is_american = totals.total is not None and totals.total.value.currency == "USD"
    days = Days(findings.candidates, is_american=is_american)
    for kind, (name, _) in KINDS.items():
        if kind == "tax":
            yield from (tax_field(each, totals) for each in totals.taxes)
        elif kind in {"net", "total"}:
            if found := totals.net if kind == "net" else totals.total:
                yield _amount_field(found, name, totals)
        elif kind == "currency":
            yield from currency_field(totals)
        elif kind in chosen and kind not in NOT_SHOWN:
            day = chosen[kind].value.date
            yield (
                _date_field(chosen[kind], day, days, chosen)
                if day
                else ruled_field(chosen[kind], *_meaning(chosen[kind]))
            )


def _chosen(rows: Sequence[Row], findings: Findings, customer: Sequence[Block]) -> dict[str, Candidate]:
    """The best candidate of each kind; what lies in the customer's address is the customer's."""
    by_place = {row.place: row for row in rows}
    chosen: dict[str, Candidate] = {}
    for each in in_order(findings.candidates):
        if each.kind not in _PLACES or not _is_in(customer, by_place[each.place], each):
            chosen.setdefault(each.kind, each)
        elif each.kind == "vat_number":
            chosen.setdefault("customer_vat_number", replace(each, kind="customer_vat_number"))
    same = chosen.get("customer_vat_number"), chosen.get("vat_number")
    if same[0] and same[1] and same[0].value.code == same[1].value.code:
        del chosen["vat_number"]
    if "iban" in chosen:
        chosen.pop("account_number", None)
    return chosen


def _is_in(blocks: Sequence[Block], row: Row, candidate: Candidate) -> bool:
    piece = next((piece for piece in row.pieces if candidate.value.words[0] in piece.words), None)
    return piece is not None and any(block.covers(row, piece) for block in blocks)


def _date_field(candidate: Candidate, found: FoundDate, days: Days, chosen: dict[str, Candidate]) -> RuledField:
    """A date as a field; doubtful where it could be another, or is due before the invoice was written."""
    doubt = days.doubt(found)
    issued, due = (days.of(chosen.get(kind)) for kind in ("invoice_date", "due_date"))
    if candidate.kind in {"invoice_date", "due_date"} and issued and due and due < issued:
        doubt = "dates"
    return ruled_field(candidate, days.meant(found).isoformat(), doubt)


def _meaning(candidate: Candidate) -> tuple[str, str | None]:
    """A value in the form that programs read, and what is doubtful about it."""
    value = candidate.value
    return value.code or value.text, None if value.is_checked else "iban"


def _amount_field(candidate: Candidate, name: str, totals: Totals, paper: str = "") -> RuledField:
    return ruled_field(candidate, shown(candidate.value.number or Decimal(0)), totals.doubt, name=name, paper=paper)


def tax_field(candidate: Candidate, totals: Totals, paper: str = "") -> RuledField:
    """One rate's tax."""
    rate = candidate.value.rate
    return _amount_field(candidate, "Tax" if rate is None else f"Tax {rate.normalize():f} %", totals, paper)


def currency_field(totals: Totals, paper: str = "") -> Iterator[RuledField]:
    """The currency that the sums are in."""
    for found in (totals.total, totals.net, *totals.taxes):
        if found and found.value.currency:
            yield ruled_field(
                replace(found, kind="currency"), found.value.currency, None, value=found.value.currency, paper=paper
            )
            return
