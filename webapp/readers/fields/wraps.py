"""Reads labels and values that were wrapped: within the cells of a grid, or in a line of labels and values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from webapp.readers.fields.found import WRAPPED, Candidate
from webapp.readers.fields.labels import INVOICE, Vocabulary, folded_words, match_label
from webapp.readers.fields.prose import joined
from webapp.readers.fields.values import read_value
from webapp.readers.fields.vocabulary import KINDS
from webapp.readers.fields.words import Piece, PlacedWord, Row

GRID_PIECES_MIN = 3
LINE_HEIGHTS, BELOW_HEIGHTS = 0.4, 1.9
LINES_MAX, LABEL_WORDS_MAX = 5, 4
ALIGNED = 3.0
_SEPARATORS = frozenset({"·", "|", "•"})
_TYPES = frozenset({"code", "date"})


def unwrapped(rows: Sequence[Row]) -> list[Row]:
    """The rows, with a line of labels and values that goes on in the next line as one."""
    done: list[Row] = []
    for row in rows:
        if done and _goes_on(done[-1], row):
            done[-1] = replace(done[-1], pieces=(Piece((*done[-1].words, *row.words)),))
        else:
            done.append(row)
    return done


def wrapped_pairs(rows: Sequence[Row], vocabulary: Vocabulary = INVOICE) -> Iterator[Candidate]:
    """The values of a grid's cells where the label or the value takes more than one line."""
    for number, row in enumerate(rows):
        if len(row.pieces) < GRID_PIECES_MIN:
            continue
        for piece in row.pieces:
            if len(piece.words) <= LABEL_WORDS_MAX:
                yield from _of_cell(row, _column(rows, number, piece), vocabulary)


def _of_cell(row: Row, lines: Sequence[Piece], vocabulary: Vocabulary) -> Iterator[Candidate]:
    """Read a column's first lines as label, the next as value; the longest label counts."""
    for taken in range(min(3, len(lines) - 1), 0, -1):
        words = [word for line in lines[:taken] for word in line.words]
        match = vocabulary.labels.longest(folded_words(words))
        if (
            match is None
            or match.words != len(words)
            or KINDS[match.kind][1] not in _TYPES
            or not _are_close(lines[:taken])
        ):
            continue
        for end in range(taken + 1, min(taken + 3, len(lines) + 1)):
            value = _joined(lines[taken:end])
            if (
                taken + end > 3
                and _are_close(lines[taken:end])
                and (found := read_value(match.kind, value))
                and found[1] == len(value)
            ):
                yield Candidate(match.kind, match.weight, found[0], row.page, row.place, WRAPPED)
                return


def _column(rows: Sequence[Row], number: int, first: Piece) -> list[Piece]:
    """A piece and those below it in its column."""
    lines = [first]
    for row in rows[number + 1 :]:
        last = lines[-1]
        if (
            row.page != rows[number].page
            or len(lines) == LINES_MAX
            or row.top - last.bottom > BELOW_HEIGHTS * last.height
        ):
            break
        below = next((each for each in row.pieces if _is_below(first, each)), None)
        if below is not None and below.top > last.top + last.height / 2:
            lines.append(below)
    return lines


def _are_close(lines: Sequence[Piece]) -> bool:
    return all(below.top - above.bottom < LINE_HEIGHTS * above.height for above, below in pairwise(lines))


def _goes_on(row: Row, following: Row) -> bool:
    """Whether a line of labels and values with separators goes on in the next line."""
    is_line = len(row.pieces) == len(following.pieces) == 1 and any(word.text in _SEPARATORS for word in row.words)
    if not is_line or not (":" in row.text or match_label(folded_words(row.words))):
        return False
    last = row.words[-1]
    is_same = row.page == following.page and following.top - last.bottom < LINE_HEIGHTS * last.height
    return is_same and abs(row.pieces[0].left - following.pieces[0].left) < ALIGNED


def _is_below(piece: Piece, other: Piece) -> bool:
    middle = abs((piece.left + piece.right) - (other.left + other.right)) / 2
    return min(abs(piece.left - other.left), abs(piece.right - other.right), middle) < ALIGNED


def _joined(lines: Sequence[Piece]) -> list[PlacedWord]:
    """The words of lines; a number that was cut behind a hyphen or a slash is one word again."""
    words: tuple[PlacedWord, ...] = ()
    for line in lines:
        words = joined(words, line.words) if words else line.words
    return list(words)
