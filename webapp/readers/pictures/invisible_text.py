"""Words on a PDF's pages that nobody sees, and that are selected, copied and found where they lie.

Their font has one shape, a box, for all letters: it is never drawn. A letter's code is its UTF-16 value, and the font's
ToUnicode map says so, in any script.
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pypdfium2 import raw

from webapp.readers.extraction import Word

# Made with fontTools: one glyph, a box of half an em by one em, without any letters.
_FONT = Path(__file__).with_name("invisible.ttf")
ADVANCE = 0.5
_CODES = 0x10000
_RANGES_AT_ONCE = 100
# Places on a page are asked for in whole numbers.
_FINE = 100


class InvisibleFont:
    """The font in one document."""

    def __init__(self, document: Any) -> None:
        self._document = document
        data = _FONT.read_bytes()
        glyphs = (ctypes.c_ubyte * (2 * _CODES))()
        self._font = raw.FPDFText_LoadCidType2Font(
            document.raw,
            (ctypes.c_ubyte * len(data)).from_buffer_copy(data),
            len(data),
            _to_unicode(),
            glyphs,
            len(glyphs),
        )
        if not self._font:
            raise ValueError("pdfium refused the font")

    def close(self) -> None:
        """Give it back; the document keeps what it needs."""
        raw.FPDFFont_Close(self._font)

    def write(self, page: Any, size: tuple[float, float], words: Sequence[Word]) -> None:
        """Put words on a page of this size, as it is shown; those without a place are left out."""
        place = _Places(page, size)
        for word in words:
            if word.polygon and len(word.polygon) == 8 and word.text.strip():
                self._write(page, place, word.text, word.polygon)
        raw.FPDFPage_GenerateContent(page.raw)

    def _write(self, page: Any, place: "_Places", text: str, polygon: Sequence[float]) -> None:
        left, right, start = place(*polygon[0:2]), place(*polygon[4:6]), place(*polygon[6:8])
        codes = memoryview(text.encode("utf-16-le", "replace")).cast("H").tolist()
        long = ADVANCE * len(codes)
        along = ((right[0] - start[0]) / long, (right[1] - start[1]) / long)
        up = (left[0] - start[0], left[1] - start[1])
        # Readers take a space for the end of a word, whatever the gap.
        codes.append(0x20)
        piece = raw.FPDFPageObj_CreateTextObj(self._document.raw, self._font, 1.0)
        raw.FPDFText_SetCharcodes(piece, (ctypes.c_uint32 * len(codes))(*codes), len(codes))
        raw.FPDFTextObj_SetTextRenderMode(piece, raw.FPDF_TEXTRENDERMODE_INVISIBLE)
        raw.FPDFPageObj_SetMatrix(piece, raw.FS_MATRIX(*along, *up, *start))
        raw.FPDFPage_InsertObject(page.raw, piece)


class _Places:
    """Turns a place on a page as it is shown, from its top left, into one in the file, whatever turns and cuts it."""

    def __init__(self, page: Any, size: tuple[float, float]) -> None:
        self._page = page
        self._pixels = max(1, round(_FINE * size[0])), max(1, round(_FINE * size[1]))
        self._size = size
        self._origin = self._in_file(0, 0)
        right, down = self._in_file(self._pixels[0], 0), self._in_file(0, self._pixels[1])
        self._across = (right[0] - self._origin[0]) / size[0], (right[1] - self._origin[1]) / size[0]
        self._down = (down[0] - self._origin[0]) / size[1], (down[1] - self._origin[1]) / size[1]

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        origin, across, down = self._origin, self._across, self._down
        return origin[0] + x * across[0] + y * down[0], origin[1] + x * across[1] + y * down[1]

    def _in_file(self, x: int, y: int) -> tuple[float, float]:
        found_x, found_y = ctypes.c_double(), ctypes.c_double()
        raw.FPDF_DeviceToPage(self._page.raw, 0, 0, *self._pixels, 0, x, y, found_x, found_y)
        return found_x.value, found_y.value


def _to_unicode() -> bytes:
    """Each code is its own letter. A range may not leave the codes of one first byte."""
    ranges = [f"<{high:02X}00> <{high:02X}FF> <{high:02X}00>" for high in range(_CODES >> 8)]
    blocks = (ranges[first : first + _RANGES_AT_ONCE] for first in range(0, len(ranges), _RANGES_AT_ONCE))
    maps = "\n".join(f"{len(block)} beginbfrange\n{chr(10).join(block)}\nendbfrange" for block in blocks)
    return f"""/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
{maps}
endcmap
CMapName currentdict /CMap defineresource pop
end
end
""".encode("ascii")
