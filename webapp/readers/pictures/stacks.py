"""Reads lines in Cyrillic and other letters, with the Tesseract that is built into liteparse.

The lines are laid flat and stacked on a white page of their own: that way slanted, curved and shaded pages read as well
as straight ones, and each word is found again on its own line.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from liteparse import LiteParse
from PIL import Image, ImageFilter, ImageOps

from webapp.readers.pictures.frames import Picture
from webapp.readers.pictures.letters import ReadLine, ReadWord

# What reads best of the sizes that were tried: letters of some 20 pixels, a line's height of air above each.
HEIGHT, GAP, DPI = 36, 24, 150
STACK_LINES = 60
POINTS = 72 / DPI
# The paper's brightness around each spot, at an eighth of the size.
SHRINK, PAPER_REACH, PAPER_BLUR = 8, 9, 5
PAPER_LEAST, PAPER_WHITE = 20, 245


def without_shade(picture: Picture) -> Picture:
    """A page in grey as if it lay in even light: each spot is compared with the paper around it."""
    grey = picture.convert("L")
    if min(grey.size) < SHRINK:
        return grey
    small = grey.reduce(SHRINK).filter(ImageFilter.MaxFilter(PAPER_REACH)).filter(ImageFilter.GaussianBlur(PAPER_BLUR))
    paper = np.asarray(small.resize(grey.size, Image.Resampling.BILINEAR)).astype(np.float32)
    even = np.asarray(grey) * (PAPER_WHITE / np.maximum(paper, PAPER_LEAST))
    return Image.fromarray(np.minimum(even, 255).astype(np.uint8))


class StackReader:
    """Tesseract on stacks of lines, in the languages whose data are in a folder."""

    def __init__(self, data: str, languages: Sequence[str]) -> None:
        self._parser = LiteParse(
            ocr_enabled=True,
            ocr_language="+".join(languages),
            # Without a folder the library would fetch data from the network.
            tessdata_path=data,
            dpi=DPI,
            output_format="text",
            quiet=True,
            image_mode="off",
            emit_word_boxes=True,
            keep_headers_footers=True,
            preserve_very_small_text=True,
            ocr_failure_fatal=True,
            num_workers=1,
        )

    def read(self, strips: Sequence[Picture]) -> list[ReadLine]:
        """Read lines that lie flat, in their order."""
        return [
            line
            for first in range(0, len(strips), STACK_LINES)
            for line in self._read_stack(strips[first : first + STACK_LINES])
        ]

    def _read_stack(self, strips: Sequence[Picture]) -> list[ReadLine]:
        rows = [_dark_on_white(each) for each in strips]
        width = max(row.width for row in rows) + 2 * GAP
        stack = Image.new("L", (width, GAP + len(rows) * (HEIGHT + GAP)), 255)
        for number, row in enumerate(rows):
            stack.paste(row, (GAP, GAP + number * (HEIGHT + GAP)))
        words: list[list[ReadWord]] = [[] for _ in rows]
        for item in self._parser.parse(_as_pdf(stack)).pages[0].text_items:
            number = int(((item.y + item.height / 2) / POINTS - GAP / 2) // (HEIGHT + GAP))
            if 0 <= number < len(rows):
                words[number].extend(_words(item, rows[number].width))
        return [ReadLine(tuple(sorted(line, key=lambda word: word.start))) for line in words]


def _words(item: Any, width: int) -> list[ReadWord]:
    sure = 0.0 if item.confidence is None else float(item.confidence)
    found = []
    for word in item.words or [item]:
        start, end = (word.x / POINTS - GAP) / width, ((word.x + word.width) / POINTS - GAP) / width
        if word.text.strip():
            found.append(ReadWord(word.text.strip(), sure, max(0.0, start), min(1.0, max(start, end))))
    return found


def _dark_on_white(strip: Picture) -> Picture:
    row = strip.convert("L")
    if float(np.median(np.asarray(row))) < 110:
        row = ImageOps.invert(row)
    return row.resize((max(1, round(row.width * HEIGHT / row.height)), HEIGHT), Image.Resampling.BICUBIC)


def _as_pdf(picture: Picture) -> bytes:
    """A PDF of one page that is this grey picture, pixel by pixel."""
    width, height = picture.width * POINTS, picture.height * POINTS
    pixels = zlib.compress(picture.tobytes(), 1)
    draw = f"{width:.4f} 0 0 {height:.4f} 0 0 cm /I Do".encode()
    shape = f"/Width {picture.width}/Height {picture.height}/ColorSpace/DeviceGray/BitsPerComponent 8"
    page = f"/MediaBox[0 0 {width:.4f} {height:.4f}]/Resources<</XObject<</I 4 0 R>>>>/Contents 5 0 R"
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            f"<</Type/Page/Parent 2 0 R{page}>>".encode(),
            _stream(f"/Type/XObject/Subtype/Image{shape}/Filter/FlateDecode", pixels),
            _stream("", draw),
        ]
    )


def _stream(entries: str, data: bytes) -> bytes:
    return f"<<{entries}/Length {len(data)}>>stream\n".encode() + data + b"\nendstream"


def assembled(objects: Sequence[bytes]) -> bytes:
    """A PDF file of these objects, numbered from 1; the first one is its catalog."""
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + each + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return bytes(out) + end % (len(objects) + 1, table, len(objects) + 1, len(out))
