"""What a layout model would see in a PDF, read out of its real content by pdfium: words, lines, blocks.

Lengths are in inches from the top left, as the service gives them for PDFs.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import pypdfium2
from pypdfium2 import raw

POINTS = 72
CONFIDENCE = 0.98
# In heights of a letter: what separates words, cells, and paragraphs.
CELL_GAP = 1.6
PARAGRAPH_GAP = 1.6
HEADING_SIZE = 1.25
LABELLED = re.compile(r"(?P<label>[^:]{2,40}):\s+(?P<value>\S.*)")
# pdfium is not made for threads.
_ONE_AT_A_TIME = threading.Lock()

Box = tuple[float, float, float, float]


class Unreadable(Exception):
    """Not a PDF that can be opened; `is_locked` where a password is missing."""

    def __init__(self, *, is_locked: bool) -> None:
        super().__init__("unreadable")
        self.is_locked = is_locked


@dataclass
class Word:
    """A word: left, top, right, bottom."""

    text: str
    box: Box
    size: float


@dataclass
class Line:
    """Words on one height."""

    words: list[Word]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def box(self) -> Box:
        return around([word.box for word in self.words])

    @property
    def size(self) -> float:
        return max(word.size for word in self.words)

    def cells(self) -> list[list[Word]]:
        """The words, parted where there is room enough for a column."""
        parts = [[self.words[0]]]
        for before, word in zip(self.words, self.words[1:], strict=False):
            if word.box[0] - before.box[2] > CELL_GAP * before.size:
                parts.append([])
            parts[-1].append(word)
        return parts


@dataclass
class Block:
    """A paragraph, a heading or a table of a page."""

    kind: str
    lines: list[Line]

    @property
    def rows(self) -> list[list[list[Word]]]:
        return [line.cells() for line in self.lines]


@dataclass
class LayoutPage:
    """A page with its blocks in reading order."""

    number: int
    width: float
    height: float
    blocks: list[Block] = field(default_factory=list)

    @property
    def lines(self) -> list[Line]:
        return [line for block in self.blocks for line in block.lines]


def page_count(data: bytes) -> int:
    """How many pages a PDF has."""
    with _ONE_AT_A_TIME:
        return len(_opened(data))


def pages(data: bytes, numbers: Sequence[int]) -> list[LayoutPage]:
    """Look at some pages of a PDF."""
    with _ONE_AT_A_TIME:
        document = _opened(data)
        return [_page(document, number) for number in numbers]


def around(boxes: Sequence[Box]) -> Box:
    """The box that holds all of these."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def polygon(box: Box) -> list[float]:
    """Four corners, clockwise from the top left."""
    left, top, right, bottom = (round(value, 4) for value in box)
    return [left, top, right, top, right, bottom, left, bottom]


def key_values(lines: Sequence[Line]) -> Iterator[tuple[list[Word], list[Word], float]]:
    """`Label: value` on a line, or a label and, a gap further, its value."""
    for line in lines:
        cells = line.cells()
        colon = next((place for place, word in enumerate(line.words) if word.text.endswith(":")), None)
        if colon is not None and LABELLED.fullmatch(line.text) and colon + 1 < len(line.words):
            yield line.words[: colon + 1], line.words[colon + 1 :], 0.93
        elif len(cells) == 2:
            yield cells[0], cells[1], 0.81


def _opened(data: bytes) -> Any:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(is_locked=error.err_code == raw.FPDF_ERR_PASSWORD) from error


def _page(document: Any, number: int) -> LayoutPage:
    page = document[number - 1]
    width, height = page.get_size()
    text = page.get_textpage()
    lines = _lines(list(_words(text, height)))
    text.close()
    page.close()
    return LayoutPage(number, width / POINTS, height / POINTS, _blocks(lines))


def _words(text: Any, height: float) -> Iterator[Word]:
    letters = text.get_text_range()
    start = 0
    for match in re.finditer(r"\S+", letters):
        start, end = match.span()
        boxes = [text.get_charbox(index) for index in range(start, end)]
        left, top, right, bottom = around([(b[0], height - b[3], b[2], height - b[1]) for b in boxes])
        size = raw.FPDFText_GetFontSize(text.raw, start)
        yield Word(match[0], (left / POINTS, top / POINTS, right / POINTS, bottom / POINTS), max(size, 1) / POINTS)


def _lines(words: list[Word]) -> list[Line]:
    lines: list[Line] = []
    for word in words:
        if lines and _is_beside(lines[-1].words[-1], word):
            lines[-1].words.append(word)
        else:
            lines.append(Line([word]))
    return lines


def _is_beside(before: Word, word: Word) -> bool:
    middle = (word.box[1] + word.box[3]) / 2
    return before.box[1] - 0.05 < middle < before.box[3] + 0.05 and word.box[0] >= before.box[0]


def _blocks(lines: list[Line]) -> list[Block]:
    usual = median(line.size for line in lines) if lines else 0
    blocks: list[Block] = []
    for place, line in enumerate(lines):
        kind = _kind(lines, place, usual)
        if blocks and blocks[-1].kind == kind and kind != "heading" and not _is_apart(blocks[-1], line):
            blocks[-1].lines.append(line)
        else:
            blocks.append(Block(kind, [line]))
    return blocks


def _kind(lines: list[Line], place: int, usual: float) -> str:
    line = lines[place]
    if line.size > HEADING_SIZE * usual:
        return "heading"
    columns = len(line.cells())
    around_it = [len(other.cells()) for other in lines[max(0, place - 1) : place + 2] if other is not line]
    return "table" if columns > 2 and columns in around_it else "text"


def _is_apart(block: Block, line: Line) -> bool:
    gap = line.box[1] - block.lines[-1].box[3]
    limit = PARAGRAPH_GAP if block.kind == "text" else 3 * PARAGRAPH_GAP
    return gap > limit * line.size or gap < -line.size
