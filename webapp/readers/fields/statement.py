"""Reads a bank statement: balances, period and account, and the transactions as a table, checked against each other."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from webapp.readers.fields.amounts import CENT, read_booked
from webapp.readers.fields.choose import Days, Paper, best_of, fields_of
from webapp.readers.fields.codes import IBAN
from webapp.readers.fields.dates import read_date
from webapp.readers.fields.found import BARE, BELOW, BLOCK, Candidate, Findings, Value
from webapp.readers.fields.labels import folded_words
from webapp.readers.fields.line_items import LineItems, Shape, find_line_items, without_items
from webapp.readers.fields.pairs import find_bare, find_pairs
from webapp.readers.fields.parties import find_parties, name_in
from webapp.readers.fields.ruled import RuledField, ruled_field
from webapp.readers.fields.statement_words import BANK_WORDS, STATEMENT, STATEMENT_COLUMNS
from webapp.readers.fields.values import read_value
from webapp.readers.fields.words import Piece, Row

PAPER = "statement"
TITLE_ROWS, HEAD_DEPTH = 40, 0.5
TRANSACTIONS = Shape(
    columns=STATEMENT_COLUMNS,
    labels=STATEMENT.labels,
    numbers=frozenset({"debit", "credit", "amount", "balance"}),
    needed=(frozenset({"date"}), frozenset({"description"}), frozenset({"amount", "debit", "credit"})),
    ends=frozenset({"closing_balance", "credits", "debits"}),
    passed=frozenset({"opening_balance"}),
    main=("debit", "credit", "amount"),
    second={"date": "value_date", "description": "reference", "value_date": "amount"},
    stand_ins={"value_date": "amount"},
    amount=read_booked,
)


def read_statement(rows: Sequence[Row]) -> Paper | None:
    """Read a bank statement; None where the document is none."""
    if not any(
        STATEMENT.titles.longest(folded_words(piece.words)) for row in rows[:TITLE_ROWS] for piece in row.pieces
    ):
        return None
    items = find_line_items(rows, TRANSACTIONS)
    rest = without_items(rows, items)
    findings = find_pairs(rest, STATEMENT)
    headings = {row.place for row in rest if _is_heading(row)}
    findings.candidates = [each for each in findings.candidates if not _is_in_a_column(each, headings)]
    findings.candidates += find_bare(rest, "iban", IBAN)
    chosen = best_of(findings.candidates)
    balances = [chosen.get(kind) for kind in ("opening_balance", "closing_balance")]
    if not (all(balances) or (any(balances) and items and items.rows)):
        return None
    head = [row for row in rest if items is None or row.place < items.taken[0].place]
    _add_parties(rest, head, findings)
    _add_bare_period(head, findings)
    return Paper(tuple(_fields(findings, items)), items, "Transactions")


def _is_in_a_column(candidate: Candidate, headings: set[int]) -> bool:
    """Whether a value is below the heading of a column: "Date" alone may be one anywhere."""
    is_weak_date = candidate.kind == "statement_date" and candidate.weight == 1
    return candidate.how == BELOW and (is_weak_date or candidate.place in headings)


def _is_heading(row: Row) -> bool:
    """Whether a row names columns of transactions, among them that of the days."""
    matches = (STATEMENT_COLUMNS.longest(folded_words(piece.words)) for piece in row.pieces)
    kinds = [match.kind for match in matches if match]
    return "date" in kinds and len(kinds) > 2


def _fields(findings: Findings, items: LineItems | None) -> Iterator[RuledField]:
    chosen = best_of(findings.candidates)
    if "iban" in chosen:
        chosen.pop("account_number", None)
    currency = _currency(chosen)
    days = Days(findings.candidates, is_american=currency is not None and currency.value.currency == "USD")
    doubt = _contradiction(chosen, items)
    doubts = dict.fromkeys(("opening_balance", "closing_balance"), doubt)
    yield from fields_of(PAPER, chosen, ("bank", "account_holder", "statement_number", "statement_date"), days, {})
    yield from _period(chosen.get("period"), days)
    yield from fields_of(PAPER, chosen, ("opening_balance", "credits", "debits", "closing_balance"), days, doubts)
    if currency:
        code = currency.value.currency or ""
        yield ruled_field(replace(currency, kind="currency"), code, None, value=code, paper=PAPER)
    yield from fields_of(PAPER, chosen, ("iban", "account_number", "email", "phone"), days, {})


def _period(found: Candidate | None, days: Days) -> Iterator[RuledField]:
    """The first and the last day as fields of their own; doubtful where they are the other way round."""
    if found is None or found.value.date is None or found.value.until is None:
        return
    start, end = days.meant(found.value.date), days.meant(found.value.until)
    doubt = "period" if end < start else days.doubt(found.value.date)
    for kind, day in (("period_start", start), ("period_end", end)):
        yield ruled_field(replace(found, kind=kind), day.isoformat(), doubt, paper=PAPER)


def _currency(chosen: dict[str, Candidate]) -> Candidate | None:
    """What the balances are in; else what the label of a currency says."""
    known = (chosen.get(kind) for kind in ("closing_balance", "opening_balance", "credits", "debits", "currency"))
    return next((each for each in known if each and each.value.currency), None)


def _contradiction(chosen: dict[str, Candidate], items: LineItems | None) -> str | None:
    """Whether opening balance and movements make another closing balance, by their sums or by the transactions."""
    opening, closing = (_number(chosen.get(kind)) for kind in ("opening_balance", "closing_balance"))
    if opening is None or closing is None:
        return None
    in_all, out_all = (_number(chosen.get(kind)) for kind in ("credits", "debits"))
    if in_all is not None and out_all is not None and abs(opening + abs(in_all) - abs(out_all) - closing) > CENT:
        return "balance"
    moved = movements(items) if items else None
    return "balance" if moved is not None and abs(opening + moved - closing) > CENT else None


def movements(items: LineItems) -> Decimal | None:
    """What the transactions add up to; None where an amount can't be read."""
    total = Decimal(0)
    for kind, sign in (("amount", None), ("credit", 1), ("debit", -1)):
        for cell in items.cells(kind):
            found = read_booked(cell) if cell else None
            if cell and found is None:
                return None
            if found:
                total += found.value if sign is None else sign * abs(found.value)
    return total


def _number(candidate: Candidate | None) -> Decimal | None:
    return candidate.value.number if candidate else None


def _add_parties(rows: Sequence[Row], head: Sequence[Row], findings: Findings) -> None:
    """The bank by its name at the top, the holder by a label or an address."""
    if not findings.of("bank"):
        findings.candidates += _bank(rows)
    # The bank's name may be right above the holder's address.
    banks = {id(word) for each in findings.of("bank") for word in each.value.words}
    find_parties(rows, [row for row in head if id(row.words[0]) not in banks], findings, STATEMENT)


def _bank(rows: Sequence[Row]) -> Iterator[Candidate]:
    """The first name on the first page that has the word for a bank in it."""
    for row in rows:
        if row.page != rows[0].page or row.depth > HEAD_DEPTH:
            return
        for piece in row.pieces:
            named = name_in(piece.words)
            if named and not _is_label(piece) and _is_bank(folded_words(named[1])):
                yield Candidate("bank", 1, Value(named[0], tuple(named[1])), row.page, row.place, BLOCK)
                return


def _is_label(piece: Piece) -> bool:
    folds = folded_words(piece.words)
    match = STATEMENT.labels.longest(folds)
    is_label = match is not None and (match.words == len(folds) or piece.words[match.words - 1].text.endswith(":"))
    return is_label or STATEMENT.titles.longest(folds) is not None


def _is_bank(folds: Sequence[str]) -> bool:
    return any(fold in BANK_WORDS or fold.endswith(("bank", "банк", "sparkasse")) for fold in folds)


def _add_bare_period(head: Sequence[Row], findings: Findings) -> None:
    """A period without a label, such as behind the title: "1 May 2026 to 31 May 2026"."""
    if findings.of("period"):
        return
    for row in head:
        for piece in row.pieces:
            for at, word in enumerate(piece.words):
                found = read_value("period", piece.words[at:]) if any(map(str.isdigit, word.text)) else None
                if found and read_date([word.text for word in piece.words[at:]]):
                    findings.candidates.append(Candidate("period", 1, found[0], row.page, row.place, BARE))
                    return
