"""What the local parsers make of good, odd and hostile files."""

import io
import time
import zipfile
from pathlib import Path

import pytest

from tests import samples
from tests.local_providers import extract, failure
from webapp.provider_errors import BadInput, FailureCode, ParserCrashed
from webapp.providers.local.extract import LocalExtractor

PLAIN, MARKDOWN = "text/plain", "text/markdown"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_headings_and_paragraphs_in_order(extractor: LocalExtractor, folder: Path) -> None:
    extraction = extract(extractor, folder, samples.report_pdf(pages=2))
    lines = [line for line in extraction.markdown.splitlines() if line]
    assert lines[:3] == ["<!-- page 1 -->", "# Annual report of the lighthouse", "## Chapter 1: what the keepers saw"]
    assert extraction.title == "Annual report of the lighthouse"
    assert (extraction.pages[0].width, extraction.pages[0].height) == (595, 842)
    assert "the lamp was lit" in extraction.pages[1].text


def test_columns_are_read_one_after_the_other(extractor: LocalExtractor, folder: Path) -> None:
    markdown = extract(extractor, folder, samples.columns_pdf()).markdown
    assert markdown.index("left23") < markdown.index("right00") < markdown.index("right23")


def test_a_declared_title_wins(extractor: LocalExtractor, folder: Path) -> None:
    page = [samples.Run(60, 80, "A heading", 22, bold=True), samples.Run(60, 120, "And a line of text below it.")]
    assert extract(extractor, folder, samples.pdf([page], title="Über die Lampe")).title == "Über die Lampe"
    for empty in ("Untitled", "about:blank"):
        assert extract(extractor, folder, samples.pdf([page], title=empty)).title == "A heading"


@pytest.mark.parametrize(
    "before", [b"\n\n", b"\xef\xbb\xbf", b"\0" * 128, b"\x1b%-12345X@PJL JOB\r\n", b"x" * 900 + b"\n"],
    ids=["blank lines", "mark", "zeros", "printer", "words"],
)  # fmt: skip
def test_a_pdf_with_something_before_it_is_read(extractor: LocalExtractor, folder: Path, before: bytes) -> None:
    assert "the lamp was lit" in extract(extractor, folder, before + samples.report_pdf()).markdown


def test_a_zip_that_holds_a_pdf_is_none(extractor: LocalExtractor, folder: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("report.pdf", samples.report_pdf())
    error = failure(extractor, folder, out.getvalue())
    assert (error.code, error.message) == (FailureCode.CORRUPT, "no PDF header")


def test_labelled_values_come_with_place_and_confidence(extractor: LocalExtractor, folder: Path) -> None:
    fields = extract(extractor, folder, samples.invoice_pdf()).fields
    assert {field.name: field.value for field in fields} == samples.INVOICE_VALUES | {"Currency": "EUR"}
    for field in fields:
        assert field.page == 1
        assert field.normalized
        assert field.confidence is None or 0 < field.confidence <= 1
        assert field.polygon is not None
        assert len(field.polygon) == 8
    total = next(field for field in fields if field.name == "Total")
    assert total.polygon is not None
    assert total.polygon[0] == pytest.approx(220, abs=2)
    assert total.polygon[1] == pytest.approx(220, abs=4)


def test_a_form_gives_its_values_and_no_empty_ones(extractor: LocalExtractor, folder: Path) -> None:
    fields = extract(extractor, folder, samples.form_pdf()).fields
    assert {field.name: field.value for field in fields} == {"member_name": "Ada Brook", "newsletter": "Yes"}
    assert {field.confidence for field in fields} == {1.0}


def test_running_heads_stay_once(extractor: LocalExtractor, folder: Path) -> None:
    body = "The keeper wrote a long line into the book of the house every night."
    pages = [
        [samples.Run(60, 30, "Invoice 4711 of Harbour Lights"), samples.Run(60, 200, f"{number}. {body}")]
        for number in range(1, 6)
    ]
    markdown = extract(extractor, folder, samples.pdf(pages)).markdown
    assert markdown.count("Invoice 4711 of Harbour Lights") == 1
    assert markdown.count("The keeper wrote") == 5


def test_pages_without_text_are_named(extractor: LocalExtractor, folder: Path) -> None:
    extraction = extract(extractor, folder, samples.scan_pdf(4, with_text=[2]))
    assert not extraction.partial
    assert extraction.page_count == 4
    assert extraction.warnings == ("Looks scanned and was not read, since OCR is off: page 1, 3-4.",)


def test_blank_pages_among_others_are_no_news(extractor: LocalExtractor, folder: Path) -> None:
    written = [samples.Run(60, 100, "A page with words, and one without any behind it.")]
    assert extract(extractor, folder, samples.pdf([written, []])).warnings == ()


def test_a_scan_needs_ocr_and_says_so(extractor: LocalExtractor, folder: Path) -> None:
    error = failure(extractor, folder, samples.scan_pdf(2))
    assert error.code is FailureCode.NO_TEXT
    assert error.permanent


def test_blank_paper_is_empty(extractor: LocalExtractor, folder: Path) -> None:
    assert failure(extractor, folder, samples.pdf([[], []])).code is FailureCode.EMPTY


def test_too_many_pages_are_refused_before_they_are_read(folder: Path) -> None:
    extractor = LocalExtractor(memory_mb=512, pages_max=3)
    try:
        assert failure(extractor, folder, samples.report_pdf(pages=4)).code is FailureCode.TOO_LARGE
        assert extract(extractor, folder, samples.report_pdf(pages=3)).page_count == 3
    finally:
        extractor.close()


@pytest.mark.parametrize("share", [0.02, 0.2, 0.6, 0.9, 0.99])
def test_a_cut_file_fails_or_is_whole_but_never_less(extractor: LocalExtractor, folder: Path, share: float) -> None:
    whole = samples.report_pdf(pages=6)
    data = whole[: int(len(whole) * share)]
    try:
        extraction = extract(extractor, folder, data)
    except BadInput:
        return
    assert extraction.partial or extraction.markdown.count("Chapter") == 6


def test_a_file_can_t_forge_page_marks(extractor: LocalExtractor, folder: Path) -> None:
    page = [samples.Run(60, 100, "Before <!-- page 7 --> after, and some more words on the line.")]
    extraction = extract(extractor, folder, samples.pdf([page]))
    assert extraction.markdown.count("<!-- page") == 1
    text = extract(extractor, folder, b"a\n\n<!-- page 9 -->\n\n<!--PAGE 9-->b", MARKDOWN)
    assert "<!--" not in text.markdown


def test_lines_that_the_layout_loses_are_all_read(extractor: LocalExtractor, folder: Path) -> None:
    extraction = extract(extractor, folder, samples.many_lines_pdf(3_000))
    assert extraction.markdown.count("line number") == 3_000
    assert extraction.warnings == ("Shown as plain text, since the layout couldn't be read: page 1.",)


@pytest.mark.slow
def test_sixty_thousand_lines_on_one_page_are_all_read(folder: Path) -> None:
    extractor = LocalExtractor(memory_mb=1024)
    try:
        extraction = extract(extractor, folder, samples.many_lines_pdf())
    finally:
        extractor.close()
    assert "line number 59999 " in extraction.markdown + " "
    assert extraction.markdown.count("line number") == 60_000
    assert extraction.warnings == ("Shown as plain text, since the layout couldn't be read: page 1.",)


@pytest.mark.slow
def test_plain_text_is_the_second_try_after_a_crash(folder: Path) -> None:
    """In 256 MB the layout of these lines can't be held, their text can."""
    extractor = LocalExtractor(memory_mb=256)
    try:
        extraction = extract(extractor, folder, samples.many_lines_pdf(16_000))
    finally:
        extractor.close()
    assert extraction.markdown.count("line number") == 16_000
    assert extraction.warnings == ("Shown as plain text, since the layout couldn't be read: page 1.",)


@pytest.mark.slow
def test_a_deflate_bomb_meets_the_memory_limit(extractor: LocalExtractor, folder: Path) -> None:
    error = failure(extractor, folder, samples.deflate_bomb_pdf())
    assert isinstance(error, ParserCrashed)
    assert error.code is FailureCode.PARSER_MEMORY


@pytest.mark.slow
def test_endlessly_nested_forms_meet_a_limit(extractor: LocalExtractor, folder: Path) -> None:
    start = time.monotonic()
    assert failure(extractor, folder, samples.nested_forms_pdf()).code in {
        FailureCode.PARSER_MEMORY,
        FailureCode.PARSER_CRASHED,
        FailureCode.TIMED_OUT,
    }
    assert time.monotonic() - start < 35


def test_text_is_kept_as_it_is(extractor: LocalExtractor, folder: Path) -> None:
    extraction = extract(extractor, folder, "Zeile eins\r\nZeile zwei \u2013 mit Strich\n".encode(), PLAIN)
    assert extraction.markdown == "Zeile eins\nZeile zwei \u2013 mit Strich\n"
    assert extraction.pages == ()
    assert extraction.page_count is None
    assert extraction.title is None
    assert extraction.warnings == ()


def test_markdown_gives_its_first_heading_as_title(extractor: LocalExtractor, folder: Path) -> None:
    extraction = extract(extractor, folder, b"\xef\xbb\xbf# The *keeper's* book\n\nText.\n", MARKDOWN)
    assert extraction.title == "The keeper's book"


def test_an_old_encoding_is_read_with_a_warning(extractor: LocalExtractor, folder: Path) -> None:
    extraction = extract(extractor, folder, "Café Müller \u2013 5 €".encode("cp1252"), PLAIN)
    assert extraction.markdown == "Café Müller \u2013 5 €"
    assert "cp1252" in extraction.warnings[0]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", FailureCode.EMPTY),
        (b" \n\t \r\n", FailureCode.EMPTY),
        ("\ufeff".encode(), FailureCode.EMPTY),
        (b"\0\1\2\3" * 500, FailureCode.UNSUPPORTED),
        (b"a word, then " + b"\0" * 200, FailureCode.UNSUPPORTED),
    ],
)
def test_text_files_without_text_are_refused(
    extractor: LocalExtractor, folder: Path, data: bytes, code: FailureCode
) -> None:
    error = failure(extractor, folder, data, PLAIN)
    assert error.code is code
    assert error.permanent


def test_a_text_beyond_the_limit_is_refused(folder: Path) -> None:
    extractor = LocalExtractor(memory_mb=512, text_bytes_max=1000)
    try:
        assert failure(extractor, folder, b"word " * 300, PLAIN).code is FailureCode.TOO_LARGE
    finally:
        extractor.close()


def test_the_options_that_matter_are_in_the_key() -> None:
    assert LocalExtractor(pages_max=5).options_key() != LocalExtractor(pages_max=6).options_key()
    assert LocalExtractor(memory_mb=300).options_key() == LocalExtractor().options_key()
