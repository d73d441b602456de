"""Reads a PDF's layout with liteparse, a few pages at a time: order, headings, tables, boxes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from liteparse import LiteParse

from webapp.readers.extraction import Field, Table
from webapp.readers.page_markdown import plain, tidy
from webapp.readers.pdf.key_values import Box, PlacedWord, find_fields

BATCH_PAGES = 20
LABELLED_COLUMNS_MAX = 2
BUTTONS = frozenset({"checkbox", "radiobutton", "radio"})


@dataclass(frozen=True, slots=True)
class LayoutPage:
    """What the layout parser makes of one page."""

    number: int
    markdown: str
    text: str
    width: float
    height: float
    fields: tuple[Field, ...]
    tables: tuple[Table, ...]


def layout_pages(source: str) -> Iterator[LayoutPage]:
    """Walk the pages; those that fail alone are left out, for the caller to notice."""
    # With OCR on, the library would fetch language data from the network.
    parser = LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        continue_on_page_error=True,
        quiet=True,
        image_mode="off",
        extract_links=False,
        extract_blocks=True,
        extract_form_fields=True,
        emit_word_boxes=True,
        # Ours to decide over all pages: the parser sees one batch and drops every copy.
        keep_headers_footers=True,
        num_workers=1,
    )
    for batch in parser.parse_batches(source, BATCH_PAGES):
        failed = {error.page_num for error in batch.result.page_errors}
        for page in batch.result.pages:
            if page.page_num not in failed:
                yield _layout_page(page)


def _layout_page(page: Any) -> LayoutPage:
    tables = [block for block in page.blocks or () if block.kind == "table"]
    fields = [*_form_fields(page), *find_fields(_words(page), page.page_num, _wide(tables))]
    return LayoutPage(
        number=page.page_num,
        markdown=tidy(page.markdown),
        text=page.text,
        width=page.width,
        height=page.height,
        fields=tuple(fields),
        tables=tuple(_table(block, page.page_num) for block in tables if _is_table(block)),
    )


def _words(page: Any) -> list[PlacedWord]:
    # Turned text (a stamp, an axis) is in no line, so the rules on lines would misread it.
    return [
        PlacedWord(word.text, word.x, word.y, word.x + word.width, word.y + word.height)
        for item in page.text_items
        if not item.rotation
        for word in item.words
        if word.text.strip()
    ]


def _wide(tables: list[Any]) -> list[Box]:
    return [
        (block.bbox.x, block.bbox.y, block.bbox.x + block.bbox.width, block.bbox.y + block.bbox.height)
        for block in tables
        if block.bbox is not None and _columns(block) > LABELLED_COLUMNS_MAX
    ]


def _is_table(block: Any) -> bool:
    # One column or one row is text in a frame.
    return _columns(block) > 1 and bool(block.rows)


def _columns(block: Any) -> int:
    return max((len(row) for row in (block.header or [], *(block.rows or []))), default=0)


def _table(block: Any, page: int) -> Table:
    rows = [row for row in (block.header, *(block.rows or [])) if row]
    return Table(page, tuple(tuple(plain(cell.text) for cell in row) for row in rows))


def _form_fields(page: Any) -> Iterator[Field]:
    for field in page.form_fields or ():
        value = _form_value(field)
        name = field.alternate_name or field.name or field.id
        if value and name:
            yield Field(name, value, 1.0, page.page_num, _polygon(field.rect))


def _form_value(field: Any) -> str:
    if field.type in BUTTONS:
        return (field.export_value or "Yes") if field.checked else ""
    return ", ".join(field.selected_options) or field.value or ""


def _polygon(rect: Any) -> tuple[float, ...] | None:
    if rect is None:
        return None
    left, top, right, bottom = rect.x, rect.y, rect.x + rect.width, rect.y + rect.height
    return tuple(round(part, 2) for part in (left, top, right, top, right, bottom, left, bottom))
