"""Says whether a page's own text is of use, or the page has to be read by its looks."""

import re
from collections.abc import Iterator
from ctypes import byref, c_float
from typing import Any

from pypdfium2 import raw

# A scan with a stamp, or with the name of the program that made it: a little text on a picture of the page.
LITTLE_CHARACTERS, PICTURE_SHARE_LEAST = 200, 0.5
OBJECTS_MAX = 2_000
# Fonts without a table of their letters give signs that mean nothing, or other letters than one sees.
NO_LETTERS_SHARE, WITHOUT_VOWELS_SHARE = 0.1, 0.4
CHARACTERS_LEAST, WORDS_LEAST = 20, 12
_NO_LETTERS = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0e-\x1f\x7f-\x9f]")
_LONG_WORD = re.compile(r"\b[A-Za-z]{4,20}\b")
_VOWEL = re.compile("[aeiouyAEIOUY]")


def is_of_use(text: str) -> bool:
    """Whether a page's own text is what people see there, as far as that can be told from the text alone."""
    size = sum(map(len, text.split()))
    if size < CHARACTERS_LEAST:
        return True
    if len(_NO_LETTERS.findall(text)) > NO_LETTERS_SHARE * size:
        return False
    words = _LONG_WORD.findall(text)
    without = sum(_VOWEL.search(word) is None for word in words)
    return len(words) < WORDS_LEAST or without <= WITHOUT_VOWELS_SHARE * len(words)


def is_picture_with_little_text(page: Any, text: str) -> bool:
    """Whether one picture covers most of a page that has hardly any text of its own."""
    if sum(map(len, text.split())) >= LITTLE_CHARACTERS:
        return False
    width, height = page.get_size()
    return any(area >= PICTURE_SHARE_LEAST * width * height for area in _picture_areas(page))


def _picture_areas(page: Any) -> Iterator[float]:
    for index in range(min(raw.FPDFPage_CountObjects(page.raw), OBJECTS_MAX)):
        found = raw.FPDFPage_GetObject(page.raw, index)
        left, bottom, right, top = (c_float() for _ in range(4))
        is_picture = raw.FPDFPageObj_GetType(found) == raw.FPDF_PAGEOBJ_IMAGE
        if is_picture and raw.FPDFPageObj_GetBounds(found, byref(left), byref(bottom), byref(right), byref(top)):
            yield (right.value - left.value) * (top.value - bottom.value)
