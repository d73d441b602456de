"""Finds labels and the values that belong to them: behind them, beside them, below them."""

import re
from collections.abc import Iterator, Sequence

from webapp.readers.fields.amounts import CURRENCY_WORD
from webapp.readers.fields.codes import is_vat
from webapp.readers.fields.found import BARE, BELOW, BESIDE, INLINE, TITLE, Candidate, Findings, Label, Value
from webapp.readers.fields.labels import INVOICE, Vocabulary, folded_words
from webapp.readers.fields.values import amount_at_end, dated_lead, rate_of, read_value
from webapp.readers.fields.vocabulary import KINDS, TAX_FILLERS, TAX_WORDS
from webapp.readers.fields.words import Piece, PlacedWord, Row, folded

BELOW_HEIGHTS = 1.9
SLACK_HEIGHTS = 0.6
_SEPARATORS = (":", ";", ",", "|", "·", "–", "-", "/", "•", ")")
# Between a number and its date: "Rechnung 17 vom 1. Mai 2026".
_OF = frozenset({"of", "dated", "vom", "von", "de", "del", "du", "от", "em", "le", "from", "date", ""})
_MONEY = frozenset({"amount", "tax"})


def find_pairs(rows: Sequence[Row], vocabulary: Vocabulary = INVOICE) -> Findings:
    """Find the labels of a document and their values."""
    findings = Findings()
    for row in rows:
        for place in range(len(row.pieces)):
            _scan(row, place, findings, vocabulary)
    after = {row.place: number for number, row in enumerate(rows)}
    for label in findings.labels:
        if found := _elsewhere(label, findings.labels, rows, after[label.row.place]):
            findings.candidates.append(found)
    findings.candidates.sort(key=lambda each: each.place)
    return findings


def _scan(row: Row, place: int, findings: Findings, vocabulary: Vocabulary) -> None:
    """Walk a piece's words: each label, with its value where that follows in the same piece."""
    words = row.pieces[place].words
    folds = folded_words(words)
    at, is_start = 0, True
    while at < len(words):
        label = _label_at(row, place, at, folds, vocabulary)
        found = _inline(label) if label else None
        if label is None or not _is_label(label, vocabulary, is_start=is_start, has_value=found is not None):
            is_start = words[at].text.endswith(_SEPARATORS)
            at += 1
            continue
        if found:
            findings.candidates.append(_candidate(label, found[0], INLINE))
            at = label.end + (len(label.row.pieces[place].words[label.end :]) - len(label.rest)) + found[1]
            if label.kind == "invoice_number":
                at = _dated(row, place, at, findings)
        else:
            findings.labels.append(label)
            at = label.end
        is_start = True


def _label_at(row: Row, place: int, at: int, folds: Sequence[str], vocabulary: Vocabulary) -> Label | None:
    match = vocabulary.labels.longest(folds[at:])
    tax = _tax_at(row, place, at, folds)
    if (
        tax
        and (match is None or at + match.words < tax.end or match.kind == "vat_number")
        and _is_tax(tax, match is not None)
    ):
        return tax
    return Label(match.kind, match.weight, row, place, at, at + match.words) if match else None


def _is_tax(tax: Label, has_other: bool) -> bool:
    """Whether a tax's name is one here: "VAT" alone may begin "VAT No. GB…"."""
    return tax.rate is not None or not has_other or _inline(tax) is not None or _has_amount_beside(tax)


def _tax_at(row: Row, place: int, at: int, folds: Sequence[str]) -> Label | None:
    words = row.pieces[place].words
    has_tax, rate, end = False, None, at
    for index in range(at, len(words)):
        text, fold = words[index].text, folds[index]
        percent = rate_of(text)
        is_rate = percent is not None and (
            "%" in text or (index + 1 < len(words) and words[index + 1].text.startswith("%"))
        )
        if fold in TAX_WORDS:
            has_tax = True
        elif is_rate and rate is None:
            rate = percent
        elif fold not in TAX_FILLERS and fold not in {"", "%"}:
            break
        end = index + 1
        if text.endswith(":"):
            break
    return Label("tax", 2, row, place, at, end, rate) if has_tax else None


def _is_label(label: Label, vocabulary: Vocabulary, *, is_start: bool, has_value: bool) -> bool:
    """Whether a phrase is a label here, and no part of a sentence."""
    if has_value and label.weight > 1 and label.kind in vocabulary.in_sentences:
        return True
    if not (is_start or label.has_colon):
        return False
    if has_value:
        return True
    if KINDS[label.kind][1] == "balance" and dated_lead(label.rest) == len(label.rest):
        return True
    ends = not label.rest or all(CURRENCY_WORD.fullmatch(word.text) for word in label.rest)
    return ends or (label.has_colon and KINDS[label.kind][1] == "party") or _is_before_label(label, vocabulary)


def _is_before_label(label: Label, vocabulary: Vocabulary) -> bool:
    """Whether another label follows at once: a row of labels with narrow gaps."""
    return label.weight > 1 and vocabulary.labels.longest(folded_words(label.rest)) is not None


def _inline(label: Label) -> tuple[Value, int] | None:
    kind = KINDS[label.kind][1]
    rest = label.rest
    if kind in {"party", "bic", "currency"} or not rest:
        return None
    if kind in _MONEY:
        return amount_at_end(rest) and read_value(label.kind, rest)
    return read_value(label.kind, rest)


def _dated(row: Row, place: int, at: int, findings: Findings) -> int:
    """The date that follows an invoice's number: "of 3 May 2026"."""
    words = row.pieces[place].words[at:]
    for skipped in (0, 1, 2):
        if len(words) <= skipped or (skipped and folded(words[skipped - 1].text) not in _OF):
            return at
        if found := read_value("invoice_date", words[skipped:]):
            findings.candidates.append(Candidate("invoice_date", 2, found[0], row.page, row.place, TITLE))
            return at + skipped + found[1]
    return at


def _elsewhere(label: Label, labels: Sequence[Label], rows: Sequence[Row], number: int) -> Candidate | None:
    """The value of a label that has none behind it: in the pieces at its right, else below."""
    kind = KINDS[label.kind][1]
    if kind == "party":
        return None
    pieces = label.row.pieces[label.piece + 1 :]
    if kind in _MONEY:
        found = _money_beside(label, labels)
    elif kind == "balance":
        found = _balance_beside(label, labels)
    else:
        found = read_value(label.kind, pieces[0].words) if pieces else None
    if found and (kind != "code" or found[1] == len(pieces[0].words)):
        return _candidate(label, found[0], BESIDE)
    below = words_below(label, labels, rows, number)
    found = read_value(label.kind, below) if below else None
    if found and found[1] >= len(below) - 1:
        return _candidate(label, found[0], BELOW)
    return None


def _has_amount_beside(label: Label) -> bool:
    return _money_beside(label, ()) is not None


def _money_beside(label: Label, labels: Sequence[Label]) -> tuple[Value, int] | None:
    own = {(each.piece) for each in labels if each.row is label.row and each.piece > label.piece}
    words: list[PlacedWord] = []
    for place, piece in enumerate(label.row.pieces[label.piece + 1 :], label.piece + 1):
        if place in own or amount_at_end(piece.words) is None:
            break
        words += piece.words
    return read_value(label.kind, words) if words else None


def _balance_beside(label: Label, labels: Sequence[Label]) -> tuple[Value, int] | None:
    """The balance at the right of its label: a date may be between, and the columns of a table are empty there."""
    behind = label.row.pieces[label.piece + 1 :]
    ends = min(
        (each.piece for each in labels if each.row is label.row and each.piece > label.piece), default=len(behind) + 99
    )
    words = [word for piece in behind[: ends - label.piece - 1] for word in piece.words]
    return read_value(label.kind, [*label.rest, *words]) if words else None


def words_below(label: Label, labels: Sequence[Label], rows: Sequence[Row], number: int) -> tuple[PlacedWord, ...]:
    """The words of the nearest line below a label, as far as they are in its column."""
    words = label.words
    left, right, bottom = words[0].left, words[-1].right, max(word.bottom for word in words)
    height = max(word.height for word in words)
    before = max(
        (each.words[-1].right for each in labels if each.row is label.row and each.words[0].left < left),
        default=float("-inf"),
    )
    behind = min(
        (each.words[0].left for each in labels if each.row is label.row and each.words[0].left > left),
        default=float("inf"),
    )
    for row in rows[number + 1 :]:
        if row.page != label.row.page or row.top - bottom > BELOW_HEIGHTS * height:
            return ()
        slack = SLACK_HEIGHTS * height
        piece = next((each for each in row.pieces if each.left < right + slack and each.right > left - slack), None)
        if piece is not None and piece.top > bottom - slack:
            return tuple(word for word in piece.words if before < word.centre < behind)
    return ()


def _candidate(label: Label, value: Value, how: str) -> Candidate:
    if label.rate is not None:
        value = Value(value.text, value.words, value.number, value.currency, rate=label.rate, others=value.others)
    return Candidate(label.kind, label.weight, value, label.row.page, label.row.place, how)


def find_bare(rows: Sequence[Row], kind: str, pattern: re.Pattern[str]) -> Iterator[Candidate]:
    """Values that name themselves, such as an IBAN, wherever they are."""
    for row in rows:
        if not pattern.search(row.text):
            continue
        for piece in row.pieces:
            yield from _bare_in(row, piece, kind, pattern)


def _bare_in(row: Row, piece: Piece, kind: str, pattern: re.Pattern[str]) -> Iterator[Candidate]:
    for at, word in enumerate(piece.words):
        found = read_value(kind, piece.words[at:]) if pattern.match(word.text) else None
        if found and found[0].is_checked and (kind != "vat_number" or is_vat(found[0].code or "")):
            yield Candidate(kind, 1, found[0], row.page, row.place, BARE)
            return
