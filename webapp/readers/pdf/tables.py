"""Tables as the layout's parser gives them, with two of its faults mended.

A sentence right above or below a table without lines becomes a row, cut where the columns begin. And the text in the
middle of a cell over several rows is put into the row that happens to be beside it, instead of into the first one.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.readers.markup.markdown import escaped, paragraph_of, table, table_row
from webapp.readers.page_markdown import plain

# How far a rule may be from the border of a cell, in points, and how thick it is at most.
_NEAR, _THICK_MAX = 3.0, 3.0
# A sentence has at least so many words, and two for each cell that it was cut into.
_SENTENCE_WORDS_MIN = 5
_WRITTEN_TABLE = re.compile(r"^\|.*(?:\n\|.*)*", re.MULTILINE)

Rule = tuple[float, float, float]
"""A horizontal line: from x, to x, at y."""


@dataclass
class FoundTable:
    """A table of a page: its cells' Markdown, row by row, and the sentences that were taken for its rows."""

    rows: list[list[str]]
    top: float
    bottom: float
    before: str = ""
    after: str = ""
    is_mended: bool = False

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(plain, row)) for row in self.rows)

    def written(self) -> str:
        """As Markdown, between the sentences around it."""
        columns = max(map(len, self.rows), default=0)
        lines = [table_row([cell.replace("\\|", "|") for cell in row]) for row in self.rows]
        before, after = (paragraph_of([escaped(text)]) for text in (self.before, self.after))
        return "\n\n".join(part for part in (before, table(lines, columns), after) if part)


def find_tables(page: Any, rules: Callable[[], Sequence[Rule]]) -> list[FoundTable]:
    """The tables of a page as liteparse read it; `rules` reads its lines, which few pages need."""
    blocks = [block for block in page.blocks or () if block.kind == "table"]
    sentences = {_squeezed(item.text): item.text for item in page.text_items} if blocks else {}
    return [_found(block, sentences, rules) for block in blocks]


def rules_of(page: Any) -> list[Rule]:
    """The horizontal lines of a page that was read with its graphics."""
    graphics = page.vector_graphics
    lines = [
        (min(line.x1, line.x2), max(line.x1, line.x2), line.y1)
        for line in graphics.lines
        if abs(line.y1 - line.y2) <= _THICK_MAX
    ]
    for shape in graphics.shapes:
        x, y, width, height = shape.bbox
        if height <= _THICK_MAX:
            lines.append((x, x + width, y))
        elif shape.stroke:
            lines += [(x, x + width, y), (x, x + width, y + height)]
    return lines


def with_mended(markdown: str, tables: Sequence[FoundTable]) -> str:
    """A page's Markdown with its mended tables in the place of those that were written."""
    if not any(each.is_mended for each in tables):
        return markdown
    written = list(_WRITTEN_TABLE.finditer(markdown))
    if len(written) != len(tables):
        return markdown
    for found, mended in reversed(list(zip(written, tables, strict=True))):
        if mended.is_mended:
            markdown = markdown[: found.start()] + mended.written() + markdown[found.end() :]
    return markdown


def _found(block: Any, sentences: dict[str, str], rules: Callable[[], Sequence[Rule]]) -> FoundTable:
    cells = [list(row) for row in (block.header, *(block.rows or ())) if row]
    box = block.bbox
    found = FoundTable([], box.y if box else 0.0, box.y + box.height if box else 0.0)
    if len(cells) > 2 and (sentence := _sentence(cells[0], sentences)):
        found.before, found.is_mended = sentence, True
        del cells[0]
    if len(cells) > 2 and (sentence := _sentence(cells[-1], sentences)):
        found.after, found.is_mended = sentence, True
        del cells[-1]
    found.rows = [[cell.text for cell in row] for row in cells]
    if _may_span_rows(cells):
        found.is_mended |= _put_on_top(found.rows, cells, rules())
    return found


def _sentence(row: Sequence[Any], sentences: dict[str, str]) -> str | None:
    """The text of a row that is one piece of text on the page, although its cells are several."""
    texts = [plain(cell.text) for cell in row if cell.text]
    # Short cells of a real row may be one piece, too: "Item Price".
    is_long = len(texts) > 1 and len(" ".join(texts).split()) >= max(_SENTENCE_WORDS_MIN, 2 * len(texts))
    return sentences.get(_squeezed("".join(texts))) if is_long else None


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _may_span_rows(cells: Sequence[Sequence[Any]]) -> bool:
    """Whether a table with a box for each cell has empty ones below its headings."""
    is_grid = all(cell.bbox is not None for row in cells for cell in row)
    return is_grid and any(not cell.text for row in cells[1:] for cell in row)


def _put_on_top(rows: list[list[str]], cells: Sequence[Sequence[Any]], rules: Sequence[Rule]) -> bool:
    """Move the text of each cell over several rows to the first of them; whether any had to move."""
    has_moved = False
    for column in range(min(map(len, rows))):
        first = 0
        for row in range(1, len(rows) + 1):
            if row < len(rows) and _is_open(cells, row, column, rules):
                continue
            texts = [rows[each][column] for each in range(first, row) if rows[each][column]]
            if len(texts) == 1 and not rows[first][column]:
                for each in range(first, row):
                    rows[each][column] = ""
                rows[first][column] = texts[0]
                has_moved = True
            first = row
    return has_moved


def _is_open(cells: Sequence[Sequence[Any]], row: int, column: int, rules: Sequence[Rule]) -> bool:
    """Whether no line is drawn between a cell and the one above it, while there is one beside it."""
    y = cells[row][column].bbox.y
    near = [(start, end) for start, end, at in rules if abs(at - y) <= _NEAR]
    is_ruled = [
        any(start <= middle <= end for start, end in near)
        for middle in (cell.bbox.x + cell.bbox.width / 2 for cell in cells[row])
    ]
    return not is_ruled[column] and any(is_ruled)
