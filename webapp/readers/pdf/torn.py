"""Reads pages again that pdfium took for vertical writing: few narrow columns from top to bottom, as in a price list.

It then gives each letter a line of its own, and both parsers lose the words. pdfium looks at how much of the page's
width and height is covered by text. So a copy of these pages gets invisible letters as wide as the page, which the
layout's parser leaves out.
"""

import ctypes
import io
from collections.abc import Iterable, Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw

# What a torn page has at least, and how long its lines are: letters, and here and there a short piece of a word.
_LINES_MIN, _LETTERS_A_LINE_MAX = 30, 2.5
# Chinese, Japanese and Korean letters, which may be written from top to bottom.
_VERTICAL_FROM = "\u2e80"
_LETTERS, _SIZE = "H" * 10, 4.0


def is_torn(text: str) -> bool:
    """Whether each letter of a page has a line of its own, in a script that is written along the line."""
    lines = text.split("\n")
    if len(lines) < _LINES_MIN:
        return False
    letters = sum(map(len, text.split()))
    return letters <= _LETTERS_A_LINE_MAX * len(lines) and 2 * sum(each >= _VERTICAL_FROM for each in text) < letters


def with_letters(document: Any, numbers: Iterable[int]) -> bytes:
    """A PDF of these pages alone, each with invisible letters across it."""
    copy = pypdfium2.PdfDocument.new()
    try:
        copy.import_pages(document, [number - 1 for number in numbers])
        for page in _pages(copy):
            _add_letters(copy, page)
        written = io.BytesIO()
        copy.save(written)
        return written.getvalue()
    finally:
        copy.close()


def without_letters(text: str) -> str:
    """The text of such a page, without these letters."""
    return text.rstrip().removesuffix(_LETTERS).rstrip()


def _pages(document: Any) -> Iterator[Any]:
    for index in range(len(document)):
        page = document[index]
        try:
            yield page
        finally:
            page.close()


def _add_letters(document: Any, page: Any) -> None:
    left, bottom, right, _ = page.get_bbox()
    letters = raw.FPDFPageObj_NewTextObj(document.raw, b"Helvetica", _SIZE)
    raw.FPDFText_SetText(
        letters, ctypes.cast(ctypes.create_string_buffer(f"{_LETTERS}\0".encode("utf-16-le")), raw.FPDF_WIDESTRING)
    )
    raw.FPDFTextObj_SetTextRenderMode(letters, raw.FPDF_TEXTRENDERMODE_INVISIBLE)
    bounds = [ctypes.c_float() for _ in range(4)]
    raw.FPDFPageObj_GetBounds(letters, *bounds)
    scale = (right - left) / (bounds[2].value - bounds[0].value)
    raw.FPDFPageObj_Transform(letters, scale, 0, 0, 1, left - scale * bounds[0].value, bottom + _SIZE)
    raw.FPDFPage_InsertObject(page.raw, letters)
    raw.FPDFPage_GenerateContent(page.raw)
