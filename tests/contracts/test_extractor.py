"""What every Extractor promises, whatever it reads with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import samples
from webapp.provider_errors import BadInput, BlobMissing, FailureCode, TimedOut
from webapp.providers.ports import Extractor
from webapp.readers.extraction import Extraction

PDF = "application/pdf"
Read = Callable[[bytes], Extraction]


@pytest.fixture
def read(extractor: Extractor, tmp_path: Path) -> Read:
    def read(data: bytes) -> Extraction:
        source = tmp_path / "source"
        source.write_bytes(data)
        return extractor.extract(source, PDF, timeout_seconds=30, progress=lambda _: None)

    return read


def test_it_says_what_it_is(extractor: Extractor) -> None:
    assert extractor.name
    assert extractor.version
    assert extractor.options_key() == extractor.options_key()
    extractor.check()


def test_it_reads_pdf_and_names_what_it_does_not(extractor: Extractor, tmp_path: Path) -> None:
    assert extractor.accepts(PDF)
    assert not extractor.accepts("application/x-nothing-known")
    source = tmp_path / "source"
    source.write_bytes(b"anything")
    with pytest.raises(BadInput) as caught:
        extractor.extract(source, "application/x-nothing-known", timeout_seconds=5, progress=lambda _: None)
    assert caught.value.code is FailureCode.UNSUPPORTED


def test_pages_are_marked_and_counted(read: Read) -> None:
    extraction = read(samples.report_pdf(pages=3))
    assert extraction.page_count == 3
    assert [page.number for page in extraction.pages] == [1, 2, 3]
    marks = [line for line in extraction.markdown.splitlines() if line.startswith("<!-- page")]
    assert marks == ["<!-- page 1 -->", "<!-- page 2 -->", "<!-- page 3 -->"]
    second = extraction.markdown.split("<!-- page 2 -->")[1].split("<!-- page 3 -->")[0]
    assert "Chapter 2: what the keepers saw" in second
    assert "Page 2, paragraph 4, line 3" in second


def test_a_result_survives_being_stored(read: Read) -> None:
    extraction = read(samples.invoice_pdf())
    assert Extraction.from_json(extraction.to_json()) == extraction


def test_a_whole_result_is_not_partial(read: Read) -> None:
    extraction = read(samples.report_pdf())
    assert not extraction.partial
    assert extraction.warnings == ()


def test_tables_come_as_rows(read: Read) -> None:
    (table,) = read(samples.table_pdf()).tables
    assert table.page == 1
    assert table.rows[0] == ("Item", "Quantity", "Price")
    assert ("Washers", "80", "3.10") in table.rows


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", FailureCode.EMPTY),
        (samples.encrypted_pdf(), FailureCode.ENCRYPTED),
        (samples.truncated_pdf(), FailureCode.CORRUPT),
        (b"no PDF at all, but words in a file with that name", FailureCode.CORRUPT),
    ],
    ids=["empty", "encrypted", "truncated", "text"],
)
def test_bad_input_is_permanent_and_named(read: Read, data: bytes, code: FailureCode) -> None:
    with pytest.raises(BadInput) as caught:
        read(data)
    assert caught.value.permanent
    assert caught.value.code is code


def test_a_missing_file_is_permanent(extractor: Extractor, tmp_path: Path) -> None:
    with pytest.raises(BlobMissing):
        extractor.extract(tmp_path / "gone", PDF, timeout_seconds=5, progress=lambda _: None)


@pytest.mark.slow
def test_progress_rises_to_one(extractor: Extractor, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(samples.report_pdf(pages=45))
    heard: list[float] = []
    extractor.extract(source, PDF, timeout_seconds=30, progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert len(heard) >= 3


def test_the_deadline_holds(extractor: Extractor, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(samples.report_pdf(pages=400))
    with pytest.raises(TimedOut) as caught:
        extractor.extract(source, PDF, timeout_seconds=0.01, progress=lambda _: None)
    assert not caught.value.permanent


def test_an_error_in_progress_ends_the_work(extractor: Extractor, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(samples.report_pdf(pages=60))

    def lost(_: float) -> None:
        raise RuntimeError("the lease is lost")

    with pytest.raises(RuntimeError, match="lease"):
        extractor.extract(source, PDF, timeout_seconds=30, progress=lost)
