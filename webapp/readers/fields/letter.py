"""Reads a letter: who wrote to whom, when, and about what."""

from collections.abc import Iterator, Sequence

from webapp.readers.fields.choose import Days, Paper, best_of, fields_of
from webapp.readers.fields.dates import read_date
from webapp.readers.fields.found import BARE, BLOCK, Candidate, Findings, Value
from webapp.readers.fields.labels import folded_words
from webapp.readers.fields.letter_words import CLOSING_PHRASES, DATE_LEADS, ENGLISH, LETTER, SALUTATION_PHRASES
from webapp.readers.fields.pairs import find_pairs
from webapp.readers.fields.parties import (
    POSTCODE,
    Block,
    address_blocks,
    block_party,
    is_company,
    labelled_party,
    letterhead,
    name_in,
)
from webapp.readers.fields.values import read_value
from webapp.readers.fields.words import Piece, Row, folded

PAPER = "letter"
PAGES_MAX = 4
SALUTATION_DEPTH = 0.65
SALUTATION_WORDS_MAX, SUBJECT_WORDS_MAX, DATE_LEAD_WORDS_MAX = 9, 18, 4
SIGNATURE_ROWS, GAP_HEIGHTS = 4, 0.35
_KINDS = ("sender", "recipient", "letter_date", "subject", "reference", "customer_number", "email", "phone")


def read_letter(rows: Sequence[Row]) -> Paper | None:
    """Read a letter; None where the document is none: one has a salutation, an end, a date and two names."""
    greeting = next((number for number, row in enumerate(rows) if _is_salutation(row)), None)
    if greeting is None or rows[-1].page > PAGES_MAX:
        return None
    ends = [number for number, row in enumerate(rows) if number > greeting + 1 and _is_closing(row)]
    if not ends or rows[greeting].page != rows[0].page or rows[greeting].depth > SALUTATION_DEPTH:
        return None
    head = rows[:greeting]
    # A subject with a label may be the first line behind the salutation.
    findings = find_pairs([*head, rows[greeting + 1], *rows[ends[-1] :]], LETTER)
    findings.candidates = [
        each
        for each in findings.candidates
        if each.kind not in {"letter_date", "subject", "reference"} or each.place <= rows[greeting + 1].place
    ]
    findings.candidates += _dates(head)
    _add_parties(head, rows[ends[-1] :], findings)
    _add_subject(rows, greeting, findings)
    chosen = best_of(findings.candidates)
    if "letter_date" not in chosen or not ("sender" in chosen and "recipient" in chosen):
        return None
    is_english = folded(rows[greeting].words[0].text) in ENGLISH
    days = Days(findings.candidates, is_american=None if is_english else False)
    return Paper(tuple(fields_of(PAPER, chosen, _KINDS, days, {})))


def _is_salutation(row: Row) -> bool:
    """Whether a row is a salutation: a short line of its own that ends with a comma or the like."""
    words = row.words
    if len(row.pieces) > 1 or len(words) > SALUTATION_WORDS_MAX or not words[-1].text.endswith((",", "!", ":", ".")):
        return False
    return SALUTATION_PHRASES.longest(folded_words(words)) is not None


def _is_closing(row: Row) -> bool:
    return any(CLOSING_PHRASES.longest(folded_words(piece.words)) is not None for piece in row.pieces)


def _dates(head: Sequence[Row]) -> Iterator[Candidate]:
    """The only day at the end of a short line, alone or behind the place: "Hamburg, den 3. Mai 2026"."""
    found = [
        Candidate("letter_date", 1, each, row.page, row.place, BARE)
        for row in head
        for piece in row.pieces
        if (each := _date_at_end(piece))
    ]
    if len({each.value.date.day for each in found if each.value.date}) == 1:
        yield found[0]


def _date_at_end(piece: Piece) -> Value | None:
    words = piece.words
    for at in range(min(len(words), DATE_LEAD_WORDS_MAX + 1)):
        found = read_date([word.text for word in words[at:]]) if any(map(str.isalnum, words[at].text)) else None
        if found and at + found.words >= len(words) and _is_lead([word.text for word in words[:at]]):
            value = read_value("letter_date", words[at:])
            return value[0] if value else None
    return None


def _is_lead(texts: Sequence[str]) -> bool:
    """Whether words before a date are a place: capitalised, with a comma or a word such as "den" behind."""
    names = [text for text in texts if folded(text) not in DATE_LEADS]
    if not texts:
        return True
    is_joined = texts[-1].endswith(",") or folded(texts[-1]) in DATE_LEADS
    return is_joined and all(text[0].isupper() or not text[0].isalpha() for text in names)


def _add_parties(head: Sequence[Row], end: Sequence[Row], findings: Findings) -> None:
    """Sender and recipient: by labels, by their addresses, by the letterhead, by the signature."""
    for label in findings.labels:
        if label.kind in {LETTER.sender, LETTER.recipient} and (found := labelled_party(label, findings.labels, head)):
            findings.candidates.append(found)
    signature = next(_signatures(end), None)
    blocks = address_blocks(head, LETTER)
    top = letterhead(head, blocks, LETTER) or _name_at_the_top(head, blocks)
    own = {each.value.text for each in (signature, top, *findings.of(LETTER.sender)) if each}
    senders = [block for block in blocks if block.name in own]
    others = [block for block in blocks if block not in senders]
    if len(others) > 1 and not own & {block.name for block in blocks}:
        # Of two addresses without a known name the upper one is the sender's.
        senders, others = others[:1], others[1:]
    if not findings.of(LETTER.recipient) and others:
        findings.candidates.append(block_party(others[-1], LETTER.recipient))
    if not findings.of(LETTER.sender):
        found = top or _first(senders) or signature
        if found:
            findings.candidates.append(found)


def _name_at_the_top(head: Sequence[Row], blocks: Sequence[Block]) -> Candidate | None:
    """The name that the page begins with, where an address in one line follows it."""
    if len(head) < 2 or len(head[0].pieces) > 1 or any(head[0].pieces[0] in block.pieces for block in blocks):
        return None
    named = name_in(head[0].words)
    if named is None or len(named[1]) < len(head[0].words) or not POSTCODE.search(head[1].text):
        return None
    return Candidate(LETTER.sender, 1, Value(named[0], tuple(named[1])), head[0].page, head[0].place, BLOCK)


def _first(blocks: Sequence[Block]) -> Candidate | None:
    return block_party(blocks[0], LETTER.sender) if blocks else None


def _signatures(end: Sequence[Row]) -> Iterator[Candidate]:
    """The names below the end of a letter, a company's first."""
    named = []
    for row in end[1 : 1 + SIGNATURE_ROWS]:
        found = name_in(row.pieces[0].words)
        if found and len(found[1]) == len(row.pieces[0].words):
            named.append(Candidate(LETTER.sender, 1, Value(found[0], tuple(found[1])), row.page, row.place, BLOCK))
    yield from sorted(named, key=lambda each: not is_company(each.value.text))


def _add_subject(rows: Sequence[Row], greeting: int, findings: Findings) -> None:
    """The line about what it is: by its label, else the line by itself before or behind the salutation."""
    if findings.of("subject"):
        return
    addresses = {row.place for block in address_blocks(rows[:greeting], LETTER) for row in block.rows}
    above = [
        row
        for row in rows[max(0, greeting - 1) : greeting]
        if row.place not in addresses and _is_subject(row, findings)
    ]
    below = [
        row for row in rows[greeting + 1 : greeting + 2] if _is_subject(row, findings) and _is_apart(rows, greeting + 1)
    ]
    for row in [*above, *below][:1]:
        value = Value(row.text, row.words, code=row.text)
        findings.candidates.append(Candidate("subject", 1, value, row.page, row.place, BLOCK))


def _is_subject(row: Row, findings: Findings) -> bool:
    words = row.words
    if len(row.pieces) > 1 or not 2 <= len(words) <= SUBJECT_WORDS_MAX or not words[0].text[0].isupper():
        return False
    is_taken = any(each.place == row.place for each in findings.candidates) or any(
        each.row.place == row.place for each in findings.labels
    )
    return not is_taken and not words[-1].text.endswith((".", ",", ";", ":"))


def _is_apart(rows: Sequence[Row], number: int) -> bool:
    """Whether a row has a gap below it: the first line of a paragraph has none."""
    if number + 1 >= len(rows):
        return False
    row, following = rows[number], rows[number + 1]
    return following.page == row.page and following.top - row.bottom > GAP_HEIGHTS * (row.bottom - row.top)
