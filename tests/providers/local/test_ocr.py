"""Scans and picture files are read by windows of pages that are kept; each page says how it was read."""

from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from tests import samples, scans
from tests.local_providers import PDF, extract, failure
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.local import ocr
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.extraction import Extraction, PageState

pytestmark = pytest.mark.slow

SMALL = (700, 330)
OWN_TEXT = "This page was typed and has words of its own to be found."


@pytest.fixture(scope="module")
def extractor() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor(ocr=scans.reader())
    yield extractor
    extractor.close()


def slip(text: str) -> Image.Image:
    """A small page, which is read in no time."""
    return scans.page([text], 30, SMALL)


def slips(count: int) -> list[Image.Image]:
    return [slip(f"Slip number {number} of the office") for number in range(1, count + 1)]


def scanned_pdf(count: int) -> bytes:
    first, *others = slips(count)
    return scans.as_bytes(first, "PDF", others)


class Kept:
    """KeptParts that remembers, and dies like a killed worker after so many parts."""

    def __init__(self, dies_after: int | None = None) -> None:
        self.parts: dict[str, bytes] = {}
        self.pages: list[tuple[int, int]] = []
        self.dies_after = dies_after

    def get(self, name: str) -> bytes | None:
        return self.parts.get(name)

    def put(self, name: str, data: bytes, done: int, total: int) -> None:
        self.parts[name] = data
        self.pages.append((done, total))
        if self.dies_after is not None and len(self.parts) >= self.dies_after:
            raise KeyboardInterrupt

    def seconds_left(self) -> float:
        return float("inf")


def read(
    extractor: LocalExtractor, folder: Path, data: bytes, kept: Kept, heard: list[float] | None = None
) -> Extraction:
    source = folder / "source"
    source.write_bytes(data)
    progress = (lambda _: None) if heard is None else heard.append
    return extractor.extract(source, PDF, timeout_seconds=60, progress=progress, parts=kept)


def test_a_scan_that_was_interrupted_goes_on_with_the_next_pages(extractor: LocalExtractor, tmp_path: Path) -> None:
    data, kept = scanned_pdf(20), Kept(dies_after=2)
    with pytest.raises(KeyboardInterrupt):
        read(extractor, tmp_path, data, kept)
    assert kept.pages == [(8, 20), (16, 20)]

    kept.dies_after, heard = None, list[float]()
    found = read(extractor, tmp_path, data, kept, heard)
    assert kept.pages == [(8, 20), (16, 20), (20, 20)]
    assert [page.text for page in found.pages] == [f"Slip number {n} of the office" for n in range(1, 21)]
    assert found.warnings == ("OCR read page 1-20 from its picture.",)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


def test_a_damaged_part_is_read_again(extractor: LocalExtractor, tmp_path: Path) -> None:
    data, kept = scanned_pdf(1), Kept()
    first = read(extractor, tmp_path, data, kept)
    kept.parts = dict.fromkeys(kept.parts, b"\x00")
    assert read(extractor, tmp_path, data, kept) == first
    assert kept.pages == [(1, 1), (1, 1)]


def test_of_a_mixed_pdf_only_the_scanned_pages_are_read_by_their_looks(
    extractor: LocalExtractor, tmp_path: Path
) -> None:
    mixed = pypdfium2.PdfDocument.new()
    for part in (samples.scan_pdf(1, with_text=[1]), scanned_pdf(1), samples.scan_pdf(1, with_text=[1])):
        mixed.import_pages(pypdfium2.PdfDocument(part))
    mixed.save(tmp_path / "mixed.pdf")
    found = extract(extractor, tmp_path, (tmp_path / "mixed.pdf").read_bytes())
    assert [page.state for page in found.pages] == [PageState.OWN_TEXT, PageState.OCR, PageState.OWN_TEXT]
    texts = [OWN_TEXT, "Slip number 1 of the office", OWN_TEXT]
    assert [page.text.strip() for page in found.pages] == texts
    assert found.warnings == ("OCR read page 2 from its picture.",)
    assert [bool(page.words) for page in found.pages] == [False, True, False]


def test_without_ocr_a_scan_has_no_text_and_pictures_are_not_accepted(tmp_path: Path) -> None:
    without = LocalExtractor()
    try:
        assert failure(without, tmp_path, scanned_pdf(1)).code is FailureCode.NO_TEXT
        assert not without.accepts("image/png")
    finally:
        without.close()


@pytest.mark.parametrize(("kind", "content_type"), [("TIFF", "image/tiff"), ("PDF", PDF)])
def test_each_page_of_a_file_is_a_page(extractor: LocalExtractor, tmp_path: Path, kind: str, content_type: str) -> None:
    pages = [slip("The first page"), Image.new("L", SMALL, 255), slip("The third page")]
    found = extract(extractor, tmp_path, scans.as_bytes(pages[0], kind, pages[1:]), content_type)
    assert found.page_count == 3
    assert [page.text for page in found.pages] == ["The first page", "", "The third page"]
    assert [page.state for page in found.pages] == [PageState.OCR, PageState.BLANK, PageState.OCR]
    assert "No text was found on page 2." in found.warnings


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("BMP", "image/bmp"), ("GIF", "image/gif")],
)
def test_each_kind_of_picture_is_read(extractor: LocalExtractor, tmp_path: Path, kind: str, content_type: str) -> None:
    assert extractor.accepts(content_type)
    found = extract(extractor, tmp_path, scans.as_bytes(slip("Kept by the harbour office"), kind), content_type)
    assert found.pages[0].text == "Kept by the harbour office"


def test_what_a_phone_writes_is_read(extractor: LocalExtractor, tmp_path: Path) -> None:
    photo = Path(__file__).with_name("phone.heic").read_bytes()
    found = extract(extractor, tmp_path, photo, "image/heic")
    assert found.pages[0].text == "Written by a telephone\non 14 October 2026"


def test_a_photo_lies_as_its_camera_says(extractor: LocalExtractor, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = slip("Held the other way").rotate(90, expand=True)
    found = extract(extractor, tmp_path, scans.as_bytes(turned, "JPEG", exif=exif), "image/jpeg")
    assert (found.pages[0].text, found.pages[0].turned) == ("Held the other way", 0)


def test_a_picture_without_writing_has_no_text(extractor: LocalExtractor, tmp_path: Path) -> None:
    sunset = scans.as_bytes(Image.linear_gradient("L").resize((800, 600)).convert("RGB"), "JPEG")
    error = failure(extractor, tmp_path, sunset, "image/jpeg")
    assert isinstance(error, BadInput)
    assert error.code is FailureCode.NO_TEXT


def test_missing_models_are_named(tmp_path: Path) -> None:
    without = LocalExtractor(ocr=ocr.LocalOcr(ocr.OcrOptions(tmp_path / "models")))
    try:
        error = failure(without, tmp_path, scanned_pdf(1))
        assert error.code is FailureCode.MODEL_MISSING
        assert not error.permanent
    finally:
        without.close()


def test_labelled_values_are_found_on_scans(extractor: LocalExtractor, tmp_path: Path) -> None:
    lines = ["INVOICE", "Invoice number: 2026-114", "Invoice date: 14 September 2026", "Due date: 14 October 2026"]
    bill = scans.page([*lines, "Net: 100.00 EUR", "VAT 20 %: 20.00 EUR", "Total: 120.00 EUR"], 30, (900, 900))
    found = extract(extractor, tmp_path, scans.as_bytes(bill, "PDF"))
    values = {field.name: (field.value, field.page) for field in found.fields}
    assert values == {
        "Invoice number": ("2026-114", 1),
        "Invoice date": ("14 September 2026", 1),
        "Due date": ("14 October 2026", 1),
        "Net amount": ("100.00 EUR", 1),
        "Tax 20 %": ("20.00 EUR", 1),
        "Total": ("120.00 EUR", 1),
        "Currency": ("EUR", 1),
    }
