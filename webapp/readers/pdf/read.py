"""The sandboxed job that reads the text of a PDF. Two parsers check each other.

pdfium opens the file, counts its pages and gives each page's plain text; liteparse gives order,
headings, tables and boxes. Where liteparse lost a page or much of its text, pdfium's plain text
takes its place and the result says so: a parser that stops early is never taken for success.
Pages without text of use are named in the result; OCR reads them, where it is on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pypdfium2
from pypdfium2 import raw

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.creation import day_of_creation
from webapp.readers.extraction import Page, PageState, Table
from webapp.readers.fields.find import PAGES_MAX as PAGES_WITH_FIELDS_MAX
from webapp.readers.fields.find import Found, find_fields
from webapp.readers.page_markdown import without_marks
from webapp.readers.pdf.accents import with_accents
from webapp.readers.pdf.layout import BATCH_PAGES, LayoutPage, layout_pages
from webapp.readers.pdf.pages import opened
from webapp.readers.pdf.text_layer import is_of_use, is_picture_with_little_text
from webapp.readers.pdf.torn import is_torn, with_letters, without_letters
from webapp.readers.pdf.windows import PdfWindow, joined, window_from
from webapp.sandbox.child import Report

KEPT_SHARE_MIN = 0.6
PLAIN_CHARACTERS_MIN = 40
LAYOUT_PROGRESS = 0.9


@dataclass(slots=True)
class _Findings:
    """What was read from the pages so far."""

    pages: list[Page] = field(default_factory=list)
    markdown: list[str] = field(default_factory=list)
    layouts: list[LayoutPage] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    plain: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)


def parse_pdf(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the PDF at `source`, or of a long one the window of pages that begins at `first`.

    The answer is an Extraction, or PdfWindow, as plain data. Without `layout` pdfium reads alone: the caller's second
    try after a crash.
    """
    source, pages_max, first = (arguments[name] for name in ("source", "pages_max", "first"))
    with opened(str(source)) as document:
        count = len(document)
        if count == 0:
            raise BadInput("the PDF has no pages")
        if count > int(str(pages_max)):
            raise BadInput(f"{count} pages, {pages_max} allowed", code=FailureCode.TOO_LARGE)
        numbers = window_from(int(str(first)), count)
        layouts = _layouts(str(source), numbers, count, report) if arguments["layout"] else {}
        plain = {number: _plain_page(document, number) for number in numbers}
        _read_torn_pages(document, plain, layouts)
        findings = _compare(plain, layouts)
        window = replace(
            _window(findings, count),
            title=document.get_metadata_value("Title"),
            created=day_of_creation(document.get_metadata_value("CreationDate")),
            language=_declared_language(document),
            parts=document.count_attachments(),
        )
    if len(numbers) < count:
        return {"window": asdict(window)}
    return {"whole": asdict(joined([window], has_ocr=bool(arguments["ocr"])))}


def _layouts(source: str, numbers: range, count: int, report: Report) -> dict[int, LayoutPage]:
    found: dict[int, LayoutPage] = {}
    try:
        for page in layout_pages(source, numbers, with_words=count <= PAGES_WITH_FIELDS_MAX):
            found[page.number] = page
            if page.number % BATCH_PAGES == 0:
                report.progress(LAYOUT_PROGRESS * page.number / count)
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - the parser panics with one; the pages it did not reach are compared below
        return found
    report.progress(LAYOUT_PROGRESS * numbers[-1] / count)
    return found


def _read_torn_pages(document: Any, plain: dict[int, Page | None], layouts: dict[int, LayoutPage]) -> None:
    """Put other results into `plain` and `layouts` for pages that were read as vertical writing, and are none."""
    torn = [number for number, page in plain.items() if page is not None and is_torn(page.text)]
    for first in range(0, len(torn), BATCH_PAGES):
        numbers = torn[first : first + BATCH_PAGES]
        try:
            data = with_letters(document, numbers)
            whole = {number: page for number, page in _whole_pages(data, numbers) if _is_same(page, plain[number])}
            laid_out = list(layout_pages(data, range(1, len(numbers) + 1), with_words=True)) if layouts else []
        except (MemoryError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001, S112 - the parser panics with one; what was read before stays
            continue
        plain |= whole
        earlier = {number: layouts.pop(number) for number in whole if number in layouts}
        for layout in laid_out:
            number = numbers[layout.number - 1]
            if number in earlier:
                layouts[number] = layout.as_page(number, earlier[number].fields)


def _whole_pages(data: bytes, numbers: Sequence[int]) -> Iterator[tuple[int, Page]]:
    with opened(data) as again:
        for place, number in enumerate(numbers, 1):
            page = _plain_page(again, place)
            if page is not None:
                yield number, replace(page, number=number, text=without_letters(page.text))


def _is_same(page: Page, torn: Page | None) -> bool:
    """Whether it has the letters of the page before, and words of them."""
    return torn is not None and not is_torn(page.text) and _size(page.text) == _size(torn.text)


def _compare(plain: dict[int, Page | None], layouts: dict[int, LayoutPage]) -> _Findings:
    findings = _Findings()
    for number, page in plain.items():
        layout = layouts.get(number)
        if page is not None:
            _take(findings, page, layout)
        elif layout is not None:
            _take(findings, Page(number, layout.text, layout.width, layout.height), layout)
        else:
            findings.lost.append(number)
            findings.pages.append(Page(number, "", state=PageState.LOST))
            findings.markdown.append("")
    return findings


def _take(findings: _Findings, page: Page, layout: LayoutPage | None) -> None:
    size = _size(page.text)
    if layout is not None and _is_complete(_size(layout.markdown), size):
        findings.markdown.append(layout.markdown)
        findings.layouts.append(layout)
    else:
        findings.markdown.append(without_marks(page.text.strip()))
        if size:
            findings.plain.append(page.number)
    if not _size(findings.markdown[-1]):
        (findings.blank if page.state is PageState.BLANK else findings.scanned).append(page.number)
        page = page if page.state is PageState.BLANK else replace(page, state=PageState.NEEDS_OCR)
    elif not size:
        state = PageState.OWN_TEXT if page.state is PageState.BLANK else page.state
        page = replace(page, state=state, text=findings.markdown[-1])
    findings.pages.append(page)


def _is_complete(kept: int, size: int) -> bool:
    few = size < PLAIN_CHARACTERS_MIN and kept > 0
    return few or kept >= KEPT_SHARE_MIN * max(size, 1)


def _plain_page(document: Any, number: int) -> Page | None:
    """A page's plain text; None where the page can't be opened."""
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError:
        return None
    try:
        width, height = page.get_size()
        drawn = raw.FPDFPage_CountObjects(page.raw) > 0
        text_page = page.get_textpage()
        try:
            text = with_accents(text_page.get_text_range())
        finally:
            text_page.close()
        is_damaged = bool(text.strip()) and not is_of_use(text)
        state = _state(page, text, drawn=drawn, is_damaged=is_damaged)
        return Page(number, text, width, height, state=state, is_damaged=is_damaged)
    except pypdfium2.PdfiumError:
        return None
    finally:
        page.close()


def _state(page: Any, text: str, *, drawn: bool, is_damaged: bool) -> PageState:
    if not drawn:
        return PageState.BLANK
    has_use = text.strip() and not is_damaged and not is_picture_with_little_text(page, text)
    return PageState.OWN_TEXT if has_use else PageState.NEEDS_OCR


def _window(findings: _Findings, count: int) -> PdfWindow:
    found = find_fields([page.words for page in findings.layouts if page.words])
    return PdfWindow(
        count=count,
        pages=tuple(findings.pages),
        markdown=tuple(findings.markdown),
        fields=(*(each for page in findings.layouts for each in page.fields), *found.fields),
        tables=tuple(_tables(findings.layouts, found)),
        scanned=tuple(findings.scanned),
        blank=tuple(findings.blank),
        plain=tuple(findings.plain),
        lost=tuple(findings.lost),
    )


def _tables(layouts: Iterable[LayoutPage], found: Found) -> Iterator[Table]:
    """The tables of all pages; an invoice's lines in the place of what the parser made of them."""
    for page in layouts:
        yield from (each for each in found.tables if each.page == page.number)
        for table, (top, bottom) in zip(page.tables, page.spans, strict=True):
            if not any(number == page.number and top < end and bottom > start for number, start, end in found.boxes):
                yield table


def _declared_language(document: Any) -> str | None:
    """Read the catalog's language, "en" out of "en-GB"; many files declare none."""
    size = raw.FPDFCatalog_GetLanguage(document.raw, None, 0)
    if not 2 < size <= 200:
        return None
    buffer = (raw.FPDF_WCHAR * (size // 2))()
    raw.FPDFCatalog_GetLanguage(document.raw, buffer, size)
    declared = bytes(buffer).decode("utf-16-le", "ignore").rstrip("\0").split("-")[0].lower()
    return declared if len(declared) in {2, 3} and declared.isascii() and declared.isalpha() else None


def _size(text: str) -> int:
    return sum(map(len, text.split()))
