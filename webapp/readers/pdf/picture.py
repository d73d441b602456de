"""The sandboxed job that draws one page of a PDF as a PNG file."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
from numpy.typing import NDArray

from webapp.provider_errors import BadInput
from webapp.readers.pdf.pages import opened
from webapp.sandbox.child import Report

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 3
# Rows as they are, or as differences from the pixel on the left: letters pack better by the one, photographs by
# the other.
PLAIN_ROWS, LEFT_DIFFERENCES = 0, 1
LETTERS_SHARE_MAX = 0.1


def draw_page(arguments: dict[str, object], _: Report) -> bool:
    """Draw page `number` of the PDF at `source` into the file `target`; False where there is no such page.

    The picture fits `width_max` and `height_max` whatever size the page says it has.
    """
    number, box = int(str(arguments["number"])), (int(str(arguments["width_max"])), int(str(arguments["height_max"])))
    with opened(str(arguments["source"])) as document:
        if not 1 <= number <= len(document):
            return False
        document.init_forms()
        try:
            pixels = _pixels(document[number - 1], box)
        except (pypdfium2.PdfiumError, ValueError) as error:
            raise BadInput(f"page {number} cannot be drawn") from error
    Path(str(arguments["target"])).write_bytes(png(pixels))
    return True


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Rows of red, green and blue as a PNG file."""
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, width * COLOURS)
    packed = _packed(rows, PLAIN_ROWS)
    if len(packed) > LETTERS_SHARE_MAX * rows.size:
        differences = rows.copy()
        differences[:, COLOURS:] -= rows[:, :-COLOURS]
        packed = min(packed, _packed(differences, LEFT_DIFFERENCES), key=len)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return SIGNATURE + _part(b"IHDR", head) + _part(b"IDAT", packed) + _part(b"IEND", b"")


def _pixels(page: Any, box: tuple[int, int]) -> NDArray[np.uint8]:
    width, height = page.get_size()
    if not (width > 0 and height > 0):
        raise ValueError("a page without a size")
    scale = min(box[0] / width, box[1] / height)
    bitmap = page.render(scale=scale, rev_byteorder=True)
    # A side of a fraction of a pixel is rounded up.
    pixels: NDArray[np.uint8] = np.ascontiguousarray(bitmap.to_numpy()[: box[1], : box[0], :COLOURS])
    return pixels


def _packed(rows: NDArray[np.uint8], method: int) -> bytes:
    return zlib.compress(np.insert(rows, 0, method, axis=1).tobytes(), 6)


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
