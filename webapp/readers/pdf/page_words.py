"""The sandboxed job that tells the words of one page of a PDF and where they are, from the text that the file holds."""

from collections.abc import Iterator
from ctypes import byref, c_double, c_int
from typing import Any

import pypdfium2
from pypdfium2 import raw

from webapp.provider_errors import BadInput
from webapp.readers.pdf.pages import opened
from webapp.sandbox.child import Report

CHARACTERS_MAX = 20_000
# Places are whole numbers for pdfium: so many to a point.
_STEPS = 10
_Box = tuple[float, float, float, float]


def read_page_words(arguments: dict[str, object], _: Report) -> dict[str, object] | None:
    """The size of page `number` of the PDF at `source`, and its words, each with left, top, right and bottom.

    None where there is no such page.
    """
    number = int(str(arguments["number"]))
    with opened(str(arguments["source"])) as document:
        if not 1 <= number <= len(document):
            return None
        try:
            page = document[number - 1]
            width, height = page.get_size()
            words = [[text, *box] for text, box in _words(page, width, height)]
        except (pypdfium2.PdfiumError, ValueError) as error:
            raise BadInput(f"the words of page {number} cannot be read") from error
    return {"width": width, "height": height, "words": words}


def _words(page: Any, width: float, height: float) -> Iterator[tuple[str, _Box]]:
    letters: list[str] = []
    boxes: list[_Box] = []
    text_page = page.get_textpage()
    for index in range(min(text_page.count_chars(), CHARACTERS_MAX)):
        letter = chr(raw.FPDFText_GetUnicode(text_page.raw, index) or 0xFFFD)
        if letter.isspace() or not letter.isprintable():
            if boxes:
                yield "".join(letters), _around(boxes)
                letters, boxes = [], []
            continue
        letters.append(letter)
        boxes.append(_as_seen(page, text_page.get_charbox(index, loose=True), width, height))
    if boxes:
        yield "".join(letters), _around(boxes)


def _as_seen(page: Any, box: _Box, width: float, height: float) -> _Box:
    """A box of the page's own coordinates on the page as it is drawn: turned, cut, and with its origin at the top."""
    corners = [_device(page, width, height, x, y) for x in (box[0], box[2]) for y in (box[1], box[3])]
    return _around([(x, y, x, y) for x, y in corners])


def _device(page: Any, width: float, height: float, x: float, y: float) -> tuple[float, float]:
    across, down = c_int(), c_int()
    size = round(width * _STEPS), round(height * _STEPS)
    raw.FPDF_PageToDevice(page.raw, 0, 0, *size, 0, c_double(x), c_double(y), byref(across), byref(down))
    return across.value / _STEPS, down.value / _STEPS


def _around(boxes: list[_Box]) -> _Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
