"""The sandboxed job that makes a searchable PDF: the pages as they are, with the words that OCR read on top, unseen."""

import io
from contextlib import closing
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image, ImageChops
from pypdfium2 import raw

from webapp.provider_errors import BadInput
from webapp.readers.pdf.pages import opened
from webapp.readers.pictures.frames import Picture, count_frames, frame_at, opened_picture, points_per_pixel
from webapp.readers.pictures.invisible_text import InvisibleFont
from webapp.readers.pictures.words_file import unpacked
from webapp.sandbox.child import Report

QUALITY = 85
# As large as a page that is read. More pixels show no more of its letters.
LONG_SIDE_MAX = 4_000
_UPRIGHT = {0: None, 90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}
_ORIENTATION = 0x0112


def make(arguments: dict[str, object], report: Report) -> int:
    """Make a PDF of the file at `source` and its `words`, in the file `target`; returns how many pages have words."""
    source, words, target = (Path(str(arguments[name])) for name in ("source", "words", "target"))
    is_pdf, pages_max = bool(arguments["is_pdf"]), int(str(arguments["pages_max"]))
    try:
        with closing(opened(str(source)) if is_pdf else _of_pictures(str(source), words, pages_max)) as document:
            written = _write_words(document, words, report, are_upright=not is_pdf)
            # What restricts a file would keep its words from being copied, too; it was opened without a password.
            document.save(target, flags=raw.FPDF_REMOVE_SECURITY)
    except pypdfium2.PdfiumError as error:
        raise BadInput("a page cannot be written") from error
    return written


def _write_words(document: Any, words: Path, report: Report, *, are_upright: bool) -> int:
    written, count = 0, len(document)
    with closing(InvisibleFont(document)) as font:
        for each in unpacked(words):
            if 1 <= each.number <= count and each.width > 0 and each.height > 0:
                page = document[each.number - 1]
                if not are_upright:
                    page.set_rotation((page.get_rotation() - each.turned) % 360)
                font.write(page, (each.width, each.height), each.words)
                page.close()
                written += 1
            report.progress(min(1.0, each.number / count))
    return written


def _of_pictures(source: str, words: Path, pages_max: int) -> Any:
    """A PDF with a page for each page of a picture file, upright."""
    known = {each.number: (each.turned, each.width, each.height) for each in unpacked(words)}
    document = pypdfium2.PdfDocument.new()
    with opened_picture(source) as file:
        for number in range(1, count_frames(file, pages_max) + 1):
            turned, width, height = known.get(number, (0, 0.0, 0.0))
            packed, size = _as_jpeg(file, source, number, turned)
            scale = points_per_pixel(file)
            _add_page(document, packed, (width, height) if width > 0 else (size[0] * scale, size[1] * scale))
    return document


def _add_page(document: Any, packed: bytes, size: tuple[float, float]) -> None:
    page = document.new_page(*size)
    image = pypdfium2.PdfImage.new(document)
    image.load_jpeg(io.BytesIO(packed), inline=True)
    image.set_matrix(pypdfium2.PdfMatrix().scale(*size))
    page.insert_obj(image)
    page.gen_content()
    page.close()


def _as_jpeg(file: Picture, source: str, number: int, turned: int) -> tuple[bytes, tuple[int, int]]:
    """A page's picture, upright; that of a JPEG file as it is, where it lies right."""
    file.seek(number - 1)
    is_as_shown = file.format == "JPEG" and file.mode in {"L", "RGB"} and file.getexif().get(_ORIENTATION, 1) == 1
    if is_as_shown and not turned:
        return Path(source).read_bytes(), file.size
    picture = frame_at(file, number)
    turn = _UPRIGHT[turned % 360]
    picture = picture if turn is None else picture.transpose(turn)
    full = picture.size
    picture.thumbnail((LONG_SIDE_MAX, LONG_SIDE_MAX), Image.Resampling.LANCZOS)
    grey = picture.convert("L")
    is_grey = ImageChops.difference(picture, grey.convert("RGB")).getbbox() is None
    data = io.BytesIO()
    (grey if is_grey else picture).save(data, "JPEG", quality=QUALITY)
    return data.getvalue(), full
