"""Finds labelled values on a page by the positions of its words: "Label: value", label and value
with a gap between them, a label above its value.

The rules are plain, and say by their confidence how plain the case was. Tables of three columns
and more are left out, since their headings look like labels.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from webapp.readers.extraction import Field

SAME_LINE_SHARE = 0.5
GAP_HEIGHTS = 1.1
ALIGNED_POINTS = 4.0
BELOW_HEIGHTS = 1.6
LABEL_CHARACTERS_MAX = 40
LABEL_WORDS_MAX = 5
VALUE_CHARACTERS_MAX = 120
PROSE_WORDS = 10
FIELDS_PER_PAGE_MAX = 60
WORDS_PER_PAGE_MAX = 5_000
# A page where two pieces of text share most lines is set in two columns, not a form.
COLUMN_ROWS_MIN, COLUMN_ROWS_SHARE = 12, 0.5
COLON, GAP, ABOVE = 0.9, 0.7, 0.5

_COLON = re.compile(r"([^:]{2,40}?)\s?:\s+(\S.*)", re.DOTALL)
_LABEL = re.compile(r"[^\W\d_][\w .,/#&()'\u2019°\u2116-]*")


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word and its box, from the page's top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of one line that are close together."""

    words: tuple[PlacedWord, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def left(self) -> float:
        return self.words[0].left

    @property
    def top(self) -> float:
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        return max(word.bottom for word in self.words)

    @property
    def polygon(self) -> tuple[float, ...]:
        right = max(word.right for word in self.words)
        return (self.left, self.top, right, self.top, right, self.bottom, self.left, self.bottom)


Row = tuple[Piece, ...]
Box = tuple[float, float, float, float]


def find_fields(words: Sequence[PlacedWord], page: int, tables: Sequence[Box] = ()) -> list[Field]:
    """Give a page's labelled values; `tables` are the boxes (left, top, right, bottom) to skip."""
    if len(words) > WORDS_PER_PAGE_MAX:
        return []
    rows = rows_of(word for word in words if not _inside(word, tables))
    columns = _is_set_in_columns(rows)
    found: dict[tuple[str, str], Field] = {}
    for row, below in pairwise([*rows, ()]):
        for field in _row_fields(row, below, page, columns=columns):
            found.setdefault((field.name, field.value), field)
    return list(found.values())[:FIELDS_PER_PAGE_MAX]


def rows_of(words: Iterable[PlacedWord]) -> list[Row]:
    """Sort words into lines from top to bottom and cut each line where a gap is wide."""
    lines: list[list[PlacedWord]] = []
    for word in sorted(words, key=lambda word: (word.top + word.bottom, word.left)):
        if lines and _share_line(lines[-1][0], word):
            lines[-1].append(word)
        else:
            lines.append([word])
    return [tuple(_pieces(sorted(line, key=lambda word: word.left))) for line in lines]


def _row_fields(row: Row, below: Row, page: int, *, columns: bool) -> Iterator[Field]:
    with_colon = [field for piece in row if (field := _inner(piece, page))]
    yield from with_colon
    for label, value in pairwise(row):
        if label.text.endswith(":") and _is_label(label.text[:-1]):
            yield _field(label.text[:-1], value, COLON, page)
    if with_colon or columns:
        return
    if len(row) == 2 and _is_label(row[0].text) and _is_value(row[1].text) and not row[0].text.endswith(":"):
        yield _field(row[0].text, row[1], GAP, page)
    elif len(row) > 1 and all(_is_label(piece.text) for piece in row):
        yield from _below(row, below, page)


def _inner(piece: Piece, page: int) -> Field | None:
    match = _COLON.fullmatch(piece.text)
    if match is None or not _is_label(match[1]) or not _is_value(match[2]) or _is_prose(match[2]):
        return None
    count = len(match[1].split())
    return _field(match[1], Piece(piece.words[count:] or piece.words), COLON, page, value=match[2])


def _below(row: Row, below: Row, page: int) -> Iterator[Field]:
    # All labels have a value or none has: half a match is most likely a heading over a list.
    if len(row) != len(below):
        return
    for label, value in zip(row, below, strict=True):
        far = value.top - label.bottom > BELOW_HEIGHTS * (label.bottom - label.top)
        if far or abs(value.left - label.left) > ALIGNED_POINTS or not _is_value(value.text):
            return
    for label, value in zip(row, below, strict=True):
        yield _field(label.text, value, ABOVE, page)


def _field(label: str, piece: Piece, confidence: float, page: int, value: str | None = None) -> Field:
    polygon = tuple(round(part, 2) for part in piece.polygon)
    return Field(label.strip(), (value or piece.text).strip(), confidence, page, polygon)


def _is_label(text: str) -> bool:
    short = len(text) <= LABEL_CHARACTERS_MAX and len(text.split()) <= LABEL_WORDS_MAX
    return short and len(text) > 1 and text[0].isupper() and bool(_LABEL.fullmatch(text)) and not text.endswith(".")


def _is_value(text: str) -> bool:
    return 0 < len(text) <= VALUE_CHARACTERS_MAX and not text.endswith(":")


def _is_prose(text: str) -> bool:
    """Say whether a text behind a colon is rather how a sentence goes on."""
    words = text.split()
    return len(words) > PROSE_WORDS or (len(words) > 2 and words[0].isalpha() and words[0].islower())


def _is_set_in_columns(rows: Sequence[Row]) -> bool:
    double = sum(len(row) > 1 for row in rows)
    return double >= COLUMN_ROWS_MIN and double > COLUMN_ROWS_SHARE * len(rows)


def _share_line(one: PlacedWord, other: PlacedWord) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap > SAME_LINE_SHARE * min(one.bottom - one.top, other.bottom - other.top)


def _pieces(line: Sequence[PlacedWord]) -> Iterator[Piece]:
    piece = [line[0]]
    for word in line[1:]:
        if word.left - piece[-1].right > GAP_HEIGHTS * (word.bottom - word.top):
            yield Piece(tuple(piece))
            piece = []
        piece.append(word)
    yield Piece(tuple(piece))


def _inside(word: PlacedWord, boxes: Sequence[Box]) -> bool:
    x, y = (word.left + word.right) / 2, (word.top + word.bottom) / 2
    return any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in boxes)
