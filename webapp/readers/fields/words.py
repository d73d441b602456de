"""Words with boxes, and the lines and pieces that they form on a page."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import median

LINE_SHARE = 0.4
GAP_HEIGHTS = 0.65
# Some programs place each letter by itself; what is closer than this is one word.
LETTER_GAP_HEIGHTS = 0.07
_LEADERS = re.compile(r"[._\u2026\u00b7]{3,}|[\u2026]")
_GLUED = re.compile(r"([^\W\d_][^\d:/]*:)([^/\s].*)|([\u2116#]|[Nn]\.?[º°])(\w.*)")
_NUMBER_SIGN = str.maketrans({"°": "o", "º": "o", "ª": "a", "#": "no", "ё": "е", "Ё": "е"})
_NOT_IN_LABELS = re.compile(r"[^\w%]+")


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word and its box, from the page's top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def centre(self) -> float:
        return (self.left + self.right) / 2


@dataclass(frozen=True)
class Piece:
    """Words of one line that are close together."""

    words: tuple[PlacedWord, ...]

    @cached_property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def left(self) -> float:
        return self.words[0].left

    @cached_property
    def right(self) -> float:
        return max(word.right for word in self.words)

    @cached_property
    def top(self) -> float:
        return min(word.top for word in self.words)

    @cached_property
    def bottom(self) -> float:
        return max(word.bottom for word in self.words)

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True)
class Row:
    """The pieces on one height of a page, from left to right; `place` counts the rows of the document.

    `depth` is how far down the page it is, from 0 to 1.
    """

    page: int
    place: int
    pieces: tuple[Piece, ...]
    depth: float = 0.0

    @cached_property
    def words(self) -> tuple[PlacedWord, ...]:
        return tuple(word for piece in self.pieces for word in piece.words)

    @cached_property
    def text(self) -> str:
        return "  ".join(piece.text for piece in self.pieces)

    @cached_property
    def top(self) -> float:
        return min(piece.top for piece in self.pieces)

    @cached_property
    def bottom(self) -> float:
        return max(piece.bottom for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of one page, whatever read them; `width` and `height` are the page's, in the unit of the boxes."""

    number: int
    words: tuple[PlacedWord, ...]
    width: float
    height: float


def rows_of(pages: Iterable[PageWords]) -> list[Row]:
    """The lines of all pages, from top to bottom, each cut where a gap is wide."""
    rows: list[Row] = []
    for page in pages:
        for line in _lines(page.words):
            pieces = tuple(_pieces(_whole_words(sorted(line, key=lambda word: word.left))))
            if pieces:
                rows.append(Row(page.number, len(rows), pieces, pieces[0].top / (page.height or 1)))
    return rows


def polygon(words: Sequence[PlacedWord]) -> tuple[float, ...]:
    """The corners of the box around words, clockwise from the top left."""
    left, right = min(word.left for word in words), max(word.right for word in words)
    top, bottom = min(word.top for word in words), max(word.bottom for word in words)
    return tuple(round(part, 2) for part in (left, top, right, top, right, bottom, left, bottom))


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """A word as labels are compared: no case, no accents, no punctuation; "N.º", "№" and "#" are "no"."""
    plain = unicodedata.normalize("NFKD", text.translate(_NUMBER_SIGN)).casefold()
    return _NOT_IN_LABELS.sub("", "".join(each for each in plain if not unicodedata.combining(each)))


def folded_set(text: str) -> frozenset[str]:
    """The words of a text as labels are compared."""
    return frozenset(map(folded, text.split()))


def _lines(words: Iterable[PlacedWord]) -> list[list[PlacedWord]]:
    lines: list[list[PlacedWord]] = []
    for word in sorted(words, key=lambda word: (word.middle, word.left)):
        # A large title beside small lines overlaps two of them, but is level with neither.
        for line in lines[-3:]:
            if abs(line[-1].middle - word.middle) < LINE_SHARE * min(line[-1].height, word.height):
                line.append(word)
                break
        else:
            lines.append([word])
    return lines


def _whole_words(line: Sequence[PlacedWord]) -> list[PlacedWord]:
    """Join letters that were placed one by one, part "Label:value", and drop the dots between label and value."""
    joined: list[PlacedWord] = []
    for word in line:
        last = joined[-1] if joined else None
        if last and word.left - last.right < LETTER_GAP_HEIGHTS * word.height and word.left > last.left:
            joined[-1] = PlacedWord(
                last.text + word.text, last.left, min(last.top, word.top), word.right, max(last.bottom, word.bottom)
            )
        else:
            joined.append(word)
    return [part for word in joined for part in _parts(word)]


def _parts(word: PlacedWord) -> Iterator[PlacedWord]:
    text = _LEADERS.sub("", word.text) if len(word.text) > 2 else word.text.strip("\u2026")
    if not text:
        return
    glued = _GLUED.fullmatch(text)
    if glued is None:
        yield PlacedWord(text, word.left, word.top, word.right, word.bottom) if text != word.text else word
        return
    label, value = glued[1] or glued[3], glued[2] or glued[4]
    cut = word.left + (word.right - word.left) * len(label) / len(text)
    yield PlacedWord(label, word.left, word.top, cut, word.bottom)
    yield PlacedWord(value, cut, word.top, word.right, word.bottom)


def _pieces(line: Sequence[PlacedWord]) -> Iterator[Piece]:
    if not line:
        return
    height = median(word.height for word in line)
    piece = [line[0]]
    for word in line[1:]:
        if word.left - piece[-1].right > GAP_HEIGHTS * height:
            yield Piece(tuple(piece))
            piece = []
        piece.append(word)
    yield Piece(tuple(piece))
