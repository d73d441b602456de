"""Finds fields in Office files, web pages and mail, which have no places: their Markdown is laid out as on paper."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from webapp.readers.extraction import Extraction, Field, Table
from webapp.readers.fields.find import READERS, Found, KindReader, find_fields
from webapp.readers.fields.words import PageWords, PlacedWord
from webapp.readers.page_markdown import plain

CHARACTERS_MAX = 200_000
LINE, BLANK, HEIGHT = 14.0, 4.0, 10.0
LETTER, SPACE, COLUMN = 6.0, 3.0, 1_000.0
PAGE_HEIGHT = 842.0
_MARK = re.compile(r"<!-- page (\d+) -->")
_RULE = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
_STARTS = re.compile(r"#{1,6}\s+|>\s?|[-*+]\s+(?=\S)")
_CELLS = re.compile(r"(?<!\\)\|")


def with_fields(extraction: Extraction, readers: Sequence[KindReader] = READERS) -> Extraction:
    """Add the fields of a text without places, and its lines as a typed table."""
    if len(extraction.markdown) > CHARACTERS_MAX:
        return extraction
    pages = list(laid_out(extraction.markdown))
    found = find_fields(pages, readers)
    is_paged = extraction.page_count is not None
    # A mail's headers are in its text, too.
    names = {field.name for field in extraction.fields}
    fields = (_without_place(field, is_paged=is_paged) for field in found.fields if field.name not in names)
    return replace(
        extraction, fields=(*extraction.fields, *fields), tables=_tables(extraction.tables, found, is_paged=is_paged)
    )


def _without_place(field: Field, *, is_paged: bool) -> Field:
    return replace(field, polygon=None, page=field.page if is_paged else None)


def _tables(tables: Sequence[Table], found: Found, *, is_paged: bool) -> tuple[Table, ...]:
    """The document's tables, the one that holds its lines typed and without the totals."""
    made = [each if is_paged else replace(each, page=None) for each in found.tables]
    for table in made:
        for number, other in enumerate(tables):
            if _heading(table) in map(_plain_row, other.rows):
                typed = replace(table, caption=other.caption or table.caption)
                return (*tables[:number], typed, *tables[number + 1 :])
    return (*made, *tables)


def _heading(table: Table) -> tuple[str, ...]:
    return _plain_row(table.rows[0])


def _plain_row(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(plain(cell).split()) for cell in row if cell.strip())


def laid_out(markdown: str) -> Iterator[PageWords]:
    """The words of a Markdown text, page by page, laid out line below line."""
    number = 1
    lines: list[str] = []
    for line in markdown.splitlines():
        if mark := _MARK.fullmatch(line.strip()):
            if lines:
                yield _page(number, lines)
            number, lines = int(mark[1]), []
        else:
            lines.append(line)
    yield _page(number, lines)


def _page(number: int, lines: Sequence[str]) -> PageWords:
    words: list[PlacedWord] = []
    top = 0.0
    for line in lines:
        text = line.strip()
        if not text or _RULE.fullmatch(text):
            top += 0 if text else BLANK
            continue
        words += _line(text, top)
        top += LINE
    return PageWords(number, tuple(words), COLUMN, max(top, PAGE_HEIGHT))


def _line(text: str, top: float) -> Iterator[PlacedWord]:
    """The words of a line; the cells of a table's row each in a column of its own."""
    is_row = text.startswith("|") and text.endswith("|") and len(text) > 1
    cells = _CELLS.split(text[1:-1]) if is_row else [_STARTS.sub("", text, count=1)]
    for column, cell in enumerate(cells):
        left = column * COLUMN
        for word in plain(cell.replace("\\|", "|")).split():
            right = left + LETTER * len(word)
            yield PlacedWord(word, left, top, right, top + HEIGHT)
            left = right + SPACE
