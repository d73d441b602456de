"""The sandboxed jobs that read pictures of pages: of picture files, and of PDFs whose pages have no text of use."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, NamedTuple, cast

import pypdfium2
from PIL import Image

from webapp.provider_errors import BadInput
from webapp.readers.fields.find import Found, find_fields
from webapp.readers.fields.misread import mended
from webapp.readers.fields.words import PageWords
from webapp.readers.pdf.pages import opened
from webapp.readers.pictures.blank import is_blank
from webapp.readers.pictures.frames import Picture, count_frames, frame_at, opened_picture, points_per_pixel
from webapp.readers.pictures.layout import lay_out, placed_words, words_of
from webapp.readers.pictures.page import PageReader, ReadPicture
from webapp.readers.pictures.scanned import PAGES_WITH_FIELDS_MAX, ScannedPage, ScannedPages
from webapp.sandbox.child import Report

# Ten-point letters are some 30 pixels high, and nothing is gained by more.
DPI = 200
DRAWN_PIXELS_MAX = 24_000_000
# Larger pictures are made smaller first: a camera's pixels are more than the letters need.
LONG_SIDE_MAX = 4_000


def count_pages(arguments: dict[str, object], _: Report) -> int:
    """Count the pages of the picture file at `source`; BadInput where it can't be opened."""
    with opened_picture(str(arguments["source"])) as picture:
        return count_frames(picture, int(str(arguments["pages_max"])))


def read_pages(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the pages `numbers` of the file at `source`; the answer is ScannedPages as plain data."""
    numbers = cast("Sequence[int]", arguments["numbers"])
    threads = int(str(arguments["threads"]))
    at_once = min(threads, len(numbers))
    data = cast("str | None", arguments["data"])
    languages = cast("Sequence[str]", arguments["languages"])
    # Two pages at once take less time than one page with two threads.
    reader = PageReader(str(arguments["models"]), data, languages, threads=max(1, threads // at_once))
    read: list[_ReadPage] = []
    with _pictures(arguments) as pictures, ThreadPoolExecutor(at_once) as pool:
        # Pictures are drawn here, since pdfium works in one thread only; no more of them than are read at once.
        for first in range(0, len(numbers), at_once):
            batch = [(number, *pictures(number)) for number in numbers[first : first + at_once]]
            read += pool.map(lambda each: _read_page(reader, *each), batch)
            report.progress(len(read) / len(numbers))
    return asdict(ScannedPages(tuple(_scanned_pages(read))))


class _ReadPage(NamedTuple):
    """A page as OCR read it."""

    number: int
    found: ReadPicture
    scale: float
    """How large a pixel of its picture is, in points."""
    is_blank: bool


def _read_page(reader: PageReader, number: int, picture: Picture, scale: float) -> _ReadPage:
    found = reader.read(picture)
    has_nothing = not found.lines and not found.is_in_unknown_script
    return _ReadPage(number, found, scale, has_nothing and is_blank(picture))


@contextmanager
def _pictures(arguments: dict[str, object]) -> Iterator[Any]:
    """A function that gives a page's picture, and how large one of its pixels is in points."""
    source = str(arguments["source"])
    if arguments["is_pdf"]:
        with opened(source) as document:
            document.init_forms()
            yield lambda number: _drawn(document, number)
    else:
        with opened_picture(source) as picture:
            yield lambda number: _decoded(picture, number)


def _drawn(document: Any, number: int) -> tuple[Picture, float]:
    try:
        page = document[number - 1]
        width, height = page.get_size()
        if not (width > 0 and height > 0):
            raise BadInput(f"page {number} has no size")
        scale = min(DPI / 72, (DRAWN_PIXELS_MAX / (width * height)) ** 0.5)
        picture = page.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB")
        page.close()
    except pypdfium2.PdfiumError as error:
        raise BadInput(f"page {number} cannot be drawn") from error
    return picture, 1 / scale


def _decoded(file: Picture, number: int) -> tuple[Picture, float]:
    picture = frame_at(file, number)
    scale = points_per_pixel(file)
    if max(picture.size) > LONG_SIDE_MAX:
        factor = max(picture.size) / LONG_SIDE_MAX
        smaller = (max(1, round(picture.width / factor)), max(1, round(picture.height / factor)))
        picture, scale = picture.resize(smaller, Image.Resampling.LANCZOS, reducing_gap=2.0), scale * factor
    return picture, scale


def page_words(number: int, found: ReadPicture, scale: float) -> PageWords:
    """The words of a read picture as the rules for fields want them, in points."""
    width, height = (size * scale for size in found.size)
    return mended(PageWords(number, tuple(placed_words(found, scale)), width, height))


def _scanned_pages(read: Sequence[_ReadPage]) -> Iterator[ScannedPage]:
    """The pages of a window; their fields are found together, since an invoice may go on over pages."""
    is_short = len(read) <= PAGES_WITH_FIELDS_MAX
    fields = find_fields([page_words(each.number, each.found, each.scale) for each in read]) if is_short else Found()
    for page in read:
        yield _scanned(page, fields)


def _scanned(page: _ReadPage, of_window: Found) -> ScannedPage:
    number, found = page.number, page.found
    laid_out = lay_out(found)
    width, height = (round(size * page.scale, 2) for size in found.size)
    return ScannedPage(
        number=number,
        text=laid_out.text,
        markdown=laid_out.markdown,
        width=width,
        height=height,
        turned=found.turned,
        words=words_of(found, page.scale),
        # How often the rules are right was measured on text that was not scanned.
        fields=tuple(replace(field, confidence=None) for field in of_window.fields if field.page == number),
        tables=tuple(table for table in of_window.tables if table.page == number),
        confidence=_rounded(found),
        is_blank=page.is_blank,
        is_in_unknown_script=found.is_in_unknown_script,
    )


def _rounded(found: ReadPicture) -> float | None:
    return None if found.confidence is None else round(found.confidence, 4)
