"""The sandboxed job that reads old Office files and Outlook's messages. The streams of the file decide what it is."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.creation import day_of_creation
from webapp.readers.extraction import Field
from webapp.readers.fields.markdown import with_fields
from webapp.readers.markup.parse import RECURSION
from webapp.readers.office.content import Content, extraction
from webapp.readers.office.properties import Properties
from webapp.readers.ole.container import MESSAGE, POWERPOINT, WORD, WORKBOOKS, Container
from webapp.readers.ole.message import read_message
from webapp.readers.ole.word_marks import refuse_flood
from webapp.readers.ole.workbook import read_workbook
from webapp.readers.ole.workbook_reach import refuse_far_cells
from webapp.readers.panics import panics_refuse
from webapp.readers.titles import chosen_title
from webapp.readers.web.page import read_page
from webapp.sandbox.child import Report

PAGES_MAX = 5_000
# Its attachments are held in memory, in the form that mail has.
MESSAGE_BYTES_MAX = 128 << 20
HTML_CHARACTERS_MAX = 50_000_000
_BETWEEN_SLIDES = "\n<hr />\n"
OLD_SLIDES = "This is a presentation of an old version: tables and charts in it are not read."


def parse_ole(arguments: dict[str, object], report: Report) -> object:
    """Read the file at `source`; the answer is an Extraction as plain data."""
    source = Path(str(arguments["source"]))
    container = Container(source)
    report.progress(0.05)
    if container.is_locked:
        raise BadInput("the document is locked by a password", code=FailureCode.ENCRYPTED)
    if container.has(MESSAGE):
        if source.stat().st_size > MESSAGE_BYTES_MAX:
            raise BadInput(f"more than {MESSAGE_BYTES_MAX} bytes of mail", code=FailureCode.TOO_LARGE)
        return msgspec.to_builtins(read_message(container, report))
    read = _reader(container)
    if read is None:
        raise BadInput("no document that is read", code=FailureCode.UNSUPPORTED)
    sys.setrecursionlimit(RECURSION)
    content = read(source, report)
    report.progress(0.9)
    return msgspec.to_builtins(with_fields(extraction(content, _properties(container))))


def _reader(container: Container) -> Callable[[Path, Report], Content] | None:
    """What reads the file; BadInput for one that would be too much for its library."""
    if container.has(WORD):
        refuse_flood(container.read(WORD))
        return _read_word
    if container.has(POWERPOINT):
        return _read_powerpoint
    workbook = next((name for name in WORKBOOKS if container.has(name)), None)
    if workbook is None:
        return None
    container.refuse_circles()
    refuse_far_cells(container.read(workbook))
    return read_workbook


def _properties(container: Container) -> Properties:
    found = container.summary()
    author = " ".join(found.get("author", "").split())
    fields = (Field("Author", author),) if author else ()
    return Properties(chosen_title(found.get("title")), None, fields, day_of_creation(found.get("created")))


def _read_word(source: Path, _: Report) -> Content:
    page = read_page(_html(source, "doc"))
    return Content([page.markdown], is_paged=False, tables=page.tables)


def _read_powerpoint(source: Path, report: Report) -> Content:
    content = Content([], is_paged=True)
    slides = _html(source, "ppt").split(_BETWEEN_SLIDES)
    if len(slides) > PAGES_MAX:
        raise BadInput(f"more than {PAGES_MAX} slides", code=FailureCode.TOO_LARGE)
    for number, html in enumerate(slides, 1):
        content.pages.append(read_page(html).markdown)
        report.progress(0.1 + 0.8 * number / len(slides))
    content.warnings.append(OLD_SLIDES)
    return content


def _html(source: Path, kind: Literal["doc", "ppt"]) -> str:
    # In the child alone, and only in one that reads such a file.
    from office_oxide import Document, OfficeOxideError  # noqa: PLC0415 - see above

    try:
        with panics_refuse("document"), Document.from_bytes(source.read_bytes(), kind) as document:
            html: str = document.to_html()
    except (OfficeOxideError, ValueError, OSError) as error:
        raise BadInput(f"no document that is read: {str(error)[:100]}") from error
    if len(html) > HTML_CHARACTERS_MAX:
        raise BadInput(f"more than {HTML_CHARACTERS_MAX} characters", code=FailureCode.TOO_LARGE)
    return html
