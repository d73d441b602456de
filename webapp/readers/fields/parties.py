"""Finds who sends a document and whom it is for: by labels, by blocks of an address, by the letterhead."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from webapp.readers.fields.amounts import read_amount
from webapp.readers.fields.dates import month_number, read_date
from webapp.readers.fields.found import BELOW, BESIDE, BLOCK, INLINE, Candidate, Findings, Label, Value
from webapp.readers.fields.labels import INVOICE, Vocabulary, folded_words, match_title
from webapp.readers.fields.pairs import words_below
from webapp.readers.fields.vocabulary import LEGAL_FORMS
from webapp.readers.fields.words import Piece, PlacedWord, Row, folded

# Addresses are in the upper part of the first page.
TOP = 0.45
BLOCK_LINES = 6
LINE_HEIGHTS, MORE_HEIGHTS = 0.9, 0.45
ALIGNED_HEIGHTS = 0.6
NAME_CHARACTERS = (2, 90)
_CUT = frozenset({"·", "|", "•", "–", "-", "*", "/"})
POSTCODE = re.compile(
    r"\b(?:[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]{2} \d{5}(?:-\d{4})?|\d{4}-\d{3}|\d{5}-\d{3}"
    r"|(?:[A-Z]{1,2}[- ])?\d{4,6})\b"
)


@dataclass(frozen=True)
class Block:
    """Lines of text below each other: an address, and what goes on below it."""

    rows: tuple[Row, ...]
    pieces: tuple[Piece, ...]

    @property
    def name(self) -> str:
        """Whose address it is."""
        return _name(self.pieces[0].words)[0]

    def covers(self, row: Row, piece: Piece) -> bool:
        """Whether a piece of text belongs to this block."""
        height = self.pieces[0].height
        is_level = self.pieces[0].top - height / 2 <= piece.top <= self.pieces[-1].top + height / 2
        return row.page == self.rows[0].page and is_level and _is_aligned(self.pieces[-1], piece)


def find_parties(
    rows: Sequence[Row], head: Sequence[Row], findings: Findings, vocabulary: Vocabulary = INVOICE
) -> list[Block]:
    """Add the candidates for who sends and who receives; gives the receiver's address, if there is one.

    What has no label is searched in the `head` alone, the rows above an invoice's lines.
    """
    sender, recipient = parties = vocabulary.sender, vocabulary.recipient
    for label in findings.labels:
        if label.kind in parties and (found := labelled_party(label, findings.labels, rows)):
            findings.candidates.append(found)
    head = [row for row in head if row.page == rows[0].page and row.depth < TOP]
    blocks = address_blocks(head, vocabulary)
    named = {kind: {each.value.text for each in findings.of(kind)} for kind in parties}
    of_recipient = [block for block in blocks if block.name in named[recipient]]
    others = [block for block in blocks if block not in of_recipient]
    if not named[sender]:
        found = letterhead(head, blocks, vocabulary) or next((block_party(block, sender) for block in others), None)
        if found:
            findings.candidates.append(found)
            named[sender] = {found.value.text}
    others = [block for block in others if block.name not in named[sender]]
    if not named[recipient] and len(others) == 1:
        findings.candidates.append(block_party(others[0], recipient))
        of_recipient = others
    of_recipient = [_with_more(block, rows) for block in of_recipient]
    findings.candidates = [with_form(rows, each) if each.kind in parties else each for each in findings.candidates]
    return of_recipient


def _with_more(block: Block, rows: Sequence[Row]) -> Block:
    """A block with the lines that follow it closely, such as a VAT number."""
    pieces = list(block.pieces)
    for row in rows:
        last = pieces[-1]
        if row.page != block.rows[0].page or row.top < last.top + last.height / 2:
            continue
        below = next((each for each in row.pieces if _is_aligned(last, each)), None)
        if below and below.top - last.bottom < MORE_HEIGHTS * last.height:
            pieces.append(below)
    return replace(block, pieces=tuple(pieces))


def labelled_party(label: Label, labels: Sequence[Label], rows: Sequence[Row]) -> Candidate | None:
    """The name that a label names: behind it, below it or beside it."""
    rest = label.rest
    pieces = label.row.pieces[label.piece + 1 :]
    if label.has_colon and rest:
        words, how = rest, INLINE
    elif label.has_colon and pieces and _is_beside(label, pieces[0], labels):
        words, how = pieces[0].words, BESIDE
    elif label.is_alone:
        number = next(at for at, row in enumerate(rows) if row.place == label.row.place)
        words, how = words_below(label, labels, rows, number), BELOW
        if (not words or not _is_name(*_name(words))) and pieces and _is_beside(label, pieces[0], labels):
            words, how = pieces[0].words, BESIDE
    else:
        return None
    name, used = _name(words)
    if label.weight == 1 and not label.has_colon and not is_company(name):
        return None
    if not _is_name(name, used):
        return None
    return Candidate(label.kind, label.weight, Value(name, tuple(used)), label.row.page, label.row.place, how)


def with_form(rows: Sequence[Row], found: Candidate) -> Candidate:
    """A name whose company form was wrapped into the next line."""
    first, last = found.value.words[0], found.value.words[-1]
    for row in rows:
        if row.page != found.page or not 0 < row.top - last.bottom + last.height / 2 < last.height:
            continue
        for piece in row.pieces:
            is_form = all(folded(word.text) in LEGAL_FORMS for word in piece.words)
            if is_form and abs(piece.left - first.left) < last.height / 2:
                value = Value(f"{found.value.text} {piece.text}", (*found.value.words, *piece.words))
                return replace(found, value=value)
    return found


def _is_beside(label: Label, piece: Piece, labels: Sequence[Label]) -> bool:
    is_label = any(each.row is label.row and each.piece == label.piece + 1 for each in labels)
    return not is_label and _is_name(*_name(piece.words))


def address_blocks(rows: Sequence[Row], vocabulary: Vocabulary = INVOICE) -> list[Block]:
    """The addresses in rows, from the top."""
    taken: set[int] = set()
    blocks: list[Block] = []
    for number, row in enumerate(rows):
        for piece in row.pieces:
            if (
                id(piece) in taken
                or _is_sender(piece)
                or not _is_name(*_name(piece.words))
                or _is_label(piece, vocabulary)
            ):
                continue
            block = _block(rows, number, piece, vocabulary)
            if block:
                taken |= {id(each) for each in block.pieces}
                blocks.append(block)
    return blocks


def _block(rows: Sequence[Row], number: int, first: Piece, vocabulary: Vocabulary) -> Block | None:
    """The lines below a piece, as long as they are aligned with it, up to the one with a postcode."""
    used, pieces = [rows[number]], [first]
    for row in rows[number + 1 :]:
        if row.top - pieces[-1].bottom > LINE_HEIGHTS * pieces[-1].height or len(pieces) >= BLOCK_LINES:
            return None
        piece = next((each for each in row.pieces if _is_aligned(first, each)), None)
        if piece is None:
            continue
        if _is_label(piece, vocabulary) or not _is_prose(piece):
            return None
        used.append(row)
        pieces.append(piece)
        if len(pieces) > 1 and POSTCODE.search(piece.text) and any(map(str.isalpha, piece.text)):
            return Block(tuple(used), tuple(pieces)) if len(pieces) > 2 else None
    return None


def letterhead(rows: Sequence[Row], blocks: Sequence[Block], vocabulary: Vocabulary = INVOICE) -> Candidate | None:
    """The sender's line of a letter: name, street and town in one line, or a company's name alone at the top."""
    in_blocks = {id(piece) for block in blocks for piece in block.pieces}
    for row in rows:
        for piece in row.pieces:
            name, used = _name(piece.words)
            is_cut = _is_sender(piece)
            is_alone = id(piece) not in in_blocks and len(used) == len(piece.words)
            if (
                (is_cut or (is_alone and is_company(name)))
                and _is_name(name, used)
                and not _is_label(piece, vocabulary)
            ):
                if is_alone and row.place > 3:
                    continue
                return Candidate(vocabulary.sender, 1, Value(name, tuple(used)), row.page, row.place, BLOCK)
    return None


def _is_sender(piece: Piece) -> bool:
    """Whether a line holds a name and its whole address, as above the address of a letter."""
    parts = sum(word.text in _CUT or word.text.endswith((",", ";")) for word in piece.words)
    has_dot = any(word.text == "·" for word in piece.words)
    return (parts > 1 or has_dot) and bool(POSTCODE.search(piece.text))


def block_party(block: Block, kind: str) -> Candidate:
    """The name that an address begins with."""
    name, used = _name(block.pieces[0].words)
    return Candidate(kind, 1, Value(name, tuple(used)), block.rows[0].page, block.rows[0].place, BLOCK)


def name_in(words: Sequence[PlacedWord]) -> tuple[str, list[PlacedWord]] | None:
    """The name that words begin with, and its words; None where it can't be one."""
    name, used = _name(words)
    return (name, used) if words and _is_name(name, used) else None


def _name(words: Sequence[PlacedWord]) -> tuple[str, list[PlacedWord]]:
    """The name at the beginning of a line: what is behind a comma or a separator is an address, but "Inc." is not."""
    used: list[PlacedWord] = []
    for number, word in enumerate(words):
        if word.text in _CUT and used and not _is_form_next(words[number + 1 :]):
            break
        used.append(word)
        following = words[number + 1 : number + 2]
        if word.text.endswith((",", ";")) and not (following and folded(following[0].text) in LEGAL_FORMS):
            break
    text = " ".join(word.text for word in used).strip(" ,;:")
    return text, used


def _is_form_next(words: Sequence[PlacedWord]) -> bool:
    return bool(words) and folded(words[0].text) in LEGAL_FORMS


def _is_name(text: str, words: Sequence[PlacedWord]) -> bool:
    least, most = NAME_CHARACTERS
    letters = sum(map(str.isalpha, text))
    if not least <= len(text) <= most or letters < 2 or letters < 0.5 * len(text.replace(" ", "")) or "@" in text:
        return False
    if next(each for each in text if each.isalpha()).islower():
        return False
    parts = [word.text for word in words]
    is_title = match_title(folded_words(words))
    if month_number(parts[0]) and any(map(str.isdigit, text)):
        return False
    return (
        not (is_title and is_title.words == len(words))
        and read_date(parts) is None
        and read_amount(text) is None
        and not text[0].isdigit()
    )


def is_company(text: str) -> bool:
    """Whether a name holds the form of a company."""
    return any(folded(word) in LEGAL_FORMS for word in text.replace("(", " ").split())


def _is_label(piece: Piece, vocabulary: Vocabulary) -> bool:
    match = vocabulary.labels.longest(folded_words(piece.words))
    if match is None:
        return False
    return match.words == len(piece.words) or piece.words[match.words - 1].text.endswith(":")


def _is_prose(piece: Piece) -> bool:
    """Whether a line has letters, and is neither a date nor an amount."""
    has_letters = any(map(str.isalpha, piece.text))
    return has_letters and read_amount(piece.text) is None and read_date(word.text for word in piece.words) is None


def _is_aligned(one: Piece, other: Piece) -> bool:
    slack = ALIGNED_HEIGHTS * max(one.height, other.height)
    middle = abs((one.left + one.right) - (other.left + other.right)) / 2
    return abs(one.left - other.left) < slack or abs(one.right - other.right) < slack or middle < slack
