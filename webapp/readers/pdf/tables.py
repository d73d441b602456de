"""Tables as the layout's parser gives them, with two of its faults mended.

A sentence right above or below a table without lines becomes a row, cut where the columns begin. And a table whose
cells go over several rows or columns is read anew by its lines.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.readers.markup.markdown import escaped, paragraph_of, table, table_row
from webapp.readers.page_markdown import plain
from webapp.readers.pdf.lattice import Lines, read_by_lines

# A sentence has at least so many words, and two for each cell that it was cut into.
_SENTENCE_WORDS_MIN = 5
_WRITTEN_TABLE = re.compile(r"^\|.*(?:\n\|.*)*", re.MULTILINE)


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


def find_tables(page: Any, lines: Callable[[], Lines]) -> list[FoundTable]:
    """The tables of a page as liteparse read it; `lines` reads those that are drawn, which few pages need."""
    blocks = [block for block in page.blocks or () if block.kind == "table"]
    sentences = {_squeezed(item.text): item.text for item in page.text_items} if blocks else {}
    words = [word for item in page.text_items if not item.rotation for word in item.words] if blocks else []
    return [_found(block, sentences, words, lines) for block in blocks]


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


def _found(block: Any, sentences: dict[str, str], words: list[Any], lines: Callable[[], Lines]) -> FoundTable:
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
    if _may_span(cells, words):
        by_lines = read_by_lines(box, (word for word in words if word.text.strip()), lines())
        if by_lines and len(by_lines) >= len(cells) and len(by_lines[0]) >= len(cells[0]):
            found.rows, found.is_mended = [list(map(escaped, row)) for row in by_lines], True
    return found


def _sentence(row: Sequence[Any], sentences: dict[str, str]) -> str | None:
    """The text of a row that is one piece of text on the page, although its cells are several."""
    texts = [plain(cell.text) for cell in row if cell.text]
    # Short cells of a real row may be one piece, too: "Item Price".
    is_long = len(texts) > 1 and len(" ".join(texts).split()) >= max(_SENTENCE_WORDS_MIN, 2 * len(texts))
    return sentences.get(_squeezed("".join(texts))) if is_long else None


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _may_span(cells: Sequence[Sequence[Any]], words: Sequence[Any]) -> bool:
    """Whether a table with a box for each cell has empty ones, or a row where several have more than one line."""
    if not all(cell.bbox is not None for row in cells for cell in row):
        return False
    return any(not cell.text for row in cells for cell in row) or any(_is_torn(row, words) for row in cells)


def _is_torn(row: Sequence[Any], words: Sequence[Any]) -> bool:
    """Whether several cells of a row have words of which one is below the other."""
    top, bottom = row[0].bbox.y, row[0].bbox.y + row[0].bbox.height
    beside = [word for word in words if top <= word.y + word.height / 2 <= bottom]
    low = min((word.y + word.height for word in beside), default=bottom)
    return sum(any(word.y >= low and _is_in(cell.bbox, word) for word in beside) for cell in row) > 1


def _is_in(box: Any, word: Any) -> bool:
    return bool(box.x <= word.x + word.width / 2 <= box.x + box.width)
