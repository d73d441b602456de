"""Scans in the pipeline: windows of pages are checkpoints, and pictures without text are kept."""

import io
from collections.abc import Iterator

import pypdfium2
import pytest
from PIL import Image

from tests import samples, scans
from tests.pipeline.workplace import Crash, Workplace
from webapp.documents.page_model import DocumentPage
from webapp.documents.states import EventKind
from webapp.jobs.interruptions import OutOfTime
from webapp.pipeline.kept_parts import PartsOfFile
from webapp.provider_errors import BadInput
from webapp.providers.local.extract import LocalExtractor
from webapp.runs import checkpoint

pytestmark = pytest.mark.slow

SMALL = (700, 330)


@pytest.fixture(scope="module")
def extractor() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor(ocr=scans.reader())
    yield extractor
    extractor.close()


@pytest.fixture
def scanning(workplace: Workplace, extractor: LocalExtractor) -> Workplace:
    workplace.with_extractor(extractor)
    return workplace


def scan(pages: int) -> bytes:
    first, *others = (scans.page([f"Slip number {number} of the office"], 30, SMALL) for number in range(1, pages + 1))
    return scans.as_bytes(first, "PDF", others)


def parts(workplace: Workplace) -> list[str]:
    return sorted(path.rpartition("/")[2] for path in workplace.blobs() if "/ocr-" in path)


def test_a_scan_whose_worker_dies_goes_on_with_the_next_pages(
    scanning: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = scanning.upload(scan(20), "scan.pdf").document.id
    lease, put, calls = scanning.claim(), PartsOfFile.put, list[str]()

    def dies(self: PartsOfFile, name: str, data: bytes, done: int, total: int) -> None:
        put(self, name, data, done, total)
        calls.append(name)
        if len(calls) == 2:
            raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(PartsOfFile, "put", dies)
        with pytest.raises(Crash):
            scanning.process(lease)
    assert parts(scanning) == ["ocr-1-8-8.json", "ocr-9-16-8.json"]
    assert checkpoint.pages(scanning.checkpoint(lease)) == (16, 20)

    # What is read again would be written again.
    written = {path: scanning.providers.blobs.read_bytes(path) for path in scanning.blobs() if "/ocr-" in path}
    for path, data in written.items():
        scanning.providers.blobs.put_bytes(path, data.replace(b"Slip", b"Kept"))
    scanning.process(scanning.take_back(lease))
    assert parts(scanning) == ["ocr-1-8-8.json", "ocr-17-20-4.json", "ocr-9-16-8.json"]
    document = scanning.document(document_id)
    assert (document.status, document.page_count, document.pages_read) == ("READY", 20, 20)
    assert document.warnings == ["OCR read page 1-20 from its picture."]
    text = "\n".join(chunk.text for chunk in scanning.chunks(document_id))
    assert [number for number in range(1, 21) if f"Kept number {number} of" in text] == list(range(1, 17))
    assert [number for number in range(1, 21) if f"Slip number {number} of" in text] == list(range(17, 21))


def test_a_run_out_of_time_keeps_what_it_read_for_the_next_one(scanning: Workplace) -> None:
    document_id = scanning.upload(scan(10), "scan.pdf").document.id
    lease = scanning.claim()
    context = scanning.context(lease)
    kept = PartsOfFile(context, "somewhere/")
    context.deadline = 0.0
    with pytest.raises(OutOfTime):
        kept.put("ocr-1-8-8", b"{}", 8, 10)
    assert kept.get("ocr-1-8-8") == b"{}"
    assert checkpoint.pages(scanning.checkpoint(lease)) == (8, 10)
    assert scanning.document(document_id).status == "PROCESSING"


def how_read(workplace: Workplace) -> list[tuple[str, str | None, bool]]:
    return [(page.reading, page.reason, page.by_ocr) for page in workplace.all(DocumentPage)]


def test_a_blank_page_is_read_and_a_picture_without_text_is_not(scanning: Workplace) -> None:
    blank, drawing = Image.new("L", SMALL, 240), Image.linear_gradient("L").resize(SMALL)
    data = scans.as_bytes(scans.page(["The only page with text"], 30, SMALL), "TIFF", [blank, drawing])
    document = scanning.processed(data, "fax.tiff")
    assert (document.status, document.page_count, document.pages_read) == ("READY", 3, 2)
    assert (document.reading, document.is_partly_read, document.kind) == ("in_part", True, "picture")
    assert how_read(scanning) == [("well", None, True), ("well", "blank", False), ("not_read", "no_text", False)]


def test_a_page_that_takes_too_long_is_said_and_read_with_the_next_run(workplace: Workplace) -> None:
    mixed = pypdfium2.PdfDocument.new()
    for part in (samples.report_pdf(1), scan(1)):
        mixed.import_pages(pypdfium2.PdfDocument(part))
    data = io.BytesIO()
    mixed.save(data)
    hasty, patient = (LocalExtractor(ocr=scans.reader(page_seconds=seconds)) for seconds in (0.01, 400))
    try:
        workplace.with_extractor(hasty)
        document = workplace.processed(data.getvalue(), "mixed.pdf")
        assert (document.pages_read, document.reading) == (1, "in_part")
        assert how_read(workplace) == [("well", None, False), ("not_read", "time_limit", False)]
        assert document.warnings == ["Page 2 could not be read: OCR took too long there."]
        workplace.with_extractor(patient)
        workplace.reprocess(document.id)
        workplace.process()
    finally:
        hasty.close()
        patient.close()
    document = workplace.document(document.id)
    assert (document.pages_read, document.reading) == (2, "well")
    assert how_read(workplace) == [("well", None, False), ("well", None, True)]


def test_a_picture_without_text_is_kept(scanning: Workplace) -> None:
    sunset = scans.as_bytes(Image.linear_gradient("L").resize((800, 600)).convert("RGB"), "JPEG")
    document = scanning.processed(sunset, "sunset.jpg")
    assert document.is_kept
    assert EventKind.STEP_FAILED not in [kind for kind, _ in scanning.steps(scanning.run(document.id).id)]


def test_a_scan_without_text_failed(scanning: Workplace) -> None:
    scanning.upload(scans.as_bytes(Image.new("L", SMALL, 255), "PDF"), "blank.pdf")
    with pytest.raises(BadInput, match="no page has text"):
        scanning.process()
