"""Makes text that comes out of a file fit to be stored; the only place that does.

Databases refuse U+0000 and lone surrogates, and both occur in crafted files. Every extractor's
result goes through `clean_extraction` before it leaves the providers.
"""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE, getincrementaldecoder
from collections import Counter
from dataclasses import replace

from webapp.readers.extraction import Extraction, Field, Page, Table
from webapp.readers.markup.spans import apart

DOCUMENT_CHARACTERS_MAX = 50_000_000
NAME_CHARACTERS_MAX = 300
VALUE_CHARACTERS_MAX = 10_000
CELL_CHARACTERS_MAX = 5_000
FIELDS_MAX = 5_000
TABLES_MAX = 2_000
WARNINGS_MAX = 50
TOO_LONG = "The text was cut: it is longer than {limit:,} characters."

# Control characters but tab and newline, lone surrogates, non-characters, and the marks that
# turn the direction of text around and so can disguise it.
UNWANTED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\u202a-\u202e\u2066-\u2069\ufeff]"
)
LINE_ENDS = re.compile(r"\r\n?|\x0b|\x0c|\x85|\u2028|\u2029")
BOMS = (
    (BOM_UTF8, "utf-8"),
    (BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (BOM_UTF32_BE, "utf-32-be"),
    (BOM_UTF16_LE, "utf-16-le"),
    (BOM_UTF16_BE, "utf-16-be"),
)
NUL_SHARE_MAX = 0.01
CONTROL_SHARE_MAX = 0.1
# Of all bytes of a text in UTF-16: its spaces alone are more.
UTF16_ZEROS_MIN, ZEROS_ELSEWHERE_MAX = 0.02, 0.02
UTF16_BYTES_MIN = 16
ALPHABETS_MAX, IN_ALPHABETS_MIN = 3, 0.95
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b")) + b"\x7f"


def clean_text(text: str, characters_max: int | None = None) -> str:
    """Unify line ends, drop what no database or reader wants, and cut to the length."""
    text = UNWANTED.sub("", LINE_ENDS.sub("\n", text))
    return text if characters_max is None else text[:characters_max]


def clean_line(text: str | None, characters_max: int = NAME_CHARACTERS_MAX) -> str | None:
    """Clean a text of one line, such as a title; None if nothing is left."""
    return None if text is None else " ".join(clean_text(text).split())[:characters_max].strip() or None


def clean_extraction(extraction: Extraction) -> Extraction:
    """Clean every text of a result; what has to be cut makes it partial and is said."""
    markdown = clean_text(extraction.markdown)
    too_long = len(markdown) > DOCUMENT_CHARACTERS_MAX
    warnings = [clean_text(warning, VALUE_CHARACTERS_MAX) for warning in extraction.warnings[:WARNINGS_MAX]]
    if too_long:
        warnings.append(TOO_LONG.format(limit=DOCUMENT_CHARACTERS_MAX))
    return replace(
        extraction,
        markdown=markdown[:DOCUMENT_CHARACTERS_MAX],
        pages=tuple(_clean_page(page) for page in extraction.pages),
        title=clean_line(extraction.title) or ("" if extraction.title == "" else None),
        fields=tuple(_clean_field(field) for field in extraction.fields[:FIELDS_MAX]),
        tables=tuple(_clean_table(table) for table in extraction.tables[:TABLES_MAX]),
        partial=extraction.partial or too_long,
        warnings=tuple(warnings),
    )


def unmarked_utf16(data: bytes) -> str | None:
    """The order of bytes of a text in UTF-16 that has no mark; None where it is none.

    Of its characters' two bytes one is zero, at least in spaces and line ends, and always the same one.
    """
    data = data[: len(data) & ~1]
    zeros = (data[0::2].count(0), data[1::2].count(0))
    if (
        max(zeros) < max(2, UTF16_ZEROS_MIN * len(data))
        or len(data) < UTF16_BYTES_MIN
        or min(zeros) > ZEROS_ELSEWHERE_MAX * max(zeros)
    ):
        return None
    is_big_endian = zeros[0] > zeros[1]
    # The other bytes say which alphabet it is, and a text has few of those.
    alphabets = Counter(data[0 if is_big_endian else 1 :: 2]).most_common(ALPHABETS_MAX)
    if sum(count for _, count in alphabets) < IN_ALPHABETS_MIN * len(data) / 2:
        return None
    encoding = "utf-16-be" if is_big_endian else "utf-16-le"
    try:
        # The last character may be cut.
        text = getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError:
        return None
    return encoding if text and all(each.isprintable() or each.isspace() for each in text) else None


def looks_binary(data: bytes) -> bool:
    """Say whether bytes without a byte order mark are something else than text."""
    if not data:
        return False
    controls = len(data) - len(data.translate(None, CONTROLS))
    return data.count(0) > NUL_SHARE_MAX * len(data) or controls > CONTROL_SHARE_MAX * len(data)


def _clean_page(page: Page) -> Page:
    words = tuple(replace(word, text=clean_line(word.text) or "") for word in page.words)
    return replace(page, text=clean_text(page.text, DOCUMENT_CHARACTERS_MAX), words=words)


def _clean_field(field: Field) -> Field:
    name = clean_line(field.name) or ""
    normalized = None if field.normalized is None else clean_text(field.normalized, VALUE_CHARACTERS_MAX)
    return replace(field, name=name, value=clean_text(field.value, VALUE_CHARACTERS_MAX), normalized=normalized)


def _clean_table(table: Table) -> Table:
    rows = tuple(tuple(clean_text(cell, CELL_CHARACTERS_MAX) for cell in row) for row in table.rows)
    values = tuple(
        (row, column, clean_text(value, CELL_CHARACTERS_MAX) if isinstance(value, str) else value)
        for row, column, value in table.values
        if 0 <= row < len(rows) and 0 <= column < len(rows[row])
    )
    spans = apart(table.spans, rows)
    return replace(table, rows=rows, caption=clean_line(table.caption), values=values, spans=spans)
