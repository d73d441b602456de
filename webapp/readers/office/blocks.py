"""The Markdown that Office documents become: paragraphs, headings, nested lists, tables, notes."""

import re
from collections.abc import Iterable, Sequence

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Table
from webapp.readers.markup.markdown import escaped, paragraph_of, plain_row, table
from webapp.readers.markup.spans import Spans

CELLS_MAX = 5_000_000
COLUMNS_MAX = 200
HEADING_MAX = 6

_NUMBER_LABEL = re.compile(r"\d{1,9}[.)]")
_LINK_ADDRESS = re.compile(r"(?:https?://|mailto:)[^\s<>()\\]+")
LINK_MAX = 2_000


class Blocks:
    """A text's blocks in reading order; items of one list are one block, each under its parent."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._items: list[str] = []
        """The list that may still go on; put together at its end, since it can be long."""
        self._open: list[tuple[int, int]] = []
        """The items that the next one may be nested in: the level of each, and where its text begins."""

    @property
    def done(self) -> list[str]:
        """All blocks."""
        if self._items:
            self._done.append("\n".join(self._items))
            self._items, self._open = [], []
        return self._done

    def add(self, *blocks: str) -> None:
        """Add blocks that are no items; they end a list."""
        found = [block for block in blocks if block.strip()]
        if found:
            self.done.extend(found)

    def item(self, level: int, label: str, text: str) -> None:
        """Add an item; a label that Markdown does not know becomes part of its text."""
        if not text:
            return
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        indent = self._open[-1][1] if self._open else 0
        marker = f"{label} " if _NUMBER_LABEL.fullmatch(label) else f"- {label} " if label else "- "
        begins = indent + (len(marker) if _NUMBER_LABEL.fullmatch(label) else 2)
        self._open.append((level, begins))
        self._items.append(" " * indent + marker + text.replace("\n", "\n" + " " * begins))


class Tables:
    """The tables of one document, as data and as Markdown; all cells are counted."""

    def __init__(self) -> None:
        self.found: list[Table] = []
        self._cells = 0

    def add(
        self,
        rows: Iterable[Sequence[str]],
        *,
        page: int | None = None,
        caption: str | None = None,
        spans: Spans | None = None,
    ) -> list[str]:
        """Keep a table and give its blocks; a single column is layout, and its cells are paragraphs."""
        all_rows = [[*row] for row in rows]
        kept = trimmed(all_rows)
        width = len(kept[0]) if kept else 0
        self._cells += width * len(kept)
        if self._cells > CELLS_MAX:
            raise BadInput(f"more than {CELLS_MAX} cells in tables", code=FailureCode.TOO_LARGE)
        if width <= 1:
            return [paragraph(escaped(row[0])) for row in kept]
        found = spans.of(all_rows, width) if spans else ()
        self.found.append(Table(page, tuple(map(tuple, kept)), caption, spans=found))
        return [table([plain_row(row) for row in kept], width)]


def trimmed(rows: Sequence[list[str]]) -> list[list[str]]:
    """The rows that hold text, all of one width, without empty columns at their end; what is too wide goes last."""
    rows = [row for row in rows if any(row)]
    width = max((max(index for index, cell in enumerate(row, 1) if cell) for row in rows), default=0)
    if width > COLUMNS_MAX:
        rows = [_narrow(row) for row in rows]
        width = COLUMNS_MAX
    return [row[:width] + [""] * (width - len(row)) for row in rows]


def nested_table(rows: Iterable[Sequence[str]]) -> str:
    """A table within a cell, on one line."""
    return "; ".join(", ".join(cell for cell in row if cell) for row in rows if any(row))


def one_line(text: str) -> str:
    """Everything on one line."""
    return " ".join(text.split())


def paragraph(text: str) -> str:
    """A paragraph out of escaped text; its line breaks stay."""
    return paragraph_of(one_line(line) for line in text.split("\n"))


def heading(level: int, text: str) -> str:
    """A heading out of escaped text; nothing where there is no text."""
    text = one_line(text)
    return f"{'#' * max(1, min(level, HEADING_MAX))} {text}" if text else ""


def link(text: str, address: str) -> str:
    """Words that lead somewhere, out of escaped text; only to the web or to a mail address."""
    address = address.strip()
    if not text.strip() or len(address) > LINK_MAX or not _LINK_ADDRESS.fullmatch(address):
        return text
    return f"[{text.replace('[', '(').replace(']', ')')}]({address})"


def _narrow(row: list[str]) -> list[str]:
    last = COLUMNS_MAX - 1
    return [*row[:last], one_line(" ".join(row[last:]))] if len(row) > COLUMNS_MAX else row
