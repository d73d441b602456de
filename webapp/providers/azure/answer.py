"""Reads what Document Intelligence answers (an AnalyzeResult) into an Extraction.

Offsets in it count code points, because that was asked for. What is missing or has another form
is left out rather than guessed: the answer was paid for, and most of it is better than none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from webapp.providers.azure.fields import document_fields, pair_fields
from webapp.providers.azure.json_values import first_region, items, number, numbers, region_page, text_of, whole
from webapp.providers.azure.markdown import Edit, page_markdown, pipe_table
from webapp.providers.ports import Window
from webapp.readers.cleaning import clean_extraction
from webapp.readers.extraction import PAGE_MARK, Extraction, Page, Table, Word
from webapp.readers.markup.spans import Span
from webapp.readers.page_reading import share_of_sure_letters
from webapp.readers.titles import chosen_title

CODE_POINTS = "unicodeCodePoint"
ROWS_MAX, COLUMNS_MAX, CELLS_MAX = 10_000, 500, 200_000
MISSING = "{missing} of the {asked} pages from page {first} on were not read by the service."


def read_result(result: Mapping[str, Any], window: Window, extractor: str, version: str) -> Extraction:
    """Make an Extraction of one window's result."""
    raw_pages = [page for page in items(result, "pages") if whole(page, "pageNumber")]
    markdown = _markdown(result, raw_pages)
    pages = tuple(_page(page, markdown[place]) for place, page in enumerate(raw_pages))
    warnings = [text_of(warning, "message") for warning in items(result, "warnings")]
    missing = _missing(window, len(pages))
    if missing and window.first is not None:
        asked = len(pages) + missing
        warnings.append(MISSING.format(missing=missing, asked=asked, first=window.first))
    extraction = Extraction(
        extractor=extractor,
        version=version,
        markdown=_marked(pages, markdown),
        pages=pages,
        page_count=len(pages),
        title=_title(result),
        language=_language(result),
        fields=(*document_fields(result), *pair_fields(result)),
        tables=tuple(_tables(result)),
        partial=missing > 0,
        warnings=tuple(filter(None, warnings)),
    )
    return clean_extraction(extraction)


def _missing(window: Window, count: int) -> int:
    if window.first is None or window.last is None:
        return 0
    return max(0, window.last - window.first + 1 - count)


def _markdown(result: Mapping[str, Any], pages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each page's own Markdown, with its tables as Markdown has them."""
    content = text_of(result, "content")
    if result.get("stringIndexType") != CODE_POINTS:
        # Nobody knows what the offsets count, so none is used: all text goes to the first page.
        return [page_markdown(content, 0, len(content), [])] + [""] * (len(pages) - 1) if pages else []
    edits = list(_table_edits(result))
    return ["\n\n".join(_pieces(content, page, edits)) for page in pages]


def _pieces(content: str, page: Mapping[str, Any], edits: Sequence[Edit]) -> Iterator[str]:
    for span in items(page, "spans"):
        start = whole(span, "offset")
        if text := page_markdown(content, start, start + whole(span, "length"), edits):
            yield text


def _table_edits(result: Mapping[str, Any]) -> Iterator[Edit]:
    for table in items(result, "tables"):
        spans = items(table, "spans")
        if spans and (rows := _rows(table)):
            start = whole(spans[0], "offset")
            caption = text_of(table.get("caption"), "content")
            shown = pipe_table(rows)
            yield Edit(start, start + whole(spans[0], "length"), f"{caption}\n\n{shown}" if caption else shown)


def _page(page: Mapping[str, Any], markdown: str) -> Page:
    lines = "\n".join(filter(None, (text_of(line, "content") for line in items(page, "lines"))))
    words = tuple(
        Word(text_of(word, "content"), number(word, "confidence"), numbers(word, "polygon"))
        for word in items(page, "words")
    )
    width, height = number(page, "width"), number(page, "height")
    sure_share = share_of_sure_letters(words)
    return Page(whole(page, "pageNumber"), lines or markdown, width, height, words, sure_share=sure_share)


def _marked(pages: Sequence[Page], markdown: Iterable[str]) -> str:
    parts = zip(pages, markdown, strict=True)
    return "\n\n".join(f"{PAGE_MARK.format(number=page.number)}\n\n{text}".rstrip() for page, text in parts)


def _title(result: Mapping[str, Any]) -> str | None:
    titles = (text_of(part, "content") for part in items(result, "paragraphs") if part.get("role") == "title")
    return next(filter(None, map(chosen_title, titles)), None)


def _language(result: Mapping[str, Any]) -> str | None:
    """The language of most of the text, "en" out of "en-GB"."""
    sizes: dict[str, int] = {}
    for found in items(result, "languages"):
        size = sum(whole(span, "length") for span in items(found, "spans"))
        code = text_of(found, "locale").split("-")[0].lower()
        if code:
            sizes[code] = sizes.get(code, 0) + size
    return max(sizes, key=lambda code: sizes[code]) if sizes else None


def _tables(result: Mapping[str, Any]) -> Iterator[Table]:
    for table in items(result, "tables"):
        if rows := _rows(table):
            caption = text_of(table.get("caption"), "content") or None
            yield Table(region_page(first_region(table)), rows, caption, spans=tuple(_spans(table)))


def _spans(table: Mapping[str, Any]) -> Iterator[Span]:
    """The cells that take several places."""
    for cell in items(table, "cells"):
        height, width = whole(cell, "rowSpan") or 1, whole(cell, "columnSpan") or 1
        if height * width > 1:
            yield whole(cell, "rowIndex"), whole(cell, "columnIndex"), height, width


def _rows(table: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The cells as a grid; a cell that spans several places is put in the first."""
    height, width = whole(table, "rowCount"), whole(table, "columnCount")
    if not (0 < height <= ROWS_MAX and 0 < width <= COLUMNS_MAX and height * width <= CELLS_MAX):
        return ()
    grid = [[""] * width for _ in range(height)]
    for cell in items(table, "cells"):
        row, column = whole(cell, "rowIndex"), whole(cell, "columnIndex")
        if row < height and column < width:
            grid[row][column] = text_of(cell, "content")
    return tuple(tuple(row) for row in grid)
