"""The sandboxed jobs that read web pages and XML files; nothing that they name is fetched."""

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.creation import day_of_creation
from webapp.readers.encoding import Decoded, decode
from webapp.readers.extraction import Extraction
from webapp.readers.fields.markdown import with_fields
from webapp.readers.markup.parse import RECURSION
from webapp.readers.titles import title_of
from webapp.readers.web.page import FLAT, PUBLISHED, read_page
from webapp.readers.web.xml import MENDED, read_xml
from webapp.sandbox.child import Report

NAME = "local"
HEAD_BYTES = 4096
_META = re.compile(rb"<meta\b[^>]{0,500}?\bcharset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML_DECLARED = re.compile(rb"<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([\w.:-]{1,40})")


def parse_html(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the page at `source`; the answer is an Extraction as plain data."""
    sys.setrecursionlimit(RECURSION)
    decoded = _decoded(arguments, _META)
    report.progress(0.1)
    page = read_page(decoded.text)
    if not page.markdown.strip():
        raise BadInput("the page holds no text", code=FailureCode.NO_TEXT)
    title, is_guess = title_of(page.title, page.markdown)
    extraction = Extraction(
        extractor=NAME,
        version="",
        markdown=page.markdown,
        title=title,
        title_is_guess=is_guess,
        created=day_of_creation(next((each.value for each in page.fields if each.name == PUBLISHED), None)),
        language=page.language,
        fields=page.fields,
        tables=tuple(page.tables),
        warnings=(*decoded.warnings, *(() if page.is_whole else (FLAT,))),
    )
    return asdict(with_fields(extraction))


def parse_xml(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the XML file at `source`; the answer is an Extraction as plain data."""
    sys.setrecursionlimit(RECURSION)
    decoded = _decoded(arguments, _XML_DECLARED)
    report.progress(0.1)
    found = read_xml(decoded.text)
    if not found.markdown.strip():
        raise BadInput("the file holds no text", code=FailureCode.NO_TEXT)
    extraction = Extraction(
        extractor=NAME,
        version="",
        markdown=found.markdown,
        # The name of its root is what all files of its kind have.
        title=found.title or "",
        language=found.language,
        fields=found.fields,
        tables=tuple(found.tables),
        partial=not found.is_whole,
        warnings=(*decoded.warnings, *(() if found.is_whole else (MENDED,))),
    )
    return asdict(extraction)


def _decoded(arguments: dict[str, object], declaration: re.Pattern[bytes]) -> Decoded:
    source, bytes_max = Path(str(arguments["source"])), int(str(arguments["bytes_max"]))
    if source.stat().st_size > bytes_max:
        raise BadInput(f"more than {bytes_max} bytes of markup", code=FailureCode.TOO_LARGE)
    data = source.read_bytes()
    said = declaration.search(data[:HEAD_BYTES]) or _XML_DECLARED.search(data[:HEAD_BYTES])
    decoded = decode(data, said[1].decode("ascii", "replace") if said else None)
    if not decoded.text.strip():
        raise BadInput("nothing but white space", code=FailureCode.EMPTY)
    return decoded
