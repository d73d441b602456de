"""Puts the lines of a read picture in reading order: columns, rows, paragraphs, headings; as text and as Markdown."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray

from webapp.readers.extraction import Word
from webapp.readers.fields.words import PlacedWord
from webapp.readers.page_markdown import without_marks
from webapp.readers.pictures.letters import ReadLine
from webapp.readers.pictures.lines import LineBox
from webapp.readers.pictures.page import PlacedLine, ReadPicture

SAME_ROW = 0.5
# Of the usual height of a line: how wide the gap between two columns is, and how long their lines are.
COLUMN_GAP, COLUMN_LINE_LEAST, COLUMN_ROWS_LEAST = 1.0, 8.0, 3
HEADING, LARGE_HEADING, HEADING_LETTERS_MAX = 1.35, 1.8, 100
PARAGRAPH_GAP = 0.5
SHORT_LINE = 0.8
CROSSING_SHARE_MAX = 0.34
# Columns within columns.
DEPTH_MAX = 4
_BULLET = re.compile(r"[\u2022\u25aa\u25a0\u25a1\u2610\u2611\u2612*\u2013\u2014-] ")
_NUMBERED = re.compile(r"\d{1,3}[.)] ")
_SPECIAL = re.compile(r"[\\`*]|<(?=[A-Za-z/!?])")
_LINE_START = re.compile(r"^(#{1,6}(?=\s)|>|[-+](?=\s))")
_BROKEN = re.compile(r"(?<=[^\W\d_])-$")


@dataclass(frozen=True, slots=True)
class StraightLine:
    """A line with its box on the page as if the page lay straight."""

    line: ReadLine
    place: LineBox
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """The height of its letters, with a little air."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Where it is from the top."""
        return (self.top + self.bottom) / 2


Row = list[StraightLine]


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A page's text in reading order."""

    text: str
    markdown: str


def lay_out(picture: ReadPicture) -> LaidOut:
    """Put the lines of a page in order."""
    columns = list(_columns(straightened(picture), DEPTH_MAX))
    text = "\n".join(_row_text(row) for rows in columns for row in rows)
    return LaidOut(text, without_marks("\n\n".join(_blocks(columns))))


def straightened(picture: ReadPicture) -> list[StraightLine]:
    """The lines of a page with straight boxes, whatever angle it was scanned or photographed at."""
    flat = [each for each in picture.lines if not each.place.is_tall]
    angle = median(map(_angle, flat)) if flat else 0.0
    return [_piece(each, angle) for each in picture.lines]


def placed_words(picture: ReadPicture, scale: float) -> list[PlacedWord]:
    """The words of a page with straight boxes, in points."""
    return [
        PlacedWord(
            word.text,
            scale * (piece.left + word.start * (piece.right - piece.left)),
            scale * piece.top,
            scale * (piece.left + word.end * (piece.right - piece.left)),
            scale * piece.bottom,
        )
        for piece in straightened(picture)
        for word in piece.line.words
    ]


def words_of(picture: ReadPicture, scale: float) -> tuple[Word, ...]:
    """The words of a page where they are on it, in points and in reading order."""
    rows = [row for rows in _columns(straightened(picture), DEPTH_MAX) for row in rows]
    return tuple(
        Word(word.text, round(word.confidence, 3), tuple(round(float(x) * scale, 2) for x in corners.reshape(-1)))
        for row in rows
        for piece in row
        for word in piece.line.words
        for corners in (piece.place.part(word.start, word.end),)
    )


def _angle(each: PlacedLine) -> float:
    along = each.place.corners[1] - each.place.corners[0]
    return float(np.arctan2(along[1], along[0]))


def _piece(each: PlacedLine, angle: float) -> StraightLine:
    corners = each.place.corners
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    (x, y), (width, height) = corners.mean(axis=0) @ turned, (each.place.width, each.place.height)
    if each.place.is_tall:
        width, height = height, width
    box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return StraightLine(each.line, each.place, *map(float, box))


def _columns(lines: Sequence[StraightLine], depth: int) -> Iterator[list[Row]]:
    """Cut a page into columns, and what lies above, between and below them, each as its rows."""
    gutter = _gutter(lines) if depth else None
    if gutter is None:
        if lines:
            yield _rows(lines)
        return
    beside: list[StraightLine] = []
    across: list[StraightLine] = []
    for line in sorted(lines, key=lambda line: line.middle):
        is_across = line.left < gutter < line.right
        if is_across and beside:
            yield from _side_by_side(beside, gutter, depth)
            beside = []
        elif not is_across and across:
            yield _rows(across)
            across = []
        (across if is_across else beside).append(line)
    yield from _side_by_side(beside, gutter, depth) if beside else [_rows(across)]


def _side_by_side(lines: Sequence[StraightLine], gutter: float, depth: int) -> Iterator[list[Row]]:
    left, right = ([line for line in lines if (line.left < gutter) is is_left] for is_left in (True, False))
    if not (left and right):
        yield _rows(lines)
        return
    for side in (left, right):
        yield from _columns(side, depth - 1)


def _gutter(lines: Sequence[StraightLine]) -> float | None:
    """Where there is a gap between two columns that hardly a line crosses; None where there are no columns."""
    if len(lines) < 2 * COLUMN_ROWS_LEAST:
        return None
    left, right = np.array([line.left for line in lines]), np.array([line.right for line in lines])
    height = median(line.height for line in lines)
    best: tuple[int, float] | None = None
    for x in np.unique(left) - COLUMN_GAP * height / 2:
        before, behind = right <= x - COLUMN_GAP * height / 2, left >= x
        crossing = len(lines) - int(before.sum()) - int(behind.sum())
        if crossing > CROSSING_SHARE_MAX * len(lines) or (best is not None and crossing >= best[0]):
            continue
        if _is_column(lines, before) and _is_column(lines, behind):
            best = crossing, float(x)
    return None if best is None else best[1]


def _is_column(lines: Sequence[StraightLine], which: NDArray[np.bool_]) -> bool:
    """Whether lines are long enough to be a column of text; the cells of a table are not."""
    widths = [(line.right - line.left) / line.height for line, is_in in zip(lines, which, strict=True) if is_in]
    return len(widths) >= COLUMN_ROWS_LEAST and median(widths) >= COLUMN_LINE_LEAST


def _rows(pieces: Sequence[StraightLine]) -> list[Row]:
    rows: list[Row] = []
    for piece in sorted(pieces, key=lambda piece: piece.middle):
        if rows and abs(rows[-1][0].middle - piece.middle) < SAME_ROW * min(rows[-1][0].height, piece.height):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda piece: piece.left) for row in rows]


def _row_text(row: Row) -> str:
    return " ".join(piece.line.text for piece in row)


def _blocks(columns: Sequence[list[Row]]) -> Iterator[str]:
    heights = [piece.height for rows in columns for row in rows for piece in row if len(piece.line.text) > 3]
    usual = median(heights) if heights else 1.0
    for rows in columns:
        if not rows:
            continue
        right = max(piece.right for row in rows for piece in row)
        paragraph = [_marked(rows[0], usual)]
        for above, row in pairwise(rows):
            if _begins(above, row, right, usual):
                yield _joined(paragraph)
                paragraph = []
            paragraph.append(_marked(row, usual))
        yield _joined(paragraph)


def _begins(above: Row, row: Row, right: float, usual: float) -> bool:
    """Whether a row begins a block of its own."""
    gap = min(piece.top for piece in row) - max(piece.bottom for piece in above)
    text = _row_text(row)
    is_short = above[-1].right < above[0].left + SHORT_LINE * (right - above[0].left)
    return (
        gap > PARAGRAPH_GAP * usual
        or len(row) > 1
        or len(above) > 1
        or (is_short and not text[:1].islower())
        or bool(_BULLET.match(text) or _NUMBERED.match(text))
        or _level(row, usual) != _level(above, usual)
    )


def _level(row: Row, usual: float) -> int:
    """1 or 2 for a heading, by the height of its letters; 0 for text."""
    text = _row_text(row)
    height = max(piece.height for piece in row)
    if height < HEADING * usual or len(text) > HEADING_LETTERS_MAX or sum(map(str.isalpha, text)) < 3:
        return 0
    return 1 if height >= LARGE_HEADING * usual else 2


def _marked(row: Row, usual: float) -> str:
    level, text = _level(row, usual), _row_text(row)
    if level:
        return f"{'#' * level} {_SPECIAL.sub(_escaped, text)}"
    if bullet := _BULLET.match(text):
        return f"- {_SPECIAL.sub(_escaped, text[bullet.end() :])}"
    return _LINE_START.sub(r"\\\1", _SPECIAL.sub(_escaped, text))


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _joined(lines: Sequence[str]) -> str:
    """Join the lines of a paragraph; a word that is divided at the end of a line becomes one word."""
    text = lines[0]
    for line in lines[1:]:
        more = line.lstrip("# ") if text.startswith("#") else line
        is_divided = _BROKEN.search(text) and more[:1].islower()
        text = text[:-1] + more if is_divided else f"{text} {more}"
    return text
