"""Searchable PDFs: the words come back from other libraries, where they lie on the page, whatever turns it."""

import io
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdf
import pypdfium2
import pytest
from PIL import ImageChops, ImageStat

from tests import samples, scans
from webapp.provider_errors import BadInput
from webapp.providers.local.searchable import LocalSearchablePdfs
from webapp.readers.extraction import Page, PageState, Word
from webapp.readers.pictures.words_file import packed, unpacked

A4 = (595.0, 842.0)
WORDS = {"Harbour": (60.0, 100.0, 150.0, 118.0), "Маяк": (160.0, 100.0, 220.0, 118.0), "ľúbezný": (60, 140, 140, 158)}


@pytest.fixture(scope="module")
def maker() -> Iterator[LocalSearchablePdfs]:
    maker = LocalSearchablePdfs()
    yield maker
    maker.close()


def word(text: str, box: Sequence[float]) -> Word:
    left, top, right, bottom = box
    return Word(text, 1.0, (left, top, right, top, right, bottom, left, bottom))


def page_of(number: int, size: tuple[float, float] = A4, turned: int = 0) -> Page:
    words = tuple(word(text, box) for text, box in WORDS.items())
    return Page(number, "", *size, words, PageState.OCR, 1.0, turned)


def made(maker: LocalSearchablePdfs, folder: Path, data: bytes, pages: Sequence[Page], *, is_pdf: bool = True) -> bytes:
    source, words = folder / "source", folder / "words"
    source.write_bytes(data)
    words.write_bytes(packed(pages) or b"")
    with maker.make(source, words, is_pdf=is_pdf, pages_max=200, timeout_seconds=60) as stream:
        return stream.read()


def found(data: bytes, number: int = 1) -> dict[str, tuple[float, ...]]:
    """The words of a page as pdfium's text layer gives them, in points from the top left of the page as it is shown."""
    document = pypdfium2.PdfDocument(data)
    page = document[number - 1]
    text = page.get_textpage()
    whole = text.get_text_range()
    boxes = {}
    for each in whole.split():
        first = whole.index(each)
        rectangles = [text.get_charbox(index) for index in range(first, first + len(each))]
        edges = [min(r[0] for r in rectangles), min(r[1] for r in rectangles)]
        edges += [max(r[2] for r in rectangles), max(r[3] for r in rectangles)]
        boxes[each] = _as_shown(page, edges)
    return boxes


def _as_shown(page: Any, edges: Sequence[float]) -> tuple[float, ...]:
    left, bottom, right, top = edges
    height, width = page.get_mediabox()[3], page.get_mediabox()[2]
    match page.get_rotation():
        case 0:
            return left, height - top, right, height - bottom
        case 90:
            return bottom, left, top, right
        case 180:
            return width - right, bottom, width - left, top
        case _:
            return height - top, width - right, height - bottom, width - left


def assert_words_lie_where_they_were_read(boxes: dict[str, tuple[float, ...]]) -> None:
    assert list(boxes) == list(WORDS)
    for text, box in WORDS.items():
        assert boxes[text] == pytest.approx(box, abs=0.5)


def scan(pages: int = 1, *, size: tuple[int, int] = (595, 842)) -> bytes:
    first, *others = (scans.page([f"Page {number}"], 30, size) for number in range(1, pages + 1))
    return scans.as_bytes(first, "PDF", others, resolution=72.0)


def rotated(data: bytes, degrees: int) -> bytes:
    document = pypdfium2.PdfDocument(data)
    document[0].set_rotation(degrees)
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_words_lie_where_they_were_read(maker: LocalSearchablePdfs, tmp_path: Path, rotation: int, turned: int) -> None:
    """`rotation` is what the file says, `turned` what OCR found: pages come out upright."""
    is_on_its_side = (rotation - turned) % 180 != 0
    size = (842, 595) if is_on_its_side else (595, 842)
    data = made(maker, tmp_path, rotated(scan(size=size), rotation), [page_of(1, turned=turned)])
    assert_words_lie_where_they_were_read(found(data))
    page = pypdfium2.PdfDocument(data)[0]
    assert page.get_size() == pytest.approx(A4, abs=1)
    assert page.get_rotation() == (rotation - turned) % 360


def test_another_library_finds_the_words_at_their_places(maker: LocalSearchablePdfs, tmp_path: Path) -> None:
    reader = pypdf.PdfReader(io.BytesIO(made(maker, tmp_path, scan(2), [page_of(2)])))
    starts: dict[str, tuple[float, float]] = {}

    def visit(text: str, outer: Sequence[float], matrix: Sequence[float], *_: object) -> None:
        if text.strip():
            starts[text.strip()] = (matrix[4], matrix[5])

    assert reader.pages[0].extract_text().strip() == ""
    assert reader.pages[1].extract_text(visitor_text=visit).split() == list(WORDS)
    assert starts == {text: pytest.approx((box[0], A4[1] - box[3]), abs=0.5) for text, box in WORDS.items()}


def test_the_pages_look_as_before(maker: LocalSearchablePdfs, tmp_path: Path) -> None:
    before = scan()
    after = made(maker, tmp_path, before, [page_of(1)])
    drawn = [pypdfium2.PdfDocument(data)[0].render().to_pil().convert("L") for data in (before, after)]
    assert ImageChops.difference(*drawn).getbbox() is None


def test_a_page_that_begins_elsewhere(maker: LocalSearchablePdfs, tmp_path: Path) -> None:
    document = pypdfium2.PdfDocument(scan())
    document[0].set_mediabox(100, 200, 400, 700)
    target = io.BytesIO()
    document.save(target)
    page = Page(1, "", 300.0, 500.0, (word("Harbour", (10, 20, 110, 40)),), PageState.OCR)
    data = made(maker, tmp_path, target.getvalue(), [page])
    left, bottom, right, top = _rect(data)
    assert (left, 700 - top, right, 700 - bottom) == pytest.approx((110, 20, 210, 40), abs=0.5)


def _rect(data: bytes) -> tuple[float, float, float, float]:
    text = pypdfium2.PdfDocument(data)[0].get_textpage()
    assert text.get_text_range().strip() == "Harbour"
    first, last = text.get_charbox(0), text.get_charbox(6)
    return first[0], first[1], last[2], last[3]


@pytest.mark.parametrize(("kind", "turned"), [("PNG", 0), ("JPEG", 0), ("JPEG", 90), ("TIFF", 180)])
def test_of_a_picture_file_a_pdf_is_made(maker: LocalSearchablePdfs, tmp_path: Path, kind: str, turned: int) -> None:
    upright = scans.page(["Harbour, lighthouse and gulls"], 30, (595, 842))
    lying = upright.rotate(-turned, expand=True)
    data = made(maker, tmp_path, scans.as_bytes(lying, kind), [page_of(1, turned=turned)], is_pdf=False)
    assert_words_lie_where_they_were_read(found(data))
    drawn = pypdfium2.PdfDocument(data)[0].render().to_pil().convert("L")
    difference = ImageChops.difference(drawn.resize(upright.size), upright.convert("L"))
    assert ImageStat.Stat(difference).mean[0] < 6


def test_pages_without_words_stay(maker: LocalSearchablePdfs, tmp_path: Path) -> None:
    first, *others = (scans.page([f"Page {number}"], 30, (595, 842)) for number in range(1, 4))
    tiff = scans.as_bytes(first, "TIFF", others)
    data = made(maker, tmp_path, tiff, [page_of(2)], is_pdf=False)
    assert len(pypdfium2.PdfDocument(data)) == 3
    assert [len(found(data, number)) for number in (1, 2, 3)] == [0, 3, 0]


def test_what_a_file_holds_of_its_own_stays(maker: LocalSearchablePdfs, tmp_path: Path) -> None:
    mixed = pypdfium2.PdfDocument.new()
    for part in (samples.report_pdf(1), scan()):
        mixed.import_pages(pypdfium2.PdfDocument(part))
    target = io.BytesIO()
    mixed.save(target)
    data = made(maker, tmp_path, target.getvalue(), [page_of(2)])
    assert "Annual" in found(data, 1)
    assert list(found(data, 2)) == list(WORDS)


def test_words_without_a_sensible_place_do_no_harm(maker: LocalSearchablePdfs, tmp_path: Path) -> None:
    odd = (Word("nowhere"), Word("short", 1.0, (1.0, 2.0)), Word(" ", 1.0, (0.0,) * 8), word("\ud800", (1, 1, 9, 9)))
    flat = (word("flat", (10, 10, 10, 10)), word("far", (1e9, 1e9, 2e9, 2e9)))
    page = Page(1, "", *A4, (*odd[:3], *flat, word("Harbour", WORDS["Harbour"])), PageState.OCR)
    assert "Harbour" in found(made(maker, tmp_path, scan(), [page]))


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7 and nothing else", b"\x89PNG\r\n\x1a\n"])
def test_a_damaged_file_is_refused(maker: LocalSearchablePdfs, tmp_path: Path, data: bytes) -> None:
    for is_pdf in (True, False):
        with pytest.raises(BadInput):
            made(maker, tmp_path, data or b"x", [page_of(1)], is_pdf=is_pdf)


def test_the_words_are_read_page_by_page(tmp_path: Path) -> None:
    pages = [page_of(number) for number in range(1, 200)]
    data = packed(pages)
    assert data is not None
    assert packed(pages) == data
    (tmp_path / "words").write_bytes(data)
    assert [each.number for each in unpacked(tmp_path / "words")] == list(range(1, 200))
    assert packed([Page(1, "text")]) is None


@pytest.mark.slow
def test_a_hundred_pages_take_little_memory(maker: LocalSearchablePdfs, tmp_path: Path) -> None:
    """The child has a limit of 1 GB; here nothing of the file is held but the answer."""
    words = tuple(
        word(f"word{n}", (50 + n % 10 * 50, 50 + n // 10 * 14, 90 + n % 10 * 50, 62 + n // 10 * 14)) for n in range(500)
    )
    pages = [Page(number, "", *A4, words, PageState.OCR) for number in range(1, 101)]
    source, file = tmp_path / "source", tmp_path / "words"
    source.write_bytes(scan(100))
    file.write_bytes(packed(pages) or b"")
    tracemalloc.start()
    try:
        with maker.make(source, file, is_pdf=True, pages_max=100, timeout_seconds=120) as stream:
            assert tracemalloc.get_traced_memory()[1] < 5_000_000
            document = pypdfium2.PdfDocument(stream.read())
    finally:
        tracemalloc.stop()
    assert len(document) == 100
    assert document[99].get_textpage().get_text_range().split() == [each.text for each in words]
