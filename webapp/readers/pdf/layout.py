"""Reads a PDF's layout with liteparse, a few pages at a time: order, headings, tables, boxes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from liteparse import LiteParse

from webapp.readers.extraction import Field, Table
from webapp.readers.fields.words import PageWords, PlacedWord
from webapp.readers.page_markdown import tidy
from webapp.readers.pdf.accents import with_accents
from webapp.readers.pdf.lattice import Lines, lines_of
from webapp.readers.pdf.paragraphs import with_paragraphs
from webapp.readers.pdf.tables import FoundTable, find_tables, with_mended

BATCH_PAGES = 20
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
    """Those of the PDF's own form."""
    tables: tuple[Table, ...]
    spans: tuple[tuple[float, float], ...]
    """Top and bottom of each table."""
    words: PageWords | None

    def as_page(self, number: int, fields: tuple[Field, ...]) -> "LayoutPage":
        """The same with another number, and the fields of that page's form."""
        tables = tuple(replace(table, page=number) for table in self.tables)
        words = replace(self.words, number=number) if self.words else None
        return replace(self, number=number, fields=fields, tables=tables, words=words)


def layout_pages(source: str | bytes, numbers: range, *, with_words: bool) -> Iterator[LayoutPage]:
    """Walk these pages; those that fail alone are left out, for the caller to notice."""
    for first in range(numbers.start, numbers.stop, BATCH_PAGES):
        last = min(numbers.stop - 1, first + BATCH_PAGES - 1)
        result = _parser(first, last).parse(source)
        failed = {error.page_num for error in result.page_errors}
        for page in result.pages:
            if page.page_num not in failed:
                yield _layout_page(page, _lines(source, page.page_num), with_words=with_words)


def _lines(source: str | bytes, number: int) -> Callable[[], Lines]:
    """What reads the lines on a page; few pages need them, and a drawing has very many."""

    def read() -> Lines:
        pages = _parser(number, number, with_graphics=True).parse(source).pages
        return lines_of(pages[0]) if pages else Lines()

    return read


def _parser(first: int, last: int, *, with_graphics: bool = False) -> LiteParse:
    # With OCR on, the library would fetch language data from the network.
    return LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        continue_on_page_error=True,
        quiet=True,
        image_mode="off",
        extract_links=False,
        extract_blocks=True,
        extract_form_fields=True,
        emit_word_boxes=True,
        extract_vector_graphics=with_graphics,
        # Ours to decide over all pages: the parser sees one batch and drops every copy.
        keep_headers_footers=True,
        num_workers=1,
        target_pages=f"{first}-{last}",
        # Its own limit of 1,000 counts from the first page of the file.
        max_pages=last,
    )


def _layout_page(page: Any, lines: Callable[[], Lines], *, with_words: bool) -> LayoutPage:
    found = find_tables(page, lines)
    tables = [each for each in found if _is_table(each)]
    words = PageWords(page.page_num, tuple(_words(page)), page.width, page.height) if with_words else None
    return LayoutPage(
        number=page.page_num,
        markdown=with_accents(tidy(with_mended(with_paragraphs(page, page.markdown), found))),
        text=with_accents(page.text),
        width=page.width,
        height=page.height,
        fields=tuple(_form_fields(page)),
        tables=tuple(
            Table(page.page_num, tuple(tuple(map(with_accents, row)) for row in each.texts)) for each in tables
        ),
        spans=tuple((each.top, each.bottom) for each in tables),
        words=words,
    )


def _words(page: Any) -> list[PlacedWord]:
    # Turned text (a stamp, an axis) is in no line, so the rules on lines would misread it.
    return [
        PlacedWord(with_accents(word.text), word.x, word.y, word.x + word.width, word.y + word.height)
        for item in page.text_items
        if not item.rotation
        for word in item.words
        if word.text.strip()
    ]


def _is_table(found: FoundTable) -> bool:
    # One column or one row is text in a frame.
    return len(found.rows) > 1 and max(map(len, found.rows)) > 1


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
