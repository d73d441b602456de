"""The sandboxed job that reads a PDF. Two parsers check each other.

pdfium opens the file, counts its pages and gives each page's plain text; liteparse gives order,
headings, tables and boxes. Where liteparse lost a page or much of its text, pdfium's plain text
takes its place and the result says so: a parser that stops early is never taken for success.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import pypdfium2
from pypdfium2 import raw

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction, Page
from webapp.readers.language import guess_language
from webapp.readers.page_markdown import assemble, drop_running_heads, first_heading, without_marks
from webapp.readers.pdf.layout import BATCH_PAGES, LayoutPage, layout_pages
from webapp.readers.pdf.pages import opened
from webapp.sandbox.child import Report

NAME = "local"
KEPT_SHARE_MIN = 0.6
PLAIN_CHARACTERS_MIN = 40
TITLE_CHARACTERS_MAX = 300
PAGES_NAMED_MAX = 12
NO_TITLES = frozenset({"", "untitled", "document1", "unknown"})
LAYOUT_PROGRESS = 0.9

# What readers of the document should know; {pages} is "3" or "1, 4-6".
NO_TEXT_ON = "No text on page {pages}: it looks scanned, and reading it needs OCR."
PLAIN_ON = "The layout of page {pages} could not be read; its plain text is used."
LOST_ON = "Page {pages} could not be read."


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
    """Read the PDF at `source`; the answer is an Extraction as plain data.

    Without `layout` pdfium reads alone: the caller's second try after a crash.
    """
    source, pages_max = str(arguments["source"]), int(str(arguments["pages_max"]))
    with opened(source) as document:
        count = len(document)
        if count == 0:
            raise BadInput("the PDF has no pages")
        if count > pages_max:
            raise BadInput(f"{count} pages, {pages_max} allowed", code=FailureCode.TOO_LARGE)
        layouts = _layouts(source, count, report) if arguments["layout"] else {}
        findings = _compare(document, layouts)
        title = document.get_metadata_value("Title")
        language = _declared_language(document)
    _refuse_nothing(findings, count)
    return asdict(_extraction(findings, title, language))


def _layouts(source: str, count: int, report: Report) -> dict[int, LayoutPage]:
    found: dict[int, LayoutPage] = {}
    try:
        for page in layout_pages(source):
            found[page.number] = page
            if page.number % BATCH_PAGES == 0:
                report.progress(LAYOUT_PROGRESS * page.number / count)
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - the parser panics with one; the pages it did not reach are compared below
        return found
    report.progress(LAYOUT_PROGRESS)
    return found


def _compare(document: Any, layouts: dict[int, LayoutPage]) -> _Findings:
    findings = _Findings()
    for number in range(1, len(document) + 1):
        layout = layouts.get(number)
        try:
            text, width, height, drawn = _plain_page(document, number)
        except pypdfium2.PdfiumError:
            if layout is None:
                findings.lost.append(number)
                findings.pages.append(Page(number, ""))
                findings.markdown.append("")
                continue
            text, width, height, drawn = layout.text, layout.width, layout.height, True
        _take(findings, Page(number, text, width, height), layout, drawn=drawn)
    return findings


def _refuse_nothing(findings: _Findings, count: int) -> None:
    if len(findings.blank) == count:
        raise BadInput("all pages are blank", code=FailureCode.EMPTY)
    if len(findings.lost) + len(findings.blank) == count:
        raise BadInput("no page could be read")
    if len(findings.lost) + len(findings.blank) + len(findings.scanned) == count:
        raise BadInput("no page has text: needs OCR", code=FailureCode.NO_TEXT)


def _take(findings: _Findings, page: Page, layout: LayoutPage | None, *, drawn: bool) -> None:
    size = _size(page.text)
    if layout is not None and _is_complete(_size(layout.markdown), size):
        findings.markdown.append(layout.markdown)
        findings.layouts.append(layout)
    else:
        findings.markdown.append(without_marks(page.text.strip()))
        if size:
            findings.plain.append(page.number)
    findings.pages.append(page)
    if not _size(findings.markdown[-1]):
        (findings.scanned if drawn else findings.blank).append(page.number)


def _is_complete(kept: int, size: int) -> bool:
    few = size < PLAIN_CHARACTERS_MIN and kept > 0
    return few or kept >= KEPT_SHARE_MIN * max(size, 1)


def _plain_page(document: Any, number: int) -> tuple[str, float, float, bool]:
    page = document[number - 1]
    try:
        width, height = page.get_size()
        drawn = raw.FPDFPage_CountObjects(page.raw) > 0
        text_page = page.get_textpage()
        try:
            return text_page.get_text_range(), width, height, drawn
        finally:
            text_page.close()
    finally:
        page.close()


def _extraction(findings: _Findings, title: str, language: str | None) -> Extraction:
    markdown = assemble(drop_running_heads(findings.markdown))
    notes = ((NO_TEXT_ON, findings.scanned), (PLAIN_ON, findings.plain), (LOST_ON, findings.lost))
    return Extraction(
        extractor=NAME,
        version="",
        markdown=markdown,
        pages=tuple(findings.pages),
        page_count=len(findings.pages),
        title=_title(title) or first_heading(markdown),
        language=language or guess_language("\n".join(findings.markdown[:PAGES_NAMED_MAX])),
        fields=tuple(found for page in findings.layouts for found in page.fields),
        tables=tuple(found for page in findings.layouts for found in page.tables),
        partial=bool(findings.lost),
        warnings=tuple(words.format(pages=spans(numbers)) for words, numbers in notes if numbers),
    )


def _title(title: str) -> str | None:
    """Use the metadata's title, but not what programs write when nobody chose one."""
    title = title.strip().removeprefix("Microsoft Word - ")[:TITLE_CHARACTERS_MAX]
    return None if title.lower() in NO_TITLES else title


def _declared_language(document: Any) -> str | None:
    """Read the catalog's language, "en" out of "en-GB"; many files declare none."""
    size = raw.FPDFCatalog_GetLanguage(document.raw, None, 0)
    if not 2 < size <= 200:
        return None
    buffer = (raw.FPDF_WCHAR * (size // 2))()
    raw.FPDFCatalog_GetLanguage(document.raw, buffer, size)
    declared = bytes(buffer).decode("utf-16-le", "ignore").rstrip("\0").split("-")[0].lower()
    return declared if len(declared) in {2, 3} and declared.isascii() and declared.isalpha() else None


def spans(numbers: Iterable[int]) -> str:
    """Write page numbers shortly: 1, 4-6."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    named = [f"{group[0]}-{group[-1]}" if len(group) > 1 else str(group[0]) for group in groups]
    more = [f"and {len(named) - PAGES_NAMED_MAX} more"] if len(named) > PAGES_NAMED_MAX else []
    return ", ".join(named[:PAGES_NAMED_MAX] + more)


def _size(text: str) -> int:
    return sum(map(len, text.split()))
