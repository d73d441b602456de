"""What is particular about Document Intelligence: what is asked, what it may answer, and what that means."""

import logging
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import samples
from tests.contracts.polled import PolledExtractor
from tests.emulators.clients import azure_extractor
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.ports import free_port
from webapp.provider_errors import BadInput, FailureCode, ProviderError, RateLimited, TimedOut
from webapp.providers.azure.extract import AzureExtractor
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.ports import Done, Failed, StillRunning, Window
from webapp.readers.filetypes import OFFICE, PDF

WORD = f"{OFFICE}wordprocessingml.document"
Make = Callable[..., AzureExtractor]


@pytest.fixture
def make(documentintelligence: DocumentIntelligence, extractor: LocalExtractor) -> Make:
    return lambda **more: azure_extractor(documentintelligence, extractor, **more)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(samples.report_pdf(pages=2))
    return path


def failure(use: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        use()
    return caught.value


def test_pdfs_are_asked_for_in_windows(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "source"
    path.write_bytes(samples.report_pdf(pages=5))
    windows = make(window_pages=2).windows(path, PDF, timeout_seconds=30)
    assert windows == (Window(1, 2), Window(3, 4), Window(5, 5))
    assert make().windows(path, "image/png", timeout_seconds=30) == (Window(),)


def test_the_layout_model_is_asked_for_markdown_and_pairs(
    make: Make, source: Path, documentintelligence: DocumentIntelligence
) -> None:
    make().start(source, PDF, Window(1, 2))
    (query,) = documentintelligence.queries
    assert query == {
        "api-version": "2024-11-30",
        "pages": "1-2",
        "features": "keyValuePairs,languages",
        "outputContentFormat": "markdown",
        "stringIndexType": "unicodeCodePoint",
    }
    assert documentintelligence.content_types == ["application/octet-stream"]


def test_office_files_are_asked_for_without_extras(
    make: Make, tmp_path: Path, documentintelligence: DocumentIntelligence
) -> None:
    path = tmp_path / "source"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<w:p><w:t>The lamp</w:t></w:p><w:p><w:t>was lit.</w:t></w:p>")
    (extraction,) = PolledExtractor(make()).parts(path, WORD).values()
    (query,) = documentintelligence.queries
    assert "features" not in query
    assert "pages" not in query
    assert extraction.markdown == "<!-- page 1 -->\n\nThe lamp\n\nwas lit."


def test_each_kind_of_file_may_have_its_model(
    make: Make, tmp_path: Path, documentintelligence: DocumentIntelligence
) -> None:
    path = tmp_path / "source"
    path.write_bytes(samples.invoice_pdf())
    extractor = make(models={PDF: "prebuilt-invoice"})
    (extraction,) = PolledExtractor(extractor).parts(path, PDF).values()
    values = {field.name: field.value for field in extraction.fields}
    assert values["InvoiceNumber"] == samples.INVOICE_VALUES["Invoice number"]
    assert values["Items 2 Quantity"] == "80"
    assert documentintelligence.queries[0]["outputContentFormat"] == "text"


def test_the_same_question_has_the_same_key_whatever_the_windows(make: Make) -> None:
    one, other = make(window_pages=2), make(window_pages=50)
    assert one.answers_key(PDF) == other.answers_key(PDF)
    # What is kept of all windows together is another thing: a window may cut what belongs together.
    assert one.options_key() != other.options_key()
    invoices = make(models={PDF: "prebuilt-invoice"})
    assert invoices.answers_key(PDF) != one.answers_key(PDF)
    assert invoices.answers_key("image/png") == one.answers_key("image/png")


def test_a_later_process_needs_the_id_alone(
    make: Make, source: Path, documentintelligence: DocumentIntelligence
) -> None:
    operation = make().start(source, PDF, Window(1, 2))
    other = make()
    assert other.poll(operation) == StillRunning(0)
    answer = other.poll(operation)
    assert isinstance(answer, Done)
    assert answer.units == 2
    assert other.read(answer.answer, Window(1, 2)).page_count == 2
    assert documentintelligence.calls["analyze"] == 1


def test_the_service_says_when_to_ask_again(
    make: Make, source: Path, documentintelligence: DocumentIntelligence
) -> None:
    documentintelligence.retry_after = "13"
    operation = make().start(source, PDF, Window(1, 2))
    assert make().poll(operation) == StillRunning(13)
    documentintelligence.retry_after = None
    documentintelligence.keeps_running = True
    assert make().poll(operation) == StillRunning(None)
    documentintelligence.misbehave("status", "poll", code=429, headers={"Retry-After": "21"})
    assert make().poll(operation) == StillRunning(21)


@pytest.mark.parametrize("fault", ["failed", "bad_input"])
def test_a_failed_operation_is_over(
    make: Make, source: Path, documentintelligence: DocumentIntelligence, fault: str
) -> None:
    documentintelligence.polls_needed = 0
    documentintelligence.misbehave(fault, "analyze")
    ended = make().poll(make().start(source, PDF, Window(1, 2)))
    assert isinstance(ended, Failed)
    assert ended.error.permanent is (fault == "bad_input")
    assert isinstance(ended.error, BadInput) is (fault == "bad_input")


def test_an_operation_that_nobody_knows_is_over(make: Make) -> None:
    for operation in ("prebuilt-layout/unknown", "../../secrets", "", "no slash"):
        assert isinstance(make().poll(operation), Failed)


@pytest.mark.parametrize("fault", ["cut", "malformed"])
def test_an_answer_that_cannot_be_read_says_nothing_about_the_operation(
    make: Make, source: Path, documentintelligence: DocumentIntelligence, fault: str
) -> None:
    documentintelligence.polls_needed = 0
    operation = make().start(source, PDF, Window(1, 2))
    documentintelligence.misbehave(fault, "poll")
    assert not failure(lambda: make().poll(operation)).permanent
    assert isinstance(make().poll(operation), Done)


@pytest.mark.parametrize(
    ("status", "code", "permanent"),
    [
        (401, FailureCode.CREDENTIALS_REFUSED, True),
        (403, FailureCode.CREDENTIALS_REFUSED, True),
        (404, FailureCode.REQUEST_REFUSED, True),
        (408, FailureCode.UNAVAILABLE, False),
        (413, FailureCode.TOO_LARGE, True),
        (429, FailureCode.RATE_LIMITED, False),
        (500, FailureCode.UNAVAILABLE, False),
        (503, FailureCode.UNAVAILABLE, False),
    ],
)
def test_each_refusal_has_its_meaning(
    make: Make,
    source: Path,
    documentintelligence: DocumentIntelligence,
    status: int,
    code: FailureCode,
    permanent: bool,
) -> None:
    documentintelligence.misbehave("status", "analyze", code=status, headers={"Retry-After": "9"})
    error = failure(lambda: make().start(source, PDF, Window(1, 2)))
    assert (error.code, error.permanent, error.is_outcome_unknown) == (code, permanent, False)
    assert documentintelligence.calls["analyze"] == 1, "the client tried again by itself"
    if status in {429, 503}:
        assert error.retry_after_seconds == 9


def test_a_model_that_is_not_known_is_named(make: Make, source: Path) -> None:
    error = failure(lambda: make(models={PDF: "no-such-model"}).start(source, PDF, Window(1, 2)))
    assert (error.code, error.permanent) == (FailureCode.REQUEST_REFUSED, True)
    assert "ModelNotFound" in error.message


def test_what_the_service_says_of_a_file_is_about_the_file(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "source"
    for data, code in ((b"%PDF-1.7 nothing more", "corrupt"), (samples.encrypted_pdf(), "unsupported")):
        path.write_bytes(data)
        error = failure(lambda: make().start(path, PDF, Window(1, 1)))
        assert isinstance(error, BadInput)
        assert error.code == code


@pytest.mark.parametrize("fault", ["lost", "bad_location"])
def test_a_call_without_an_answer_may_be_on_the_bill(
    make: Make, source: Path, documentintelligence: DocumentIntelligence, fault: str
) -> None:
    documentintelligence.misbehave(fault, "analyze")
    error = failure(lambda: make().start(source, PDF, Window(1, 2)))
    assert error.is_outcome_unknown
    assert not error.permanent


def test_silence_ends(make: Make, source: Path, documentintelligence: DocumentIntelligence) -> None:
    documentintelligence.misbehave("hang", "analyze")
    error = failure(lambda: make(timeout_seconds=0.2).start(source, PDF, Window(1, 2)))
    assert isinstance(error, TimedOut)
    assert error.is_outcome_unknown


def test_nobody_there_is_said(extractor: LocalExtractor, source: Path) -> None:
    azure = AzureExtractor.connect(
        f"http://127.0.0.1:{free_port()}",
        "key",
        extractor.count_pages,
        timeout_seconds=5,
        models={},
        window_pages=5,
        windows_at_once=1,
    )
    for use in (azure.check, lambda: azure.start(source, PDF, Window(1, 2)), lambda: azure.poll("m/1")):
        error = failure(use)
        assert error.code is FailureCode.UNAVAILABLE
        assert not error.is_outcome_unknown


def test_a_refused_key_is_said_without_being_told(make: Make, source: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = "canary0123456789abcdef0123456789"
    azure = make(key=key)
    for use in (azure.check, lambda: azure.start(source, PDF, Window(1, 2)), lambda: azure.poll("m/1")):
        error = failure(use)
        assert (error.code, error.permanent) == (FailureCode.CREDENTIALS_REFUSED, True)
        assert key not in "".join(traceback.format_exception(error))
    assert key not in caplog.text


def test_words_of_the_service_are_quoted_without_the_key(
    make: Make, source: Path, documentintelligence: DocumentIntelligence
) -> None:
    documentintelligence.misbehave("status", "analyze", code=404)
    error = failure(lambda: make().start(source, PDF, Window(1, 2)))
    assert "Something is wrong with the subscription key ***" in error.message


def test_the_check_costs_nothing(make: Make, documentintelligence: DocumentIntelligence) -> None:
    make().check()
    assert documentintelligence.units() == 0


def test_too_many_requests_are_no_answer(make: Make, source: Path, documentintelligence: DocumentIntelligence) -> None:
    documentintelligence.misbehave("status", "analyze", code=429)
    error = failure(lambda: make().start(source, PDF, Window(1, 2)))
    assert isinstance(error, RateLimited)
    assert error.retry_after_seconds is None


def test_what_is_no_answer_is_not_read(make: Make) -> None:
    for data in (b"", b"not compressed", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"):
        with pytest.raises(ValueError, match="answer"):
            make().read(data, Window())
